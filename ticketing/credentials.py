"""Make and parse secrets, compute their digests, and compare them. No database access.

An API key is `ticketing_`, the 26 characters of its id, `_`, 34 random characters (170 bits) and
a checksum of 7: `ticketing_<26>_<34><7>`, all lower-case Crockford base32. The token of a door
device has the same form and begins with `door_`.
"""

import hashlib
import hmac
import re
import secrets
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from ticketing import ids

_KEY_PREFIX, _DOOR_PREFIX = "ticketing_", "door_"
_SHAPE = re.compile(rf"([a-z]+_)([{ids.ALPHABET}]{{26}})_([{ids.ALPHABET}]{{41}})")
_RANDOM_BITS, _RANDOM_LENGTH = 170, 34
_CHECKSUM_LENGTH = 7

CLIENT_SECRET_PREFIX, PAY_SECRET_PREFIX, PLACE_SECRET_PREFIX = "cs_", "ps_", "ws_"
CHANGE_SECRET_PREFIX = "ch_"
_PURPOSES = {CLIENT_SECRET_PREFIX: "client-secret", PAY_SECRET_PREFIX: "pay-secret"}
_ORDER_SECRET_SHAPE = re.compile(r"[a-z]{2}_(?:([1-9][0-9]{0,8})_)?[0-9a-f]{64}")
_OFFER_PREFIX, _OFFER_DIGITS = "to_", 40
_OFFER_SHAPE = re.compile(rf"{_OFFER_PREFIX}([{ids.ALPHABET}]{{26}})_[0-9a-f]{{{_OFFER_DIGITS}}}")
_INVITATION_PREFIX, _INVITATION_DIGITS = "in_", 40
_INVITATION_SHAPE = re.compile(
    rf"{_INVITATION_PREFIX}([{ids.ALPHABET}]{{26}})_[0-9a-f]{{{_INVITATION_DIGITS}}}"
)
_TIMED_DIGITS = 40
_KEPT_KEYS = 64
_TIMED_SHAPE = re.compile(
    rf"([a-z]{{2}}_)([{ids.ALPHABET}]{{26}})_([0-9]{{10}})_[0-9a-f]{{{_TIMED_DIGITS}}}"
)
_RESET_PREFIX, _FIRST_STEP_PREFIX = "pr_", "fs_"
_RECOVERY_BITS, _RECOVERY_LENGTH = 50, 10
_RECOVERY_SHAPE = re.compile(rf"[{ids.ALPHABET}]{{{_RECOVERY_LENGTH}}}")
_CHALLENGE_RANDOM, _CHALLENGE_END, _CHALLENGE_DIGEST = 16, 8, 16
_SESSION_SHAPE = re.compile(rf"[{ids.ALPHABET}]{{{_RANDOM_LENGTH}}}")
_BROWSER_PREFIX, _BROWSER_DIGITS = "kb_", 40
_BROWSER_SHAPE = re.compile(
    rf"{_BROWSER_PREFIX}(([{ids.ALPHABET}]{{26}})_[{ids.ALPHABET}]{{{_RANDOM_LENGTH}}})"
    rf"_([0-9a-f]{{{_BROWSER_DIGITS}}})"
)
_CODE_BITS, _CODE_LENGTH = 100, 20
_CODE_SHAPE = re.compile(rf"[{ids.ALPHABET}]{{{_CODE_LENGTH}}}")
_PAIRING_BITS, _PAIRING_LENGTH = 60, 12

NOBODYS_DIGEST = "0" * 64
"""Compared if a digest is missing, so that every failed attempt takes the same time."""


@dataclass(frozen=True)
class Keyring:
    """The service's secret keys. New digests and signatures use `current`.

    Those made with `previous` stay valid, so that an operator can replace SECRET_KEY.
    """

    current: str = field(repr=False)
    previous: str | None = field(default=None, repr=False)

    @property
    def accepted(self) -> tuple[str, ...]:
        """Return all secret keys that are valid, the current one first."""
        return (self.current,) if self.previous is None else (self.current, self.previous)


def secret_key_id(secret_key: str) -> str:
    """Return an identifier of a SECRET_KEY that does not reveal it."""
    return keyed_digest(secret_key, "secret-key-id", "")[:16]


def keyed_digest(secret_key: str, purpose: str, text: str) -> str:
    """Return the HMAC-SHA-256 of `text` in hex. Each purpose has its own derived key."""
    digest = _keyed(secret_key, purpose).copy()
    digest.update(text.encode())
    return digest.hexdigest()


@lru_cache(_KEPT_KEYS)
def _keyed(secret_key: str, purpose: str) -> hmac.HMAC:
    """Return an HMAC with the key of a purpose, to copy. The secret keys never change."""
    key = hmac.digest(secret_key.encode(), purpose.encode(), hashlib.sha256)
    return hmac.new(key, digestmod=hashlib.sha256)


def new_api_key(key_id: str) -> str:
    """Make the plaintext of the API key whose id is `key_id`."""
    return _with_random(api_key_prefix(key_id))


def api_key_prefix(key_id: str) -> str:
    """Return the beginning of a key, which is not secret."""
    return _KEY_PREFIX + key_id.removeprefix(ids.API_KEY)


def api_key_id(key: str) -> str | None:
    """Return the id inside an API key. None if the format or the checksum is wrong."""
    body = _id_inside(key, _KEY_PREFIX)
    return None if body is None else ids.API_KEY + body


def api_key_digest(secret_key: str, key: str) -> str:
    """Return the digest of an API key. The database stores it instead of the key."""
    return keyed_digest(secret_key, "api-key", key)


def new_door_token(device_id: str) -> str:
    """Make the token of the door device whose id is `device_id`."""
    return _with_random(_DOOR_PREFIX + device_id.removeprefix(ids.DOOR_DEVICE))


def door_token_id(token: str) -> str | None:
    """Return the device's id inside a token. None if the format or the checksum is wrong."""
    body = _id_inside(token, _DOOR_PREFIX)
    return None if body is None else ids.DOOR_DEVICE + body


def door_token_digest(secret_key: str, token: str) -> str:
    """Return the digest of a door device's token. The database stores it instead of the token."""
    return keyed_digest(secret_key, "door-token", token)


def new_pairing_code() -> str:
    """Make the code that pairs a door device: 60 random bits in 12 characters."""
    return ids.base32(secrets.randbits(_PAIRING_BITS), _PAIRING_LENGTH)


def pairing_digest(secret_key: str, code: str) -> str:
    """Return the digest of a pairing code. The database stores it instead of the code."""
    return keyed_digest(secret_key, "pairing-code", code)


def client_secret(secret_key: str, intent_id: str, generation: int) -> str:
    """Return the secret that lets a buyer act on one intent. It is derived and never stored.

    `generation`: how often the organizer ended the order's links. 0: never.
    """
    return _order_secret(secret_key, CLIENT_SECRET_PREFIX, intent_id, generation)


def client_secret_generation(keyring: Keyring, intent_id: str, offered: str) -> int | None:
    """Return the generation of an intent's client secret. None if `offered` is none.

    The order's row has the present generation: a secret of another one has ended.
    """
    return _generation(keyring, CLIENT_SECRET_PREFIX, intent_id, offered)


def pay_secret(secret_key: str, intent_id: str, generation: int) -> str:
    """Return the secret with which somebody else can see what is due, and nothing more.

    It is derived and never stored. `generation`: that of the order's links.
    """
    return _order_secret(secret_key, PAY_SECRET_PREFIX, intent_id, generation)


def pay_secret_generation(keyring: Keyring, intent_id: str, offered: str) -> int | None:
    """Return the generation of an intent's pay secret. None if `offered` is none."""
    return _generation(keyring, PAY_SECRET_PREFIX, intent_id, offered)


def _order_secret(secret_key: str, prefix: str, intent_id: str, generation: int) -> str:
    """Return the prefix, the generation and `_` unless it is 0, and 256 bits in hex."""
    if not generation:
        return prefix + keyed_digest(secret_key, _PURPOSES[prefix], intent_id)
    digest = keyed_digest(secret_key, _PURPOSES[prefix], f"{intent_id} {generation}")
    return f"{prefix}{generation}_{digest}"


def _generation(keyring: Keyring, prefix: str, intent_id: str, offered: str) -> int | None:
    match = _ORDER_SECRET_SHAPE.fullmatch(offered)
    generation = 0 if match is None else int(match[1] or 0)
    genuine = [_order_secret(each, prefix, intent_id, generation) for each in keyring.accepted]
    return generation if same_as_any(offered, genuine) else None


def place_secret(secret_key: str, entry_id: str) -> str:
    """Return the secret of who has a place on a waiting list. It is derived and never stored."""
    return PLACE_SECRET_PREFIX + keyed_digest(secret_key, "place-secret", entry_id)


def is_place_secret(keyring: Keyring, entry_id: str, offered: str) -> bool:
    """Return whether `offered` is the secret of this place on a waiting list."""
    return same_as_any(offered, [place_secret(each, entry_id) for each in keyring.accepted])


def new_change_salt() -> str:
    """Make the 128 random bits that are stored with a change which a mail's button confirms."""
    return secrets.token_hex(16)


def change_secret(secret_key: str, intent_id: str, change_id: str, salt: str) -> str:
    """Return the secret of the buttons in the mails about one change of an order.

    It takes both the SECRET_KEY and the stored `salt`: neither a copy of the database nor the key
    alone can make one.
    """
    return CHANGE_SECRET_PREFIX + keyed_digest(
        secret_key, "change-secret", f"{intent_id} {change_id} {salt}"
    )


def is_change_secret(
    keyring: Keyring, intent_id: str, change_id: str, salt: str, offered: str
) -> bool:
    """Return whether `offered` is the secret of this change."""
    made = [change_secret(each, intent_id, change_id, salt) for each in keyring.accepted]
    return same_as_any(offered, made)


def transfer_offer(secret_key: str, transfer_id: str) -> str:
    """Return the secret that accepts one transfer: `to_`, the transfer's id, `_`, 160 bits in hex.

    It is derived and never stored.
    """
    digest = keyed_digest(secret_key, "transfer-offer", transfer_id)[:_OFFER_DIGITS]
    return f"{_OFFER_PREFIX}{transfer_id.removeprefix(ids.TRANSFER)}_{digest}"


def offered_transfer(keyring: Keyring, offer: str) -> str | None:
    """Return the id of the transfer that this offer accepts. None for a wrong offer."""
    match = _OFFER_SHAPE.fullmatch(offer)
    if match is None:
        return None
    transfer_id = ids.TRANSFER + match[1]
    genuine = [transfer_offer(each, transfer_id) for each in keyring.accepted]
    return transfer_id if same_as_any(offer, genuine) else None


def invitation(secret_key: str, invitation_id: str) -> str:
    """Return the secret of one invitation: `in_`, the invitation's id, `_`, 160 bits in hex.

    It is derived and never stored.
    """
    digest = keyed_digest(secret_key, "invitation", invitation_id)[:_INVITATION_DIGITS]
    return f"{_INVITATION_PREFIX}{invitation_id.removeprefix(ids.INVITATION)}_{digest}"


def invitation_id(keyring: Keyring, offered: str) -> str | None:
    """Return the id of the invitation with this secret. None for a wrong secret."""
    match = _INVITATION_SHAPE.fullmatch(offered)
    if match is None:
        return None
    found = ids.INVITATION + match[1]
    genuine = [invitation(each, found) for each in keyring.accepted]
    return found if same_as_any(offered, genuine) else None


def password_reset(secret_key: str, member_id: str, generation: int, ends_at: int) -> str:
    """Return the secret that replaces one password of a member, until a time in seconds.

    It is `pr_`, the member's id, `_`, the time, `_`, 160 bits in hex. It is derived and never
    stored. `generation` is that of the password, so another password ends it.
    """
    return _timed(secret_key, _RESET_PREFIX, "password-reset", member_id, generation, ends_at)


def parts_of_reset(offered: str) -> tuple[str, int] | None:
    """Return the member's id and the time that a secret of this form names. It may be forged."""
    return _parts_of_timed(_RESET_PREFIX, offered)


def first_step(secret_key: str, member_id: str, generation: int, ends_at: int) -> str:
    """Return what says that a member has proved this password, until a time in seconds.

    It has the form of a password reset, and begins with `fs_`. Alone it opens nothing.
    """
    return _timed(secret_key, _FIRST_STEP_PREFIX, "first-step", member_id, generation, ends_at)


def parts_of_first_step(offered: str) -> tuple[str, int] | None:
    """Return the member's id and the time that a first step names. It may be forged."""
    return _parts_of_timed(_FIRST_STEP_PREFIX, offered)


def new_recovery_code() -> str:
    """Make a code that replaces a second factor once: 50 random bits in 10 characters."""
    return ids.base32(secrets.randbits(_RECOVERY_BITS), _RECOVERY_LENGTH)


def recovery_digests(keyring: Keyring, member_id: str, typed: str) -> list[str]:
    """Return the digests that a typed recovery code may have, the current one first.

    Empty if it has not the form of one. Upper case, spaces and hyphens are accepted.
    """
    code = ids.typed(typed)
    if _RECOVERY_SHAPE.fullmatch(code) is None:
        return []
    return [keyed_digest(each, "recovery-code", f"{member_id} {code}") for each in keyring.accepted]


def new_challenge(secret_key: str, purpose: str, ends_at: int) -> bytes:
    """Make a challenge of WebAuthn for one purpose: random bytes, its end, and a digest of both.

    So nothing is stored until it is answered.
    """
    body = secrets.token_bytes(_CHALLENGE_RANDOM) + ends_at.to_bytes(_CHALLENGE_END, "big")
    return body + _challenge_digest(secret_key, purpose, body)


def end_of_challenge(keyring: Keyring, purpose: str, challenge: bytes) -> int | None:
    """Return when a challenge of ours ends, in seconds. None for one that we did not make."""
    if len(challenge) != _CHALLENGE_RANDOM + _CHALLENGE_END + _CHALLENGE_DIGEST:
        return None
    body, digest = challenge[:-_CHALLENGE_DIGEST], challenge[-_CHALLENGE_DIGEST:]
    genuine = [_challenge_digest(each, purpose, body).hex() for each in keyring.accepted]
    if not same_as_any(digest.hex(), genuine):
        return None
    return int.from_bytes(body[_CHALLENGE_RANDOM:], "big")


def _challenge_digest(secret_key: str, purpose: str, body: bytes) -> bytes:
    digest = keyed_digest(secret_key, "passkey-challenge", f"{purpose} {body.hex()}")
    return bytes.fromhex(digest)[:_CHALLENGE_DIGEST]


def _timed(
    secret_key: str, prefix: str, purpose: str, member_id: str, generation: int, ends_at: int
) -> str:
    text = f"{member_id} {generation} {ends_at}"
    digest = keyed_digest(secret_key, purpose, text)[:_TIMED_DIGITS]
    return f"{prefix}{member_id.removeprefix(ids.MEMBER)}_{ends_at:010}_{digest}"


def _parts_of_timed(prefix: str, offered: str) -> tuple[str, int] | None:
    match = _TIMED_SHAPE.fullmatch(offered)
    if match is None or match[1] != prefix:
        return None
    return ids.MEMBER + match[2], int(match[3])


def new_known_browser(secret_key: str, member_id: str) -> str:
    """Make the secret of a browser in which a member has signed in. It opens nothing.

    It is `kb_`, the member's id, `_`, 170 random bits in 34 characters, `_`, 160 bits in hex.
    """
    name = f"{member_id.removeprefix(ids.MEMBER)}_{new_session()}"
    return f"{_BROWSER_PREFIX}{name}_{_browser_digest(secret_key, name)}"


def member_of_browser(keyring: Keyring, offered: str) -> str | None:
    """Return the id of the member who has signed in in this browser. None for a wrong secret."""
    match = _BROWSER_SHAPE.fullmatch(offered)
    if match is None:
        return None
    genuine = [_browser_digest(each, match[1]) for each in keyring.accepted]
    return ids.MEMBER + match[2] if same_as_any(match[3], genuine) else None


def _browser_digest(secret_key: str, name: str) -> str:
    return keyed_digest(secret_key, "known-browser", name)[:_BROWSER_DIGITS]


def new_session() -> str:
    """Make the secret of a session: 170 random bits in 34 characters."""
    return ids.base32(secrets.randbits(_RANDOM_BITS), _RANDOM_LENGTH)


def session_digests(keyring: Keyring, secret: str) -> list[str]:
    """Return the digests that a session's secret may have in the database, the current one first.

    Empty if `secret` has not the form of one.
    """
    if _SESSION_SHAPE.fullmatch(secret) is None:
        return []
    return [keyed_digest(each, "session", secret) for each in keyring.accepted]


def new_admission_code() -> str:
    """Make the secret of an admission: 100 random bits in 20 characters that can be typed."""
    return ids.base32(secrets.randbits(_CODE_BITS), _CODE_LENGTH)


def is_admission_code(text: str) -> bool:
    """Return whether a text has the form of an admission's code."""
    return _CODE_SHAPE.fullmatch(text) is not None


def same(a: str, b: str) -> bool:
    """Compare two secrets in a time that does not depend on where they differ."""
    return hmac.compare_digest(a.encode(), b.encode())


def same_as_any(a: str, candidates: Iterable[str]) -> bool:
    """Compare a secret with every candidate. The time does not depend on which one matches."""
    fits = False
    for each in candidates:
        fits |= same(a, each)
    return fits


def _with_random(prefix: str) -> str:
    """Return a new secret: the prefix, random characters, and a checksum of both."""
    random = ids.base32(secrets.randbits(_RANDOM_BITS), _RANDOM_LENGTH)
    body = f"{prefix}_{random}"
    return body + _checksum(body)


def _id_inside(secret: str, prefix: str) -> str | None:
    """Return the 26 characters of the id in a secret with this prefix. None if it has a typo."""
    match = _SHAPE.fullmatch(secret)
    if match is None or match[1] != prefix:
        return None
    rightful = _checksum(secret[:-_CHECKSUM_LENGTH]) == secret[-_CHECKSUM_LENGTH:]
    return match[2] if rightful else None


def _checksum(body: str) -> str:
    return ids.base32(zlib.crc32(body.encode()), _CHECKSUM_LENGTH)
