"""Decode what people upload, and write new files of it. Pillow is used here only, so load this
module where it is used.

A file of a stranger is never stored or sent: what is served was written here, pixel by pixel. So
it has no metadata (such as where a photo was taken), and no second meaning (such as HTML).
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from PIL import ExifTags, Image, ImageCms, ImageOps

from ticketing.constants import MAX_IMAGE_PIXELS, MIN_IMAGE_WIDTH, MIN_LOGO_WIDTH
from ticketing.errors import ImageInvalid, ImagesBusy
from ticketing.models.images import WIDTHS
from ticketing.services import outside_slots

PICTURE_TYPE, LOGO_TYPE = "image/webp", "image/png"
SHARE_SIZE = (1200, 630)
"""What sites expect that show a picture beside a link (Open Graph)."""

MAX_LOGO = 400
"""Pixels of a logo, in both directions."""

MAIL_WIDTH, MAIL_BYTES = 1000, 80_000
"""Of the picture in a mail, which shows it 600 wide."""

MAIL_LOGO, DENSITY = (120, 32), 2
"""The box of a logo in a mail, and how many pixels are one there."""

_MAIL_QUALITIES = (78, 65, 50, 35, 20)

_FORMATS = ("JPEG", "PNG", "WEBP")
_MAX_RATIO = 10
"""Of the longer side to the shorter one. A WebP has at most 16,383 pixels in a direction."""

_TOO_MANY_PIXELS = f"The image has more than {MAX_IMAGE_PIXELS // 1_000_000} megapixels."

_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""How an image is turned for each orientation in its EXIF data. 1 is upright."""

_WHITE = (255, 255, 255)
_SRGB = ImageCms.createProfile("sRGB")
_ROOM_TO_SCALE = 2
"""Quick ways to make it smaller come first, while it is so many times as large as needed."""

_BAND = 64
"""Rows of a band, in the smaller image."""

# Pillow compares the size in the head of a file with this before it decodes anything. Between once
# and twice this number it only warns.
Image.MAX_IMAGE_PIXELS = MAX_IMAGE_PIXELS
warnings.simplefilter("error", Image.DecompressionBombWarning)

_decoding = threading.Lock()
"""To decode a file takes a second of CPU, and up to 200 MB: so one at a time in a process."""

_WAIT_SECONDS = 10.0
"""For how long another upload waits for that, in a slot of those who wait for others."""


@dataclass(frozen=True)
class Files:
    """The files that were made of an upload. `width` and `height` are those of `largest`.

    `smaller` are files of other widths, by width; `share` is a JPEG of SHARE_SIZE. A logo has
    neither.
    """

    type: str
    width: int
    height: int
    largest: bytes
    smaller: dict[int, bytes]
    share: bytes | None


def of_picture(content: bytes) -> Files:
    """Return the files of an event's picture: WebP of at most WIDTHS, and a JPEG to share.

    `content` is a JPEG, PNG or WebP. ImageInvalid; ImagesBusy if others are being decoded.
    """
    return _made(content, MIN_IMAGE_WIDTH, _picture)


def of_logo(content: bytes) -> Files:
    """Return the file of a logo: a PNG of at most MAX_LOGO pixels. The errors are the same."""
    return _made(content, MIN_LOGO_WIDTH, _logo)


@dataclass(frozen=True)
class Small:
    """A file that was made smaller, and the width and height at which it is shown."""

    content: bytes
    shown: tuple[int, int]


def logo_for_mail(content: bytes) -> Small:
    """Return a logo that was stored, as a PNG that fits into MAIL_LOGO at DENSITY."""
    with Image.open(BytesIO(content)) as image:
        image.thumbnail((MAIL_LOGO[0] * DENSITY, MAIL_LOGO[1] * DENSITY), Image.Resampling.LANCZOS)
        shown = (image.width // DENSITY, image.height // DENSITY)
        return Small(_written(image, "PNG", optimize=True), shown)


def picture_for_mail(content: bytes) -> bytes:
    """Return a picture that was stored to be shared, as a JPEG of MAIL_BYTES at most.

    The quality is as low as that needs. It is noise that nobody sees, or the lowest one.
    """
    with Image.open(BytesIO(content)) as image:
        small = _scaled(image, MAIL_WIDTH)
    for quality in _MAIL_QUALITIES:
        made = _written(small, "JPEG", quality=quality, optimize=True, progressive=True)
        if len(made) <= MAIL_BYTES:
            break
    return made


def _made(content: bytes, min_width: int, make: Callable[[Image.Image], Files]) -> Files:
    with one_at_a_time():
        try:
            with Image.open(BytesIO(content), formats=_FORMATS) as image:
                _check_size(image, min_width)
                return make(image)
        except ImageInvalid:
            raise
        except (Image.DecompressionBombError, Image.DecompressionBombWarning):
            raise ImageInvalid(_TOO_MANY_PIXELS) from None
        except Exception:
            # A decoder may raise anything for a damaged file: OSError, SyntaxError, ValueError ...
            raise ImageInvalid from None


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Run the block while no other file is decoded. ImagesBusy."""
    if not _decoding.acquire(blocking=False):
        with outside_slots.slot({"pictures"}, ImagesBusy):
            if not _decoding.acquire(timeout=_WAIT_SECONDS):
                raise ImagesBusy
    try:
        yield
    finally:
        _decoding.release()


def _check_size(image: Image.Image, min_width: int) -> None:
    width, height = image.size
    if width * height > MAX_IMAGE_PIXELS:
        raise ImageInvalid(_TOO_MANY_PIXELS)
    if max(width, height) > _MAX_RATIO * min(width, height):
        raise ImageInvalid(f"The longer side is more than {_MAX_RATIO} times the shorter one.")
    if _turned_size(image)[0] < min_width:
        raise ImageInvalid(f"The image must be at least {min_width} pixels wide.")


def _turned_size(image: Image.Image) -> tuple[int, int]:
    """Return width and height as people see the image."""
    width, height = image.size
    is_on_its_side = image.getexif().get(ExifTags.Base.Orientation) in (5, 6, 7, 8)
    return (height, width) if is_on_its_side else (width, height)


def _picture(image: Image.Image) -> Files:
    whole = _upright(image, WIDTHS[0], "RGB")
    sizes = {width: _scaled(whole, width) for width in WIDTHS[1:] if width < whole.width}
    return Files(
        PICTURE_TYPE,
        whole.width,
        whole.height,
        largest=_webp(whole),
        smaller={width: _webp(each) for width, each in sizes.items()},
        share=_written(ImageOps.fit(whole, SHARE_SIZE), "JPEG", quality=80, optimize=True),
    )


def _logo(image: Image.Image) -> Files:
    whole = _upright(image, MAX_LOGO, "RGBA")
    whole.thumbnail((MAX_LOGO, MAX_LOGO))
    if whole.getchannel("A").getextrema() == (255, 255):
        whole = whole.convert("RGB")
    content = _written(whole, "PNG", optimize=True)
    return Files(LOGO_TYPE, whole.width, whole.height, content, smaller={}, share=None)


def _upright(image: Image.Image, most: int, mode: str) -> Image.Image:
    """Decode, scale to a width of `most` or less, and turn it as people see it.

    `mode`: RGB on white, or RGBA.
    """
    orientation = image.getexif().get(ExifTags.Base.Orientation)
    profile = image.info.get("icc_profile")
    width, height = _turned_size(image)
    wanted = (min(width, most), max(1, round(height * min(width, most) / width)))
    size = wanted if (width, height) == image.size else wanted[::-1]
    image.draft("RGB", (size[0] * _ROOM_TO_SCALE, size[1] * _ROOM_TO_SCALE))
    found = _reduced(image, mode, max(1, image.width // (size[0] * _ROOM_TO_SCALE)))
    found = found.resize(size, Image.Resampling.LANCZOS)
    if orientation in _TURNS:
        found = found.transpose(_TURNS[orientation])
    return _in_srgb(found, profile) if mode == image.mode == "RGB" else found


def _reduced(image: Image.Image, mode: str, factor: int) -> Image.Image:
    """Decode to a new image that is smaller by a whole factor, without the data in `info`.

    It is made in bands: 50 megapixels take 200 MB, and each copy of them takes as much again.
    """
    size = (-(-image.width // factor), -(-image.height // factor))
    reduced, rows = Image.new(mode, size), factor * _BAND
    for top in range(0, image.height, rows):
        band = image.crop((0, top, image.width, min(top + rows, image.height)))
        reduced.paste(_in_mode(band, mode).reduce(factor), (0, top // factor))
    return reduced


def _in_mode(image: Image.Image, mode: str) -> Image.Image:
    if mode == "RGBA" or not image.has_transparency_data:
        return image.convert(mode)
    shown = image.convert("RGBA")
    white = Image.new("RGB", shown.size, _WHITE)
    white.paste(shown, mask=shown.getchannel("A"))
    return white


def _in_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    """Return it in the colors that browsers assume. Cameras of phones use wider ones."""
    if profile is None:
        return image
    try:
        made = ImageCms.profileToProfile(
            image, ImageCms.ImageCmsProfile(BytesIO(profile)), _SRGB, outputMode="RGB"
        )
    except (ImageCms.PyCMSError, OSError):
        return image
    if made is None:
        return image
    made.info.clear()
    return made


def _scaled(image: Image.Image, width: int) -> Image.Image:
    height = max(1, round(image.height * width / image.width))
    return image.resize((width, height), Image.Resampling.LANCZOS)


def _webp(image: Image.Image) -> bytes:
    return _written(image, "WEBP", quality=78, method=4)


def _written(image: Image.Image, name: str, **options: Any) -> bytes:
    file = BytesIO()
    image.save(file, name, **options)
    return file.getvalue()
