"""The contrast of colors with white, against values that are known from elsewhere."""

import pytest

from schemas.tenants import MIN_CONTRAST, with_white


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
    assert with_white(color) == pytest.approx(known, abs=0.005)


def test_each_channel_is_read_from_its_own_place():
    assert len({with_white(color) for color in ("#600000", "#006000", "#000060")}) == 3
    assert with_white("#006000") < with_white("#600000") < with_white("#000060")


def test_a_darker_gray_always_has_more_contrast():
    grays = [with_white(f"#{level:02x}{level:02x}{level:02x}") for level in range(256)]
    assert grays == sorted(grays, reverse=True) and len(set(grays)) == 256
    assert sum(contrast >= MIN_CONTRAST for contrast in grays) == 0x77
