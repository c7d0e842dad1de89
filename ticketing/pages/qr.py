"""QR codes as SVG, without styles or scripts (ISO/IEC 18004)."""

from io import BytesIO

import segno
from markupsafe import Markup

_MASK = 3
"""The mask pattern. The search for the best of eight is 80 % of the CPU time of a code.

The search avoids large areas of one color. Addresses and signatures are random, so they have none.
"""


def svg(text: str) -> Markup:
    """Return a QR code with its quiet zone. The stylesheet gives its size and white background.

    `text`: ASCII, at most some 200 characters. Level M: readable with 15 % of it damaged.
    """
    # The text around it says what it is.
    return Markup(_code(text).svg_inline(border=4, omitsize=True, svgclass="qr", lineclass=None))


def svg_file(text: str) -> bytes:
    """Return the same code as a file for an `<img>`."""
    file = BytesIO()
    _code(text).save(file, kind="svg", border=4, omitsize=True, svgclass=None, lineclass=None)
    return file.getvalue()


def _code(text: str) -> segno.QRCode:
    return segno.make(text, error="m", mask=_MASK, micro=False, boost_error=False)
