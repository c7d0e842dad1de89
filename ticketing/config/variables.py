"""Read one environment variable strictly. Errors name it and never contain a secret."""

import re
from collections.abc import Callable, Mapping
from typing import TypeVar
from urllib.parse import SplitResult, urlsplit

_VISIBLE = re.compile(r"[\x21-\x7e]+")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")

Number = TypeVar("Number", int, float)


class ConfigError(Exception):
    """A variable is missing or invalid. The message names it and never contains a secret."""


def one_of(environ: Mapping[str, str], name: str, default: str, allowed: tuple[str, ...]) -> str:
    """Return one of the `allowed` values, in their spelling, from any case. ConfigError."""
    given = environ.get(name, default)
    for value in allowed:
        if given.upper() == value.upper():
            return value
    raise ConfigError(f"{name} must be one of {', '.join(allowed)}")


def integer(environ: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    """Return a whole number from `low` to `high`. ConfigError."""
    return _bounded(environ, name, default, low, high, int, "a whole number")


def number(environ: Mapping[str, str], name: str, default: float, low: float, high: float) -> float:
    """Return a number from `low` to `high`. ConfigError."""
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


def listed(environ: Mapping[str, str], name: str) -> list[str]:
    """Return the items of a list with commas or spaces between them. Empty if it is not set."""
    return environ.get(name, "").replace(",", " ").split()


def split_url(name: str, value: str) -> SplitResult:
    """Return the parts of a URL whose port is valid. ConfigError."""
    try:
        url = urlsplit(value)
        # urllib checks the port only when it is read.
        _ = url.port
    except ValueError:
        raise ConfigError(f"{name} is not a URL") from None
    return url


def is_visible(text: str) -> bool:
    """Return whether a text has visible ASCII characters only: no space, and no end of a line."""
    return _VISIBLE.fullmatch(text) is not None


def is_http(name: str, text: str) -> bool:
    """Return whether a variable's value is an http:// or https:// URL. ConfigError."""
    url = split_url(name, text)
    return url.scheme in ("http", "https") and bool(url.hostname)


def split_url_of_hosts(name: str, value: str) -> SplitResult:
    """Do the same for a URL that may name several hosts, as in `//a:5432,b:5433/`. ConfigError."""
    try:
        url = urlsplit(value)
    except ValueError:
        raise ConfigError(f"{name} is not a URL") from None
    for host in url.netloc.rpartition("@")[2].split(","):
        split_url(name, f"//{host}")
    return url
