"""Schemas of tenants."""

from schemas.base import (
    BaseSchema,
    Bool,
    Choice,
    Fields,
    Int,
    Moment,
    String,
    Text,
    an_email,
    an_http_url,
    an_id,
    optional,
    shown,
)
from schemas.checks import NOT_BLANK, Length, Range, Written
from schemas.locales import a_locale
from ticketing.constants import DEFAULT_TOLERANCE_MOST, MAX_TOLERANCE, MAX_TOLERANCE_PERCENT
from ticketing.notification_types import SaleMails

COLOR = r"^#[0-9A-Fa-f]{6}$"
FIELDS: Fields = {
    "name": Text("Acme Events", required=True, validate=[Length(1, 200), NOT_BLANK]),
    "contact_email": an_email(
        "hello@acme.example.org",
        description="Shown on pages and in mails. Answers to mails go there.",
    ),
    "website": an_http_url("https://acme.example.org/"),
    "terms_url": an_http_url("https://acme.example.org/terms"),
    "privacy_url": an_http_url("https://acme.example.org/privacy"),
    "legal_address": Text(
        "Acme Events Ltd., 1 High Street, London",
        allow_none=True,
        validate=[Length(1, 500), NOT_BLANK],
    ),
    "tax_id": Text(
        "GB123456789", "Shown on receipts.", allow_none=True, validate=[Length(1, 50), NOT_BLANK]
    ),
    "accent_color": Text(
        "#1f4e79",
        "The color of buttons and links. Pages shift it until text can be read.",
        allow_none=True,
        validate=Written(COLOR, "color", "Must be # and six hexadecimal digits."),
    ),
    "locale": a_locale("The language of pages and mails, if nothing else says it.", required=True),
    "sale_mails": Choice(
        SaleMails,
        "Mails to administrators about sales: about each that was paid, one a day about all, or"
        " none.",
        example="daily",
    ),
    "second_factor_required": Bool(
        False,
        "Administrators need a second factor: an app that shows codes, or a passkey. Those"
        " without one must set one up in the console first.",
    ),
    "listed": Bool(
        False,
        "Programs that know no organizer may find your published events (`find_events` of MCP)."
        " Unlisted events stay unlisted.",
    ),
    "early_confirmation": Bool(
        True,
        "Whether small orders are confirmed before their payment is final, if the doors open more"
        " than 24 hours later.",
    ),
    "payment_tolerance_percent": Int(
        0,
        "How much of the amount of an order may be missing, in percent: the order is confirmed"
        " nevertheless, if it is paid in time. It holds for later orders, and buyers never see"
        " it.",
        required=True,
        validate=Range(0, MAX_TOLERANCE_PERCENT),
    ),
    "payment_tolerance_most": Int(
        DEFAULT_TOLERANCE_MOST,
        "The most that may be missing of an order, in micro-units.",
        required=True,
        validate=Range(0, MAX_TOLERANCE, "amount"),
    ),
}
"""The fields that organizers set.

The name, `locale`, the booleans and the numbers are never null.
"""


class TenantChangeSchema(BaseSchema):
    """The settings of a tenant to change. Missing fields do not change."""

    class Meta:
        include = optional(FIELDS)


class TenantSchema(BaseSchema):
    """A tenant as its administrators see it."""

    id = an_id("ten_")
    slug = String("acme")
    created_at = Moment()

    class Meta:
        include = shown(FIELDS)
