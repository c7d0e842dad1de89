"""Schemas of tenants."""

import math
import re
from typing import Any

from marshmallow import fields

from schemas.base import (
    BaseSchema,
    Bool,
    Fields,
    Instant,
    Int,
    Text,
    an_email,
    an_http_url,
    an_id,
    documented,
    optional,
    shown,
)
from schemas.checks import NOT_BLANK, Length, Range
from ticketing.constants import DEFAULT_TOLERANCE_MOST, MAX_TOLERANCE, MAX_TOLERANCE_PERCENT
from ticketing.errors import FieldMessage

COLOR = r"^#[0-9A-Fa-f]{6}$"
_COLOR = re.compile(COLOR)

MIN_CONTRAST = 4.5
"""For text of normal size (WCAG 2.2, 1.4.3, level AA). Black on white has 21."""


def with_white(color: str) -> float:
    """Return the contrast ratio of a color with white, 1 to 21. `color` is `#` and six hex digits.

    WCAG 2.2, contrast ratio: white is the lighter of both, with a relative luminance of 1.
    """
    return 1.05 / (_relative_luminance(color) + 0.05)


def _relative_luminance(color: str) -> float:
    red, green, blue = (_linear(int(color[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    """Return the linear value of a channel of sRGB. Both are 0 to 1."""
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


class ButtonColor(Text):
    """A color that is dark enough for white text on it."""

    pattern = COLOR
    default_error_messages = {
        "color": FieldMessage("color", "Must be # and six hexadecimal digits."),
        "contrast": FieldMessage(
            "contrast",
            "White text on this color has a contrast of {found:.2f}:1. At least {needed}:1 is"
            " required: choose a darker color.",
        ),
    }

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        color = super()._deserialize(value, *args, **kwargs)
        if _COLOR.fullmatch(color) is None:
            raise self.make_error("color")
        found, needed = with_white(color), MIN_CONTRAST
        if found < needed:
            # Rounded down: 4.499 must not be shown as 4.50.
            raise self.make_error("contrast", found=math.floor(found * 100) / 100, needed=needed)
        return color


FIELDS: Fields = {
    "name": Text(
        required=True,
        validate=[Length(1, 200), NOT_BLANK],
        metadata=documented("Acme Events"),
    ),
    "contact_email": an_email(
        "hello@acme.example.org",
        description="Shown on pages and in mails. Answers to mails go there.",
    ),
    "website": an_http_url("https://acme.example.org/"),
    "terms_url": an_http_url("https://acme.example.org/terms"),
    "privacy_url": an_http_url("https://acme.example.org/privacy"),
    "legal_address": Text(
        allow_none=True,
        validate=[Length(1, 500), NOT_BLANK],
        metadata=documented("Acme Events Ltd., 1 High Street, London"),
    ),
    "tax_id": Text(
        allow_none=True,
        validate=[Length(1, 50), NOT_BLANK],
        metadata=documented("GB123456789", "Shown on receipts."),
    ),
    "accent_color": ButtonColor(
        allow_none=True,
        metadata=documented(
            "#1f4e79",
            "The color of buttons. White text on it must have a contrast of at least"
            f" {MIN_CONTRAST}:1 (WCAG 2.2, 1.4.3).",
        ),
    ),
    "early_confirmation": Bool(
        metadata=documented(
            True,
            "Whether small orders are confirmed before their payment is final, if the doors open"
            " more than 24 hours later.",
        ),
    ),
    "payment_tolerance_percent": Int(
        required=True,
        validate=Range(0, MAX_TOLERANCE_PERCENT),
        metadata=documented(
            0,
            "How much of the amount of an order may be missing, in percent: the order is confirmed"
            " nevertheless, if it is paid in time. It holds for later orders, and buyers never see"
            " it.",
        ),
    ),
    "payment_tolerance_most": Int(
        required=True,
        validate=Range(0, MAX_TOLERANCE, "amount"),
        metadata=documented(
            DEFAULT_TOLERANCE_MOST, "The most that may be missing of an order, in micro-units."
        ),
    ),
}
"""The fields that organizers set. The name, `early_confirmation` and the numbers are never null."""


class TenantChangeSchema(BaseSchema):
    """The settings of a tenant to change. Missing fields do not change."""

    class Meta:
        include = optional(FIELDS)


class TenantSchema(BaseSchema):
    """A tenant as its administrators see it."""

    id = an_id("ten_")
    slug = fields.String(required=True, metadata=documented("acme"))
    created_at = Instant(required=True)

    class Meta:
        include = shown(FIELDS)
