"""Headers that are hard to read: no library that reads them takes more than linear time."""

import pytest

from tests.support.databases import only_once
from tests.support.linear_time import LONG, grown, is_linear

MOST_BYTES = 8000
"""gunicorn accepts no longer header."""

HEADERS = (
    "Accept",
    "Accept-Encoding",
    "Accept-Language",
    "Authorization",
    "Content-Type",
    "Cookie",
    "Forwarded",
    "Idempotency-Key",
    "If-Match",
    "If-Modified-Since",
    "If-None-Match",
    "Mcp-Name",
    "Payment-Signature",
    "Range",
    "Referer",
    "User-Agent",
    "X-API-Key",
    "X-Forwarded-For",
    "X-Forwarded-Proto",
    "X-Request-ID",
)
PREFIXES = {"Authorization": "Bearer cs_", "Content-Type": "multipart/form-data; boundary="}
TEXTS = {
    "a quote after tabs": ("a=", "\t", '"'),
    "escapes": ('a="', '\\"', "a"),
    "quotes": ('a="', '",', ""),
    "commas": ("", ",", "a"),
    "semicolons": ("a", ";", "a"),
    "equals": ("a", "=", ";"),
    "pairs": ("", "a=a;", "a"),
    "percents": ("", "%41", "!"),
    "weak tags": ("", 'W/"a",', "a"),
    "spaces": ("a", " ", "a"),
    "dots": ("a", ".", "a"),
}


@pytest.fixture
def paths(acme):
    """A path of each kind of guard, and of each kind of response."""
    ticket = acme.ticket(price_amount=0, chain_id=None)
    order = acme.buyer(ticket).path
    event = f"{acme.public}/events/{ticket['event_id']}"
    return {
        "a cached response": ("GET", event),
        "a poll": ("GET", order),
        "an order": ("POST", f"{acme.checkout}/preflight"),
        "a payment": ("POST", f"/v1/x402/tenants/acme/tickets/{ticket['id']}/orders"),
        "the admin surface": ("GET", f"{acme.path}/events"),
        "a manifest": ("GET", f"/v1/door/tenants/acme/events/{ticket['event_id']}/manifest"),
        "an agent": ("POST", "/mcp"),
        "a page": ("GET", f"/acme/{ticket['event_id']}"),
        "the console": ("GET", "/console"),
        "a form": ("POST", "/console/sign-in"),
    }


@pytest.mark.exhaustive
@only_once
@pytest.mark.parametrize("text", TEXTS)
def test_headers_take_linear_time(text, app, paths):
    client = app.test_client(use_cookies=False)  # else it drops the header Cookie
    for method, path in paths.values():

        def ask(hostile, method=method, path=path):
            headers = {name: PREFIXES.get(name, "") + hostile for name in HEADERS}
            client.open(path, method=method, headers=headers).close()

        is_linear(ask, lambda size: grown(TEXTS[text], size * MOST_BYTES // LONG))
