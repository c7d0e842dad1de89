"""An organizer accepts that a little of a payment is missing, on a real chain.

Amounts in comments are USDC. Tickets cost 25, and 5 % may be missing: 1.25.
"""

import csv
import io

import pytest

from tests.support.admissions import admissions_of, void
from tests.support.carts import buyer_of, carts_of
from tests.support.console import sign_in
from tests.support.factories import Api, worker_once
from tests.support.refunds import give_back, settle
from ticketing.db.connection import database
from ticketing.services.payments import reconciliation
from tools import anvil

USDC = 1_000_000
PRICE = 25 * USDC
NEARLY = 24 * USDC


@pytest.fixture
def tolerant(acme):
    set_tolerance(acme, 5)
    return acme


@pytest.fixture
def ticket(tolerant):
    found = tolerant.ticket(price_amount=PRICE)
    worker_once(tolerant.app)
    return found


def set_tolerance(organizer, percent, **settings):
    body = {"payment_tolerance_percent": percent, **settings}
    api = organizer.with_headers({"X-API-Key": organizer.admin_key})
    assert api.patch(organizer.path, body).status_code == 200


def pay(buyer, node, amount):
    """Pay, and let the worker look. Return the transaction's hash."""
    tx_hash = buyer.pay(node, amount)
    worker_once(buyer.organizer.app)
    return tx_hash


def mine(organizer, node, blocks):
    node.rpc("anvil_mine", hex(blocks))
    worker_once(organizer.app)


def reorganize(organizer, node, depth):
    node.rpc("anvil_reorg", depth, [])
    worker_once(organizer.app)


def seen(buyer):
    """What the organizer sees of an order's money: status, forgiven, owed. The books are right."""
    assert reconciliation.reconcile(None) == []
    organizer = buyer.organizer
    api = organizer.with_headers({"X-API-Key": organizer.admin_key})
    intent = api.get(f"{organizer.path}/intents/{buyer.intent['id']}").json
    assert intent["amount_due"] == 0 or intent["status"] == "awaiting_payment"
    return intent["status"], intent["forgiven"] / USDC, intent["refund_due"] / USDC


@pytest.mark.parametrize(("more", "forgiven", "owed"), [(0.4, 0.6, 0), (1, 0, 0), (2, 0, 1)])
def test_what_is_missing_is_forgiven_until_it_comes(ticket, tolerant, node, more, forgiven, owed):
    buyer = tolerant.buyer(ticket)
    pay(buyer, node, NEARLY)
    assert seen(buyer) == ("confirmed", 1, 0)
    assert buyer.now()["flags"] == ["underpaid"]
    pay(buyer, node, int(more * USDC))
    assert seen(buyer) == ("confirmed", forgiven, owed)
    flags = {0.4: ["underpaid"], 1: [], 2: ["overpaid"]}
    assert buyer.now()["flags"] == flags[more]


def test_a_unit_less_is_not_enough_and_the_whole_rest_is_asked_for(ticket, tolerant, node):
    buyer = tolerant.buyer(ticket)
    pay(buyer, node, PRICE * 95 // 100 - 1)
    intent = buyer.now()
    assert (intent["status"], intent["amount_due"]) == ("awaiting_payment", 1_250_001)
    pay(buyer, node, 1)
    assert seen(buyer) == ("confirmed", 1.25, 0)


def test_it_is_at_most_the_other_setting_and_off_by_default(acme, node):
    strict = acme.ticket(price_amount=PRICE)
    before = acme.buyer(strict)
    set_tolerance(acme, 5, payment_tolerance_most=USDC)
    after = acme.buyer(strict)
    set_tolerance(acme, 0)
    for buyer in (before, after):
        pay(buyer, node, NEARLY)
    assert seen(before) == ("awaiting_payment", 0, 0)
    assert seen(after) == ("confirmed", 1, 0)


def test_an_order_is_processing_without_anything_due_until_less_is_final(
    three_deep, ticket, tolerant, node
):
    buyer = tolerant.buyer(ticket)
    pay(buyer, node, NEARLY)
    assert seen(buyer) == ("processing", 0, 0)
    assert buyer.purchase().status_code == 202
    mine(tolerant, node, 1)
    # More comes, which is not final yet. What came first is enough.
    pay(buyer, node, USDC // 2)
    assert seen(buyer) == ("confirmed", 0.5, 0)


def test_a_reorganization_of_more_reverses_nothing_and_one_of_all_does(
    three_deep, ticket, tolerant, node
):
    buyer = tolerant.buyer(ticket)
    tx_hash = pay(buyer, node, NEARLY)
    transaction = node.rpc("eth_getRawTransactionByHash", tx_hash)
    mine(tolerant, node, 2)
    pay(buyer, node, 2 * USDC)
    assert seen(buyer) == ("confirmed", 0, 1)
    reorganize(tolerant, node, 1)
    assert seen(buyer) == ("confirmed", 1, 0)
    assert [each.status for each in admissions_of(buyer)] == ["valid"]
    reorganize(tolerant, node, 4)
    assert seen(buyer) == ("reversed", 0, 0)
    node.rpc("eth_sendRawTransaction", transaction)
    worker_once(tolerant.app)
    assert seen(buyer) == ("reversed", 0, 0)
    mine(tolerant, node, 2)
    assert seen(buyer) == ("confirmed", 1, 0)


def test_a_late_order_needs_the_whole_amount(ticket, tolerant, node):
    short, whole = tolerant.buyer(ticket), tolerant.buyer(ticket)
    pass_time(tolerant, node, 1000)
    pay(short, node, NEARLY)
    pay(whole, node, PRICE)
    assert seen(short) == ("expired", 0, 24)
    assert seen(whole) == ("confirmed", 0, 0)


def pass_time(organizer, node, seconds):
    node.rpc("evm_increaseTime", seconds)
    mine(organizer, node, 1)


def test_half_of_what_is_enough_extends_the_hold_and_more_after_it_is_not_late(
    ticket, tolerant, node
):
    less, half = tolerant.buyer(ticket), tolerant.buyer(ticket)
    enough = PRICE * 95 // 100
    pay(less, node, enough // 2 - 1)
    pay(half, node, enough // 2)
    assert less.now()["expires_at"] == less.intent["expires_at"]
    assert half.now()["expires_at"] > half.intent["expires_at"]
    pay(half, node, enough // 2)
    pass_time(tolerant, node, 3000)
    pay(half, node, USDC // 4)
    assert (half.now()["status"], half.now()["flags"]) == ("confirmed", ["underpaid"])


def test_a_voided_seat_gives_its_whole_price_and_a_canceled_event_what_was_received(
    ticket, tolerant, node
):
    buyer = tolerant.buyer(ticket, quantity=2)
    pay(buyer, node, 49 * USDC)
    assert seen(buyer) == ("confirmed", 1, 0)
    assert void(tolerant, admissions_of(buyer)[0]).status_code == 200
    assert seen(buyer) == ("confirmed", 1, 25)
    api = tolerant.with_headers({"X-API-Key": tolerant.admin_key})
    path = f"{tolerant.path}/events/{ticket['event_id']}/status"
    assert api.post(path, {"status": "canceled", "refund": True}).status_code == 200
    assert seen(buyer) == ("confirmed", 1, 49)
    pay(buyer, node, USDC)
    assert seen(buyer) == ("confirmed", 0, 50)


def test_what_was_paid_back_counts_wholly_although_more_came_later(ticket, tolerant, node):
    buyer = tolerant.buyer(ticket, quantity=2)
    pay(buyer, node, 49 * USDC)
    void(tolerant, admissions_of(buyer)[0])
    tx_hash = give_back(node, PRICE)
    pay(buyer, node, USDC)
    settled = settle(tolerant, buyer, tx_hash)
    assert settled.json["refunded"] == PRICE
    assert seen(buyer) == ("confirmed", 0, 0)


def test_the_figures_count_what_was_kept(ticket, tolerant, node):
    two, one = tolerant.buyer(ticket, quantity=2), tolerant.buyer(ticket)
    pay(two, node, 49 * USDC)
    pay(one, node, PRICE)
    void(tolerant, admissions_of(two)[1])
    api, event = tolerant.api(), ticket["event_id"]
    (day,) = api.get(f"{tolerant.path}/sales?event_id={event}").json["data"]
    (of_type,) = api.get(f"{tolerant.path}/sales?event_id={event}&by=ticket").json["data"]
    assert [day["amount"], day["kept"], day["owed"]] == [75 * USDC, 49 * USDC, 25 * USDC]
    assert [of_type["amount"], of_type["kept"]] == [75 * USDC, 49 * USDC]
    file = api.get(f"{tolerant.path}/events/{event}/orders.csv").data.decode("utf-8-sig")
    rows = {row["intent_id"]: row for row in csv.DictReader(io.StringIO(file, newline=""))}
    found = [
        [rows[each.intent["id"]][name] for name in ("kept", "forgiven")] for each in (two, one)
    ]
    assert found == [[str(24 * USDC), str(USDC)], [str(PRICE), "0"]]
    assert list(rows[one.intent["id"]])[-1] == "forgiven"


def test_what_is_forgiven_is_taken_off_the_first_seats(tolerant, node):
    event = carts_of(tolerant)
    badge = tolerant.ticket(event, name="Badge", price_amount=USDC // 2, admission=False)
    ticket = tolerant.ticket(event, price_amount=PRICE)
    worker_once(tolerant.app)
    buyer = buyer_of(tolerant, (badge, 2), (ticket, 1))
    pay(buyer, node, 26 * USDC - 1_300_000)
    assert seen(buyer) == ("confirmed", 1.3, 0)
    answer = tolerant.api().get(f"{tolerant.path}/sales?event_id={event['id']}&by=ticket")
    kept = {each["ticket_id"]: each["kept"] for each in answer.json["data"]}
    assert kept == {badge["id"]: 0, ticket["id"]: 24_700_000}


def test_buyers_and_agents_see_nothing_of_it(ticket, tolerant, node):
    buyer = tolerant.buyer(ticket)
    pay(buyer, node, NEARLY)
    public = Api(tolerant.app.test_client())
    event = public.get(f"{tolerant.public}/events/{ticket['event_id']}")
    answers = [buyer.api.get(buyer.path), buyer.purchase(), event, public.get("/llms.txt")]
    for answer in answers:
        assert answer.status_code == 200
        assert "toleran" not in answer.text and "forgiven" not in answer.text


def test_the_console_explains_the_setting_and_says_what_was_forgiven(ticket, tolerant, node):
    console = sign_in(tolerant)
    assert "This month nothing was missing." in console.get("/console/settings").text
    form = {"name": "Acme", "payment_tolerance_percent": "4", "payment_tolerance_most": "0.8"}
    assert console.send("/console/settings", form).status_code == 303
    settings = console.get("/console/settings").text
    assert 'value="4"' in settings and 'value="0.80"' in settings
    buyer = tolerant.buyer(ticket)
    pay(buyer, node, PRICE - 800_000)
    page = console.get(f"/console/orders/{buyer.intent['id']}").text
    assert "<dt>Missing, and accepted</dt><dd>0.80 USDC</dd>" in page
    settings = console.get("/console/settings").text
    assert "This month 0.80 USDC were missing, and accepted, in 1 order." in settings
    (admission,) = admissions_of(buyer)
    page = console.get(f"/console/attendees/{admission.id}").text
    assert "Yes: 24.20 USDC are due to the buyer" in page
    cancel = console.get(f"/console/events/{ticket['event_id']}/cancel").text
    assert "Owe it back: 24.20 USDC" in cancel
    refused = console.send("/console/settings", {**form, "payment_tolerance_percent": "6"})
    assert 'id="payment_tolerance_percent-error"' in refused.text


def test_books_without_the_tolerance_are_wrong(ticket, tolerant, node):
    buyer = tolerant.buyer(ticket)
    pay(buyer, node, NEARLY)
    for wrong in ("tolerance = 999999", "ended_at = created_at"):
        with database.atomic() as attempt:
            where = f"WHERE id = '{buyer.intent['id']}'"
            database.execute_sql(f"UPDATE payment_intents SET {wrong} {where}")
            (breach,) = reconciliation.reconcile(None)
            assert (breach.rule, breach.ids) == ("every_unit_accounted", [buyer.intent["id"]])
            attempt.rollback()


@pytest.fixture
def cents(environ, node):
    """A chain outside the registry. Its token has 2 decimals."""
    environ["CONFIRMATIONS_777"] = "1"
    with anvil.Anvil(chain_id=777) as chain:
        token = anvil.deploy_token(chain.rpc, decimals=2)
        anvil.mint(chain.rpc, token, anvil.BUYER, 10**9)
        environ["RPC_URL_777"], environ["TOKEN_ADDRESS_777"] = chain.url, token
        yield chain


def test_what_may_be_missing_is_whole_in_a_token_of_cents(cents, acme):
    """5 % of 25.50 are 1.275."""
    set_tolerance(acme, 5)
    worker_once(acme.app)
    ticket = acme.ticket(chain_id=777, price_amount=25_500_000)
    whole, nearly, short, unpaid = (acme.buyer(ticket) for _ in range(4))
    for buyer, amount in ((whole, 2550), (nearly, 2423), (short, 2422)):
        buyer.pay(cents, amount)
    worker_once(acme.app)
    assert seen(whole) == ("confirmed", 0, 0)
    assert seen(nearly) == ("confirmed", 1.27, 0)
    assert seen(short) == ("awaiting_payment", 0, 0)
    assert unpaid.cancel().status_code == 200
