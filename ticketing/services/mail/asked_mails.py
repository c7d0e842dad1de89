"""Mails that anybody may ask for, at an address that they type.

A request only plans a mail: whether the address is known is looked up when the mail is written. So
the answer says nothing about the address, and neither does the time that it takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from ticketing import clock
from ticketing.config import Config
from ticketing.db.connection import write_transaction
from ticketing.errors import MailNotConfigured, TooManyLinks
from ticketing.limits import LINK_REQUESTS_PER_CLIENT, WIDE_FACTOR
from ticketing.models.notifications import Mail
from ticketing.models.tenants import Tenant
from ticketing.notification_types import ASKED_BY_ANYBODY, MailKind
from ticketing.services.notifications import mail_queue

_DAY = timedelta(days=1)


def plan(kind: MailKind, tenant: Tenant, email: str, client: Sequence[str], config: Config) -> None:
    """Plan a mail of one of ASKED_BY_ANYBODY to an address.

    `client`: digests of the client's networks, from narrow to wide. MailNotConfigured. TooManyLinks
    if the client has asked too often today, for whatever address.
    """
    if config.smtp is None:
        raise MailNotConfigured
    counted = dict(zip(("client", "client_site"), client, strict=False))
    row = mail_queue.new(tenant.id, kind, tenant.id, **{"client_site": None, **counted})
    with write_transaction():
        _refuse_too_many(counted)
        mail_queue.add([{**row, "recipient": email}])


def _refuse_too_many(counted: dict[str, str]) -> None:
    since = clock.now() - _DAY
    for place, (column, network) in enumerate(counted.items()):
        asked = Mail.select().where(
            getattr(Mail, column) == network,
            Mail.kind.in_(ASKED_BY_ANYBODY),
            Mail.created_at > since,
        )
        if asked.count() >= LINK_REQUESTS_PER_CLIENT * WIDE_FACTOR**place:
            raise TooManyLinks(retry_after=int(_DAY.total_seconds()))
