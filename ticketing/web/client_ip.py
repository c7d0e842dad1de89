"""Find the client's address behind trusted proxies. Needs only WSGI (PEP 3333)."""

import logging
import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any

Proxies = Sequence[IPv4Network | IPv6Network]

log = logging.getLogger(__name__)

# A client with one IPv6 address controls its /64. Many providers assign a /48 (RFC 6177).
_IPV6_PREFIXES = 64, 48
_NETWORKS = "ticketing.networks"

_WITH_PORT = re.compile(r"(?:([0-9.]+)|\[([0-9A-Fa-f:.]+)\]):[0-9]+")

KEPT = 16_384
"""How many parsed addresses are cached: to parse one takes longer than to count it."""


def address(environ: dict[str, Any], proxies: Proxies) -> str:
    """Return the client's IPv4 address or IPv6 /64 network."""
    return networks(environ, proxies)[0]


def networks(environ: dict[str, Any], proxies: Proxies) -> tuple[str, ...]:
    """Return the client's IPv4 address, or its IPv6 /64 and /48 networks, for rate limits.

    Each proxy appends its peer's address to X-Forwarded-For. So the list is read from its end, as
    far as trusted `proxies` wrote it.
    """
    found: tuple[str, ...] | None = environ.get(_NETWORKS)
    if found is None:
        found = environ[_NETWORKS] = _networks(_client(environ, proxies))
    return found


def by_tls(environ: dict[str, Any], proxies: Proxies) -> bool:
    """Return whether the client uses TLS, with this service or a trusted proxy (RFC 7239, 5.4)."""
    if environ["wsgi.url_scheme"] == "https":
        return True
    return environ.get("HTTP_X_FORWARDED_PROTO") == "https" and _is_trusted(_peer(environ), proxies)


def _client(environ: dict[str, Any], proxies: Proxies) -> str:
    peer, forwarded = _peer(environ), environ.get("HTTP_X_FORWARDED_FOR", "")
    if not _is_trusted(peer, proxies):
        if forwarded:
            _warn(peer)
        return peer
    for entry in reversed(forwarded.split(",")):
        found = _parse(entry)
        if found is None:
            break
        peer = str(found)
        if not _is_trusted(peer, proxies):
            break
    return peer


@lru_cache(KEPT)
def _warn(peer: str) -> None:
    """Log once that a private address forwards requests: its clients would share one limit."""
    found = _parse(peer)
    if found is not None and found.is_private:
        log.warning("%s forwards requests, but is not in TRUSTED_PROXIES", peer)


def _peer(environ: dict[str, Any]) -> str:
    return environ.get("REMOTE_ADDR") or ""


def _is_trusted(peer: str, proxies: Proxies) -> bool:
    if not peer:
        return True  # a Unix socket: the peer is on this host
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
    # Some proxies add the port (RFC 7239, 6).
    with_port = _WITH_PORT.fullmatch(text.strip())
    try:
        found = ip_address((with_port[1] or with_port[2]) if with_port else text.strip())
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found
