"""Mails that anybody may ask for, at an address that they type.

A request only plans a mail: whether the address is known is looked up when the mail is written. So
the answer says nothing about the address, and neither does the time that it takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from ticketing.config import Config
from ticketing.db.connection import write_transaction
from ticketing.errors import MailNotConfigured, TooMany, TooManyLinks
from ticketing.limits import LINK_REQUESTS_PER_CLIENT, WIDE_FACTOR
from ticketing.models.notifications import Mail
from ticketing.models.tenants import Tenant
from ticketing.notification_types import LINKS_ASKED_FOR, MailKind
from ticketing.services import daily_counts
from ticketing.services.notifications import mail_queue

_NETWORKS = (Mail.client, Mail.client_site)


def plan(kind: MailKind, tenant: Tenant, email: str, client: Sequence[str], config: Config) -> None:
    """Plan a mail of one of LINKS_ASKED_FOR to an address.

    `client`: digests of the client's networks, from narrow to wide. MailNotConfigured. TooManyLinks
    if the client has asked too often today, for whatever address.
    """
    if config.smtp is None:
        raise MailNotConfigured
    with write_transaction():
        counted = count(client, LINKS_ASKED_FOR, LINK_REQUESTS_PER_CLIENT, TooManyLinks)
        mail_queue.add(
            [{**mail_queue.new(tenant.id, kind, tenant.id, **counted), "recipient": email}]
        )


def count(
    client: Sequence[str], kinds: Sequence[MailKind], most: int, error: type[TooMany]
) -> dict[str, str | None]:
    """Return the columns of a mail by which its client is counted.

    The `error` if the client has asked for `most` mails of these kinds in a day. A wide network may
    ask more often. Other requests of the client wait until the transaction ends: call it first.
    """
    daily_counts.take_turn("mails", client)
    for place, (column, network) in enumerate(zip(_NETWORKS, client, strict=False)):
        asked = Mail.select().where(column == network, Mail.kind.in_(kinds))
        daily_counts.check(asked, Mail.created_at, most * WIDE_FACTOR**place, error)
    return dict(zip_longest((column.name for column in _NETWORKS), client))
