"""The claim of an order: the secret that proves an x402 payment to be the buyer's."""

from ticketing.credentials import Keyring, keyed_digest, same_as_any

_PREFIX, _DIGITS = "c_", 40


def claim(secret_key: str, intent_id: str, generation: int) -> str:
    """Return the claim of an order: `c_` and 160 bits in hex.

    It is derived and never stored. Unlike the payment, it never appears on a chain. `generation`:
    that of the order's links. The claims of an earlier one have ended.
    """
    name = f"{intent_id} {generation}" if generation else intent_id
    return _PREFIX + keyed_digest(secret_key, "x402-claim", name)[:_DIGITS]


def is_claim(keyring: Keyring, intent_id: str, generation: int, offered: str) -> bool:
    """Return whether `offered` is the claim of this order."""
    return same_as_any(offered, [claim(each, intent_id, generation) for each in keyring.accepted])
