"""The facilitators of x402, from the variables X402_FACILITATOR_*: one for each chain at most."""

import re
from collections.abc import Mapping

from ticketing.chain.registry import Facilitator
from ticketing.config.variables import ConfigError, is_http

VARIABLES = ("X402_FACILITATOR_URL", "X402_FACILITATOR_TOKEN")
"""The names, before `_` and a chain id."""

_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*", re.ASCII)


def check(environ: Mapping[str, str]) -> None:
    """Check that x402, which names its own URLs, knows the public one. ConfigError."""
    for name in environ:
        if name.startswith("X402_FACILITATOR_URL_") and "PUBLIC_URL" not in environ:
            raise ConfigError(f"{name} needs PUBLIC_URL")


def facilitator(environ: Mapping[str, str], chain_id: int) -> Facilitator | None:
    """Return the facilitator of a chain. None if the operator has named none. ConfigError."""
    name, token = f"X402_FACILITATOR_URL_{chain_id}", f"X402_FACILITATOR_TOKEN_{chain_id}"
    if name not in environ:
        if token in environ:
            raise ConfigError(f"{token} needs {name}")
        return None
    if not is_http(name, environ[name]):
        raise ConfigError(f"{name} must be an http:// or https:// URL")
    if token in environ and not _TOKEN.fullmatch(environ[token]):
        raise ConfigError(f"{token} must be a bearer token")
    return Facilitator(environ[name].rstrip("/"), environ.get(token))
