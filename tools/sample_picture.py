"""A picture for a demo event: a sun over a river, drawn at each run, so no file of it is kept."""

from io import BytesIO

from PIL import Image, ImageDraw, ImageFilter

WIDTH, HEIGHT = 1600, 900
_SKY = ((18, 30, 54), (231, 111, 81), (244, 196, 118))
"""From the top to the water's line."""

_WATER = ((94, 58, 74), (14, 22, 36))
_HORIZON = 560


def sample_picture() -> bytes:
    """Return the picture as a JPEG file."""
    picture = Image.new("RGB", (WIDTH, HEIGHT))
    pen = ImageDraw.Draw(picture)
    for line in range(HEIGHT):
        if line < _HORIZON:
            color = _between(_SKY, line / _HORIZON)
        else:
            color = _between(_WATER, (line - _HORIZON) / (HEIGHT - _HORIZON))
        pen.line((0, line, WIDTH, line), fill=color)
    pen.ellipse((980, _HORIZON - 250, 1300, _HORIZON + 70), fill=(255, 226, 168))
    for line in range(_HORIZON, HEIGHT):
        pen.line((0, line, WIDTH, line), fill=_between(_WATER, (line - _HORIZON) / 340))
    for step in range(12):  # the sun on the water: each stripe lower, shorter and fainter
        line, half = _HORIZON + 14 + step * 26, 170 - step * 11
        color = _between(((255, 214, 150), (94, 58, 74)), step / 12)
        pen.rounded_rectangle((1140 - half, line, 1140 + half, line + 8), 4, fill=color)
    for left, top, right in ((0, 470, 170), (150, 400, 260), (250, 500, 420), (400, 440, 470)):
        pen.rectangle((left, top, right, _HORIZON), fill=(24, 26, 40))
    pen.polygon(((300, 500), (318, 300), (336, 300), (354, 500)), fill=(24, 26, 40))
    made = BytesIO()
    picture.filter(ImageFilter.GaussianBlur(1.2)).save(made, "JPEG", quality=88)
    return made.getvalue()


def _between(colors: tuple[tuple[int, int, int], ...], share: float) -> tuple[int, int, int]:
    """Return the color at `share` (0 to 1) of the way through the colors.

    Between black, red and white, 0.75 is the middle of red and white.
    """
    place = min(max(share, 0.0), 1.0) * (len(colors) - 1)
    index = min(int(place), len(colors) - 2)
    first, second = colors[index], colors[index + 1]
    red, green, blue = (
        round(a + (b - a) * (place - index)) for a, b in zip(first, second, strict=True)
    )
    return red, green, blue
