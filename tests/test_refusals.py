"""Each refusal, in one situation: the API, the pages, MCP and x402 give the same reason."""

import pytest

from tests.support.refusals import access, events, money, orders, tickets
from tests.support.refusals.money import ON_CHAIN
from tests.support.refusals.shop import X402, Shop
from tests.support.stored_rows import rows
from ticketing.errors import (
    AlreadyPaying,
    Conflict,
    EmailPutBack,
    EventOver,
    IdempotencyStillRunning,
    IntentReversed,
    InThePast,
    NoEmail,
    NotRedeemed,
    OwnerNotConfirmed,
    PaymentSent,
    SecondFactorNeeded,
    TooManyMessages,
    TooManyPayers,
    TooManyScans,
    TransferOutdated,
    TransferRefused,
    VoucherHeld,
    VoucherNotApplicable,
    X402CallsUsed,
    X402ShareHeld,
)
from ticketing.errors.box_office import BoxOfficeFull
from ticketing.errors.pages import TooManyApps
from ticketing.errors.returns import (
    NotReturnable,
    RefundAddressMissing,
    ReturnInProgress,
    ReturnOffered,
    ReturnsClosed,
)
from ticketing.errors.waiting import (
    EntryEnded,
    NotSoldOut,
    OfferMade,
    TooManyPlaces,
    WaitingListClosed,
    WaitingListFull,
)
from ticketing.services.access import passwords

pytestmark = pytest.mark.one_database

REFUSALS = orders.REFUSALS | tickets.REFUSALS | events.REFUSALS | money.REFUSALS | access.REFUSALS

PROVED_ELSEWHERE = {
    AlreadyPaying: "needs two networks: tests/payments/test_strays.py",
    IdempotencyStillRunning: "needs a request that runs: tests/api/test_idempotency.py",
    IntentReversed: "needs a reorganization: tests/payments/test_reorganized.py",
    X402ShareHeld: "x402 only: tests/x402/test_ordering.py",
    EventOver: "its clock is moved: tests/api/test_obstacles.py",
    InThePast: "its clock is moved: tests/api/test_erasure.py",
    SecondFactorNeeded: "needs an app that shows codes: tests/console/test_second_factors.py",
    NoEmail: "needs a mail server: tests/console/test_sending_pages.py",
    TooManyMessages: "needs a mail server: tests/notifications/mail/test_messages.py",
    NotRedeemed: "needs a scan: tests/door/test_stolen_device.py",
    OwnerNotConfirmed: "needs a wallet of an address: tests/payments/test_collecting.py",
    EmailPutBack: "needs a mail server: tests/notifications/mail/test_email_changes.py",
    TooManyPayers: "API only: tests/payments/test_payer_proofs.py",
    TooManyScans: "needs many scans: tests/door/test_stolen_device.py",
    PaymentSent: "needs a facilitator: tests/x402/test_gasless.py",
    TransferOutdated: "needs a facilitator: tests/x402/test_gasless.py",
    TransferRefused: "needs a facilitator: tests/x402/test_gasless.py",
    X402CallsUsed: "x402 only: tests/x402/test_checks.py",
    VoucherHeld: "needs another buyer: tests/api/test_vouchers_held.py",
    VoucherNotApplicable: "has several reasons: tests/api/test_vouchers.py",
    NotReturnable: "API only: tests/payments/test_returns.py",
    RefundAddressMissing: "API only: tests/payments/test_returns.py",
    ReturnInProgress: "needs a buyer of the place: tests/payments/test_returns.py",
    ReturnOffered: "API only: tests/payments/test_returns.py",
    TooManyApps: "console only: tests/oauth/test_attacks.py",
    BoxOfficeFull: "API only: tests/door/test_box_office.py",
    NotSoldOut: "needs mail: tests/payments/test_waiting_list.py",
    WaitingListClosed: "needs mail: tests/payments/test_waiting_list.py",
    WaitingListFull: "needs mail: tests/payments/test_waiting_list.py",
    TooManyPlaces: "needs mail: tests/payments/test_waiting_list_shares.py",
    EntryEnded: "needs mail: tests/payments/test_waiting_list.py",
    OfferMade: "needs mail: tests/payments/test_waiting_list.py",
    ReturnsClosed: "its clock is moved: tests/payments/test_returns.py",
}


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch):
    """What a hash costs is tested elsewhere."""
    monkeypatch.setattr(passwords, "hasher", passwords.hasher.using(memory_cost=8, time_cost=1))


@pytest.fixture
def environ(environ):
    environ |= X402
    return environ


@pytest.fixture
def shop(acme):
    return Shop(acme)


def refused_alike(shop, error):
    """Ask everybody. Nothing may change."""
    before = list(rows())
    for ask in shop.asks:
        ask(error)
    assert list(rows()) == before


@pytest.mark.parametrize("error", REFUSALS, ids=lambda error: error.code)
def test_it_is_refused_alike(shop, error):
    REFUSALS[error](shop)
    refused_alike(shop, error)


@pytest.mark.parametrize("error", ON_CHAIN, ids=lambda error: error.code)
def test_it_is_refused_alike_after_a_look_at_the_chain(node, shop, error):
    ON_CHAIN[error](shop, node)
    refused_alike(shop, error)


def test_each_conflict_is_in_the_table_or_proved_elsewhere(built_app):
    table = REFUSALS.keys() | ON_CHAIN.keys()
    assert {*Conflict.__subclasses__()} - table == PROVED_ELSEWHERE.keys()
