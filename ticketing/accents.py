"""The colors that pages make of an organizer's color, so that everybody can read them (WCAG 2.2).

Example: of a yellow, #ffd500, buttons are yellow with black text, and links are a dark yellow,
#836d00, which has a contrast of 4.5 on paper.
"""

from colorsys import hls_to_rgb, rgb_to_hls
from functools import lru_cache
from typing import NamedTuple

READABLE = 4.5
"""The contrast of text of normal size with its ground (WCAG 2.2, 1.4.3, level AA)."""


_LIGHT_GROUNDS = ("#f8f7f4", "#ffffff")
_DARK_GROUNDS = ("#101214", "#181b1e")
_SOFT = 0.1
"""How much of the color is in its soft form. The rest is the surface."""

_STEPS = 256

_Channels = tuple[float, float, float]


class Scheme(NamedTuple):
    """The colors of a light or a dark page: `#` and six hexadecimal digits.

    `accent` is the ground of buttons and `on_accent` their text. `link` is for links and borders.
    `soft` is a pale ground, on which `link` can be read.
    """

    accent: str
    on_accent: str
    link: str
    soft: str


class Accent(NamedTuple):
    """An organizer's color on light and on dark pages."""

    light: Scheme
    dark: Scheme


@lru_cache(1000)
def of(color: str) -> Accent:
    """Return the colors of a color: `#` and six hexadecimal digits."""
    light = _readable(color, _LIGHT_GROUNDS, darker=True)
    dark = _readable(color, _DARK_GROUNDS, darker=False)
    return Accent(
        Scheme(color, _text_on(color), light, mixed(color, _LIGHT_GROUNDS[1])),
        Scheme(dark, _text_on(dark), dark, mixed(dark, _DARK_GROUNDS[1])),
    )


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colors, 1 to 21 (WCAG 2.2, contrast ratio)."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def mixed(color: str, ground: str) -> str:
    """Return a soft form of a color on a ground, as CSS `color-mix` in sRGB makes it."""
    pairs = zip(_channels(color), _channels(ground), strict=True)
    red, green, blue = (_SOFT * top + (1 - _SOFT) * below for top, below in pairs)
    return _written((red, green, blue))


def _readable(color: str, grounds: tuple[str, ...], *, darker: bool) -> str:
    """Return a color shifted in lightness, as little as makes it readable on each ground."""
    hue, lightness, saturation = rgb_to_hls(*_channels(color))
    for step in range(_STEPS + 1):
        end = 0.0 if darker else 1.0
        shifted = lightness + (end - lightness) * step / _STEPS
        found = _written(hls_to_rgb(hue, shifted, saturation))
        soft = mixed(found, grounds[-1])
        if all(contrast(found, each) >= READABLE for each in (*grounds, soft)):
            break
    return found


def _text_on(color: str) -> str:
    """Return black or white: the one that has more contrast. It has 4.5 at least."""
    return max(("#000000", "#ffffff"), key=lambda each: contrast(each, color))


def _channels(color: str) -> _Channels:
    red, green, blue = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue


def _written(channels: _Channels) -> str:
    return "#" + "".join(f"{round(each * 255):02x}" for each in channels)


def _luminance(color: str) -> float:
    red, green, blue = map(_linear, _channels(color))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    """Return the linear value of a channel of sRGB. Both are 0 to 1."""
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
