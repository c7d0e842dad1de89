"""Where the mails of an order go: somebody states an address, corrects it, or wants a mail again.

Each request plans one mail, and all mails that wait go to the new address. The old address learns
nothing.
"""

from __future__ import annotations

import math
from datetime import timedelta

from peewee import fn

from ticketing import clock
from ticketing.config import Config
from ticketing.constants import BILLING_AFTER_EVENT, AdmissionStatus, IntentStatus
from ticketing.db.connection import locked, write_transaction
from ticketing.errors import EmailClosed, MailNotConfigured, TooManyChanges
from ticketing.limits import SENT_AGAIN_PER_DAY
from ticketing.models.admissions import Admission
from ticketing.models.notifications import Mail
from ticketing.models.payment_intents import PaymentIntent
from ticketing.notification_types import ASKED_FOR, MailKind
from ticketing.services.notifications import mail_queue
from ticketing.services.orders import admissions, intents

_DAY = timedelta(days=1)


def send_to(tenant_reference: str, intent_id: str, email: str, config: Config) -> PaymentIntent:
    """Set the address of an order, and plan the mail that its buyer needs now. Return the order.

    That is its tickets, or how to pay for it. The same address gets the mail again. Tickets that
    have the address from the order get the new one, too: the buyer's, before anybody enters.

    NotFound. MailNotConfigured. EmailClosed. TooManyChanges.
    """
    found = intents.get(tenant_reference, intent_id)
    intent = _send(found, email, config, most=SENT_AGAIN_PER_DAY)
    intents.keep_names(found, intent)
    intents.add_payment_details([intent])
    return intent


def send_again(tenant_id: str, intent_id: str, email: str, config: Config) -> PaymentIntent:
    """Do the same for the organizer, as often as they want. Return the order with its details.

    NotFound. MailNotConfigured. EmailClosed.
    """
    _send(intents.read_all(tenant_id, intent_id), email, config, most=None)
    return intents.read_all(tenant_id, intent_id)


def _send(found: PaymentIntent, email: str, config: Config, *, most: int | None) -> PaymentIntent:
    if clock.now() > found.event.over_at + BILLING_AFTER_EVENT:
        raise EmailClosed
    if config.smtp is None:
        raise MailNotConfigured
    with write_transaction():
        intent = locked(PaymentIntent.select().where(PaymentIntent.id == found.id)).get()
        if most is not None:
            _refuse_too_many(intent, most)
        if intent.buyer_email != email:
            _replace(intent, email)
        mail_queue.replace(mail_queue.new(intent.tenant_id, _kind(intent), intent.id))
    return intent


def _refuse_too_many(intent: PaymentIntent, most: int) -> None:
    asked = Mail.select(Mail.created_at).where(
        Mail.subject == intent.id,
        Mail.kind.in_(ASKED_FOR),
        Mail.notification_id.is_null(),
        Mail.created_at > clock.now() - _DAY,
    )
    times = sorted(each.created_at for each in asked)
    if len(times) >= most:
        left = times[-most] + _DAY - clock.now()
        raise TooManyChanges(retry_after=max(1, math.ceil(left.total_seconds())))


def _replace(intent: PaymentIntent, email: str) -> None:
    before, intent.buyer_email = intent.buyer_email, email
    PaymentIntent.update(buyer_email=email).where(PaymentIntent.id == intent.id).execute()
    if before is None:
        return
    of_buyer = Admission.select().where(
        Admission.intent == intent.id,
        Admission.status != AdmissionStatus.VOID,
        Admission.redeemed_at.is_null(),
        fn.LOWER(Admission.holder_email) == before.lower(),
    )
    for admission in locked(of_buyer.order_by(Admission.id)):
        if admissions.shown_to_buyer(admission):
            admissions.change(admission, holder_email=email)


def _kind(intent: PaymentIntent) -> MailKind:
    if intent.status == IntentStatus.CONFIRMED:
        return MailKind.ORDER_CONFIRMED
    if intent.refund_due_now > 0:
        return MailKind.REFUND_DUE
    return MailKind.ORDER_PLACED
