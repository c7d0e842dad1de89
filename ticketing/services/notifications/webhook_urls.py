"""Which URLs may be webhook endpoints, and to which addresses their notifications may be sent.

A URL is checked when the endpoint is made. What its name resolves to is judged at every delivery.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from ticketing.config import Allowed
from ticketing.errors import FieldMessage, Invalid

MAX_URL = 2048
PORTS = (443, 8443)
DEFAULT_PORTS = {"https": 443, "http": 80}

Address = IPv4Address | IPv6Address

_NO_URL = FieldMessage("url", "Not a valid URL.")
_NOT_ASCII = FieldMessage(
    "url_ascii", "Must be printable ASCII without spaces; write other characters percent-encoded."
)
_WRONG_PORT = FieldMessage("url_port", "Must begin with https:// and use port 443 or 8443.")

_VISIBLE = re.compile(r"[\x21-\x7e]+")
_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?")
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
# The C library reads 127.1, 0177.0.0.1, 2130706433 and 0x7f000001 as IPv4 addresses.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")

_PUBLIC_IPV6 = IPv6Network("2000::/3")
_NEVER_PUBLIC: tuple[IPv4Network | IPv6Network, ...] = tuple(
    map(
        ip_network,
        (
            "100.64.0.0/10",  # carriers; the metadata of some clouds
            "168.63.129.16/32",  # Azure's services for its own machines
            "192.0.0.0/24",  # protocols; Oracle's metadata
            "192.88.99.0/24",  # relays of 6to4
            "2001::/23",  # protocols, Teredo
            "2002::/16",  # 6to4: an IPv4 address is inside
            "3fff::/20",  # documentation
        ),
    )
)
"""Not public, although some versions of Python say so. NAT64, unique local, site local and
metadata addresses of IPv6 are outside of 2000::/3."""


@dataclass(frozen=True)
class Target:
    """The parts of an endpoint's URL. `path` includes the query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The value of the header Host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


@dataclass(frozen=True)
class Judged:
    """Whether notifications may be sent to some addresses.

    `is_shown`: whether the tenant may see what answers. What answers from a network of
    WEBHOOK_ALLOW may be an internal service.
    """

    is_permitted: bool
    is_shown: bool


def check(url: str, allow: Sequence[Allowed]) -> None:
    """Check the URL of a new or changed endpoint. `allow` is WEBHOOK_ALLOW.

    Invalid, with a message for the field `url`, if the URL itself breaks a rule. A name is not
    resolved here.
    """
    problem = _problem(url, allow)
    if problem is not None:
        raise Invalid({"url": [problem]})


def parse(url: str) -> Target:
    """Return the parts of a URL that was checked."""
    parts = urlsplit(url)
    query = f"?{parts.query}" if parts.query else ""
    return Target(
        scheme=parts.scheme,
        host=parts.hostname or "",
        port=parts.port or DEFAULT_PORTS[parts.scheme],
        path=(parts.path or "/") + query,
    )


def judge(addresses: Iterable[Address], port: int, scheme: str, allow: Sequence[Allowed]) -> Judged:
    """Judge all addresses of a name, for one port. One refused address refuses the name."""
    found = [_inner(address) for address in addresses]
    allowed = [is_allowed(address, port, allow) for address in found]
    is_usual = scheme == "https" and port in PORTS
    return Judged(
        is_permitted=bool(found)
        and all(
            permitted or (is_usual and is_public(address))
            for address, permitted in zip(found, allowed, strict=True)
        ),
        is_shown=not any(allowed),
    )


def is_allowed(address: Address, port: int, allow: Sequence[Allowed]) -> bool:
    """Return whether an address and port are in a network of WEBHOOK_ALLOW."""
    inner = _inner(address)
    return any(inner in each.network and each.port in (None, port) for each in allow)


def is_public(address: Address) -> bool:
    """Return whether an address belongs to a host of the public internet."""
    inner = _inner(address)
    if isinstance(inner, IPv6Address) and inner not in _PUBLIC_IPV6:
        return False
    return (
        inner.is_global
        and not inner.is_multicast
        and not inner.is_reserved
        and not any(inner in network for network in _NEVER_PUBLIC)
    )


def _inner(address: Address) -> Address:
    """Return the IPv4 address in an IPv4-mapped one, because the connection goes there."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return address if mapped is None else mapped


def _problem(url: str, allow: Sequence[Allowed]) -> FieldMessage | None:
    if len(url) > MAX_URL:
        return FieldMessage("length", f"Longer than {MAX_URL} characters.", min=1, max=MAX_URL)
    if not _VISIBLE.fullmatch(url):
        return _NOT_ASCII
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return _NO_URL
    if "\\" in url or not parts.hostname or parts.netloc.endswith(":"):
        return _NO_URL
    if "@" in parts.netloc:
        return FieldMessage("url_credentials", "Must not contain a user name or password.")
    if "#" in url:
        return FieldMessage("url_fragment", "Must not contain a fragment.")
    if port is None:
        port = DEFAULT_PORTS.get(parts.scheme)
    return _host_problem(parts.scheme, parts.netloc, parts.hostname, port, allow)


def _host_problem(
    scheme: str, netloc: str, host: str, port: int | None, allow: Sequence[Allowed]
) -> FieldMessage | None:
    is_usual = scheme == "https" and port in PORTS
    # With WEBHOOK_ALLOW, its networks decide on other schemes and ports.
    if scheme not in DEFAULT_PORTS or not port or (not is_usual and not allow):
        return _WRONG_PORT
    try:
        literal = ip_address(host)
    except ValueError:
        literal = None
    if literal is not None and (netloc.startswith("[") == (literal.version == 6)):
        if "%" in host or not judge([literal], port, scheme, allow).is_permitted:
            return FieldMessage("url_not_public", "This address is not public.")
        return None
    labels = host.split(".")
    if (
        netloc.startswith("[")
        or not _NAME.fullmatch(host)
        or not all(map(_LABEL.fullmatch, labels))
        or _NUMBER.fullmatch(labels[-1])
    ):
        return FieldMessage("url_host", "Must have a valid host name or IP address.")
    return None
