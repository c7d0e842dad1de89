"""Both official MCP clients, unmodified, at a real server: they list, quote, order and check in."""

from uuid import uuid4

import pytest

from tests.support import mcp
from tests.support.databases import only_once
from tests.support.factories import in_days
from tools import anvil

pytestmark = [pytest.mark.long, only_once]

BUYERS = {
    "find_events",
    "list_events",
    "get_event",
    "list_tickets",
    "quote",
    "order_ticket",
    "order_status",
    "cancel_order",
    "get_ticket",
    "join_waiting_list",
}
ORGANIZERS = {"sales", "list_attendees", "check_in", "owed_refunds"}


def python_stateless(url, headers, calls):
    return mcp.by_python("auto", url, headers, calls)


def python_handshake(url, headers, calls):
    return mcp.by_python("legacy", url, headers, calls)


def node_of_2025(url, headers, calls):
    return mcp.by_node(url, headers, calls, mcp.PINS_OF_2025)


@pytest.fixture(params=[python_stateless, python_handshake, mcp.by_node, node_of_2025])
def client(request, stack):
    """Connect with a client, list the tools and make calls."""

    def connect(*calls, **headers):
        return request.param(f"{stack.url}/mcp", headers, calls)

    return connect


def test_a_client_buys_a_ticket_and_the_door_lets_its_holder_in(client, node, stack, remote):
    tenant = remote.path.rpartition("/")[2]
    ticket = remote.ticket()
    named = {"tenant": tenant, "event_id": ticket["event_id"]}
    wanted = {**named, "ticket_id": ticket["id"]}
    key = uuid4().hex
    seen = client(
        ("list_events", {"tenant": tenant}),
        ("list_tickets", named),
        ("quote", {**wanted, "quantity": 2}),
        ("order_ticket", {**wanted, "idempotency_key": key}),
        ("order_ticket", {**wanted, "idempotency_key": key}),
    )
    assert seen.tools.keys() == BUYERS
    events, tickets, quote, order, again = seen.results
    assert [each["id"] for each in events["data"]] == [ticket["event_id"]]
    assert [each["id"] for each in tickets["data"]] == [ticket["id"]]
    assert quote["amount"] == 2 * ticket["price_amount"]
    assert order == again and order["status"] == "awaiting_payment"

    anvil.transfer(node.rpc, order["token_address"], order["address"], order["atomic_amount"])
    node.rpc("anvil_mine", hex(order["required_confirmations"]))
    opened = {
        "tenant": tenant,
        "intent_id": order["id"],
        "client_secret": order["client_secret"],
    }
    (paid,) = client(("order_status", opened)).results
    assert paid["status"] == "confirmed"
    (admission,) = paid["admissions"]
    opened = {"tenant": tenant, "admission_id": admission["id"], "code": admission["code"]}
    (held,) = client(("get_ticket", opened)).results
    assert held["qr"] == admission["qr"]

    event = f"{remote.path}/events/{ticket['event_id']}"
    assert remote.send("PATCH", event, {"doors_open_at": in_days(-1)}).status == 200
    scan = {**named, "nonce": str(uuid4()), "qr": held["qr"]}
    door = client(
        ("check_in", scan),
        ("check_in", scan),
        ("check_in", {**scan, "nonce": str(uuid4())}),
        ("list_attendees", {**named, "redeemed": True}),
        ("sales", {"tenant": tenant}),
        ("owed_refunds", {"tenant": tenant}),
        **remote.headers,
    )
    assert door.tools.keys() == BUYERS | ORGANIZERS
    first, repeated, second, attendees, sales, refunds = door.results
    assert first["outcome"] == "admitted" and repeated == first
    assert second["outcome"] == "already_redeemed"
    assert [each["id"] for each in attendees["data"]] == [admission["id"]]
    assert [each["tickets"] for each in sales["data"]] == [1]
    assert refunds["data"] == []
