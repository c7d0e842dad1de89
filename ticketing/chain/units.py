"""Exact conversion between micro-units and a token's atomic units."""

MICRO_DECIMALS = 6
"""A micro-unit is a millionth, whatever the token's own units are."""

MAX_DECIMALS = 18


class NotExact(ValueError):
    """The amount cannot be converted without rounding."""


def to_atomic(amount: int, decimals: int) -> int:
    """Return `amount` micro-units in atomic units. NotExact if the token is too coarse."""
    if decimals >= MICRO_DECIMALS:
        return amount * _ten_to(decimals - MICRO_DECIMALS)
    whole, rest = divmod(amount, _ten_to(MICRO_DECIMALS - decimals))
    if rest:
        raise NotExact(f"{amount} micro-units are not a whole number of atomic units")
    return whole


def whole_atomic(amount: int, decimals: int) -> int:
    """Return the whole atomic units in `amount` micro-units. What is left cannot be sent."""
    if decimals >= MICRO_DECIMALS:
        return to_atomic(amount, decimals)
    return amount // _ten_to(MICRO_DECIMALS - decimals)


def from_atomic(atomic: int, decimals: int) -> tuple[int, int]:
    """Return whole micro-units, and the rest in atomic units (dust)."""
    if decimals < MICRO_DECIMALS:
        return atomic * _ten_to(MICRO_DECIMALS - decimals), 0
    return divmod(atomic, _ten_to(decimals - MICRO_DECIMALS))


def _ten_to(exponent: int) -> int:
    return int(10**exponent)
