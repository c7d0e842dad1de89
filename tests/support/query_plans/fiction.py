"""Invented data for the generator: outcomes of orders, and realistic values."""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random

from ticketing import ids
from ticketing.chain import receivers
from ticketing.constants import Flag, IntentStatus

YEAR, DAY, HOUR, HOLD = 365 * 86_400, 86_400, 3_600, 900
"""Seconds. HOLD is how long an order is held."""

BLOCK_SECONDS = 2


@dataclass(frozen=True)
class Outcome:
    """The outcome of an order: what is paid and refunded, each in percent of its price."""

    weight: int
    status: IntentStatus
    paid: tuple[int, ...] = ()
    back: int = 0
    flags: tuple[Flag, ...] = ()
    late: bool = False


OUTCOMES = (
    Outcome(560, IntentStatus.CONFIRMED, (100,)),
    Outcome(20, IntentStatus.CONFIRMED, (40, 60)),
    Outcome(8, IntentStatus.CONFIRMED, (150,), 0, (Flag.OVERPAID,)),
    Outcome(5, IntentStatus.CONFIRMED, (100, 100), 0, (Flag.DUPLICATE,)),
    Outcome(4, IntentStatus.CONFIRMED, (100, 100), 100, (Flag.DUPLICATE,)),
    Outcome(3, IntentStatus.CONFIRMED, (100,), 0, (Flag.PAID_LATE,), late=True),
    Outcome(1, IntentStatus.REVERSED, (100,), 0, (Flag.REORGED,)),
    Outcome(340, IntentStatus.EXPIRED),
    Outcome(9, IntentStatus.EXPIRED, (50,), 0, (Flag.UNDERPAID,)),
    Outcome(50, IntentStatus.CANCELED),
)
OPEN = (
    Outcome(9, IntentStatus.AWAITING_PAYMENT),
    Outcome(1, IntentStatus.PROCESSING, (100,)),
)


@dataclass
class Wallet:
    """The wallets of a tenant: one without orders, and the one before it."""

    id: str
    new_owner: str
    former_id: str
    owner: str
    secret: bytes
    next_index: int = 1

    def take(self) -> tuple[int, str]:
        """Return the next index of the former one, and its receiver."""
        index = self.next_index
        self.next_index += 1
        return index, receivers.receiver_address(
            self.owner, receivers.order_salt(self.secret, index)
        )


@dataclass
class Sold:
    """A ticket type of an event, with its stock."""

    id: str
    tenant: int
    event_id: str
    price: int
    chain_id: int | None
    created: float
    status: str
    held: int = 0
    sold: int = 0


def id_at(random: Random, prefix: str, at: float) -> str:
    """Return an id that was made at a time."""
    return ids.make(prefix, int(at * 1_000_000), random.getrandbits(ids.RANDOM_BITS))


def text(at: float | None) -> str | None:
    """Return a time in the format of the database."""
    if at is None:
        return None
    moment: datetime = datetime.fromtimestamp(at, UTC)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def block(at: float) -> int:
    """Return the number of the block at a time."""
    return int(at) // BLOCK_SECONDS - 800_000_000


def address() -> str:
    """Return an address of digits only, which is valid in EIP-55 without a checksum."""
    return f"0x{secrets.randbelow(10**40):040}"
