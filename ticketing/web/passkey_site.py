"""To which site passkeys belong: its host and its origin."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from flask import request

from ticketing.services.access.passkeys import Site
from ticketing.web import origin


def site() -> Site | None:
    """Return the site of this request. None where browsers have no passkeys.

    They need a name, not an IP address, and https, except on this machine (WebAuthn, 5.1).
    """
    at = origin.origin()
    if not at.startswith("https://"):
        at = f"http://{request.host}"
    host = urlsplit(at).hostname or ""
    if not at.startswith("https://") and host != "localhost":
        return None
    try:
        ip_address(host)
    except ValueError:
        return Site(host, at, host)
    return None
