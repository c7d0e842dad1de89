"""The colors that pages make of an organizer's color: everybody can read them (WCAG 2.2)."""

from itertools import product

import pytest

from ticketing import accents
from ticketing.accents import READABLE, contrast

WHITE = "#ffffff"
LIGHT, DARK = ("#f8f7f4", "#ffffff"), ("#101214", "#181b1e")
"""The grounds of pages.css."""


@pytest.mark.parametrize(
    ("color", "known"),
    [
        ("#ffffff", 1.0),
        ("#FFFF00", 1.07),
        ("#00ff00", 1.37),
        ("#808080", 3.95),
        ("#ff0000", 4.0),
        ("#777777", 4.48),
        ("#767676", 4.54),
        ("#008000", 5.14),
        ("#0000FF", 8.59),
        ("#800080", 9.42),
        ("#000080", 16.01),
        ("#000000", 21.0),
    ],
)
def test_the_contrast_is_the_one_that_wcag_defines(color, known):
    assert contrast(color, WHITE) == contrast(WHITE, color) == pytest.approx(known, abs=0.005)


def test_a_darker_gray_always_has_more_contrast():
    grays = [contrast(WHITE, f"#{level:02x}{level:02x}{level:02x}") for level in range(256)]
    assert grays == sorted(grays, reverse=True) and len(set(grays)) == 256


def test_text_and_links_of_any_color_can_be_read():
    for channels in product(range(0, 256, 51), repeat=3):
        color = "#{:02x}{:02x}{:02x}".format(*channels)
        found = accents.of(color)
        assert found.light.accent == color
        for scheme, grounds in ((found.light, LIGHT), (found.dark, DARK)):
            assert contrast(scheme.accent, scheme.on_accent) >= READABLE, color
            for ground in (*grounds, scheme.soft):
                assert contrast(scheme.link, ground) >= READABLE, (color, ground)


def test_a_color_that_can_be_read_is_not_shifted():
    assert accents.of("#0b6b60").light.link == "#0b6b60"
    assert accents.of("#ffd500").dark.link == "#ffd500"
