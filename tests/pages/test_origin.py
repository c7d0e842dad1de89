"""Which hosts get pages, and how errors outside the API look."""

import pytest

from tests.support.apps import new_app
from tests.support.databases import only_once
from tests.support.factories import Api
from tests.support.routes import pages
from ticketing.pages.blueprint import CONTENT_SECURITY_POLICY, PageBlueprint


@pytest.fixture
def at(environ, acme):
    """Open a page at a Host, with a PUBLIC_URL."""

    def at(host, public_url=None, path="/acme"):
        known = {} if public_url is None else {"PUBLIC_URL": public_url}
        api = Api(new_app({**environ, **known}).test_client())
        return api.get(path, headers={"Host": host})

    return at


@only_once
@pytest.mark.parametrize(
    ("host", "public_url", "status"),
    [
        ("localhost", None, 200),
        ("127.0.0.1:8000", None, 200),
        ("[::1]:8000", None, 200),
        ("tickets.example.org", None, 421),
        ("127.0.0.1.evil.example", None, 421),
        ("", None, 421),
        ("tickets.example.org", "https://tickets.example.org", 200),
        ("TICKETS.example.org:443", "https://tickets.example.org", 200),
        ("tickets.example.org", "https://tickets.example.org:443", 200),
        ("tickets.example.org:8080", "http://tickets.example.org:8080", 200),
        ("127.0.0.1", "https://tickets.example.org", 421),
        ("127.0.0.1", "http://192.168.1.20:8000", 200),
        ("192.168.1.20:8000", "http://192.168.1.20:8000", 200),
        ("192.168.1.21:8000", "http://192.168.1.20:8000", 421),
        ("tickets.example.org.evil.example", "https://tickets.example.org", 421),
        ("tickets.example.org@evil.example", "https://tickets.example.org", 421),
    ],
)
def test_only_the_public_address_has_pages(at, host, public_url, status):
    assert at(host, public_url).status_code == status


@only_once
def test_an_empty_path_is_the_start_page_of_the_public_address_only(environ, acme):
    """`GET http://evil` has an empty path. A redirect would be made from the Host."""
    known = {**environ, "PUBLIC_URL": "https://tickets.example.org"}
    client = new_app(known).test_client()

    def open_(host):
        base = f"http://{host}"
        return client.get("/", base_url=base, environ_overrides={"PATH_INFO": ""})

    assert open_("evil.example").status_code == 421
    assert "Location" not in open_("evil.example").headers
    assert open_("tickets.example.org").status_code == 200


def test_links_are_made_from_the_public_address(at, acme):
    event = acme.event(title="Night", status="published")
    page = at("tickets.example.org", "https://tickets.example.org", f"/acme/{event['slug']}")
    assert 'href="https://tickets.example.org/acme/night"' in page.text


def test_programs_get_answers_at_any_host(at):
    for path in ("/healthz", "/v1/public/tenants/acme/events", "/openapi.json"):
        assert at("any.example", "https://tickets.example.org", path).status_code == 200


def test_errors_are_pages_but_for_programs(api):
    for path in ("/none", "/none/none", "/x%00", "/_later", "/acme/a/b/c", "/" + "x" * 4000):
        page = api.get(path)
        assert (page.status_code, page.mimetype) == (404, "text/html"), path
        assert "X-Request-ID" in page.headers and path not in page.text
        assert page.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    for path in ("/v1/none", "/v1", "/static/none", "/mcp/none", "/.well-known/none"):
        assert api.get(path).mimetype == "application/problem+json", path


def test_a_wrong_method_says_the_right_ones(api):
    page = api.client.delete("/")
    assert (page.status_code, page.mimetype) == (405, "text/html")
    assert "GET" in page.headers["Allow"]


def test_every_page_has_a_guard_and_says_that_it_is_safe(app):
    found = {rule.endpoint.rpartition(".")[0] for rule in pages(app)}
    assert found == {
        name for name, each in app.blueprints.items() if isinstance(each, PageBlueprint)
    }
    assert all(app.blueprints[name].guard for name in found)


def test_a_form_that_is_too_large_is_refused(api, acme):
    event = acme.event(title="Night", status="published")
    answer = api.client.post(
        f"/acme/{event['slug']}/order",
        data={"name": "x" * 20_000},
        headers={"Sec-Fetch-Site": "same-origin"},
    )
    assert answer.status_code == 413
