"""Headers of every response for browsers, and which surfaces allow scripts of other sites."""

import pytest
import urllib3

from tests.support.apps import new_app
from tests.support.factories import Api
from tests.support.routes import endpoints
from tools.stack import Stack, free_port

pytestmark = pytest.mark.one_database

OPEN_TO_ALL = {"public", "checkout", "holders", "transfers", "voucher_tickets", "x402"}
OPEN_TO_ALL |= {"gasless", "waiting"}
PAGES = ("/healthz", "/docs", "/openapi.json", "/static/docs.js", "/", "/none", "/v1/auth/token")


@pytest.mark.parametrize("path", PAGES)
def test_every_answer_is_what_it_says_it_is_and_framed_by_nobody(api, path):
    answer = api.get(path)
    answer.close()
    headers = answer.headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert "Strict-Transport-Security" not in headers


@pytest.mark.parametrize(
    ("proxies", "scheme", "forwarded", "strict"),
    [
        ("", "https", None, True),
        ("", "http", "https", False),
        ("127.0.0.1", "http", "https", True),
        ("127.0.0.1", "http", "http", False),
        ("127.0.0.1", "http", None, False),
        ("192.0.2.0/24", "http", "https", False),
    ],
)
def test_behind_tls_a_browser_is_told_to_stay_there(environ, proxies, scheme, forwarded, strict):
    api = Api(new_app({**environ, "TRUSTED_PROXIES": proxies}).test_client())
    headers = {"X-Forwarded-Proto": forwarded} if forwarded else {}
    answer = api.get("/healthz", headers=headers, base_url=f"{scheme}://shop.example")
    told = answer.headers.get("Strict-Transport-Security")
    assert told == ("max-age=31536000" if strict else None)


def test_scripts_of_other_sites_may_use_the_shop_and_nothing_else(app, api):
    seen = set()
    for endpoint in endpoints(app):
        headers = {"Origin": "https://shop.example", "Access-Control-Request-Method": "GET"}
        for method in (endpoint.method, "OPTIONS"):
            answer = api.client.open(endpoint.path(tenant="acme"), method=method, headers=headers)
            allowed = answer.headers.get("Access-Control-Allow-Origin")
            assert allowed == ("*" if endpoint.surface in OPEN_TO_ALL else None), endpoint
            assert "Access-Control-Allow-Credentials" not in answer.headers
            seen.add(endpoint.surface)
    assert seen > OPEN_TO_ALL


@pytest.mark.long
def test_the_server_says_no_version(environ, tmp_path, starts_processes):
    with Stack({**environ, "PORT": str(free_port())}, log=tmp_path / "log") as stack:
        stack.start_web()
        for path in ("/healthz", "/none", "/docs"):
            headers = urllib3.request("GET", stack.url + path, timeout=60).headers
            assert headers["Server"] == "gunicorn"
            assert not {"X-Powered-By", "Via"} & headers.keys()
