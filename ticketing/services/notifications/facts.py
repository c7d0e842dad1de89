"""What notifications say: the `data` of every type, and which facts follow from a change.

`data` is thin: ids, statuses, flags, amounts, chain ids. It has no name, mail address, code or URL,
and no text that a person wrote.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ticketing import clock
from ticketing.constants import RESOLD_REASON, IntentStatus, Publication
from ticketing.models.admissions import Admission, Transfer
from ticketing.models.api_keys import ApiKey
from ticketing.models.door import DoorDevice
from ticketing.models.events import Event
from ticketing.models.members import Member
from ticketing.models.messages import Message
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.refunds import RefundAddress
from ticketing.models.ticket_types import StockCount
from ticketing.models.vouchers import Voucher
from ticketing.notification_types import NotificationType

Data = dict[str, Any]
"""The data of a notification, for JSON."""

Fact = tuple[NotificationType, Data]
"""A fact to record."""

ENTERED = {
    IntentStatus.PROCESSING: NotificationType.INTENT_PROCESSING,
    IntentStatus.CONFIRMED: NotificationType.INTENT_CONFIRMED,
    IntentStatus.EXPIRED: NotificationType.INTENT_EXPIRED,
    IntentStatus.CANCELED: NotificationType.INTENT_CANCELED,
    IntentStatus.REVERSED: NotificationType.INTENT_REVERSED,
}
"""The fact that an intent entered a status. Nothing says that one waits for payment again."""


def event_published(event: Event) -> Fact:
    """An event became public."""
    return NotificationType.EVENT_PUBLISHED, _event(event)


def event_changed(event: Event, changed: Iterable[str], *, tell_people: bool = True) -> Fact:
    """Fields of an event have new values. `changed` are their names.

    `tell_people`: whether mails follow if it moved.
    """
    data = {**_event(event), "changed": sorted(changed), "tell_people": tell_people}
    return NotificationType.EVENT_CHANGED, data


def event_canceled(
    event: Event, *, refund: bool, admissions_voided: int, intents_canceled: int
) -> Fact:
    """An event was canceled, with or without refunds. The counts are what ended with it."""
    return NotificationType.EVENT_CANCELED, {
        **_event(event),
        "refund": refund,
        "admissions_voided": admissions_voided,
        "intents_canceled": intents_canceled,
    }


def message_sent(message: Message) -> Fact:
    """All mails of a message have ended."""
    return NotificationType.MESSAGE_SENT, {
        "message_id": message.id,
        "event_id": message.event_id,
        "recipients": message.recipients,
        "sent": message.sent,
        "failed": message.failed,
    }


def stock_changed(event_id: str, ticket_id: str, was: StockCount, now: StockCount) -> list[Fact]:
    """A ticket type was sold out, or is available again; or neither."""
    if was.is_full == now.is_full or now.status == Publication.CANCELED:
        return []
    type = NotificationType.TICKET_TYPE_AVAILABLE_AGAIN
    if now.is_full:
        type = NotificationType.TICKET_TYPE_SOLD_OUT
    return [(type, {"event_id": event_id, "ticket_id": ticket_id, "capacity": now.capacity})]


def voucher_used_up(voucher: Voucher) -> list[Fact]:
    """A confirmed order took the last usages of a voucher. Nothing if some are left."""
    if voucher.redeemed < voucher.max_usages:
        return []
    data = {"event_id": voucher.event_id, "voucher_id": voucher.id}
    return [(NotificationType.VOUCHER_USED_UP, data)]


def intent_created(intent: PaymentIntent) -> Fact:
    """A preflight created an intent."""
    return NotificationType.INTENT_CREATED, _intent(intent)


def intent_entered(intent: PaymentIntent) -> list[Fact]:
    """An intent entered its status."""
    type = ENTERED.get(IntentStatus(intent.status))
    return [] if type is None else [(type, _intent(intent))]


def intent_part_paid(intent: PaymentIntent) -> Fact:
    """Money arrived, and the intent still waits for the rest."""
    return NotificationType.INTENT_PART_PAID, {**_intent(intent), "amount_due": intent.amount_due}


def intent_finalized(intent: PaymentIntent) -> Fact:
    """The payment of an intent that was confirmed early is final now."""
    return NotificationType.INTENT_FINALIZED, _intent(intent)


def intent_chain_changed(
    intent: PaymentIntent, from_: int | None, to: int, *, automatic: bool
) -> Fact:
    """An intent is paid on another chain now. `automatic`: its money was found there."""
    data = {
        "intent_id": intent.id,
        "event_id": intent.event_id,
        "from": from_,
        "to": to,
        "automatic": automatic,
    }
    return NotificationType.INTENT_CHAIN_CHANGED, data


def stray_seen(account: OrderAccount) -> Fact:
    """Money arrived that is not on the chain, or not in the token, of its intent."""
    data = {
        "intent_id": account.intent_id,
        "event_id": account.order.event_id,
        "chain_id": account.chain_id,
        "token_address": account.token_address,
        "amount": account.received,
    }
    return NotificationType.STRAY_SEEN, data


def refund_due(account: OrderAccount, due_before: int) -> list[Fact]:
    """A refund can be paid now, while `due_before` said that none could."""
    due = account.due_now
    if due_before > 0 or due <= 0:
        return []
    return [(NotificationType.REFUND_DUE, _refund(account, due))]


def refund_address_changed(account: OrderAccount, change: RefundAddress) -> Fact:
    """A payee was stated, counts from now on, or ended: `status` says which.

    `source`: who decided it. It has no address: the order shows that.
    """
    data = {
        "intent_id": account.intent_id,
        "event_id": account.order.event_id,
        "chain_id": account.chain_id,
        "token_address": account.token_address,
        "source": change.source,
        "status": "waits" if change.waits else "counts" if change.is_payee else "ended",
    }
    return NotificationType.REFUND_ADDRESS_CHANGED, data


def refund_settled(account: OrderAccount, amount: int, tx_hash: str, *, automatic: bool) -> Fact:
    """A transfer counts as a refund of this amount, in micro-units.

    `automatic`: the worker found it, because it was listed for its payer. Nobody named it.
    """
    data = {**_refund(account, amount), "tx_hash": tx_hash, "automatic": automatic}
    return NotificationType.REFUND_SETTLED, data


def refund_waived(account: OrderAccount, amount: int) -> Fact:
    """The organizer wrote off this amount, in micro-units."""
    return NotificationType.REFUND_WAIVED, _refund(account, amount)


def wallet_change_requested(said: Data) -> Fact:
    """A change of the wallet waits. `said`: the new wallet, the former address, when, and by whom.

    It has the addresses that people see when they are paid, and no secret.
    """
    return NotificationType.WALLET_CHANGE_REQUESTED, said


def wallet_changed(said: Data) -> Fact:
    """New orders are paid to another address, or on a further network."""
    return NotificationType.WALLET_CHANGED, said


def wallet_change_canceled(said: Data) -> Fact:
    """A change of the wallet that waited is not made."""
    return NotificationType.WALLET_CHANGE_CANCELED, said


def admission_issued(admission: Admission) -> Fact:
    """An admission was issued, to a buyer or to a guest."""
    return NotificationType.ADMISSION_ISSUED, _admission(admission)


def transfer_offered(admission: Admission, transfer: Transfer) -> Fact:
    """The holder offered an admission to somebody else."""
    data = {**_admission(admission), "transfer_id": transfer.id}
    return NotificationType.ADMISSION_TRANSFER_OFFERED, data


def admission_transferred(admission: Admission) -> Fact:
    """An admission has a new holder and a new generation."""
    return NotificationType.ADMISSION_TRANSFERRED, _admission(admission)


def admission_voided(admission: Admission) -> Fact:
    """The organizer took one admission back, or it was given back and sold on."""
    resold = {"reason": RESOLD_REASON} if admission.void_reason == RESOLD_REASON else {}
    return NotificationType.ADMISSION_VOIDED, {**_admission(admission), **resold}


def return_offered(admission: Admission) -> Fact:
    """The holder gives an admission back, if somebody else buys its place."""
    data = {**_admission(admission), "return_amount": admission.return_amount}
    return NotificationType.ADMISSION_RETURN_OFFERED, data


def return_canceled(admission: Admission) -> Fact:
    """The admission is not given back any more."""
    return NotificationType.ADMISSION_RETURN_CANCELED, _admission(admission)


def admission_reissued(admission: Admission) -> Fact:
    """An admission has a new code and a new generation."""
    return NotificationType.ADMISSION_REISSUED, _admission(admission)


def admission_redeemed(admission: Admission) -> Fact:
    """A scan let the holder in."""
    data = {**_admission(admission), "redeemed_at": clock.rfc3339(admission.redeemed_at)}
    return NotificationType.ADMISSION_REDEEMED, data


def redeem_undone(admission: Admission) -> Fact:
    """The scan that let the holder in was undone, and nobody is inside instead."""
    return NotificationType.ADMISSION_REDEEM_UNDONE, _admission(admission)


def door_device_paired(device: DoorDevice) -> Fact:
    """A device can scan at the doors of an event from now on."""
    data = {"device_id": device.id, "event_id": device.event_id, "sells": device.sells}
    return NotificationType.DOOR_DEVICE_PAIRED, data


def api_key_created(key: ApiKey, *, rotated: bool) -> Fact:
    """There is a new secret of this role. `rotated`: of a key that had one before."""
    data = {"key_id": key.id, "role": key.role, "rotated": rotated}
    return NotificationType.API_KEY_CREATED, data


def member_invited(member: Member) -> Fact:
    """A person got an invitation to be a member, or to set a new password."""
    data = {"member_id": member.id, "role": member.role}
    return NotificationType.MEMBER_INVITED, data


def _event(event: Event) -> Data:
    return {"event_id": event.id, "status": event.status}


def _intent(intent: PaymentIntent) -> Data:
    return {
        "intent_id": intent.id,
        "event_id": intent.event_id,
        "ticket_id": intent.only_ticket_id,
        "items": [
            {"ticket_id": item.ticket_type_id, "quantity": item.quantity} for item in intent.items
        ],
        "status": intent.status,
        "final": intent.final,
        "flags": intent.flags_in_order,
        "quantity": intent.quantity,
        "amount": intent.amount,
        "amount_received": intent.amount_received,
        "currency": intent.currency,
        "chain_id": intent.chain_id,
    }


def _refund(account: OrderAccount, amount: int) -> Data:
    return {
        "intent_id": account.intent_id,
        "event_id": account.order.event_id,
        "amount": amount,
        "currency": account.currency,
        "chain_id": account.chain_id,
        "token_address": account.token_address,
    }


def _admission(admission: Admission) -> Data:
    return {
        "admission_id": admission.id,
        "event_id": admission.event_id,
        "ticket_id": admission.ticket_type_id,
        "intent_id": admission.intent_id,
        "generation": admission.generation,
        "status": admission.status,
    }
