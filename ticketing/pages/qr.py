"""QR codes in pages: drawn in the page, or as a file. qr_codes.picture is a small picture."""

from markupsafe import Markup

from ticketing import qr_codes


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
    return qr_codes.png(text, qr_codes.SCALE)
