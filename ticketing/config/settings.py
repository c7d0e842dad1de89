"""The settings of a process: reads all variables, with the mail server and the networks."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from email.headerregistry import Address
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from types import MappingProxyType
from urllib.parse import unquote

from ticketing.chain.registry import Chain
from ticketing.config import x402
from ticketing.config.chains import PREFIXES, chains
from ticketing.config.variables import (
    ConfigError,
    integer,
    is_visible,
    listed,
    number,
    one_of,
    split_url,
    split_url_of_hosts,
)
from ticketing.constants import MAX_SAFE_INTEGER
from ticketing.credentials import Keyring
from ticketing.limits import (
    DEFAULT_CROWD_MOST,
    DEFAULT_EARLY_MOST,
    DEFAULT_FREE_PER_CLIENT,
    DEFAULT_NOTIFICATION_DAYS,
    DEFAULT_ORDERS_PER_CLIENT,
    DEFAULT_PERSONAL_DATA_DAYS,
    DEFAULT_RATE_LIMITS,
    DEFAULT_REFUND_CHANGE_HOURS,
    DEFAULT_UNPAID_PER_ADDRESS,
    DEFAULT_WALLET_CHANGE_HOURS,
    MAX_NOTIFICATION_DAYS,
    MAX_PERSONAL_DATA_DAYS,
    MAX_REFUND_CHANGE_HOURS,
    MAX_WALLET_CHANGE_HOURS,
    MIN_NOTIFICATION_DAYS,
    CallClass,
)

DEFAULT_DATABASE_URL = "sqlite:///var/ticketing.db"
DEVELOPMENT_SECRET_KEY = "for-development-only-and-known-to-everybody"
MIN_SECRET_KEY_BYTES = 32
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
LOG_FORMATS = ("plain", "json")
MAX_RATE = 1_000_000

_OURS = re.compile(
    r"SECRET_KEY(_PREVIOUS)?|DATABASE_URL|PUBLIC_URL|SMTP_URL|MAIL_FROM|FX_URL|WEBHOOK_ALLOW"
    rf"|{PREFIXES}.*"
)
_METRICS_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{16,}", re.ASCII)
_ALLOWED = re.compile(r"([0-9A-Fa-f.:]{2,39}/[0-9]{1,3})(?::([0-9]{1,5}))?", re.ASCII)
_SENDER = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,190}", re.ASCII)
_SMTP_PORTS = {"smtp": 587, "smtps": 465}


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


@dataclass(frozen=True)
class Allowed:
    """A network to which webhooks may be sent although it is not public. `port` None: any."""

    network: IPv4Network | IPv6Network
    port: int | None


@dataclass(frozen=True)
class Config:
    """The settings of a process.

    `crowd_most`: the most seats of a crowd (services/orders/crowds.py). `early_most`: the largest
    order, in micro-units, that may be confirmed early.
    """

    keyring: Keyring = field(repr=False)
    database_url: str = field(repr=False)
    port: int
    web_concurrency: int
    poll_seconds: float
    hold: timedelta
    token_ttl_seconds: int
    log_level: str
    log_format: str
    metrics_token: str | None = field(repr=False)
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...]
    rate_limits: Mapping[CallClass, int]
    unpaid_per_address: int
    orders_per_client: int
    free_per_client: int
    crowd_most: int
    public_url: str | None
    personal_data_days: int
    notification_days: int
    mails_per_tenant: int | None
    message_recipients: int
    wallet_change: timedelta
    refund_change: timedelta
    smtp: Smtp | None
    webhook_allow: tuple[Allowed, ...]
    early_most: int
    fx_url: str | None
    chains: Mapping[int, Chain]


def load(environ: Mapping[str, str]) -> Config:
    """Read the configuration. ConfigError names the first invalid variable."""
    for name in environ:
        if _OURS.fullmatch(name) and not environ[name].isprintable():
            raise ConfigError(f"{name} must be printable Unicode text")
    x402.check(environ)
    return Config(
        keyring=_keyring(environ),
        database_url=_database_url(environ),
        port=integer(environ, "PORT", 8000, 1, 65535),
        web_concurrency=integer(environ, "WEB_CONCURRENCY", 2, 1, 64),
        poll_seconds=number(environ, "POLL_SECONDS", 2.0, 0.05, 3600.0),
        hold=timedelta(seconds=integer(environ, "HOLD_SECONDS", 900, 60, 7200)),
        token_ttl_seconds=integer(environ, "TOKEN_TTL_SECONDS", 900, 1, 86_400),
        log_level=one_of(environ, "LOG_LEVEL", "INFO", LOG_LEVELS),
        log_format=one_of(environ, "LOG_FORMAT", "plain", LOG_FORMATS),
        metrics_token=_metrics_token(environ),
        trusted_proxies=_trusted_proxies(environ),
        rate_limits=MappingProxyType(_rate_limits(environ)),
        unpaid_per_address=integer(
            environ, "UNPAID_PER_ADDRESS", DEFAULT_UNPAID_PER_ADDRESS, 0, MAX_RATE
        ),
        orders_per_client=integer(
            environ, "ORDERS_PER_CLIENT", DEFAULT_ORDERS_PER_CLIENT, 0, MAX_RATE
        ),
        free_per_client=integer(environ, "FREE_PER_CLIENT", DEFAULT_FREE_PER_CLIENT, 0, MAX_RATE),
        crowd_most=integer(environ, "CROWD_MOST", DEFAULT_CROWD_MOST, 0, MAX_RATE),
        public_url=_public_url(environ),
        personal_data_days=integer(
            environ, "PERSONAL_DATA_DAYS", DEFAULT_PERSONAL_DATA_DAYS, 1, MAX_PERSONAL_DATA_DAYS
        ),
        notification_days=integer(
            environ,
            "NOTIFICATION_DAYS",
            DEFAULT_NOTIFICATION_DAYS,
            MIN_NOTIFICATION_DAYS,
            MAX_NOTIFICATION_DAYS,
        ),
        mails_per_tenant=_mails_per_tenant(environ),
        message_recipients=integer(environ, "MESSAGE_RECIPIENTS", 10_000, 0, MAX_RATE),
        wallet_change=timedelta(
            hours=integer(
                environ,
                "WALLET_CHANGE_HOURS",
                DEFAULT_WALLET_CHANGE_HOURS,
                0,
                MAX_WALLET_CHANGE_HOURS,
            )
        ),
        refund_change=timedelta(
            hours=integer(
                environ,
                "REFUND_CHANGE_HOURS",
                DEFAULT_REFUND_CHANGE_HOURS,
                0,
                MAX_REFUND_CHANGE_HOURS,
            )
        ),
        smtp=_smtp(environ),
        webhook_allow=webhook_allow(environ),
        early_most=integer(environ, "EARLY_MOST", DEFAULT_EARLY_MOST, 0, MAX_SAFE_INTEGER),
        fx_url=_fx_url(environ),
        chains=MappingProxyType(chains(environ)),
    )


def _mails_per_tenant(environ: Mapping[str, str]) -> int | None:
    """Return the fixed bound, 0 for none. None: it follows from the seats that were sold."""
    if "MAILS_PER_TENANT" not in environ:
        return None
    return integer(environ, "MAILS_PER_TENANT", 0, 0, MAX_RATE)


def _keyring(environ: Mapping[str, str]) -> Keyring:
    current, previous = _secret_key(environ), environ.get("SECRET_KEY_PREVIOUS")
    if previous is not None and len(previous.encode()) < MIN_SECRET_KEY_BYTES:
        raise ConfigError(
            f"SECRET_KEY_PREVIOUS must have {MIN_SECRET_KEY_BYTES} bytes or more, or be left out"
        )
    if previous == current:
        raise ConfigError("SECRET_KEY_PREVIOUS must not be the same as SECRET_KEY")
    return Keyring(current, previous)


def _secret_key(environ: Mapping[str, str]) -> str:
    value = environ.get("SECRET_KEY", "")
    if not value and environ.get("FLASK_DEBUG") == "1":
        return DEVELOPMENT_SECRET_KEY
    if len(value.encode()) < MIN_SECRET_KEY_BYTES:
        raise ConfigError(
            f"SECRET_KEY must have {MIN_SECRET_KEY_BYTES} bytes or more;"
            " make one with: python3 -c 'import secrets; print(secrets.token_urlsafe(48))'"
        )
    return value


def _database_url(environ: Mapping[str, str]) -> str:
    name = "DATABASE_URL"
    value = environ.get(name) or DEFAULT_DATABASE_URL
    url = split_url_of_hosts(name, value)
    if url.scheme == "sqlite":
        if url.netloc or len(url.path) < 2:
            raise ConfigError(f"{name} for SQLite must be sqlite:///FILE (four / if absolute)")
    elif url.scheme not in ("postgres", "postgresql"):
        raise ConfigError(f"{name} must begin with sqlite:///, postgres:// or postgresql://")
    elif len(url.path) < 2:
        raise ConfigError(f"{name} must name a database after the host")
    return value


def _metrics_token(environ: Mapping[str, str]) -> str | None:
    value = environ.get("METRICS_TOKEN")
    if value is not None and not _METRICS_TOKEN.fullmatch(value):
        raise ConfigError("METRICS_TOKEN must have 16 or more of the characters A-Za-z0-9._~+/=-")
    return value


def _public_url(environ: Mapping[str, str]) -> str | None:
    """Return the origin that people see, without a slash at the end. None if it is not set."""
    value = environ.get("PUBLIC_URL")
    if value is None:
        return None
    url = split_url("PUBLIC_URL", value)
    is_origin = value.removesuffix("/") == f"{url.scheme}://{url.netloc}" and "@" not in url.netloc
    if url.scheme not in ("http", "https") or not url.hostname or not is_origin:
        raise ConfigError("PUBLIC_URL must be an origin, such as https://tickets.example.org")
    return value.removesuffix("/")


def _rate_limits(environ: Mapping[str, str]) -> dict[CallClass, int]:
    known = {f"RATE_LIMIT_{each.upper()}" for each in DEFAULT_RATE_LIMITS}
    for name in environ:
        if name.startswith("RATE_LIMIT_") and name not in known:
            raise ConfigError(f"{name} is none of {', '.join(sorted(known))}")
    return {
        each: integer(environ, f"RATE_LIMIT_{each.upper()}", default, 0, MAX_RATE)
        for each, default in DEFAULT_RATE_LIMITS.items()
    }


def _smtp(environ: Mapping[str, str]) -> Smtp | None:
    """Return the mail server. None: no mail is sent. ConfigError."""
    if "SMTP_URL" not in environ:
        return None
    url = split_url("SMTP_URL", environ["SMTP_URL"])
    if url.scheme not in _SMTP_PORTS or not url.hostname or url.path or url.query or url.fragment:
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
        port=url.port or _SMTP_PORTS[url.scheme],
        user=None if url.username is None else unquote(url.username),
        password=None if url.password is None else unquote(url.password),
        is_tls=url.scheme == "smtps",
        sender=sender,
    )


def _fx_url(environ: Mapping[str, str]) -> str | None:
    """Return where the daily file of exchange rates is. None: nothing is shown in euros."""
    value = environ.get("FX_URL")
    if value is None:
        return None
    url = split_url("FX_URL", value)
    is_good = url.scheme in ("http", "https") and url.hostname and "@" not in url.netloc
    if not is_good or not is_visible(value):
        raise ConfigError("FX_URL must be an http:// or https:// URL without a password")
    return value


def _is_address(text: str) -> bool:
    try:
        return _SENDER.fullmatch(text) is not None and Address(addr_spec=text) is not None
    except ValueError:
        return False


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


def _trusted_proxies(environ: Mapping[str, str]) -> tuple[IPv4Network | IPv6Network, ...]:
    """Return the networks of the proxies whose X-Forwarded-For is believed. ConfigError."""
    try:
        return tuple(ip_network(each) for each in listed(environ, "TRUSTED_PROXIES"))
    except ValueError:
        raise ConfigError("TRUSTED_PROXIES must be IP addresses or networks") from None
