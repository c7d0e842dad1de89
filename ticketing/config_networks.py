"""The networks of WEBHOOK_ALLOW and TRUSTED_PROXIES, and which addresses are this machine."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from ticketing.environment import ConfigError, listed

_ALLOWED = re.compile(r"([0-9A-Fa-f.:]{2,39}/[0-9]{1,3})(?::([0-9]{1,5}))?", re.ASCII)


@dataclass(frozen=True)
class Allowed:
    """A network to which webhooks may be sent although it is not public. `port` None: any."""

    network: IPv4Network | IPv6Network
    port: int | None


def is_loopback(host: str) -> bool:
    """Return whether a host name or address means this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def webhook_allow(environ: Mapping[str, str]) -> tuple[Allowed, ...]:
    """Return the networks to which webhooks may go although they are not public. ConfigError."""
    found = []
    for each in listed(environ, "WEBHOOK_ALLOW"):
        # A port follows the length of the network's prefix, because an IPv6 address has colons.
        match = _ALLOWED.fullmatch(each)
        port = int(match[2]) if match and match[2] else None
        try:
            if match is None or (port is not None and not 1 <= port <= 65535):
                raise ValueError
            found.append(Allowed(ip_network(match[1]), port))
        except ValueError:
            raise ConfigError(
                "WEBHOOK_ALLOW must be networks such as 127.0.0.0/8, 10.1.0.0/16:8080"
            ) from None
    return tuple(found)


def trusted_proxies(environ: Mapping[str, str]) -> tuple[IPv4Network | IPv6Network, ...]:
    """Return the networks of the proxies whose X-Forwarded-For is believed. ConfigError."""
    try:
        return tuple(ip_network(each) for each in listed(environ, "TRUSTED_PROXIES"))
    except ValueError:
        raise ConfigError("TRUSTED_PROXIES must be IP addresses or networks") from None
