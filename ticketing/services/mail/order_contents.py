"""What mails about orders and tickets say, and whether there is still something to say."""

from __future__ import annotations

from peewee import fn

from ticketing import clock, formats, ids
from ticketing.config import Config
from ticketing.constants import RESOLD_REASON, AdmissionStatus, IntentStatus, Publication
from ticketing.models.admissions import Admission, Transfer
from ticketing.models.notifications import Mail
from ticketing.models.order_accounts import OWING, OrderAccount
from ticketing.models.order_emails import EmailPlace
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.refunds import PROVEN
from ticketing.models.ticket_types import TicketType
from ticketing.notification_types import MailKind
from ticketing.services import admission_views, chains
from ticketing.services.mail import budgets, values
from ticketing.services.mail.plain_text import plain
from ticketing.services.mail.values import NAME, TITLE, Facts, data_of
from ticketing.services.orders import (
    accounts,
    admissions,
    answers,
    items,
    mailboxes,
    payees_shown,
    transfers,
)
from ticketing.services.payments import payer_proofs

_MOST_ORDERS = 50
"""Of one buyer for one event, in a mail."""


def order_placed(mail: Mail, config: Config) -> Facts | None:
    """How to pay for an order. If its buyer asks for it, also that a payment has arrived."""
    intent = _intent(mail)
    if intent is None or not intent.amount:
        return None
    was_asked_for = budgets.was_asked_for(mail)
    if intent.status == IntentStatus.PROCESSING and was_asked_for:
        return {**_to_pay(intent, config), "is_seen": True}
    if not _waits(intent):
        return None
    facts = _to_pay(intent, config)
    has_money = facts["received"] or facts["elsewhere"]
    # The mail about the part says it.
    return None if has_money and not was_asked_for else facts


def part_arrived(mail: Mail, config: Config) -> Facts | None:
    """What has arrived for an order, and what is to be paid until when."""
    intent = _intent(mail)
    if intent is None or not _waits(intent):
        return None
    facts = _to_pay(intent, config)
    return facts if facts["received"] or facts["elsewhere"] else None


def _waits(intent: PaymentIntent) -> bool:
    waits = intent.status == IntentStatus.AWAITING_PAYMENT
    return bool(waits and intent.amount_due > 0 and intent.expires_at > clock.now())


def _to_pay(intent: PaymentIntent, config: Config) -> Facts:
    """Return what a mail says of an order that waits. It has no text that its buyer wrote.

    `elsewhere` is what has arrived on other networks, and may pay for the order there.
    """
    elsewhere = [each for each in intent.stray_accounts if each.open]
    return {
        **of_order(intent, config),
        **bought(intent),
        "name": None,
        "is_seen": False,
        "due": intent.amount_due,
        "received": intent.amount_received,
        "elsewhere": [
            values.money(each.open, each.currency, each.chain_id, config) for each in elsewhere
        ],
        "network": chains.name_of(intent.chain_id, config),
        "until": intent.expires_at,
    }


def order_confirmed(mail: Mail, config: Config) -> Facts | None:
    """The tickets of an order that are its buyer's still, and what was paid."""
    intent = _intent(mail)
    if intent is None or intent.status != IntentStatus.CONFIRMED:
        return None
    admission_views.add_to_order(intent, None, config.keyring)
    usable = [
        each
        for each in intent.admissions
        if each.shown_code and each.status == AdmissionStatus.VALID
    ]
    if not usable:
        return None
    wanted = {each.ticket_type_id for each in usable}
    types = {each.id: each for each in TicketType.select().where(TicketType.id.in_(wanted))}
    for each in usable:
        each.event, each.intent = intent.event, intent
    says_names = accounts.has_money(intent)
    tickets = [
        values.ticket(each, types[each.ticket_type_id], config, says_name=says_names)
        for each in usable
    ]
    return {
        **of_order(intent, config),
        **bought(intent),
        "calendar_of": intent.event,
        "calendar_url": values.calendar_url(intent.event, config),
        "tickets": tickets,
        "paid_on": formats.local_day(
            intent.confirmed_at or intent.created_at, intent.event.timezone
        ),
        "network": chains.name_of(intent.chain_id, config) if intent.chain_id else None,
    }


def bought(intent: PaymentIntent) -> Facts:
    """Return the lines of an order, with what each costs, and the sum."""
    items.read([intent])
    return {
        "lines": [
            {
                "name": plain(intent.item_names[item.ticket_type_id], TITLE),
                "count": item.quantity,
                "amount": item.amount,
            }
            for item in intent.items
        ],
        "amount": intent.amount,
        "currency": intent.currency,
    }


def ticket(mail: Mail, config: Config) -> Facts | None:
    """One ticket, for its holder."""
    admission = _admission(mail)
    if admission is None or admission.status != AdmissionStatus.VALID:
        return None
    if admission.generation != mail.generation:
        return None  # its new code belongs to somebody else
    admission_views.for_holder(admission, config.keyring, shows_code=True)
    return {
        "event": values.event(admission.event, config),
        "spoken": spoken(admission),
        "calendar_of": admission.event,
        "calendar_url": values.calendar_url(admission.event, config),
        "tickets": [values.ticket(admission, admission.ticket_type, config, says_name=False)],
        "is_replacement": mail.kind == MailKind.TICKET and mail.notification_id is None,
    }


def transfer_offered(mail: Mail, config: Config) -> Facts | None:
    """The offer of a ticket, while it can be accepted."""
    offer = transfers.offer_again(mail.subject, config)
    if offer is None:
        return None
    transfer = Transfer.get_by_id(mail.subject)
    admission = transfer.admission
    is_current = admission.generation == transfer.generation
    if not is_current or admission.status != AdmissionStatus.VALID or admission.redeemed_at:
        return None
    return {
        "event": values.event(admission.event, config),
        "spoken": spoken(admission),
        "ticket_type": plain(admission.ticket_type.name, TITLE),
        "offer_url": offer.url,
        "until": offer.expires_at,
    }


def refund_due(mail: Mail, config: Config) -> Facts | None:
    """What is owed to a buyer on one network, and where it will be sent."""
    account = _account(mail)
    if account is None or account.due_now <= 0:
        return None
    owed = _owed(account, account.due_now, config)
    order = of_order(account.order, config)
    return {**order, **owed, "each": owed, "reason": _reason_of(account)}


def _reason_of(account: OrderAccount) -> str | None:
    """Return why something of a paid order comes back: `resold`, `deposit`. None: other reasons."""
    if not account.is_home or account.order.status != IntentStatus.CONFIRMED:
        return None
    released = Admission.select(Admission.void_reason).where(
        Admission.intent == account.intent_id, Admission.released > 0
    )
    reasons = {each.void_reason for each in released}
    if RESOLD_REASON in reasons:
        return "resold"
    return "deposit" if reasons == {None} else None


def _owed(account: OrderAccount, amount: int, config: Config) -> Facts:
    """Return what is owed, and where it goes.

    `is_payer`: to the account that paid, because nobody has decided otherwise. The worker may not
    have stored that yet. `waiting` is the address that a statement names, until it counts at
    `until`; None: only a button in a mail makes it count.
    """
    shown = payees_shown.of([account.order]).get(account.id, payees_shown.NONE)
    address, is_payer = account.refund_address, shown.source in PROVEN
    if address is None and (proven := payer_proofs.proven_payee(account)) is not None:
        address, is_payer = proven[0], True
    return {
        **values.money(amount, account.currency, account.chain_id, config),
        "address": address and formats.shortened(address),
        "is_payer": is_payer,
        "waiting": shown.waiting_address and formats.shortened(shown.waiting_address),
        "until": shown.waits_until,
        "order_url": values.order_link(account.order, config),
    }


def refund_settled(mail: Mail, config: Config) -> Facts | None:
    """What was sent back."""
    intent, data = _intent(mail), data_of(mail)
    if intent is None or data is None:
        return None
    return {
        **of_order(intent, config),
        **values.money(data["amount"], data["currency"], data["chain_id"], config),
        "tx_hash": data["tx_hash"],
    }


def email_changed(mail: Mail, config: Config) -> Facts | None:
    """That mails of an order go to another address, for one of before. It has no link of the order.

    `put_back_url` and `confirm_url` are the buttons of a mailbox that the buyer has proven.
    """
    intent = _intent(mail)
    if intent is None or mail.recipient == intent.buyer_email:
        return None
    rows = mailboxes.rows_of(intent)
    proven, present = mailboxes.last_proven(rows), rows.get(EmailPlace.PRESENT)
    urls: dict[str, str | None] = {"put_back_url": None, "confirm_url": None}
    if proven is not None and proven.email == mail.recipient:
        urls["put_back_url"] = values.mailbox_link(proven, config)
        if present is not None and not mailboxes.counts(present, clock.now()):
            urls["confirm_url"] = values.mailbox_link(present, config)
    return {"event": values.event(intent.event, config), "spoken": intent.locale, **urls}


def event_canceled(mail: Mail, config: Config) -> Facts | None:
    """That an event is canceled, and all that its buyer gets back: planning sends no other mail."""
    intent = _intent(mail)
    subject = subject_of(mail)
    if subject is None or subject.event.status != Publication.CANCELED:
        return None
    if intent is not None:
        return {**of_order(intent, config), "refunds": _refunds_of(intent, config)}
    return {
        "event": values.event(subject.event, config),
        "spoken": spoken(subject),
        "refunds": [],
        "order_url": None,
    }


def _refunds_of(intent: PaymentIntent, config: Config) -> list[Facts]:
    """Return what all orders of a buyer for an event owe. Of an event, an address gets one mail."""
    owing = OrderAccount.select(OrderAccount, PaymentIntent).join(PaymentIntent)
    of_buyer = owing.where(
        PaymentIntent.tenant == intent.tenant_id,
        PaymentIntent.event == intent.event_id,
        fn.LOWER(PaymentIntent.buyer_email) == (intent.buyer_email or "").lower(),
        PaymentIntent.buyer_email.is_null(False),
        OWING,
    )
    every = of_buyer.order_by(OrderAccount.intent, OrderAccount.id).limit(_MOST_ORDERS)
    return [_owed(each, each.due, config) for each in every]


def event_moved(mail: Mail, config: Config) -> Facts | None:
    """When and where an event is now."""
    intent = _intent(mail)
    subject = subject_of(mail)
    if subject is None or subject.event.status != Publication.PUBLISHED:
        return None
    if intent is not None:
        return {**of_order(intent, config), "calendar_of": intent.event}
    return {
        "event": values.event(subject.event, config),
        "spoken": spoken(subject),
        "calendar_of": subject.event,
        "order_url": None,
    }


def answers_missing(mail: Mail, config: Config) -> Facts | None:
    """Where to answer what the organizer asks."""
    intent, admission = _intent(mail), _admission(mail)
    if intent is not None:
        found = [each for each in admissions.of_intent(intent) if admissions.shown_to_buyer(each)]
        event, url = intent.event, values.order_link(intent, config)
    elif admission is not None and admission.generation == mail.generation:
        found, event = [admission], admission.event
        url = values.ticket_link(admission, config)
    else:
        return None  # its new code belongs to somebody else
    valid = [each for each in found if each.status == AdmissionStatus.VALID]
    if event.status != Publication.PUBLISHED or not answers.incomplete(event, valid):
        return None
    return {
        "event": values.event(event, config),
        "spoken": spoken(intent or admission),
        "answer_url": url,
    }


def of_order(intent: PaymentIntent, config: Config) -> Facts:
    """Return what every mail about an order says.

    An order that nobody has paid for costs nothing: anybody could send any text as a name to any
    address. So only an order that received money has the name that the buyer wrote.
    """
    name = intent.buyer_name if accounts.has_money(intent) else None
    return {
        "name": name and plain(name, NAME),
        "event": values.event(intent.event, config),
        "order_url": values.order_link(intent, config),
        "spoken": intent.locale,
    }


def spoken(of: PaymentIntent | Admission | None) -> str | None:
    """Return the language of an order. A ticket's is that of its order. None: the event's."""
    order = of.intent if isinstance(of, Admission) else of
    return None if order is None else order.locale


def subject_of(mail: Mail) -> PaymentIntent | Admission | None:
    """Return the order or the ticket that a mail is about."""
    return _intent(mail) or _admission(mail)


def _intent(mail: Mail) -> PaymentIntent | None:
    if not ids.is_id(ids.INTENT, mail.subject):
        return None
    found: PaymentIntent | None = PaymentIntent.get_or_none(PaymentIntent.id == mail.subject)
    return found


def _account(mail: Mail) -> OrderAccount | None:
    """Return whose refund a mail is about: an order's home, or what it received elsewhere."""
    intent, data = _intent(mail), data_of(mail) or {}
    if intent is None:
        return None
    return accounts.named(intent, data.get("chain_id"), data.get("token_address"))


def _admission(mail: Mail) -> Admission | None:
    if not ids.is_id(ids.ADMISSION, mail.subject):
        return None
    found: Admission | None = Admission.get_or_none(Admission.id == mail.subject)
    return found
