"""Situations of refunds, payouts and the wallet."""

from typing import Any

from tests.support import payees
from tests.support.admissions import FREE, given
from tests.support.books import home_of
from tests.support.factories import CHAIN, Buyer
from tests.support.payouts import of_an_address
from tests.support.refunds import FRIEND_ADDRESS, STRANGER_ADDRESS, overpay, received, state
from tests.support.refusals.shop import Shop, Table, refuses
from ticketing import clock, errors, ids
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.refunds import RefundAddress
from tools import anvil

REFUSALS: Table = {}
ON_CHAIN: Table = {}


@refuses(errors.NothingReceived, REFUSALS)
def address_for_the_refund_of_an_unpaid_order(shop: Shop) -> None:
    for ticket in (shop.organizer.ticket(), shop.organizer.ticket(**FREE)):
        shop.buyers(shop.organizer.buyer(ticket), "refund-address", address=anvil.BUYER)


@refuses(errors.NoRefundDue, REFUSALS)
def refund_of_a_free_order(shop: Shop) -> None:
    path = f"refunds/{given(shop.organizer, shop.organizer.ticket(**FREE)).intent['id']}/settle"
    shop.both(path, path, tx_hash="0x" + "12" * 32)


@refuses(errors.RefundListed, ON_CHAIN)
def mark_of_a_refund_on_a_list(shop: Shop, node: anvil.Anvil) -> None:
    buyer = overpay(shop.organizer, node)
    of_an_address(buyer)
    assert state(buyer, FRIEND_ADDRESS).status_code == 200
    owed = {"chain_id": CHAIN, "payer": anvil.BUYER, "accept_unwitnessed": True}
    shop.has("payouts", owed)
    path = f"refunds/{buyer.intent['id']}/by-hand"
    shop.api(path, {"by_hand": True})
    shop.form(path, by_hand="on")


@refuses(errors.AmountChanged, REFUSALS)
def waiver_of_another_amount(shop: Shop) -> None:
    path = f"refunds/{given(shop.organizer, shop.organizer.ticket(**FREE)).intent['id']}/waive"
    shop.both(path, path, amount=1, reason="Less than the fee.")


@refuses(errors.RefundNotSeen, ON_CHAIN)
def refund_by_an_unknown_transaction(shop: Shop, node: anvil.Anvil) -> None:
    path = f"refunds/{overpay(shop.organizer, node).intent['id']}/settle"
    shop.both(path, path, tx_hash="0x" + "12" * 32)


@refuses(errors.SignatureRequired, REFUSALS)
def address_of_a_refund_that_the_wallet_that_paid_must_sign(shop: Shop) -> None:
    buyer = _owed_to_nobody(shop)
    proven = {"source": "signer", "address": anvil.BUYER, "effective_at": clock.now()}
    _payee(buyer, **proven)
    OrderAccount.update(refund_address=anvil.BUYER).execute()
    shop.buyers(buyer, "refund-address", address=FRIEND_ADDRESS)


@refuses(errors.RefundAddressFixed, REFUSALS)
def address_of_a_refund_that_nobody_can_confirm(shop: Shop) -> None:
    buyer = _owed_to_nobody(shop)
    _payee(buyer, address=STRANGER_ADDRESS, ended_at=clock.now())
    shop.buyers(buyer, "refund-address", address=FRIEND_ADDRESS)


@refuses(errors.PayeeChangeEnded, REFUSALS)
def button_of_a_mail_about_an_address_that_another_one_replaced(shop: Shop) -> None:
    buyer = _owed_to_nobody(shop)
    for address in (FRIEND_ADDRESS, STRANGER_ADDRESS):
        assert payees.state_only(buyer, address).status_code == 200
    shop.form(payees.link_of(buyer, 0))


def _owed_to_nobody(shop: Shop) -> Buyer:
    """An order without a mailbox that received something."""
    buyer = shop.organizer.buyer(shop.organizer.ticket())
    received(buyer)
    PaymentIntent.update(payees_version=1).where(PaymentIntent.id == buyer.intent["id"]).execute()
    return buyer


def _payee(buyer: Buyer, **columns: Any) -> None:
    order_id = buyer.intent["id"]
    of_order = {"intent": order_id, "account": home_of(order_id)}
    new = {"id": ids.new(ids.REFUND_ADDRESS), "stated_at": clock.now()}
    RefundAddress.insert(**new, **of_order, **columns).execute()
