"""Networks that the operator blocks: for attackers who are larger than what limits can stop.

Each process reads the list again after READ_SECONDS, so nothing needs a restart.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from datetime import timedelta
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network

from ticketing import clock, credentials
from ticketing.credentials import Keyring
from ticketing.db.connection import UNAVAILABLE, write_transaction
from ticketing.errors import Invalid, NotFound
from ticketing.models.blocked_networks import BlockedNetwork

Network = IPv4Network | IPv6Network

READ_SECONDS = 5.0
"""How old a process's list may be."""

MOST_HOURS = 24 * 30

WIDEST = {4: 8, 6: 16}
"""The shortest prefix that can be blocked. What is wider is a mistake."""

NARROWEST = {4: 32, 6: 64}
"""A client with one IPv6 address controls its /64."""

SHOWN, NAME_LENGTH = {4: 32, 6: 48}, 8
"""The networks that the console shows, by the first digits of their digest."""


def parse(text: str) -> Network:
    """Return a network in CIDR notation; an address alone is a network, too. Invalid."""
    try:
        found = ip_network(text.strip(), strict=False)
    except ValueError:
        raise Invalid({"network": ["Not a network, such as 2001:db8::/32."]}) from None
    if "/" not in text and found.version == 6:
        found = found.supernet(new_prefix=NARROWEST[6])
    if not WIDEST[found.version] <= found.prefixlen <= NARROWEST[found.version]:
        raise Invalid(
            {"network": [f"Must be from /{WIDEST[found.version]} to /{NARROWEST[found.version]}."]}
        )
    return found


def name_of(network: Network, keyring: Keyring) -> str:
    """Return the short name under which the console shows the clients of a network.

    It shows IPv6 networks as /48. Invalid for one that is wider, or for an IPv4 network.
    """
    widest = SHOWN[network.version]
    if network.prefixlen < widest:
        raise Invalid({"network": [f"The console shows networks of /{widest}."]})
    wide = network.supernet(new_prefix=widest)
    text = str(wide.network_address) if wide.version == 4 else str(wide)
    return credentials.keyed_digest(keyring.current, "held-by", text)[:NAME_LENGTH]


def block(network: Network, hours: int) -> BlockedNetwork:
    """Refuse all requests of a network for 1 to MOST_HOURS hours from now. Invalid."""
    if not 1 <= hours <= MOST_HOURS:
        raise Invalid({"hours": [f"Must be from 1 to {MOST_HOURS}."]})
    now = clock.now()
    until = now + timedelta(hours=hours)
    with write_transaction():
        BlockedNetwork.delete().where(BlockedNetwork.until <= now).execute()
        BlockedNetwork.insert(network=str(network), until=until, created_at=now).on_conflict(
            conflict_target=[BlockedNetwork.network], update={BlockedNetwork.until: until}
        ).execute()
        blocked: BlockedNetwork = BlockedNetwork.get_by_id(str(network))
    return blocked


def unblock(network: Network) -> None:
    """End a block. NotFound if this network is not blocked."""
    if not BlockedNetwork.delete().where(BlockedNetwork.network == str(network)).execute():
        raise NotFound("This network is not blocked.")


def listed() -> Sequence[BlockedNetwork]:
    """Return the networks that are blocked now, the one that ends first at the front."""
    blocked = BlockedNetwork.select().where(BlockedNetwork.until > clock.now())
    return list(blocked.order_by(BlockedNetwork.until, BlockedNetwork.network))


class Blocks:
    """The list of one process. Threads may share it."""

    def __init__(self) -> None:
        self._networks: tuple[Network, ...] = ()
        self._read_at = -math.inf
        self._lock = threading.Lock()

    def has(self, client: str) -> bool:
        """Return whether a client is blocked: an IPv4 address, or an IPv6 network of it.

        Without a database, the list stays as it was.
        """
        if clock.monotonic() - self._read_at >= READ_SECONDS and self._lock.acquire(blocking=False):
            try:
                self._networks = tuple(ip_network(each.network) for each in listed())
            except UNAVAILABLE:
                pass
            finally:
                self._read_at = clock.monotonic()
                self._lock.release()
        if not self._networks:
            return False
        of_client = _network(client)
        # An address of IPv4 is in no network of IPv6.
        return of_client is not None and any(
            of_client.network_address in each and of_client.prefixlen >= each.prefixlen
            for each in self._networks
        )


@lru_cache(1024)
def _network(client: str) -> Network | None:
    try:
        return ip_network(client)
    except ValueError:
        return None  # a Unix socket
