"""What a mail says: read from its subject's current state at the time of sending.

The templates get plain values. Text that people wrote was made safe (plain_text).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from ticketing import formats, ids
from ticketing.config import Config
from ticketing.constants import AdmissionStatus, IntentStatus, Publication, WalletKind
from ticketing.models.admissions import Admission, Transfer
from ticketing.models.members import Member
from ticketing.models.notifications import Mail, Notification, WebhookEndpoint
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.stray_accounts import Account
from ticketing.notification_types import MailKind
from ticketing.services import chains
from ticketing.services.access import actors, invitations
from ticketing.services.mail import budgets, lost_links, recipients, values
from ticketing.services.mail.plain_text import plain
from ticketing.services.mail.values import ADDRESS, NAME, TITLE
from ticketing.services.orders import accounts, admissions, answers, items, transfers

Facts = dict[str, Any]

_TO_THE_ORGANIZER = frozenset(
    {
        MailKind.WEBHOOK_FAILING,
        MailKind.WALLET_CHANGE_REQUESTED,
        MailKind.WALLET_CHANGED,
        MailKind.WALLET_CHANGE_CANCELED,
    }
)
"""Mails to administrators. Answers to them would go to the organizer itself."""


def of(mail: Mail, config: Config) -> Facts | None:
    """Return the values for a mail's templates. None if nothing is left to say.

    `calendar_of` is the event, if the mail brings a calendar file. `contact` is the address for
    questions as the organizer wrote it, `reply_to` the same in the form that SMTP accepts.
    """
    found = _READERS[MailKind(mail.kind)](mail, config)
    if found is None:
        return None
    common = {
        "organizer": plain(mail.tenant.name, NAME),
        "name": None,
        "calendar_of": None,
    }
    return {**common, **_contact(mail), **found}


def _contact(mail: Mail) -> Facts:
    """Return where answers go. Nowhere in what the service says to the organizer itself."""
    address = mail.tenant.contact_email
    if address is None or mail.kind in _TO_THE_ORGANIZER:
        return {"contact": None, "reply_to": None}
    return {"contact": plain(address, ADDRESS), "reply_to": recipients.deliverable(address)}


def _order_confirmed(mail: Mail, config: Config) -> Facts | None:
    intent = _intent(mail)
    if intent is None or intent.status != IntentStatus.CONFIRMED:
        return None
    usable = [
        each
        for each in admissions.of_intent(intent)
        if admissions.shown_to_buyer(each) and each.status == AdmissionStatus.VALID
    ]
    if not usable:
        return None
    return {
        **_order(intent, config),
        "calendar_of": intent.event,
        **_types_and_tickets(intent, usable, config),
    }


def _types_and_tickets(intent: PaymentIntent, usable: Sequence[Admission], config: Config) -> Facts:
    """Return the ticket types of an order, and its tickets.

    Of several types, each has the `count` of its tickets, and each ticket has its type.
    """
    items.add_names([intent])
    names = {key: plain(name, TITLE) for key, name in intent.item_names.items()}
    counts = Counter(each.ticket_type_id for each in usable)
    has_several = len(names) > 1
    return {
        "ticket_types": [
            {"name": name, "count": counts[key] if has_several else None}
            for key, name in names.items()
            if counts[key]
        ],
        "tickets": [
            {
                **values.ticket(each, config),
                "ticket_type": names[each.ticket_type_id] if has_several else None,
            }
            for each in usable
        ],
    }


def _ticket(mail: Mail, config: Config) -> Facts | None:
    admission = _admission(mail)
    if admission is None or admission.status != AdmissionStatus.VALID:
        return None
    if admission.generation != mail.generation:
        return None  # its new code belongs to somebody else
    return {
        "event": values.event(admission.event, config),
        "calendar_of": admission.event,
        "ticket_type": plain(admission.ticket_type.name, TITLE),
        "ticket": values.ticket(admission, config),
        "is_replacement": mail.notification_id is None,
    }


def _transfer_offered(mail: Mail, config: Config) -> Facts | None:
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
        "ticket_type": plain(admission.ticket_type.name, TITLE),
        "offer_url": offer.url,
        "until": formats.moment(offer.expires_at, admission.event.timezone),
    }


def _refund_due(mail: Mail, config: Config) -> Facts | None:
    account = _account(mail)
    due = 0 if account is None else account.refund_due_now
    if account is None or due <= 0:
        return None
    return {
        **_order(account.order, config),
        **values.money(due, account.currency, account.chain_id, config),
        "address": account.refund_address and formats.shortened(account.refund_address),
    }


def _refund_address_changed(mail: Mail, config: Config) -> Facts | None:
    account = _account(mail)
    if account is None or account.refund_address is None:
        return None
    address = formats.shortened(account.refund_address)
    network = chains.name_of(account.chain_id, config)
    return {**_order(account.order, config), "address": address, "network": network}


def _refund_settled(mail: Mail, config: Config) -> Facts | None:
    intent, data = _intent(mail), _data(mail)
    if intent is None or data is None:
        return None
    return {
        **_order(intent, config),
        **values.money(data["amount"], data["currency"], data["chain_id"], config),
        "tx_hash": data["tx_hash"],
    }


def _event_canceled(mail: Mail, config: Config) -> Facts | None:
    data, intent, admission = _data(mail), _intent(mail), _admission(mail)
    subject = intent or admission
    if data is None or subject is None or subject.event.status != Publication.CANCELED:
        return None
    if intent is not None:
        owed = data["refund"] and intent.refund_due > 0
        return {**_order(intent, config), "is_refunded": owed}
    return {
        "event": values.event(subject.event, config),
        "is_refunded": False,
        "order_url": None,
    }


def _event_moved(mail: Mail, config: Config) -> Facts | None:
    intent, admission = _intent(mail), _admission(mail)
    subject = intent or admission
    if subject is None or subject.event.status != Publication.PUBLISHED:
        return None
    if intent is not None:
        return {**_order(intent, config), "calendar_of": intent.event}
    return {
        "event": values.event(subject.event, config),
        "calendar_of": subject.event,
        "order_url": None,
    }


def _answers_missing(mail: Mail, config: Config) -> Facts | None:
    intent, admission = _intent(mail), _admission(mail)
    if intent is not None:
        found = [each for each in admissions.of_intent(intent) if admissions.shown_to_buyer(each)]
        event, url = intent.event, values.order_link(intent, config)
    elif admission is not None and admission.generation == mail.generation:
        found, event = [admission], admission.event
        url = values.ticket(admission, config)["url"]
    else:
        return None  # its new code belongs to somebody else
    valid = [each for each in found if each.status == AdmissionStatus.VALID]
    if event.status != Publication.PUBLISHED or not answers.incomplete(event, valid):
        return None
    return {"event": values.event(event, config), "answer_url": url}


def _member_invited(mail: Mail, config: Config) -> Facts | None:
    found = invitations.open_one(mail.subject, config.keyring)
    if found is None:
        return None
    invitation, expires_at = found
    return {
        "invitation_url": invitations.url(invitation, config),
        "until": formats.moment(expires_at, "UTC"),
    }


def _webhook_failing(mail: Mail, config: Config) -> Facts | None:
    data, member = _data(mail), Member.get_or_none(Member.id == mail.subject)
    if data is None or member is None or member.disabled_at is not None:
        return None
    endpoint = WebhookEndpoint.get_or_none(
        WebhookEndpoint.id == data["webhook_id"], WebhookEndpoint.tenant == mail.tenant_id
    )
    since = None if endpoint is None else endpoint.failing_since or endpoint.disabled_at
    if endpoint is None or since is None:
        return None
    return {
        "endpoint": endpoint.id,
        "host": plain(urlsplit(endpoint.url).hostname or "", TITLE),
        "since": formats.moment(since, "UTC"),
        "is_disabled": endpoint.disabled_at is not None,
    }


def _wallet(mail: Mail, config: Config) -> Facts | None:
    """Return what a change of the wallet is. The answer is read at once, so it says what was so."""
    data, member = _data(mail), Member.get_or_none(Member.id == mail.subject)
    if data is None or member is None or member.disabled_at is not None:
        return None
    effective_at = data["effective_at"]
    by = actors.names(mail.tenant_id, [data["by"]]).get(data["by"], data["by"])
    networks = [chains.name_of(chain_id, config) for chain_id in data["chain_ids"] or []]
    return {
        "is_xpub": data["kind"] == WalletKind.XPUB,
        "address": data["address"],
        "former_address": data["former_address"],
        "networks": ", ".join(plain(each, NAME) for each in networks),
        "by": plain(by, NAME),
        "until": effective_at and formats.moment(datetime.fromisoformat(effective_at), "UTC"),
    }


def _lost_links(mail: Mail, config: Config) -> Facts | None:
    found = lost_links.orders_of(mail.tenant_id, mail.recipient or "")
    if not found:
        return None
    return {
        "orders": [
            {"event": values.event(each.event, config), "url": values.order_link(each, config)}
            for each in found
        ]
    }


_READERS: Mapping[MailKind, Callable[[Mail, Config], Facts | None]] = {
    MailKind.ORDER_CONFIRMED: _order_confirmed,
    MailKind.TICKET: _ticket,
    MailKind.TRANSFER_OFFERED: _transfer_offered,
    MailKind.REFUND_DUE: _refund_due,
    MailKind.REFUND_ADDRESS_CHANGED: _refund_address_changed,
    MailKind.REFUND_SETTLED: _refund_settled,
    MailKind.EVENT_CANCELED: _event_canceled,
    MailKind.EVENT_MOVED: _event_moved,
    MailKind.ANSWERS_MISSING: _answers_missing,
    MailKind.LOST_LINKS: _lost_links,
    MailKind.MEMBER_INVITED: _member_invited,
    MailKind.WEBHOOK_FAILING: _webhook_failing,
    MailKind.WALLET_CHANGE_REQUESTED: _wallet,
    MailKind.WALLET_CHANGED: _wallet,
    MailKind.WALLET_CHANGE_CANCELED: _wallet,
}


def _order(intent: PaymentIntent, config: Config) -> Facts:
    """Return what every mail about an order says.

    An order that nobody has paid for costs nothing: anybody could send any text as a name to any
    address. So only an order that received money has the name that the buyer wrote.
    """
    name = intent.buyer_name if budgets.is_paid(intent) else None
    return {
        "name": name and plain(name, NAME),
        "event": values.event(intent.event, config),
        "order_url": values.order_link(intent, config),
    }


def _intent(mail: Mail) -> PaymentIntent | None:
    if not ids.is_id(ids.INTENT, mail.subject):
        return None
    found: PaymentIntent | None = PaymentIntent.get_or_none(PaymentIntent.id == mail.subject)
    return found


def _account(mail: Mail) -> Account | None:
    """Return whose refund a mail is about: an order's home, or what it received elsewhere.

    Notifications of the version before do not say it: they are about the home.
    """
    intent, data = _intent(mail), _data(mail) or {}
    if intent is None:
        return None
    return accounts.named(intent, data.get("chain_id"), data.get("token_address"))


def _admission(mail: Mail) -> Admission | None:
    if not ids.is_id(ids.ADMISSION, mail.subject):
        return None
    found: Admission | None = Admission.get_or_none(Admission.id == mail.subject)
    return found


def _data(mail: Mail) -> Facts | None:
    """Return the data of the notification that a mail follows from. None if it was deleted."""
    notification = Notification.get_or_none(Notification.id == mail.notification_id)
    return None if notification is None else json.loads(notification.data)
