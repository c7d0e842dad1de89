"""The contrast of a color with white (WCAG 2.2: contrast ratio, relative luminance)."""

MIN_CONTRAST = 4.5
"""For text of normal size (WCAG 2.2, 1.4.3, level AA). Black on white has 21."""


def with_white(color: str) -> float:
    """Return the contrast ratio of a color with white, 1 to 21. `color` is `#` and six hex digits.

    White is the lighter of both, with a relative luminance of 1.
    """
    return 1.05 / (_relative_luminance(color) + 0.05)


def _relative_luminance(color: str) -> float:
    red, green, blue = (_linear(int(color[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    """Return the linear value of a channel of sRGB. Both are 0 to 1."""
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
