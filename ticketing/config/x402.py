"""The facilitators of x402, from the variables X402_FACILITATOR_*: one for each chain at most."""

import re
from collections.abc import Mapping

from ticketing.chain import facilitator_key
from ticketing.chain.facilitator_key import FacilitatorKey
from ticketing.chain.registry import Facilitator
from ticketing.config.variables import ConfigError, is_http

VARIABLES = (
    "X402_FACILITATOR_URL",
    "X402_FACILITATOR_TOKEN",
    "X402_FACILITATOR_KEY_ID",
    "X402_FACILITATOR_KEY_SECRET",
)
"""The names, before `_` and a chain id."""

_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*", re.ASCII)


def check(environ: Mapping[str, str]) -> None:
    """Check that x402, which names its own URLs, knows the public one. ConfigError."""
    for name in environ:
        if name.startswith("X402_FACILITATOR_URL_") and "PUBLIC_URL" not in environ:
            raise ConfigError(f"{name} needs PUBLIC_URL")


def facilitator(environ: Mapping[str, str], chain_id: int) -> Facilitator | None:
    """Return the facilitator of a chain. None if the operator has named none. ConfigError."""
    name, token, key_id, secret = (f"{each}_{chain_id}" for each in VARIABLES)
    if name not in environ:
        for other in (token, key_id, secret):
            if other in environ:
                raise ConfigError(f"{other} needs {name}")
        return None
    if not is_http(name, environ[name]):
        raise ConfigError(f"{name} must be an http:// or https:// URL")
    if token in environ and not _TOKEN.fullmatch(environ[token]):
        raise ConfigError(f"{token} must be a bearer token")
    key = _key(environ, key_id, secret)
    if key is not None and token in environ:
        raise ConfigError(f"set {token} or {key_id}, not both")
    return Facilitator(environ[name].rstrip("/"), environ.get(token), key)


def _key(environ: Mapping[str, str], key_id: str, secret: str) -> FacilitatorKey | None:
    """Return the key that signs a token for each request. None: there is none. ConfigError."""
    if key_id not in environ and secret not in environ:
        return None
    if not environ.get(key_id) or secret not in environ:
        raise ConfigError(f"{key_id} and {secret} need each other")
    try:
        return facilitator_key.parse(environ[key_id], environ[secret])
    except ValueError:
        raise ConfigError(
            f"{secret} must be the base64 of an Ed25519 key pair, or the PEM of a P-256 key"
        ) from None
