"""QR codes in pages: drawn in the page, as a file, or as a small picture in the page."""

from base64 import b64encode

from markupsafe import Markup

from ticketing import qr_codes

_NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'
_SCALE = 4
"""Of a picture in the page. Browsers keep its edges sharp; a program that does not still can."""


def svg(text: str) -> Markup:
    """Return a QR code with its quiet zone. The stylesheet gives its size and white background.

    `text`: as qr_codes.svg_path has it. The text around it says what it is.
    """
    return Markup(_svg(text, 'class="qr" aria-hidden="true"'))


def svg_file(text: str) -> bytes:
    """Return the same code as a file for an `<img>`."""
    return _svg(text, _NAMESPACE).encode()


def picture(text: str) -> str:
    """Return the address of a code as a picture, which is in the address itself.

    It has a quarter of the bytes of `svg`, so a page can show many.
    """
    return "data:image/png;base64," + b64encode(qr_codes.png(text, _SCALE)).decode()


def _svg(text: str, attributes: str) -> str:
    width, path = qr_codes.svg_path(text)
    return f'<svg viewBox="0 0 {width} {width}" {attributes}><path stroke="#000" d="{path}"/></svg>'
