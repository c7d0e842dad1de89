"""QR codes of level M (ISO/IEC 18004), as SVG for pages and as PNG for mails and many at once.

zxing-cpp encodes them. It draws them, too, but its SVG has twice the bytes, and a PNG needs Pillow.
"""

import re
import struct
import zlib
from base64 import b64encode
from functools import cache

MARGIN = 4
"""The white margin that scanners need, in modules."""

SCALE = 4
"""Of a picture in a page. Browsers keep its edges sharp; a program that does not still can."""

_MASK = 3
"""The search for the best of eight masks, which avoids large areas of one color, takes three times
as long. Addresses and signatures are random, so they have none.
"""

_PIXELS = bytes.maketrans(b"\x00\xff", b"01")
"""Dark and light pixels of zxing-cpp, and how they are written here: as bits of a PNG."""

_RUN = re.compile(b"0+|1+")

_STROKE = 8
"""How many modules of a row are drawn at once: few enough to keep all ways to draw them."""


def svg_path(text: str) -> tuple[int, str]:
    """Return the width of a code with its margin, and a path whose stroke draws it.

    `text`: ASCII. ValueError from 2,332 characters on.
    """
    rows = _rows(text, with_margin=False)
    parts = [slice(at, at + _STROKE) for at in range(0, len(rows), _STROKE)]
    path = f"m-{len(rows)} 1".join("".join([_drawn(row[part]) for part in parts]) for row in rows)
    return len(rows) + 2 * MARGIN, f"M{MARGIN} {MARGIN}.5{path}"


def png(text: str, scale: int) -> bytes:
    """Return a code with its margin as a picture. A module has `scale` x `scale` pixels."""
    rows = _rows(text, with_margin=True)
    width = len(rows) * scale
    lines = [_line(row, scale) * scale for row in rows]
    header = struct.pack(">IIBBBBB", width, width, 1, 0, 0, 0, 0)
    # Equal lines follow each other: a small window finds them, and is faster.
    stream = zlib.compressobj(zlib.Z_BEST_COMPRESSION, wbits=9, memLevel=1)
    pixels = stream.compress(b"".join(lines)) + stream.flush()
    chunks = ((b"IHDR", header), (b"IDAT", pixels), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def picture(text: str) -> str:
    """Return the address of a code as a picture, which is in the address itself (RFC 2397).

    It has a quarter of the bytes of a drawing, so a page can show many.
    """
    return "data:image/png;base64," + b64encode(png(text, SCALE)).decode()


def _rows(text: str, *, with_margin: bool) -> list[bytes]:
    """Return the modules of a code: for each row, "0" for a dark and "1" for a light one."""
    # Not every process draws codes: the library takes 2 MB.
    import zxingcpp

    kind = zxingcpp.BarcodeFormat.QRCode
    code = zxingcpp.create_barcode(text, kind, ec_level="M", data_mask=_MASK)
    image = code.to_image(add_quiet_zones=with_margin)
    modules = bytes(image).translate(_PIXELS)  # type: ignore[call-overload]  # it is a buffer
    width = image.shape[1]
    return [modules[at : at + width] for at in range(0, len(modules), width)]


@cache
def _drawn(modules: bytes) -> str:
    """Return how to draw modules of a row: "00100" is h2m1 0h2."""
    runs = _RUN.findall(modules)
    return "".join(f"h{len(run)}" if run[:1] == b"0" else f"m{len(run)} 0" for run in runs)


def _line(row: bytes, scale: int) -> bytes:
    """Return a line of pixels: no filter, then a bit for each, with zeros to the end of a byte."""
    bits = row.replace(b"0", b"0" * scale).replace(b"1", b"1" * scale)
    size = (len(bits) + 7) // 8
    return b"\0" + (int(bits, 2) << 8 * size - len(bits)).to_bytes(size, "big")


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
