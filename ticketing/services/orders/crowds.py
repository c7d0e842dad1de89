"""Crowds: networks that an organizer names, because many people of one event order from there.

A school, a company or a mobile carrier is one address to us, and so one client with its limits. All
people of a crowd are one client, too, which may order as many seats of the event as the organizer
says. Limits that are higher for every client stay.

Example: a school has 203.0.113.0/24, and a crowd of 300 seats. The first pupils order 290 free
seats, although a client has 10 a day. An order of 11 more is refused, from every address there.
"""

from __future__ import annotations

from ipaddress import ip_network

from ticketing import credentials
from ticketing.config import Config
from ticketing.models.events import Crowd, Event

_DIGEST = "crowd:"


def find(event: Event, address: str | None) -> Crowd | None:
    """Return the crowd of an event that a client belongs to. None: to none.

    `address`: its IPv4 address or IPv6 /64. Of several crowds, it is the smallest network.
    """
    if not event.crowds or address is None:
        return None
    client = ip_network(address)
    named = [(ip_network(crowd["network"]), crowd) for crowd in event.crowds]
    # An address of IPv4 is in no network of IPv6.
    of_client = [
        (network.prefixlen, crowd)
        for network, crowd in named
        if client.network_address in network and client.prefixlen >= network.prefixlen
    ]
    return max(of_client, key=lambda found: found[0])[1] if of_client else None


def digest(event: Event, crowd: Crowd, config: Config) -> str:
    """Return what orders of a crowd have as the digest of their client's network."""
    network = credentials.keyed_digest(config.keyring.current, "crowd", crowd["network"])
    return f"{_DIGEST}{event.id}:{network}"


def is_of_crowd(held_by: str | None) -> bool:
    """Return whether an order is of a crowd, by the digest of its client's network."""
    return held_by is not None and held_by.startswith(_DIGEST)
