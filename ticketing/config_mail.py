"""The mail server, from SMTP_URL and MAIL_FROM."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.headerregistry import Address
from urllib.parse import unquote

from ticketing.config_networks import is_loopback
from ticketing.environment import ConfigError, split_url

_PORTS = {"smtp": 587, "smtps": 465}
_SENDER = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,190}", re.ASCII)


@dataclass(frozen=True)
class Smtp:
    """The mail server. `is_tls`: TLS from the first byte (smtps).

    Otherwise the connection must change to TLS (STARTTLS), except to a loopback address.
    """

    host: str
    port: int
    user: str | None
    password: str | None = field(repr=False)
    is_tls: bool
    sender: str

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine."""
        return is_loopback(self.host)


def smtp(environ: Mapping[str, str]) -> Smtp | None:
    """Return the mail server. None: no mail is sent. ConfigError."""
    if "SMTP_URL" not in environ:
        return None
    url = split_url("SMTP_URL", environ["SMTP_URL"])
    if url.scheme not in _PORTS or not url.hostname or url.path or url.query or url.fragment:
        raise ConfigError("SMTP_URL must be smtp://user:password@host:587 or smtps://...")
    if (url.username is None) != (url.password is None):
        raise ConfigError("SMTP_URL must have a user and a password, or neither")
    sender = environ.get("MAIL_FROM", "")
    if not _is_address(sender):
        raise ConfigError("SMTP_URL requires MAIL_FROM, an address such as tickets@example.org")
    if "PUBLIC_URL" not in environ:
        raise ConfigError("SMTP_URL requires PUBLIC_URL, for the links in mails")
    return Smtp(
        host=url.hostname,
        port=url.port or _PORTS[url.scheme],
        user=None if url.username is None else unquote(url.username),
        password=None if url.password is None else unquote(url.password),
        is_tls=url.scheme == "smtps",
        sender=sender,
    )


def _is_address(text: str) -> bool:
    try:
        return _SENDER.fullmatch(text) is not None and Address(addr_spec=text) is not None
    except ValueError:
        return False
