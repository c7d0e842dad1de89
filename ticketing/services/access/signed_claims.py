"""Claims that only this service can sign (RFC 7519). Each kind of token has its own audience."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import jwt

from ticketing import clock
from ticketing.credentials import Keyring

ALGORITHM = "HS256"
ISSUER = "ticketing"


def sign(
    audience: str, claims: dict[str, Any], keyring: Keyring, expires_at: datetime | None = None
) -> str:
    """Return a JWT with these claims. `expires_at` None: it does not expire."""
    times = {"iat": int(clock.now().timestamp())}
    if expires_at is not None:
        times["exp"] = int(expires_at.timestamp())
    return jwt.encode(
        {"iss": ISSUER, "aud": audience, **claims, **times}, keyring.current, ALGORITHM
    )


def read(
    audience: str, token: str, keyring: Keyring, required: Sequence[str]
) -> dict[str, Any] | None:
    """Return the claims of a JWT that a valid SECRET_KEY has signed for this audience.

    None for any other text, and for a JWT that has expired, that begins later, or that lacks one of
    the `required` claims.
    """
    for secret in keyring.accepted:
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                secret,
                algorithms=[ALGORITHM],
                audience=audience,
                issuer=ISSUER,
                options={
                    "require": ["iss", "aud", "iat", *required],
                    "verify_iat": False,
                    "verify_exp": False,
                },
            )
        except jwt.InvalidSignatureError:
            continue
        except (jwt.InvalidTokenError, ValueError):
            return None
        return claims if _is_valid_now(claims) else None
    return None


def _is_valid_now(claims: dict[str, Any]) -> bool:
    """Return whether a JWT has begun, and has not expired. Another host's clock may be ahead."""
    issued, expires = claims["iat"], claims.get("exp")
    if not isinstance(issued, int) or not isinstance(expires, int | None):
        return False
    now = clock.now()
    has_begun = issued <= (now + clock.CLOCKS_APART).timestamp()
    return has_begun and (expires is None or expires > now.timestamp())
