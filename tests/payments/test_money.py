"""The figures of one night: each has one value, wherever it is shown."""

import csv
import io
import re

import pytest

from tests.support import mcp
from tests.support.admissions import admissions_of, invite, void
from tests.support.buying import balance
from tests.support.console import sign_in
from tests.support.factories import CHAIN, cli, worker_once
from tests.support.payouts import with_address
from tests.support.refunds import give_back, pass_hours, settle, state, waive
from ticketing.constants import MICRO_UNIT_DECIMALS
from ticketing.models.wallets import Wallet
from ticketing.services.wallets import issuing
from tools import anvil

pytestmark = pytest.mark.sql

USDC = 10**MICRO_UNIT_DECIMALS
SUMS = ("received", "kept", "open", "owed", "refunded", "waived")


def paid(organizer, node, ticket, amount, **order):
    """A buyer who sent so many USDC."""
    buyer = organizer.buyer(ticket, **order)
    buyer.pay(node, amount * USDC)
    return buyer


@pytest.fixture
def night(app, node):
    """An organizer after a night on which everything happened. A ticket costs 5 USDC.

    Each comment has what the order kept, owes, and so on.
    """
    venue = with_address(app, node)
    late = paid(venue, node, ticket := venue.ticket(), 2)  # owed 2: it expires
    worker_once(app)
    pass_hours(node, 1)
    worker_once(app)
    assert late.now()["status"] == "expired"

    paid(venue, node, ticket, 5)  # kept 5
    pair = paid(venue, node, ticket, 10, quantity=2)  # kept 5, owed 5: one is voided
    twice = paid(venue, node, ticket, 7)  # kept 5, refunded 2
    dear = paid(venue, node, ticket, 6)  # kept 5, waived 1
    gone = paid(venue, node, ticket, 5)  # kept 5: voided without a refund
    paid(venue, node, ticket, 3)  # open 3
    canceled = venue.event(title="Canceled Night")
    sad = paid(venue, node, venue.ticket(canceled), 5)  # owed 5
    worker_once(app)

    assert void(venue, admissions_of(pair)[0]).status_code == 200
    assert void(venue, admissions_of(gone)[0], refund=False).status_code == 200
    assert invite(venue, ticket, {"name": "Ada"}, {"name": "Bo"}).status_code == 201
    assert state(twice, anvil.BUYER).status_code == 200
    assert settle(venue, twice, give_back(node, 2 * USDC)).status_code == 200
    assert waive(venue, dear, USDC).status_code == 200
    path = f"{venue.path}/events/{canceled['id']}/status"
    assert venue.api().post(path, {"status": "canceled", "refund": True}).status_code == 200
    assert sad.now()["refund_due"] == 5 * USDC
    venue.night, venue.canceled = ticket["event_id"], canceled["id"]
    return venue


def money(organizer, role="read"):
    answer = organizer.api(role).get(f"{organizer.path}/money")
    assert answer.status_code == 200, answer.json
    return answer.json["data"]


def collect(organizer, node):
    """Move what can be moved, as anybody may, and let the worker look."""
    query = {"chain_id": CHAIN}
    # The first time the factory is deployed: what comes after it was not tried.
    for _ in range(2):
        asked = organizer.api().get(f"{organizer.path}/collections", query_string=query).json
        for each in asked["transactions"]:
            anvil.send(node.rpc, 2, {"to": each["to"], "data": each["data"]})
    worker_once(organizer.app)


def in_usdc(row, *names):
    return {name: row[name] / USDC for name in names}


def sales(organizer, **query):
    answer = organizer.api("read").get(f"{organizer.path}/sales", query_string=query)
    (day,) = answer.json["data"]
    return {name: value for name, value in day.items() if name != "day"}


def of_day(orders, tickets, amount, kept, owed, refunded):
    sums = {"amount": amount, "kept": kept, "owed": owed, "refunded": refunded}
    return {"orders": orders, "tickets": tickets, "merchandise": 0} | {
        name: value * USDC for name, value in sums.items()
    }


def tiles(member, path):
    """Return the figures of a page of the console, the first of each name, and of its chart."""
    page = member.get(path).text
    found = re.findall(r"<dt>(.*?)(?:<span.*?</span>)?</dt><dd>(.*?)</dd>", page)
    table = re.findall(r'<td class="number"[^>]*>([\d.]+)</td>', page.partition("<tbody>")[2])
    return dict(reversed(found)), table[:5]


def sums_of_files(organizer, *event_ids):
    """Return the sums of the columns of the files of orders, in USDC."""
    sums = dict.fromkeys(("kept", "open", "refund_due", "refunded", "waived"), 0)
    for event_id in event_ids:
        file = organizer.api("read").get(f"{organizer.path}/events/{event_id}/orders.csv")
        text = file.data.decode("utf-8-sig")
        for row in csv.DictReader(io.StringIO(text, newline="")):
            for name in sums:
                sums[name] += int(row[name])
    return {name: value / USDC for name, value in sums.items()}


def test_every_surface_has_the_same_figures_of_a_night(night, neighbour):
    (row,) = money(night)
    sums = {"kept": 25, "open": 3, "owed": 12, "refunded": 2, "waived": 1}
    assert in_usdc(row, *SUMS) == {"received": 43, **sums} and sum(sums.values()) == 43
    assert (row["chain_id"], row["network"]) == (CHAIN, "Local")
    assert row["token_address"] == anvil.TOKEN_ADDRESS and row["as_of"].endswith("Z")
    assert money(neighbour) == []

    of_night, of_canceled = of_day(5, 4, 30, 25, 5, 2), of_day(1, 0, 5, 0, 5, 0)
    assert sales(night, event_id=night.night) == of_night
    assert sales(night, event_id=night.canceled) == of_canceled
    assert sales(night) == of_day(6, 4, 35, 25, 10, 2)
    found = mcp.call(night.api("read"), "sales", tenant=night.slug, event_id=night.night)
    assert found["data"][0].items() >= of_night.items()

    sums["refund_due"] = sums.pop("owed")
    assert sums_of_files(night, night.night, night.canceled) == sums

    member = sign_in(night, "read")
    figures, table = tiles(member, "/console")
    assert (figures["Tickets"], figures["Guests"]) == ("4", "2")
    assert (figures["Kept, in USDC"], figures["Owed back"]) == ("25.00", "12.00")
    assert (figures["Paid back"], figures["Not decided yet"]) == ("2.00", "3.00")
    assert table == ["6", "4", "25.00", "10.00", "2.00"]
    figures, table = tiles(member, f"/console/events/{night.night}")
    assert (figures["Tickets"], figures["Guests"]) == ("4", "2")
    # The tile has the 2 of the order that expired, too: it has no day of sale.
    assert (figures["Kept, in USDC"], figures["Owed back"]) == ("25.00", "7.00")
    assert table == ["5", "4", "25.00", "5.00", "2.00"]
    figures, _ = tiles(member, f"/console/events/{night.canceled}")
    assert (figures["Tickets"], figures["Kept, in USDC"]) == ("0", "0.00")
    assert figures["Owed back"] == "5.00"


@pytest.mark.long
def test_what_is_moved_changes_nothing_that_is_kept_or_owed(night, node):
    before = money(night)[0]
    assert before["to_collect"] == {"orders": 6, "amount": 38 * USDC}
    assert before["collected"] == 0
    collect(night, node)
    after = money(night)[0]
    assert after["to_collect"] == {"orders": 0, "amount": 0}
    assert after["collected"] == 38 * USDC
    assert in_usdc(after, *SUMS) == in_usdc(before, *SUMS)


@pytest.mark.long
def test_what_came_after_an_order_was_collected_is_collected_next(app, node):
    venue = with_address(app, node)
    first, _ = (paid(venue, node, venue.ticket(), 5) for _ in range(2))
    worker_once(app)
    collect(venue, node)
    first.pay(node, 2 * USDC)
    worker_once(app)
    (row,) = money(venue)
    assert (row["collected"], row["to_collect"]) == (10 * USDC, {"orders": 1, "amount": 2 * USDC})

    collect(venue, node)  # the second transfer of one order

    (row,) = money(venue)
    assert (row["collected"], row["to_collect"]) == (12 * USDC, {"orders": 0, "amount": 0})


@pytest.mark.long
def test_money_without_an_order_is_shown_and_can_be_moved(app, node):
    venue = with_address(app, node)
    paid(venue, node, venue.ticket(), 5)
    worker_once(app)
    assert cli(app, "db", "restored", "--skip", "1200").endswith("skipped 2 to 1201\n")
    (wallet,) = Wallet.select().where(Wallet.tenant_id == venue.id)
    # A buyer paid an order that came after the backup, and a stranger the gathering receiver.
    for address in (issuing.address_of(wallet, 1201), wallet.gathering):
        anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, address, 3 * USDC)
    worker_once(app)
    (row,) = money(venue)
    assert row["unknown_orders"] == {"orders": 1, "amount": 3 * USDC}
    assert (row["unassigned_at_gathering"], row["received"]) == (3 * USDC, 5 * USDC)
    page = sign_in(venue).get("/console/money").text
    assert "<b>11.00</b>" in page and page.count("3.00 USDC of what can be moved") == 2
    owner = balance(node, wallet.owner)
    collect(venue, node)
    assert balance(node, wallet.owner) - owner == 11 * USDC
    (row,) = money(venue)
    assert row["unknown_orders"] == {"orders": 0, "amount": 0}
    assert (row["unassigned_at_gathering"], row["collected"]) == (0, 5 * USDC)
