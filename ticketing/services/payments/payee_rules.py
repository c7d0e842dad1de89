"""When a statement of the buyer counts. Pure rules, without a database.

Everybody who has an order's link can state where its refunds go. So a statement counts when
somebody confirms it from the buyer's mailbox, or after a wait in which the buyer was told and could
stop it. `Standing` is what is known of an order at that moment.

Example, with 24 hours. Ada's order owes her 5, and it goes back to the wallet that paid.

    Monday 10:00   somebody states another address: Ada gets a mail with two buttons
    Monday 12:00   she presses "Send it there now": it counts. Without that, on Tuesday at 10:00
    Monday 12:00   or she presses "This wasn't me": it ends, and the link alone changes nothing more
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ticketing.constants import PayeeCaution

WAITS_AT_MOST, WAITS_IN = 3, timedelta(days=30)
"""How many statements may count by waiting, in which time: a debt is on no list meanwhile."""

SOON = timedelta(minutes=15)
"""A mail that is sent so soon after a statement does not lengthen its wait."""


@dataclass(frozen=True)
class Standing:
    """What is known when a statement is made, or when its wait is over.

    `can_be_told`: somebody can get a mail about it, or got it. `is_closed`: somebody said "This
    wasn't me" about a statement of the order. `replaces_proven`: the payee that counts is an
    account that has proven that it paid. `stated`: when earlier statements were made.
    """

    can_be_told: bool
    is_closed: bool = False
    replaces_proven: bool = False
    stated: Sequence[datetime] = ()


def counts_at(standing: Standing, now: datetime, wait: timedelta) -> datetime | None:
    """Return when a statement of this moment counts by waiting. None: never.

    The wait of 0 gives the protection up, and then nothing waits.
    """
    if standing.is_closed:
        return None
    recent = [each for each in standing.stated if each > now - WAITS_IN]
    return now + wait if len(recent) < WAITS_AT_MOST or not wait else None


def needs_signature(standing: Standing) -> bool:
    """Return whether only a signature of the account that paid can replace it as the payee."""
    return standing.replaces_proven and not standing.can_be_told


def lengthened(stated_at: datetime, effective_at: datetime, told_at: datetime) -> datetime:
    """Return when a statement counts whose first mail was sent at `told_at`.

    The buyer always has the whole wait. Example, with 24 hours: stated at 10:00 and told at 12:00,
    because the mail server was down: it counts at 12:00 on the next day.
    """
    delay = told_at - stated_at
    return effective_at if delay <= SOON else effective_at + delay


def cautions(standing: Standing, *, is_confirmed: bool, differs_from_proven: bool) -> str:
    """Return the cautions of a statement that counts from now on, as they are stored.

    `is_confirmed`: somebody confirmed it from the buyer's mailbox. `differs_from_proven`: another
    account has proven that it paid.
    """
    found = []
    if not is_confirmed and (standing.replaces_proven or differs_from_proven):
        found.append(PayeeCaution.REPLACES_PROVEN)
    if not is_confirmed and not standing.can_be_told:
        found.append(PayeeCaution.NOBODY_TOLD)
    return " ".join(found)
