"""A place in a waiting room, and the signed token that its owner keeps.

A position is a number of microseconds: the second of the arrival, and a lot from 0 to 999,999
within that second. The lot of a network never changes, so nobody draws again by coming again.

Example: Ada and Bob come in the second 1,764,000,000. Ada's network has the lot 700,000, Bob's
200,000. Ada's position is 1,764,000,000,700,000, and Bob is before her.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ticketing import ids
from ticketing.credentials import Keyring, keyed_digest, same_as_any

SECOND = 1_000_000

NETWORKS = 2**18
"""A room knows networks as numbers below this one, so what it stores is bounded: some share one.
"""

_PREFIX, _ID_BITS, _ID_LENGTH, _DIGITS = "wr_", 60, 12, 32
_SHAPE = re.compile(
    rf"{_PREFIX}([0-9]{{16,17}})_([0-9]{{10,11}})_([0-9]{{1,11}})"
    rf"_([{ids.ALPHABET}]{{{_ID_LENGTH}}})_([0-9a-f]{{{_DIGITS}}})"
)


@dataclass(frozen=True)
class Place:
    """A place. `seen`: the second of the last request. `ends`: of their turn. 0: it is not yet."""

    id: str
    position: int
    seen: int
    ends: int = 0


class Drawn(NamedTuple):
    """The lot of a network for an event, and the number with which the room counts it."""

    lot: int
    network: int


def draw(event_id: str, networks: Sequence[str], secret_key: str) -> Drawn:
    """Return what the wide network of somebody has drawn. It is the same each time.

    `networks`: those of their address, the narrow one first.
    """
    return drawn(event_id, keyed_digest(secret_key, "held-by", networks[-1]), secret_key)


def drawn(event_id: str, client: str, secret_key: str) -> Drawn:
    """Return the same for the digest of a wide network, by which orders know it."""
    digest = keyed_digest(secret_key, "waiting-room-lot", f"{event_id} {client}")
    number = int(digest[:12], 16)
    return Drawn(number % SECOND, number // SECOND % NETWORKS)


def new(second: int, lot: int, seen: int) -> Place:
    """Return a new place in this second, of somebody who came in the second `seen`."""
    place_id = ids.base32(secrets.randbits(_ID_BITS), _ID_LENGTH)
    return Place(place_id, second * SECOND + lot, seen)


def token(place: Place, room: str, networks: Sequence[str], secret_key: str) -> str:
    """Return the token of a place. It counts for this opening of the room, and this network.

    `room`: the event and the time of the opening.
    """
    body = f"{place.position}_{place.seen}_{place.ends}_{place.id}"
    return f"{_PREFIX}{body}_{_digest(secret_key, room, networks, body)}"


def read(offered: str | None, room: str, networks: Sequence[str], keyring: Keyring) -> Place | None:
    """Return the place of a token. None if it is not one of this opening and network."""
    match = None if offered is None else _SHAPE.fullmatch(offered)
    if match is None:
        return None
    position, seen, ends, place_id, digest = match.groups()
    body = f"{position}_{seen}_{ends}_{place_id}"
    genuine = [_digest(each, room, networks, body) for each in keyring.accepted]
    if not same_as_any(digest, genuine):
        return None
    return Place(place_id, int(position), int(seen), int(ends))


def _digest(secret_key: str, room: str, networks: Sequence[str], body: str) -> str:
    return keyed_digest(secret_key, "waiting-room", f"{room} {networks[0]} {body}")[:_DIGITS]
