"""Tickets and guests of a day at the door, as the test knows them."""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass
class Ticket:
    """An admission, as the test knows it. `inside`: the nonce of the scan that redeemed it."""

    id: str
    code: str
    qr: str
    generation: int = 1
    status: str = "valid"
    inside: str | None = None
    conflicts: dict[str, tuple[datetime, int]] = field(default_factory=dict)
    """The open conflicts by nonce: when, and of which generation."""


@dataclass
class Guest:
    """A person with a QR code, theirs or a copy."""

    ticket: Ticket
    qr: str
    generation: int


def verdict_on(ticket: Ticket, generation: int) -> str:
    """Return what the server must find."""
    if ticket.status != "valid":
        return ticket.status
    if ticket.inside is not None:
        return "already_redeemed"
    return "superseded" if generation < ticket.generation else "admitted"
