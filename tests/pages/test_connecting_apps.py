"""Both official MCP clients, unmodified, sign a member in through a real Chromium."""

import json
import subprocess
import sys
from contextlib import contextmanager
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.support import mcp, oauth_client
from tests.support.browser import axe
from tests.support.certificates import Authority
from tests.support.console import PASSWORD
from tests.support.databases import only_once
from tests.support.oauth import Documents
from tools import headless, installer
from tools.stack import ROOT

pytestmark = [pytest.mark.long, only_once]


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


@pytest.fixture
def documents(authority):
    with Documents(*authority.certificate("localhost")) as server:
        yield server


@pytest.fixture
def variables(variables, authority):
    return {
        **variables,
        "PUBLIC_URL": f"http://127.0.0.1:{variables['PORT']}",
        "WEBHOOK_ALLOW": "127.0.0.0/8,::1/128",
        "SSL_CERT_FILE": str(authority.path),
    }


@contextmanager
def program(command, **options):
    """Run a client. Its standard output has what it says."""
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )
    try:
        yield running
    finally:
        running.kill()
        running.communicate()


def python(*arguments):
    return program([sys.executable, "-m", "tests.support.oauth_client", *arguments], cwd=ROOT)


def node(*arguments):
    code = (mcp.PINS / "oauth.mjs").read_text()
    folder = installer.from_npm(mcp.PINS, f"mcp-{mcp.PINS.name}")
    command = [*installer.node(), "--input-type=module", "-e", code, *arguments]
    return program(command, cwd=folder)


@pytest.fixture(params=[headless.PHONE, headless.DESKTOP], ids=["phone", "desktop"])
def page(request, chromium, stack, remote):
    """A browser in which an administrator has accepted an invitation."""
    asked = {"email": "ada@example.org", "role": "admin"}
    invited = remote.send("POST", f"{remote.path}/members", asked).json
    context = chromium.new_context(base_url=stack.url, **request.param)
    page = context.new_page()
    page.goto(invited["invitation_url"])
    page.get_by_label("New password").fill(PASSWORD)
    page.get_by_role("button").click()
    page.wait_for_url("**/console")
    yield page
    context.close()


@pytest.mark.parametrize("client", [python, node])
@pytest.mark.parametrize("is_described", [False, True], ids=["registered", "described"])
def test_a_client_signs_a_member_in(client, is_described, page, stack, remote, documents):
    said = []
    page.on("console", lambda message: said.append(message.text))
    tenant = remote.path.rpartition("/")[2]
    uri = oauth_client.REDIRECT_URI.replace(":7878", "")
    if is_described:
        stack.start_worker()
    more = [documents.describe(redirect_uris=[uri])] if is_described else []
    with client(f"{stack.url}/mcp/organizer", tenant, *more) as running:
        url = running.stdout.readline().strip()
        assert url.startswith(f"{stack.url}/console/connect?"), running.stderr.read()
        page.goto(url)
        expect(page.get_by_text("a program on this computer")).to_be_visible()
        assert page.get_by_text(documents.url("").removeprefix("https://")).count() == is_described
        assert axe(page) == []
        page.get_by_role("button", name="Connect", exact=True).click()
        expect(page.get_by_text("Connected")).to_be_visible()
        found = json.loads(running.stdout.readline() or running.stderr.read())
    assert {"sales", "list_attendees"} <= {*found["tools"]} and "check_in" not in found["tools"]
    assert found["sales"]["data"] == []
    assert [each for each in said if "Security" in each] == []
    page.goto("/console/apps")
    expect(page.get_by_role("row")).to_have_count(2)
    assert axe(page) == []
    page.get_by_role("button", name="End").click()
    expect(page.get_by_text("No app is connected")).to_be_visible()


def test_an_app_that_asks_wrongly_gets_a_person_back_by_a_click_only(page, stack, remote):
    sent = {"client_name": "Assistant", "redirect_uris": ["https://assistant.example/callback"]}
    made = remote.send("POST", "/v1/oauth/register", sent)
    assert made.status == 201, made.json
    query = {"client_id": made.json["client_id"], "redirect_uri": sent["redirect_uris"][0]}
    page.goto(f"/console/connect?{urlencode({**query, 'scope': 'nothing'})}")
    assert page.url.startswith(stack.url)
    link = page.get_by_role("link", name="Back to assistant.example")
    expect(link).to_be_visible()
    assert axe(page) == []
    for _ in range(10):
        page.keyboard.press("Tab")
        if link.evaluate("each => each === document.activeElement"):
            break
    expect(link).to_be_focused()
