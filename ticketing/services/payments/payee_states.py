"""What an organizer should know about the payee of a refund before signing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from peewee import Expression

from ticketing.constants import PayeeCaution, PayeeSource
from ticketing.models.base import literal
from ticketing.models.stray_accounts import Account
from ticketing.services.orders.accounts import Kind


@dataclass(frozen=True)
class PayeeState:
    """The payee of one account: who decided, since when it counts, and what to look at.

    `waits_until`: a statement of the buyer waits, and keeps the debt off lists until then.
    `entered_by` is shown for 24 hours. `stated_today` and `differs_from_payer` are labels: they are
    true of every honest buyer who paid from an exchange.
    """

    source: PayeeSource | None = None
    effective_at: datetime | None = None
    waits_until: datetime | None = None
    cautions: tuple[PayeeCaution, ...] = ()
    entered_by: str | None = None
    stated_today: bool = False
    differs_from_payer: bool = False


def waiting(kind: Kind) -> Expression:
    """Return the condition that a statement which waits keeps an account off lists."""
    return literal(1) == literal(0)


def of(accounts: Sequence[Account]) -> dict[str, PayeeState]:
    """Return the state of each account's payee, by the account's id."""
    return {account.id: PayeeState() for account in accounts}
