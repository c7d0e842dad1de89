"""/llms.txt and /robots.txt: what they promise is so."""

import json
import os
import re
import subprocess
from uuid import uuid4

import pytest
import urllib3

from tests.support.factories import Api
from tests.support.remote import PATIENCE_SECONDS
from tests.support.routes import pages
from ticketing.blueprints.robots_and_llms import HIDDEN
from ticketing.constants import RESERVED_SLUGS
from ticketing.mcp import llms_txt
from ticketing.pages.blueprint import PageBlueprint


def examples(text):
    """Return the commands in the text, in their order."""
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    return [each for block in blocks for each in re.split(r"\n(?=curl )", block.strip())]


@pytest.mark.long
def test_the_examples_buy_a_ticket_as_printed(stack, remote, seat):
    known = {"TENANT": remote.path.rpartition("/")[2], "KEY": uuid4().hex}

    def run(command):
        done = subprocess.run(
            ["bash", "-e", "-u", "-c", command],
            env={**os.environ, **known},
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    text = urllib3.request("GET", f"{stack.url}/llms.txt", timeout=60).data.decode()
    events, tickets, order, purchase = examples(text)
    known["EVENT"] = run(events)["data"][0]["id"]
    known["TICKET"] = run(tickets)["data"][0]["id"]
    made = run(order)
    assert made["id"] == run(order)["id"] and made["ticket_id"] == seat["id"]
    known |= {"INTENT": made["id"], "SECRET": made["client_secret"]}
    assert run(purchase)["status"] == "confirmed"


def test_it_names_the_errors_and_the_addresses(api, app):
    answer = api.get("/llms.txt")
    assert answer.content_type == "text/plain; charset=utf-8"
    assert answer.text.startswith("# ") and "```sh" in answer.text
    for error in llms_txt.ERRORS:
        assert f"- `{error.code}` ({error.status})" in answer.text
    for link in re.findall(r"\]\(http://localhost(/[^)]*)\)", answer.text):
        linked = api.get(link)
        linked.close()
        assert linked.status_code == (405 if link.startswith("/mcp") else 200), link
    assert "x402" not in answer.text
    assert api.get("/llms.txt", headers={"Host": "evil.example"}).status_code == 421


def test_it_names_x402_where_a_chain_has_a_facilitator(environ, request):
    environ |= {
        "X402_FACILITATOR_URL_31337": "http://127.0.0.1:9",
        "PUBLIC_URL": "http://localhost",
    }
    text = request.getfixturevalue("api").get("/llms.txt").text
    assert "POST http://localhost/v1/x402/tenants/{tenant}/tickets/{ticket_id}/orders" in text
    assert "the default is $1" in text


def test_search_engines_leave_out_every_page_with_a_secret(app, api):
    answer = api.get("/robots.txt")
    assert answer.content_type == "text/plain; charset=utf-8"
    # No slug begins with "_".
    assert {word for word in HIDDEN if word[0] != "_"} <= RESERVED_SLUGS
    hidden = re.findall(r"Disallow: (/\w+)/\n", answer.text)
    assert hidden == [f"/{word}" for word in HIDDEN]
    for rule in pages(app):
        surface = app.blueprints[rule.endpoint.rpartition(".")[0]]
        assert isinstance(surface, PageBlueprint)
        first = "/" + rule.rule.strip("/").partition("/")[0]
        assert not surface.is_secret or first in hidden, rule


def test_errors_of_these_paths_are_for_programs(app):
    for path in ("/llms.txt", "/robots.txt"):
        answer = Api(app.test_client()).post(path)
        assert (answer.status_code, answer.mimetype) == (405, "application/problem+json")
