"""What an operator does not use costs a request nothing: the core runs no code of other parts."""

import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_database

ROOT = Path(__file__).parents[2]
PARTS = {
    "agents": ("mcp", "x402", "robots_and_llms"),
    "door": ("door", "door_devices", "pairing"),
    "console and pages": ("console", "pages"),
}

NEEDED = {
    # The text of the QR code is in the response of every purchase.
    "ticketing/services/door/ticket_signing",
    "ticketing/services/door/base45",
    # It decides, by the path, whether an error without a view is a page.
    "ticketing/pages/problems",
}


@contextmanager
def files_run():
    """Record the files of the service whose functions this thread runs."""
    found = set()

    def record(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(ROOT) and frame.f_code.co_name != "<module>":
            found.add(path.relative_to(ROOT).with_suffix("").parts)

    before = sys.getprofile()
    sys.setprofile(record)
    try:
        yield found
    finally:
        sys.setprofile(before)


def run_core(api, acme):
    """Send requests of the core's surfaces. Return the files they ran."""
    ticket = acme.ticket(price_amount=0)
    events = f"/v1/public/tenants/{acme.slug}/events"
    reads = ("events", "intents", "admissions", "sales", "wallet", "apikeys", "audit-log")
    organizer = acme.with_headers({"X-API-Key": acme.admin_key})
    with files_run() as found:
        for path in ("/healthz", "/readyz", "/v1/chains", "/v1/nothing/here"):
            api.get(path)
        for path in (events, events, f"{events}/{ticket['event_id']}/tickets"):
            assert api.get(path).status_code == 200
        canceled, buyer = acme.buyer(ticket), acme.buyer(ticket)
        assert canceled.cancel().status_code == 200
        assert buyer.purchase().status_code == 200
        assert buyer.now()["status"] == "confirmed"
        for path in reads:
            assert organizer.get(f"{acme.path}/{path}").status_code == 200
    return found


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", PARTS)
def test_the_core_runs_no_code_of(part, api, acme):
    found = run_core(api, acme)
    assert ("ticketing", "services", "checkout") in found
    assert {"/".join(each) for each in found if set(each) & set(PARTS[part])} <= NEEDED
