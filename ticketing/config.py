"""Read the environment variables once, check them strictly, and keep them in a frozen object."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from types import MappingProxyType
from typing import TypeVar
from urllib.parse import SplitResult, urlsplit

from ticketing.chain import address, registry
from ticketing.chain.registry import Chain
from ticketing.constants import (
    DEFAULT_FREE_PER_CLIENT,
    DEFAULT_ORDERS_PER_CLIENT,
    DEFAULT_PERSONAL_DATA_DAYS,
    DEFAULT_RATE_LIMITS,
    DEFAULT_UNPAID_PER_ADDRESS,
    MAX_PERSONAL_DATA_DAYS,
    MAX_SAFE_INTEGER,
    CallClass,
)
from ticketing.credentials import Keyring

DEFAULT_DATABASE_URL = "sqlite:///var/ticketing.db"
DEVELOPMENT_SECRET_KEY = "for-development-only-and-known-to-everybody"
MIN_SECRET_KEY_BYTES = 32
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
LOG_FORMATS = ("plain", "json")
MAX_RATE = 1_000_000

Number = TypeVar("Number", int, float)

_OURS = re.compile(
    r"SECRET_KEY(_PREVIOUS)?|DATABASE_URL|PUBLIC_URL|(RPC_URL|TOKEN_ADDRESS|CONFIRMATIONS)_.*"
)
_METRICS_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{16,}", re.ASCII)
_CHAIN_VARIABLE = re.compile(r"(RPC_URL|TOKEN_ADDRESS|CONFIRMATIONS)_(.*)")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_CHAIN_ID = re.compile(r"[1-9][0-9]{0,15}")


class ConfigError(Exception):
    """A variable is missing or invalid. The message names it and never contains a secret."""


@dataclass(frozen=True)
class Config:
    """The settings of a process."""

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
    public_url: str | None
    personal_data_days: int
    chains: Mapping[int, Chain]


def load(environ: Mapping[str, str]) -> Config:
    """Read the configuration. ConfigError names the first invalid variable."""
    for name in environ:
        if _OURS.fullmatch(name) and not environ[name].isprintable():
            raise ConfigError(f"{name} must be printable Unicode text")
    return Config(
        keyring=_keyring(environ),
        database_url=_database_url(environ),
        port=_integer(environ, "PORT", 8000, 1, 65535),
        web_concurrency=_integer(environ, "WEB_CONCURRENCY", 2, 1, 64),
        poll_seconds=_number(environ, "POLL_SECONDS", 2.0, 0.05, 3600.0),
        hold=timedelta(seconds=_integer(environ, "HOLD_SECONDS", 900, 60, 7200)),
        token_ttl_seconds=_integer(environ, "TOKEN_TTL_SECONDS", 900, 1, 86_400),
        log_level=_one_of(environ, "LOG_LEVEL", "INFO", LOG_LEVELS),
        log_format=_one_of(environ, "LOG_FORMAT", "plain", LOG_FORMATS),
        metrics_token=_metrics_token(environ),
        trusted_proxies=_trusted_proxies(environ),
        rate_limits=MappingProxyType(_rate_limits(environ)),
        unpaid_per_address=_integer(
            environ, "UNPAID_PER_ADDRESS", DEFAULT_UNPAID_PER_ADDRESS, 0, MAX_RATE
        ),
        orders_per_client=_integer(
            environ, "ORDERS_PER_CLIENT", DEFAULT_ORDERS_PER_CLIENT, 0, MAX_RATE
        ),
        free_per_client=_integer(environ, "FREE_PER_CLIENT", DEFAULT_FREE_PER_CLIENT, 0, MAX_RATE),
        public_url=_public_url(environ),
        personal_data_days=_integer(
            environ, "PERSONAL_DATA_DAYS", DEFAULT_PERSONAL_DATA_DAYS, 1, MAX_PERSONAL_DATA_DAYS
        ),
        chains=MappingProxyType(_chains(environ)),
    )


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
    url = _split_url(name, value)
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
    url = _split_url("PUBLIC_URL", value)
    is_origin = value.removesuffix("/") == f"{url.scheme}://{url.netloc}" and "@" not in url.netloc
    if url.scheme not in ("http", "https") or not url.hostname or not is_origin:
        raise ConfigError("PUBLIC_URL must be an origin, such as https://tickets.example.org")
    return value.removesuffix("/")


def _trusted_proxies(environ: Mapping[str, str]) -> tuple[IPv4Network | IPv6Network, ...]:
    try:
        return tuple(
            ip_network(each)
            for each in environ.get("TRUSTED_PROXIES", "").replace(",", " ").split()
        )
    except ValueError:
        raise ConfigError("TRUSTED_PROXIES must be IP addresses or networks") from None


def _rate_limits(environ: Mapping[str, str]) -> dict[CallClass, int]:
    known = {f"RATE_LIMIT_{each.upper()}" for each in DEFAULT_RATE_LIMITS}
    for name in environ:
        if name.startswith("RATE_LIMIT_") and name not in known:
            raise ConfigError(f"{name} is none of {', '.join(sorted(known))}")
    return {
        each: _integer(environ, f"RATE_LIMIT_{each.upper()}", default, 0, MAX_RATE)
        for each, default in DEFAULT_RATE_LIMITS.items()
    }


def _one_of(environ: Mapping[str, str], name: str, default: str, allowed: tuple[str, ...]) -> str:
    given = environ.get(name, default)
    for value in allowed:
        if given.upper() == value.upper():
            return value
    raise ConfigError(f"{name} must be one of {', '.join(allowed)}")


def _integer(environ: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    return _bounded(environ, name, default, low, high, int, "a whole number")


def _number(
    environ: Mapping[str, str], name: str, default: float, low: float, high: float
) -> float:
    return _bounded(environ, name, default, low, high, float, "a number")


def _bounded(
    environ: Mapping[str, str],
    name: str,
    default: Number,
    low: Number,
    high: Number,
    parse: Callable[[str], Number],
    kind: str,
) -> Number:
    text = environ.get(name)
    try:
        value = default if text is None else parse(text)
    except ValueError:
        value = None
    if value is None or not low <= value <= high or (text and not _NUMBER.fullmatch(text)):
        raise ConfigError(f"{name} must be {kind} between {low} and {high}")
    return value


def _chains(environ: Mapping[str, str]) -> dict[int, Chain]:
    for name in environ:
        match = _CHAIN_VARIABLE.fullmatch(name)
        if match and not (_CHAIN_ID.fullmatch(match[2]) and int(match[2]) <= MAX_SAFE_INTEGER):
            raise ConfigError(f"{name} must end in an EIP-155 chain id")
    return {
        chain_id: _chain(environ, chain_id)
        for chain_id in sorted(
            int(name.removeprefix("RPC_URL_")) for name in environ if name.startswith("RPC_URL_")
        )
    }


def _chain(environ: Mapping[str, str], chain_id: int) -> Chain:
    rpc_urls = tuple(environ[f"RPC_URL_{chain_id}"].replace(",", " ").split())
    for rpc_url in rpc_urls or ("",):
        url = _split_url(f"RPC_URL_{chain_id}", rpc_url)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ConfigError(f"RPC_URL_{chain_id} must be an http:// or https:// URL, or several")
    token_address = _token_address(environ, f"TOKEN_ADDRESS_{chain_id}")
    confirmations = None
    if f"CONFIRMATIONS_{chain_id}" in environ:
        confirmations = _integer(environ, f"CONFIRMATIONS_{chain_id}", 1, 1, 10_000)
    chain = registry.REGISTRY.get(chain_id)
    if chain is None:
        if token_address is None:
            raise ConfigError(
                f"RPC_URL_{chain_id} enables a chain that is not in the registry:"
                f" set TOKEN_ADDRESS_{chain_id} too"
            )
        chain = registry.outside(chain_id, token_address)
    return chain.enabled(rpc_urls, token_address, confirmations)


def _token_address(environ: Mapping[str, str], name: str) -> str | None:
    if name not in environ:
        return None
    try:
        return address.parse(environ[name])
    except ValueError as error:
        raise ConfigError(f"{name} must be an address, but is {error}") from None


def _split_url(name: str, value: str) -> SplitResult:
    try:
        url = urlsplit(value)
        # urllib checks the port only when it is read.
        _ = url.port
    except ValueError:
        raise ConfigError(f"{name} is not a URL") from None
    return url
