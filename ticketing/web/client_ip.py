"""Where a request comes from, as far as it can be believed. Knows WSGI alone (PEP 3333)."""

import logging
import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any

Proxies = Sequence[IPv4Network | IPv6Network]

log = logging.getLogger(__name__)

# Who has one IPv6 address has its whole /64. Many providers give a customer a /48 (RFC 6177).
_IPV6_PREFIXES = 64, 48
_NETWORKS = "ticketing.networks"

_WITH_PORT = re.compile(r"(?:([0-9.]+)|\[([0-9A-Fa-f:.]+)\]):[0-9]+")

KEPT = 16_384
"""How many addresses are remembered as read: reading one takes longer than counting it."""


def address(environ: dict[str, Any], proxies: Proxies) -> str:
    """Return the client's address, of IPv6 its /64 network."""
    return networks(environ, proxies)[0]


def networks(environ: dict[str, Any], proxies: Proxies) -> tuple[str, ...]:
    """Return what the client is counted as: its IPv4 address, or its IPv6 /64 and /48 networks.

    Each proxy appends its peer's address to X-Forwarded-For. The list is read from its end for as
    long as our `proxies` wrote it.
    """
    found: tuple[str, ...] | None = environ.get(_NETWORKS)
    if found is None:
        found = environ[_NETWORKS] = _networks(_client(environ, proxies))
    return found


def by_tls(environ: dict[str, Any], proxies: Proxies) -> bool:
    """Tell whether the client speaks TLS with us or with a proxy of ours (RFC 7239, 5.4)."""
    if environ["wsgi.url_scheme"] == "https":
        return True
    return environ.get("HTTP_X_FORWARDED_PROTO") == "https" and _is_ours(_peer(environ), proxies)


def _client(environ: dict[str, Any], proxies: Proxies) -> str:
    peer, forwarded = _peer(environ), environ.get("HTTP_X_FORWARDED_FOR", "")
    if not _is_ours(peer, proxies):
        if forwarded:
            _warn(peer)
        return peer
    for entry in reversed(forwarded.split(",")):
        found = _parse(entry)
        if found is None:
            break
        peer = str(found)
        if not _is_ours(peer, proxies):
            break
    return peer


@lru_cache(KEPT)
def _warn(peer: str) -> None:
    """Tell once of what looks like a proxy of ours: all of its clients would be one."""
    found = _parse(peer)
    if found is not None and found.is_private:
        log.warning("%s forwards requests, but is not in TRUSTED_PROXIES", peer)


def _peer(environ: dict[str, Any]) -> str:
    return environ.get("REMOTE_ADDR") or ""


def _is_ours(peer: str, proxies: Proxies) -> bool:
    if not peer:
        return True  # a Unix socket: whoever may write to it is on this host
    found = _parse(peer) if proxies else None
    return found is not None and any(found in network for network in proxies)


@lru_cache(KEPT)
def _networks(address: str) -> tuple[str, ...]:
    found = _parse(address)
    if isinstance(found, IPv6Address):
        return tuple(str(IPv6Network((found, each), strict=False)) for each in _IPV6_PREFIXES)
    return (address,)


@lru_cache(KEPT)
def _parse(text: str) -> IPv4Address | IPv6Address | None:
    # Some proxies write the port too (RFC 7239, 6).
    with_port = _WITH_PORT.fullmatch(text.strip())
    try:
        found = ip_address((with_port[1] or with_port[2]) if with_port else text.strip())
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found
