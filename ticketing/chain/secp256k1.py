"""Arithmetic on secp256k1 (SEC 2, 2.4.1), to recover signers.

All inputs are public, so constant time is not needed.
"""

import math
from functools import cache

P = 2**256 - 2**32 - 977
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
G = (
    0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
    0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
)
_WINDOW_BITS = 7
"""Wider windows need fewer additions, but a larger table, which delays the first address."""

Point = tuple[int, int]
_Jacobian = tuple[int, int, int]
_INFINITY: _Jacobian = (1, 1, 0)


def decompress(key: bytes) -> Point:
    """Return the point of a compressed public key of 33 bytes. ValueError if it is invalid."""
    x = int.from_bytes(key[1:], "big")
    y = pow(x**3 + 7, (P + 1) // 4, P)
    if len(key) != 33 or key[0] not in (2, 3) or x >= P or (y * y - x**3 - 7) % P:
        raise ValueError("not a compressed public key on secp256k1")
    return x, y if y % 2 == key[0] % 2 else P - y


def add_to_generator_multiple(scalar: int, point: Point) -> Point:
    """Return scalar*G + point. ValueError if that is the point at infinity."""
    total: _Jacobian = (*point, 1)
    for multiples in _generator_windows():
        digit = scalar & (1 << _WINDOW_BITS) - 1
        scalar >>= _WINDOW_BITS
        if digit:
            total = _add(total, multiples[digit - 1])
    return _affine(total)


def multiply(scalar: int, point: Point) -> Point:
    """Return scalar*point. ValueError if that is the point at infinity."""
    total = _INFINITY
    for bit in bin(scalar % N)[2:]:
        total = _double(total)
        if bit == "1":
            total = _add(total, point)
    return _affine(total)


@cache
def _generator_windows() -> list[list[Point]]:
    """Return for each window of the scalar 1 to 127 times the generator, shifted to the window."""
    windows = []
    base = G
    for _ in range(math.ceil(256 / _WINDOW_BITS)):
        multiples = [base]
        for _ in range((1 << _WINDOW_BITS) - 1):
            multiples.append(_affine(_add((*multiples[-1], 1), base)))
        base = multiples.pop()
        windows.append(multiples)
    return windows


def _add(a: _Jacobian, b: Point) -> _Jacobian:
    """Add an affine point to a Jacobian one."""
    x1, y1, z1 = a
    x2, y2 = b
    if z1 == 0:
        return x2, y2, 1
    zz = z1 * z1 % P
    h = (x2 * zz - x1) % P
    r = (y2 * zz * z1 - y1) % P
    if h == 0:
        return _double(a) if r == 0 else _INFINITY
    hh = h * h % P
    hhh = h * hh % P
    v = x1 * hh % P
    x3 = (r * r - hhh - 2 * v) % P
    return x3, (r * (v - x3) - y1 * hhh) % P, z1 * h % P


def _double(a: _Jacobian) -> _Jacobian:
    x, y, z = a
    s = 4 * x * y * y % P
    m = 3 * x * x % P
    x3 = (m * m - 2 * s) % P
    return x3, (m * (s - x3) - 8 * y**4) % P, 2 * y * z % P


def _affine(a: _Jacobian) -> Point:
    x, y, z = a
    if z == 0:
        raise ValueError("the point at infinity")
    inverse = pow(z, -1, P)
    square = inverse * inverse % P
    return x * square % P, y * square * inverse % P
