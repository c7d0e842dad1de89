"""Mails that anybody may ask for, at an address that they type.

A request only plans a mail: whether the address is known is looked up when the mail is written. So
the answer says nothing about the address, and neither does the time that it takes.

A mail that would repeat what the address was sent lately is not planned again. So a stranger who
asks first cannot hold it back: it is in the mailbox. Free orders do not count here, nor do these
mails count among those that strangers cause (budgets.py).

Example: at 12:00 a stranger asks for a new password of Ada, at 12:10 she does. Her mail is that of
12:00, and its link works until 13:00. From then on she gets another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import zip_longest

from ticketing import clock, credentials
from ticketing.config import Config
from ticketing.db.connection import one_at_a_time, write_transaction
from ticketing.errors import MailNotConfigured, TooMany, TooManyLinks, TooManyMails
from ticketing.limits import (
    LINK_REQUESTS_PER_CLIENT,
    LINKS_HOURS,
    PLACE_HOURS,
    RESET_HOURS,
    WIDE_FACTOR,
)
from ticketing.models.notifications import Mail
from ticketing.models.tenants import Tenant
from ticketing.notification_types import MailKind
from ticketing.services import daily_counts
from ticketing.services.mail import daily_bound
from ticketing.services.notifications import mail_queue

_NETWORKS = (Mail.client, Mail.client_site)

_ONCE_IN = {
    MailKind.PASSWORD_RESET: timedelta(hours=RESET_HOURS),
    MailKind.LOST_LINKS: timedelta(hours=LINKS_HOURS),
    MailKind.WAITING_LIST_JOINED: timedelta(hours=PLACE_HOURS),
}


def plan(
    kind: MailKind, tenant: Tenant, email: str, client: Sequence[str], config: Config
) -> datetime | None:
    """Plan a mail with lost links, or with one for a new password, to an address.

    Return when such a mail was planned for this address, if that was lately. None: no such mail
    was, and one is planned now.

    `client`: digests of the client's networks, from narrow to wide. MailNotConfigured. TooManyLinks
    if the client has asked too often today for such a mail, for any address. TooManyMails.
    """
    if config.smtp is None:
        raise MailNotConfigured
    with write_transaction():
        counted = count(client, kind, LINK_REQUESTS_PER_CLIENT, TooManyLinks)
        columns = {**counted, "recipient": email}
        return add_once(tenant.id, kind, tenant.id, email, config, **columns)


def add_once(
    tenant_id: str, kind: MailKind, subject: str, email: str, config: Config, **columns: str | None
) -> datetime | None:
    """Add a mail, unless one of its kind about its subject was planned lately for this address.

    Return when that was. None: it is added. Two addresses are the same in any case of their
    letters, and not in other spellings: these may bring other links, and so hold no mail back.

    TooManyMails if the organizer's part for such mails is used up, so that the mail would have to
    wait, and its link might end before it leaves. That never holds for a new password: only members
    get such a mail.
    """
    asked_for = f"{kind} {subject} {email.lower()}"
    digest = credentials.keyed_digest(config.keyring.current, "mail-request", asked_for)
    one_at_a_time(f"mail {digest}")
    same = Mail.select(Mail.created_at).where(
        Mail.request_digest == digest, Mail.created_at > clock.now() - _ONCE_IN[kind]
    )
    lately: tuple[datetime] | None = same.order_by(Mail.created_at.desc()).tuples().first()
    if lately is not None:
        return lately[0]
    if kind != MailKind.PASSWORD_RESET:
        today = daily_bound.today(tenant_id, config)
        if today.is_reached_by_requests:
            raise TooManyMails(retry_after=daily_counts.seconds_until(today.free_at))
    mail_queue.add([mail_queue.new(tenant_id, kind, subject, request_digest=digest, **columns)])
    return None


def count(
    client: Sequence[str], kind: MailKind, most: int, error: type[TooMany]
) -> dict[str, str | None]:
    """Return the columns of a mail by which its client is counted.

    The `error` if the client has asked for `most` mails of this kind in a day. A wide network may
    ask more often. Other requests of the client wait until the transaction ends: call it first.
    """
    daily_counts.take_turn("mails", client)
    for place, (column, network) in enumerate(zip(_NETWORKS, client, strict=False)):
        asked = Mail.select().where(column == network, Mail.kind == kind)
        daily_counts.check(asked, Mail.created_at, most * WIDE_FACTOR**place, error)
    return dict(zip_longest((column.name for column in _NETWORKS), client))
