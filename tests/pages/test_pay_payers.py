"""The page tells which account pays when a wallet has answered: a refund can go back to it."""

from datetime import timedelta

import pytest

from tests.support import buying
from tests.support.databases import only_once
from tests.support.factories import CHAIN
from tests.support.injected_wallet import InjectedWallet, until_asked
from tests.support.remote import eventually
from ticketing.db.connection import database, open_database
from ticketing.models.payment_reports import PaymentReport
from ticketing.models.payments import Payment
from tools import anvil
from tools.headless import DESKTOP

pytestmark = [pytest.mark.long, only_once]

SEND = "eth_sendTransaction"
TOO_LATE = timedelta(minutes=4)


@pytest.fixture
def books(stack):
    """The database of the service."""
    open_database(stack.database_url)
    yield stack
    database.close()


@pytest.fixture
def with_wallet(books, node, remote, visit):
    """A function that orders a ticket with a wallet in the browser."""

    def with_wallet(**options):
        wallet = InjectedWallet([anvil.BUYER], {CHAIN: node}, **options)
        page = visit(books.url, script=wallet.script, **DESKTOP)
        wallet.connect(page)
        return buying.order(page, node, remote)

    return with_wallet


def press(bought, page=None, **changes):
    page = page or bought.page
    page.evaluate("changes => { Object.assign(wallet, changes) }", changes)
    page.get_by_role("button", name="with Stub").click()


def until_told(page):
    """Wait until something is told. The wallet answers while this process asks the page."""
    eventually(lambda: page.evaluate("true") and PaymentReport.select().count() == 1)


def until_decided(bought):
    """Wait until the worker has booked its payment and looked where it came from."""
    eventually(lambda: bought.now()["status"] == "confirmed")
    eventually(lambda: Payment.get().proof_due_at is None)
    return Payment.get()


def test_the_page_tells_who_pays_as_soon_as_the_wallet_has_answered(with_wallet, books):
    bought = with_wallet()
    press(bought)
    until_told(bought.page)
    report = PaymentReport.get()
    assert (report.account, report.chain_id) == (anvil.BUYER, CHAIN)
    books.start_worker()
    bought.says("Paid")
    payment = until_decided(bought)
    assert (payment.proven, payment.tx_hash) == ("wallet", report.tx_hash)


def test_the_page_of_a_payment_link_tells_it_too(with_wallet, books):
    bought = with_wallet()
    link = bought.page.locator("#payment-link").text_content()
    friend = bought.page.context.new_page()
    friend.goto(link)
    press(bought, friend)
    until_told(friend)
    books.start_worker()
    bought.says("Paid")
    assert until_decided(bought).proven == "wallet"


def test_it_tells_it_also_if_the_page_is_closed_at_once(with_wallet, books):
    bought = with_wallet()
    page = bought.page
    page.evaluate(
        """document.addEventListener("payment-sent", () => { location.href = "about:blank"; })"""
    )
    press(bought)
    page.wait_for_url("about:blank")
    until_told(page)


def test_if_it_cannot_be_told_the_order_is_paid_all_the_same(with_wallet, books, visit):
    visit.expect("ERR_FAILED")
    bought = with_wallet()
    bought.page.route("**/payers", lambda route: route.abort())
    books.start_worker()
    press(bought)
    bought.says("Paid")
    assert until_decided(bought).proven is None
    assert PaymentReport.select().count() == 0


def test_a_hash_that_a_wallet_replaced_proves_nothing(with_wallet, books, node):
    """Ada lets her wallet send the payment again with a higher fee. The page knows the first."""
    bought = with_wallet()
    node.rpc("evm_setAutomine", False)
    press(bought)
    until_told(bought.page)
    (first,) = node.rpc("txpool_content")["pending"][anvil.BUYER.lower()].values()
    fee = hex(2 * int(first["maxFeePerGas"], 16))
    again = {name: first[name] for name in ("from", "to", "nonce")} | {"data": first["input"]}
    faster = {"maxFeePerGas": fee, "maxPriorityFeePerGas": fee}
    second = node.rpc(SEND, again | faster)
    node.rpc("anvil_mine", "0x1")
    node.rpc("evm_setAutomine", True)
    books.start_worker()
    bought.says("Paid")
    payment = until_decided(bought)
    assert payment.tx_hash == second != PaymentReport.get().tx_hash
    assert payment.proven is None


def test_a_wallet_that_answers_minutes_after_its_payment_proves_nothing(with_wallet, books):
    bought = with_wallet()
    press(bought, hangs=[SEND])
    until_asked(bought.page, SEND)
    assert PaymentReport.select().count() == 0
    bought.page.evaluate("wallet.waiting.splice(0).forEach((go) => go())")
    until_told(bought.page)
    # As if its wallet had let it wait for so long. The worker looks now all the same.
    late = PaymentReport.get().told_at + TOO_LATE
    PaymentReport.update(told_at=late).execute()
    books.start_worker()
    bought.says("Paid")
    eventually(lambda: Payment.select().exists())
    Payment.update(proof_due_at=Payment.seen_at).execute()
    assert until_decided(bought).proven is None
