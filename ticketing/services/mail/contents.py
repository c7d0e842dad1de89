"""What a mail says: read from its subject's current state at the time of sending.

The templates get plain values. Text that people wrote was made safe (plain_text).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from urllib.parse import urlsplit

from ticketing import accents, locales
from ticketing.config import Config
from ticketing.models.members import Member
from ticketing.models.notifications import Mail, WebhookEndpoint
from ticketing.models.tenants import Tenant
from ticketing.notification_types import MailKind
from ticketing.services import chains
from ticketing.services.access import actors, invitations, password_resets
from ticketing.services.mail import (
    lost_links,
    message_contents,
    order_contents,
    payee_contents,
    recipients,
    waiting_contents,
)
from ticketing.services.mail.plain_text import plain
from ticketing.services.mail.values import ADDRESS, NAME, TITLE, Facts, data_of

_TO_THE_ORGANIZER = frozenset(
    {
        MailKind.WEBHOOK_FAILING,
        MailKind.REFUNDS_CAUTIONED,
        MailKind.WALLET_CHANGE_REQUESTED,
        MailKind.WALLET_CHANGED,
        MailKind.WALLET_CHANGE_CANCELED,
        MailKind.MESSAGE_WRITTEN,
        MailKind.SALE,
        MailKind.SALES_OF_DAY,
        MailKind.PASSWORD_RESET,
        MailKind.PASSWORD_CHANGED,
    }
)
"""Mails to administrators. Answers to them would go to the organizer itself."""


_ENGLISH = _TO_THE_ORGANIZER | {MailKind.MEMBER_INVITED}
"""Mails to people who work for the organizer. Their console is English, too."""

_INK = "#17181b"
"""The accent of an organizer without a color."""


def of(mail: Mail, config: Config) -> Facts | None:
    """Return the values for a mail's templates. None if nothing is left to say.

    `calendar_of` is the event, if the mail brings a calendar file. `contact` is the address for
    questions as the organizer wrote it, `reply_to` the same in the form that SMTP accepts. The HTML
    shows the QR codes of `tickets`. `locale` is the language of its words.
    """
    found = _READERS[MailKind(mail.kind)](mail, config)
    if found is None:
        return None
    tenant: Tenant = mail.tenant
    lines = (tenant.legal_address or "").splitlines()
    common = {
        "organizer": plain(tenant.name, NAME),
        "name": None,
        "calendar_of": None,
        "tickets": [],
        "legal_address": [plain(each, TITLE) for each in lines],
        "locale": _locale(mail, found),
        "colors": accents.of(tenant.accent_color or _INK),
    }
    return {**common, **_contact(mail), **found}


def _locale(mail: Mail, found: Facts) -> str:
    """Return the language of a mail: of the order, else of the event, else of the organizer."""
    if mail.kind in _ENGLISH:
        return locales.DEFAULT
    of_event = found.get("event", {}).get("locale")
    return locales.first(found.get("spoken"), of_event, mail.tenant.locale)


def _contact(mail: Mail) -> Facts:
    """Return where answers go. Nowhere in what the service says to the organizer itself."""
    address = mail.tenant.contact_email
    if address is None or mail.kind in _TO_THE_ORGANIZER:
        return {"contact": None, "reply_to": None}
    return {"contact": plain(address, ADDRESS), "reply_to": recipients.deliverable(address)}


def _member_invited(mail: Mail, config: Config) -> Facts | None:
    found = invitations.open_one(mail.subject, config.keyring)
    if found is None:
        return None
    invitation, expires_at = found
    return {
        "invitation_url": invitations.url(invitation, config),
        "until": expires_at,
    }


def _password_reset(mail: Mail, config: Config) -> Facts | None:
    url = password_resets.url_for(mail, config)
    if url is None:
        return None
    return {"reset_url": url, "until": mail.created_at + password_resets.LIFE}


def _password_changed(mail: Mail, config: Config) -> Facts | None:
    member = Member.get_or_none(Member.id == mail.subject)
    if member is None or member.email is None:
        return None
    return {"whose": plain(member.email, ADDRESS), "at": mail.created_at}


def _webhook_failing(mail: Mail, config: Config) -> Facts | None:
    data, member = data_of(mail), Member.get_or_none(Member.id == mail.subject)
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
        "since": since,
        "is_disabled": endpoint.disabled_at is not None,
    }


def _wallet(mail: Mail, config: Config) -> Facts | None:
    """Return what a change of the wallet is. The answer is read at once, so it says what was so."""
    data, member = data_of(mail), Member.get_or_none(Member.id == mail.subject)
    if data is None or member is None or member.disabled_at is not None:
        return None
    effective_at = data["effective_at"]
    by = actors.names(mail.tenant_id, [data["by"]]).get(data["by"], data["by"])
    networks = [chains.name_of(chain_id, config) for chain_id in data["chain_ids"] or []]
    return {
        "address": data["address"],
        "former_address": data["former_address"],
        "networks": ", ".join(plain(each, NAME) for each in networks),
        "by": plain(by, NAME),
        "until": effective_at and datetime.fromisoformat(effective_at),
    }


def _lost_links(mail: Mail, config: Config) -> Facts | None:
    """Its orders, those that were paid first, and a link to all of them if they are many."""
    email = mail.recipient or ""
    found = lost_links.orders_of(mail.tenant_id, email, (mail.client, mail.client_site))
    if not found:
        return None
    facts: Facts = {"orders": lost_links.shown(found, config), "all_url": None}
    if len(found) == lost_links.MOST_LINKS < lost_links.count(mail.tenant_id, email):
        facts["all_url"], facts["until"] = lost_links.link(mail.tenant_id, email, config)
    return facts


_READERS: Mapping[MailKind, Callable[[Mail, Config], Facts | None]] = {
    MailKind.ORDER_PLACED: order_contents.order_placed,
    MailKind.PART_ARRIVED: order_contents.part_arrived,
    MailKind.ORDER_CONFIRMED: order_contents.order_confirmed,
    MailKind.TICKET: order_contents.ticket,
    MailKind.TRANSFER_OFFERED: order_contents.transfer_offered,
    MailKind.EMAIL_CHANGED: order_contents.email_changed,
    MailKind.EMAIL_CHANGED_BY_ORGANIZER: order_contents.email_changed,
    MailKind.ORDER_LINK_ENDED: order_contents.email_changed,
    MailKind.REFUND_DUE: order_contents.refund_due,
    MailKind.REFUND_ADDRESS_CHANGED: payee_contents.stated,
    MailKind.REFUND_ADDRESS_NEWS: payee_contents.stated,
    MailKind.REFUND_ADDRESS_ENTERED: payee_contents.entered,
    MailKind.REFUNDS_CAUTIONED: payee_contents.to_check,
    MailKind.REFUND_SETTLED: order_contents.refund_settled,
    MailKind.EVENT_CANCELED: order_contents.event_canceled,
    MailKind.EVENT_MOVED: order_contents.event_moved,
    MailKind.ANSWERS_MISSING: order_contents.answers_missing,
    MailKind.TICKET_AGAIN: order_contents.ticket,
    MailKind.REMINDER: message_contents.reminder,
    MailKind.MESSAGE: message_contents.message,
    MailKind.MESSAGE_PREVIEW: message_contents.message_preview,
    MailKind.MESSAGE_WRITTEN: message_contents.message_written,
    MailKind.SALE: message_contents.sale,
    MailKind.SALES_OF_DAY: message_contents.sales_of_day,
    MailKind.LOST_LINKS: _lost_links,
    MailKind.WAITING_LIST_JOINED: waiting_contents.joined,
    MailKind.WAITING_LIST_OFFER: waiting_contents.offered,
    MailKind.WAITING_LIST_REMINDER: waiting_contents.offered,
    MailKind.WAITING_LIST_ENDED: waiting_contents.ended,
    MailKind.MEMBER_INVITED: _member_invited,
    MailKind.PASSWORD_RESET: _password_reset,
    MailKind.PASSWORD_CHANGED: _password_changed,
    MailKind.WEBHOOK_FAILING: _webhook_failing,
    MailKind.WALLET_CHANGE_REQUESTED: _wallet,
    MailKind.WALLET_CHANGED: _wallet,
    MailKind.WALLET_CHANGE_CANCELED: _wallet,
}
