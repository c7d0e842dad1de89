"""Our QR codes are those of segno, module by module."""

import io
import re
import struct
import zlib

import pytest
import segno
import zxingcpp
from PIL import Image

from ticketing import qr_codes
from ticketing.qr_codes import MARGIN

BYTES = [14, 26, 42, 62, 84, 106, 122, 152, 180, 213, 251, 287, 331, 362, 412]
CAPITALS = [20, 38, 61, 90, 122, 154, 178, 221, 262, 311, 366, 419, 483, 528, 600]
"""How many characters the versions 1 to 15 can have at most."""


def text_of(length, *, is_short):
    alphabet = "Ab1/:c%" if not is_short else "0Z9A:$ 7%K"
    places = ((place * place + place // 3) % len(alphabet) for place in range(length))
    return "".join(alphabet[place] for place in places)


def modules_of(text):
    code = segno.make(text, error="m", mask=3, micro=False, boost_error=False)
    return [[bool(module) for module in row] for row in code.matrix_iter(border=MARGIN)]


def modules_of_path(text):
    width, path = qr_codes.svg_path(text)
    drawn = [[False] * width for _ in range(width)]
    column, row = map(float, re.match(r"M([\d.]+) ([\d.]+)", path).groups())
    for right, down, length in re.findall(r"m(-?\d+) (\d)|h(\d+)", path):
        if length:
            for place in range(int(length)):
                drawn[int(row)][int(column) + place] = True
            column += int(length)
        else:
            column, row = column + int(right), row + int(down)
    return drawn


def modules_of_png(text, scale):
    picture = qr_codes.png(text, scale)
    (width,) = struct.unpack(">I", picture[16:20])
    length = struct.unpack(">I", picture[33:37])[0]
    lines = zlib.decompress(picture[41 : 41 + length])
    step = 1 + (width + 7) // 8
    rows = [lines[at + 1 : at + step] for at in range(0, len(lines), step)]
    pixels = [[not row[x // 8] >> (7 - x % 8) & 1 for x in range(width)] for row in rows]
    assert len(pixels) == width
    assert all(pixels[y] == pixels[y - y % scale] for y in range(width))
    return [row[::scale] for row in pixels[::scale]]


@pytest.mark.parametrize(
    "text",
    [text_of(length, is_short=False) for length in BYTES]
    + [text_of(length, is_short=True) for length in CAPITALS]
    + ["T1:" + text_of(150, is_short=True), "A", "$$"],
    ids=lambda text: f"{len(text)}{'' if text.isupper() else 'b'}",
)
def test_every_version_is_as_the_standard_has_it(text):
    assert modules_of_path(text) == modules_of(text)


@pytest.mark.parametrize("scale", [1, 4, 7])
def test_a_picture_has_the_same_modules(scale):
    text = "T1:" + text_of(150, is_short=True)
    assert modules_of_png(text, scale) == modules_of(text)


@pytest.mark.parametrize("text", ["a", "A", "https://example.org/o/pi_1.cs", "7" * 100, "x" * 400])
def test_a_reader_reads_it(text):
    with Image.open(io.BytesIO(qr_codes.png(text, 3))) as picture:
        (found,) = zxingcpp.read_barcodes(picture.convert("L"))
    assert found.text == text


def test_ten_tickets_have_few_bytes():
    assert len(qr_codes.png("T1:" + text_of(150, is_short=True), 4)) < 600


def test_a_ticket_has_41_modules_in_alphanumeric_mode():
    text = "T1:" + text_of(150, is_short=True)
    with Image.open(io.BytesIO(qr_codes.png(text, 4))) as picture:
        (found,) = zxingcpp.read_barcodes(picture.convert("L"))
    assert (found.text, found.extra["Version"], found.ec_level) == (text, "6", "M")
    # In another mode a code of 41 modules has room for 106 characters at most.
    assert qr_codes.svg_path(text)[0] - 2 * MARGIN == 41


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="too long"):
        qr_codes.svg_path("a" * 2332)
