"""QR codes of level M (ISO/IEC 18004), as SVG for pages and as PNG for mails and many at once.

A ticket's code takes 0.1 ms. General libraries need ten times as long: they try all masks, and draw
module by module. Here, bits go to their places by one look-up, made once for each version.
"""

import struct
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import NamedTuple

QUIET = 4
"""The white margin that scanners need, in modules."""

_ALPHANUMERIC = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"
_PAIRS = {
    first + second: f"{45 * place + other:011b}"
    for place, first in enumerate(_ALPHANUMERIC)
    for other, second in enumerate(_ALPHANUMERIC)
}
"""Of capitals and digits, two share 11 bits: "AC" is 10 * 45 + 12 = 462. A last one has 6."""

_FORMAT = "101101101001011"
"""Level M, mask 3, with their error correction: (row + column) % 3 = 0 is inverted.

The search for the best of eight masks avoids large areas of one color. Addresses and signatures are
random, so they have none.
"""

_VERSIONS = {
    1: (10, [16], ()),
    2: (16, [28], (6, 18)),
    3: (26, [44], (6, 22)),
    4: (18, [32] * 2, (6, 26)),
    5: (24, [43] * 2, (6, 30)),
    6: (16, [27] * 4, (6, 34)),
    7: (18, [31] * 4, (6, 22, 38)),
    8: (22, [38] * 2 + [39] * 2, (6, 24, 42)),
    9: (22, [36] * 3 + [37] * 2, (6, 26, 46)),
    10: (26, [43] * 4 + [44], (6, 28, 50)),
    11: (30, [50] + [51] * 4, (6, 30, 54)),
    12: (22, [36] * 6 + [37] * 2, (6, 32, 58)),
    13: (22, [37] * 8 + [38], (6, 34, 62)),
    14: (24, [40] * 4 + [41] * 5, (6, 26, 46, 66)),
    15: (24, [41] * 5 + [42] * 5, (6, 26, 48, 70)),
}
"""Of each version: error correction bytes of a block, data bytes of its blocks, and the rows and
columns of its alignment patterns."""

_LONG_LENGTHS = 10
"""From this version on, a text says its length with more bits."""

_FIRST_WITH_ITS_NUMBER = 7
_TIMING = 6
_LIGHT, _DARK = "01"
_STROKE = 8
"""How many modules of a row are drawn at once."""

_Module = tuple[int, int]
"""Row and column."""


class _Version(NamedTuple):
    """How to draw a version. `bits`: how many modules have data. `mask` inverts some of them.

    `drawn` takes the data's bits, a light and a dark module, and returns all modules by row, with
    the margin.
    """

    number: int
    width: int
    correction: int
    blocks: list[int]
    bits: int
    mask: int
    drawn: Callable[[str], tuple[str, ...]]


SCALE = 4
"""Of a picture in a page. Browsers keep its edges sharp; a program that does not still can."""


def svg_path(text: str) -> tuple[int, str]:
    """Return the width of a code with its margin, and a path whose stroke draws it.

    `text`: ASCII, at most 412 characters.
    """
    rows = _rows(text)[QUIET:-QUIET]
    strokes, end = _strokes(), QUIET + len(rows)
    places = [slice(at, min(at + _STROKE, end)) for at in range(QUIET, end, _STROKE)]
    drawn = ["".join([strokes[row[each]] for each in places]) for row in rows]
    return end + QUIET, f"M{QUIET} {QUIET}.5{f'm-{len(rows)} 1'.join(drawn)}"


@lru_cache(None)
def _strokes() -> dict[str, str]:
    """Return how to draw up to _STROKE modules of a row. "11011" is h2m1 0h2."""
    found = {}
    for width in range(1, _STROKE + 1):
        for number in range(2**width):
            modules = f"{number:0{width}b}"
            runs = [(module, len(list(run))) for module, run in groupby(modules)]
            lines = [f"h{run}" if module == _DARK else f"m{run} 0" for module, run in runs]
            found[modules] = "".join(lines)
    return found


def png(text: str, scale: int) -> bytes:
    """Return a code with its margin as a picture. A module has `scale` x `scale` pixels."""
    rows = _rows(text)
    width = len(rows[0]) * scale
    pixels_of, used = _pixels(scale), (width + 7) // 8
    margin = _LIGHT * (-len(rows[0]) % 8)
    places = [slice(at, at + 8) for at in range(0, len(rows[0]), 8)]
    lines = []
    for row in rows:
        padded = row + margin
        lines.append(b"\0" + b"".join([pixels_of[padded[each]] for each in places])[:used])
    pixels = _compressed(b"".join(line * scale for line in lines))
    header = struct.pack(">IIBBBBB", width, width, 1, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", pixels), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def picture(text: str) -> str:
    """Return the address of a code as a picture, which is in the address itself (RFC 2397).

    It has a quarter of the bytes of a drawing, so a page can show many.
    """
    return "data:image/png;base64," + b64encode(png(text, SCALE)).decode()


@lru_cache(None)
def _pixels(scale: int) -> dict[str, bytes]:
    """Return the pixels of each row of eight modules. A dark pixel is a 0."""
    found = {}
    for number in range(256):
        modules = f"{number:08b}"
        wide = "".join(str(1 - int(module)) * scale for module in modules)
        found[modules] = int(wide, 2).to_bytes(scale, "big")
    return found


def _compressed(pixels: bytes) -> bytes:
    """Return a zlib stream. Equal lines follow each other, so a small window finds them."""
    stream = zlib.compressobj(zlib.Z_BEST_COMPRESSION, wbits=9, memLevel=1)
    return stream.compress(pixels) + stream.flush()


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _rows(text: str) -> list[str]:
    """Return the modules of a code with its margin: for each row, a digit for each column."""
    is_short = set(text) <= set(_ALPHANUMERIC)
    number = _smallest(len(text), is_short)
    version = _version(number)
    data = _data(text, is_short, version)
    parts, at = [], 0
    for length in version.blocks:
        parts.append(data[at : at + length])
        at += length
    remainders = [_remainder(part, version.correction) for part in parts]
    # The blocks take turns, byte by byte: damage of one place is then a little of each.
    mixed = bytes(
        byte
        for group in (parts, remainders)
        for turn in zip_longest(*group)
        for byte in turn
        if byte is not None
    )
    spare = version.bits - 8 * len(mixed)
    bits = (int.from_bytes(mixed, "big") << spare) ^ version.mask
    modules = "".join(version.drawn(f"{bits:0{version.bits}b}{_LIGHT}{_DARK}"))
    return [modules[at : at + version.width] for at in range(0, len(modules), version.width)]


def _smallest(length: int, is_short: bool) -> int:
    for number, (_, blocks, _) in _VERSIONS.items():
        if _header_bits(number, is_short) + _text_bits(length, is_short) <= 8 * sum(blocks):
            return number
    raise ValueError(f"A QR code of {length} characters is too large.")


def _header_bits(number: int, is_short: bool) -> int:
    return 4 + _length_bits(number, is_short)


def _length_bits(number: int, is_short: bool) -> int:
    if is_short:
        return 11 if number >= _LONG_LENGTHS else 9
    return 16 if number >= _LONG_LENGTHS else 8


def _text_bits(length: int, is_short: bool) -> int:
    return 11 * (length // 2) + 6 * (length % 2) if is_short else 8 * length


def _data(text: str, is_short: bool, version: _Version) -> bytes:
    """Return the data bytes: kind and length of the text, the text, bytes that fill the rest."""
    mode, size = (2 if is_short else 4), _length_bits(version.number, is_short)
    bits = f"{mode:04b}{len(text):0{size}b}"
    if is_short:
        odd = len(text) % 2
        bits += "".join(_PAIRS[text[at : at + 2]] for at in range(0, len(text) - odd, 2))
        bits += f"{_ALPHANUMERIC.index(text[-1]):06b}" if odd else ""
    else:
        bits += f"{int.from_bytes(text.encode('ascii'), 'big'):0{8 * len(text)}b}"
    room = sum(version.blocks)
    bits += "0" * min(4, 8 * room - len(bits))
    bits += "0" * (-len(bits) % 8)
    written = int(bits, 2).to_bytes(len(bits) // 8, "big")
    return (written + b"\xec\x11" * room)[:room]


def _remainder(data: bytes, length: int) -> bytes:
    """Return the error correction of a block: Reed and Solomon's remainder."""
    products = _products(length)
    remainder, shift, all_ones = 0, 8 * (length - 1), (1 << 8 * length) - 1
    for byte in data:
        remainder = (remainder << 8 & all_ones) ^ products[byte ^ remainder >> shift]
    return remainder.to_bytes(length, "big")


@lru_cache(None)
def _products(length: int) -> list[int]:
    """Return the generator polynomial times each byte, as numbers of `length` bytes."""
    powers = [1]
    for _ in range(254):
        powers.append(powers[-1] << 1 ^ (0x11D if powers[-1] & 0x80 else 0))
    logarithms = {power: exponent for exponent, power in enumerate(powers)}

    def times(one: int, other: int) -> int:
        is_zero = not (one and other)
        return 0 if is_zero else powers[(logarithms[one] + logarithms[other]) % 255]

    generator = [1]
    for exponent in range(length):
        shifted = [times(each, powers[exponent]) for each in generator]
        generator = [a ^ b for a, b in zip([*generator, 0], [0, *shifted], strict=True)]
    return [
        int.from_bytes(bytes(times(byte, each) for each in generator[1:]), "big")
        for byte in range(256)
    ]


@lru_cache(None)
def _version(number: int) -> _Version:
    correction, blocks, alignment = _VERSIONS[number]
    size = 17 + 4 * number
    fixed = _fixed(number, size, alignment)
    order = [module for module in _zigzag(size) if module not in fixed]
    mask = "".join(str(int((row + column) % 3 == 0)) for row, column in order)
    sources = {module: place for place, module in enumerate(order)}
    sources |= {module: len(order) + is_dark for module, is_dark in fixed.items()}
    around = range(-QUIET, size + QUIET)
    light = len(order)
    drawn = itemgetter(*(sources.get((row, column), light) for row in around for column in around))
    width = size + 2 * QUIET
    return _Version(number, width, correction, blocks, len(order), int(mask, 2), drawn)


def _fixed(number: int, size: int, alignment: tuple[int, ...]) -> dict[_Module, bool]:
    """Return the modules that are the same in all codes of a version, and whether they are dark."""
    fixed: dict[_Module, bool] = {}
    last = size - 4
    for row, column in ((3, 3), (3, last), (last, 3)):
        fixed |= _square(row, column, 4, size, {0, 1, 3})
    for place in range(8, size - 8):
        fixed[_TIMING, place] = fixed[place, _TIMING] = place % 2 == 0
    for row in alignment:
        for column in alignment:
            is_taken = (row, column) in fixed and _TIMING not in (row, column)
            is_corner = (row, column) in ((6, 6), (6, size - 7), (size - 7, 6))
            if not is_taken and not is_corner:
                fixed |= _square(row, column, 2, size, {0, 2})
    for at, bit in enumerate(_FORMAT):
        beside = (*range(6), 7, 8)  # without the timing pattern
        one = (8, beside[at]) if at < 8 else (beside[14 - at], 8)
        other = (size - 1 - at, 8) if at < 7 else (8, size - 15 + at)
        fixed[one] = fixed[other] = bit == _DARK
    fixed[size - 8, 8] = True
    if number >= _FIRST_WITH_ITS_NUMBER:
        bits = number << 12 | _division(number << 12)
        for at in range(18):
            row, column = at // 3, size - 11 + at % 3
            fixed[row, column] = fixed[column, row] = bool(bits >> at & 1)
    return fixed


def _square(row: int, column: int, reach: int, size: int, dark: set[int]) -> dict[_Module, bool]:
    """Return a square of rings around a module. `dark`: the distances of its dark rings."""
    around = range(-reach, reach + 1)
    return {
        (row + down, column + right): max(abs(down), abs(right)) in dark
        for down in around
        for right in around
        if 0 <= row + down < size and 0 <= column + right < size
    }


def _division(number: int) -> int:
    """Return the error correction of a version's number: 12 bits."""
    for shift in range(number.bit_length() - 13, -1, -1):
        if number >> shift + 12 & 1:
            number ^= 0x1F25 << shift
    return number


def _zigzag(size: int) -> Iterator[_Module]:
    """Yield the modules in the order of the data: two columns at once, up, then down."""
    goes_up = True
    for right in (*range(size - 1, _TIMING, -2), *range(_TIMING - 1, 0, -2)):
        for row in range(size - 1, -1, -1) if goes_up else range(size):
            yield row, right
            yield row, right - 1
        goes_up = not goes_up
