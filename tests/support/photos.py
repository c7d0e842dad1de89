"""Photos and other files that people and attackers upload."""

import random
from functools import cache
from io import BytesIO

from PIL import ExifTags, Image, ImageDraw

SIDE_SEEN_UPRIGHT = 6
"""EXIF: the camera was held upright, and the pixels lie on their side."""


def photo(width: int = 800, height: int = 500, format: str = "JPEG", **options) -> bytes:
    """Return a picture with a red left half and a blue right half."""
    image = Image.new("RGB", (width, height), "#1b3fd0")
    ImageDraw.Draw(image).rectangle((0, 0, width // 2, height), fill="#d01b1b")
    file = BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


@cache
def phone_photo() -> bytes:
    """Return a photo of some 12 MB with rotation, GPS and a comment. Its top is red as one sees it.

    4,000 x 3,000 pixels lie on their side: seen, it has 3,000 x 4,000.
    """
    noise = Image.frombytes("RGB", (1000, 750), random.Random(1).randbytes(1000 * 750 * 3)).resize(
        (4000, 3000)
    )
    image = Image.blend(noise, Image.new("RGB", noise.size, "#1b3fd0"), 0.2)
    # Turned by a quarter clockwise, the left edge becomes the top.
    image.paste("#d01b1b", (0, 0, 500, 3000))
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = SIDE_SEEN_UPRIGHT
    exif[ExifTags.Base.Make] = "Phone of Ada"
    exif.get_ifd(ExifTags.IFD.GPSInfo)[ExifTags.GPS.GPSLatitude] = (52.0, 31.0, 12.0)
    exif.get_ifd(ExifTags.IFD.GPSInfo)[ExifTags.GPS.GPSLatitudeRef] = "N"
    for quality in range(100, 50, -1):
        file = BytesIO()
        image.save(file, "JPEG", quality=quality, exif=exif, comment=b"at home", subsampling=0)
        if file.tell() <= 12 * 1024 * 1024:
            return file.getvalue()
    raise AssertionError("too large")


def bomb() -> bytes:
    """Return a PNG of few bytes with 60 megapixels."""
    file = BytesIO()
    Image.new("1", (10_000, 6_000)).save(file, "PNG")
    return file.getvalue()
