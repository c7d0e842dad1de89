"""QR codes in pages: drawn in the page, as a file, or as a small picture in the page."""

from base64 import b64encode

from markupsafe import Markup

from ticketing import qr_codes

_SCALE = 4
"""Of a picture in the page. Browsers keep its edges sharp; a program that does not still can."""


def svg(text: str) -> Markup:
    """Return a QR code with its quiet zone. The stylesheet gives its size and white background.

    `text`: as qr_codes.svg_path has it. The text around it says what it is.
    """
    width, path = qr_codes.svg_path(text)
    return Markup(
        f'<svg viewBox="0 0 {width} {width}" class="qr" aria-hidden="true">'
        f'<path stroke="#000" d="{path}"/></svg>'
    )


def file(text: str) -> bytes:
    """Return the same code as a PNG file."""
    return qr_codes.png(text, _SCALE)


def picture(text: str) -> str:
    """Return the address of a code as a picture, which is in the address itself.

    It has a quarter of the bytes of `svg`, so a page can show many.
    """
    return "data:image/png;base64," + b64encode(file(text)).decode()
