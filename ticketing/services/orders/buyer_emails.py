"""Where the mails of an order go: somebody states an address, corrects it, or wants a mail again.

Each request plans one mail, and all mails that wait go to the new address. The address before gets
one that says so, without the new one. If it is a mailbox of the buyer (mailboxes.py), that mail has
buttons: one puts the address back, the other confirms the new one.
"""

from __future__ import annotations

from peewee import fn

from ticketing import clock
from ticketing.config import Config
from ticketing.constants import BILLING_AFTER_EVENT, AdmissionStatus, IntentStatus
from ticketing.db.connection import locked, write_transaction
from ticketing.errors import EmailClosed, EmailPutBack, MailNotConfigured, NotFound, TooManyChanges
from ticketing.limits import SENT_AGAIN_PER_DAY
from ticketing.models.admissions import Admission
from ticketing.models.notifications import Mail
from ticketing.models.order_emails import EmailPlace, SetBy
from ticketing.models.payment_intents import PaymentIntent
from ticketing.notification_types import ASKED_FOR, MailKind
from ticketing.services import daily_counts
from ticketing.services.notifications import mail_queue
from ticketing.services.orders import admissions, intents, mailboxes
from ticketing.services.orders.mailboxes import Rows


def send_to(found: PaymentIntent, email: str, config: Config) -> PaymentIntent:
    """Set the address of an order, and plan the mail that its buyer needs now. Return the order.

    `found`: as it was read with its event when its link was checked. NotFound if that ended since.

    That is its tickets, or how to pay for it. The same address gets the mail again. Tickets that
    have the address from the order get the new one, too: the buyer's, before anybody enters.

    MailNotConfigured. EmailClosed. EmailPutBack. TooManyChanges.
    """
    _check(found, config)
    with write_transaction():
        intent = _locked(found.id)
        intents.check_link(intent.link_generation, found.link_generation)
        _refuse_too_many(intent)
        if email != intent.buyer_email:
            if mailboxes.of(intent).is_put_back:
                raise EmailPutBack
            before, rows = intent.buyer_email, mailboxes.keep(intent, email, SetBy.BUYER)
            _replace(intent, email)
            _tell(intent, before, rows, MailKind.EMAIL_CHANGED)
        _plan_what_is_needed(intent)
    intents.keep_items(found, intent)
    intents.add_payment_details([intent])
    return intent


def send_again(
    tenant_id: str, intent_id: str, email: str, config: Config, *, ends_links: bool
) -> PaymentIntent:
    """Do the same for the organizer, as often as they want. Return the order.

    `ends_links`: the order's links get a new generation. Those of before, and the buttons in mails
    about its addresses, end. Call it by payments/old_links.py.

    NotFound. MailNotConfigured. EmailClosed.
    """
    _check(intents.get(tenant_id, intent_id), config)
    with write_transaction():
        intent = _locked(intent_id)
        before, is_other = intent.buyer_email, email != intent.buyer_email
        rows = mailboxes.rows_of(intent)
        if is_other:
            rows = mailboxes.keep(intent, email, SetBy.ORGANIZER)
            _replace(intent, email)
        if ends_links:
            mailboxes.end_buttons(intent)
            intent.link_generation += 1
            PaymentIntent.update(link_generation=intent.link_generation).where(
                PaymentIntent.id == intent.id
            ).execute()
            _tell(intent, before, rows, MailKind.ORDER_LINK_ENDED)
        elif is_other:
            _tell(intent, before, rows, MailKind.EMAIL_CHANGED_BY_ORGANIZER)
        _plan_what_is_needed(intent)
    return intent


def put_back(intent_id: str, place: EmailPlace) -> None:
    """Make an earlier mailbox of the buyer the address of an order again: it did not change it.

    Its tickets go back too, and the mailbox gets the mail that its buyer needs. A repeat changes
    nothing. NotFound if the buttons have ended.
    """
    with write_transaction():
        intent = _locked(intent_id)
        row = mailboxes.rows_of(intent).get(place)
        if row is None or row.salt is None or place is EmailPlace.PRESENT:
            raise NotFound
        before = intent.buyer_email
        if before == row.email and row.put_back_at is not None:
            return
        mailboxes.put_back(intent, place)
        if before != row.email:
            _replace(intent, row.email)
            _tell(intent, before, mailboxes.rows_of(intent), MailKind.EMAIL_CHANGED)
            _plan_what_is_needed(intent)


def confirm(intent_id: str) -> None:
    """Make an order's present address a mailbox of the buyer at once: the one before says it is.

    A repeat changes nothing. NotFound if another address was set since.
    """
    with write_transaction():
        intent = _locked(intent_id)
        present = mailboxes.rows_of(intent).get(EmailPlace.PRESENT)
        if present is None or present.salt is None:
            raise NotFound
        if not mailboxes.counts(present, clock.now()):
            mailboxes.confirm(intent)


def _check(found: PaymentIntent, config: Config) -> None:
    if clock.now() > found.event.over_at + BILLING_AFTER_EVENT:
        raise EmailClosed
    if config.smtp is None:
        raise MailNotConfigured


def _locked(intent_id: str) -> PaymentIntent:
    return locked(PaymentIntent.select().where(PaymentIntent.id == intent_id)).get()


def _tell(intent: PaymentIntent, before: str | None, rows: Rows, kind: MailKind) -> None:
    """Plan the mails to the address before, and to the mailbox that the buyer proved last."""
    proven = mailboxes.last_proven(rows)
    told = dict.fromkeys((None if proven is None else proven.email, before))
    for email in told:
        if email is not None and email != intent.buyer_email:
            mail_queue.replace(mail_queue.new(intent.tenant_id, kind, intent.id, recipient=email))


def _plan_what_is_needed(intent: PaymentIntent) -> None:
    mail_queue.replace(mail_queue.new(intent.tenant_id, _kind(intent), intent.id))


def _refuse_too_many(intent: PaymentIntent) -> None:
    asked = Mail.select().where(
        Mail.subject == intent.id, Mail.kind.in_(ASKED_FOR), Mail.notification_id.is_null()
    )
    daily_counts.check(asked, Mail.created_at, SENT_AGAIN_PER_DAY, TooManyChanges)


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
    if intent.home.due_now > 0:
        return MailKind.REFUND_DUE
    return MailKind.ORDER_PLACED
