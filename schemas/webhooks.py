"""Schemas of webhook endpoints and their deliveries."""

from typing import Any

from marshmallow import ValidationError, fields, validate, validates_schema

from schemas.base import (
    BaseSchema,
    Choice,
    Fields,
    Instant,
    Int,
    Items,
    ListOf,
    Moment,
    Number,
    PageQuery,
    String,
    Text,
    YesNo,
    an_id,
    documented,
    optional,
    shown,
)
from schemas.checks import CHOICE, HTTP_URL, Length, Range, Rule
from ticketing.constants import DEFAULT_OVERLAP, MAX_OVERLAP
from ticketing.errors import FieldMessage
from ticketing.notification_types import (
    EVERY_TYPE,
    MAX_RESENT,
    DeliveryStatus,
    NotificationType,
    WebhookStatus,
)

_NOTIFICATION = "ntf_01hq3v5m8r2t6w9y1a4c7e0g3j"
_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwN9Ry7hG3kXc="
_SINCE_OR_IDS = FieldMessage("since_or_ids", "Must have either since or ids.")
_SELECTABLE = [EVERY_TYPE, *NotificationType]
_UNTIL_A_MINUTE = "what was recorded up to a minute before may be included"


def _is_selection(types: list[str]) -> bool:
    return len(set(types)) == len(types) and (EVERY_TYPE not in types or len(types) == 1)


_FIELDS: Fields = {
    "url": Text(
        "https://shop.example.org/hooks",
        "An https URL with port 443 or 8443, without credentials.",
        required=True,
        validate=[Length(1, 2048), HTTP_URL],
    ),
    "types": Items(
        Text(validate=validate.OneOf(_SELECTABLE, error=CHOICE)),
        required=True,
        validate=[
            Length(1, len(_SELECTABLE), "items"),
            Rule(_is_selection, "selection", 'Must be ["*"] or different names.'),
        ],
        metadata={
            **documented(["intent.confirmed"], 'Names of notification types, or `["*"]` for all.'),
            "uniqueItems": True,
        },
    ),
}


class WebhookCreateSchema(BaseSchema):
    """The request to create a webhook endpoint."""

    class Meta:
        include = _FIELDS


class WebhookChangeSchema(BaseSchema):
    """The fields of a webhook endpoint to change. Missing fields do not change."""

    class Meta:
        include = optional(_FIELDS)


class WebhookRotateSchema(BaseSchema):
    """The request to give a webhook endpoint a new secret."""

    overlap_seconds = Int(
        description="For how long requests are signed with the old secret too. 0: not at all.",
        load_default=DEFAULT_OVERLAP,
        validate=Range(0, MAX_OVERLAP),
    )
    MAY_BE_ABSENT = True


class WebhookEnableSchema(BaseSchema):
    """The request to deliver to a webhook endpoint again."""

    MAY_BE_ABSENT = True

    class Meta:
        include = {
            "from": Instant(
                "Deliver what was recorded since then. Default: go on where it stopped."
                f" Times are not exact: {_UNTIL_A_MINUTE}.",
                example="2026-11-21T09:00:00Z",
                attribute="since",
            )
        }


class WebhookResendSchema(BaseSchema):
    """Which notifications to send again: either `since` or `ids`."""

    since = Instant(
        "Everything that was recorded since then, in its order, without `ids`. Times are not"
        f" exact: {_UNTIL_A_MINUTE}.",
        example="2026-11-21T09:00:00Z",
    )
    ids = Items(
        Text(validate=Length(1, 80)),
        "Ids of notifications, without `since`. Each is tried once.",
        example=[_NOTIFICATION],
        attribute="notification_ids",
        validate=Length(1, MAX_RESENT, "items"),
    )

    def example(self) -> dict[str, Any]:
        """Return one of the two ways."""
        return {"since": super().example()["since"]}

    @validates_schema
    def _check_combination(self, data: dict[str, Any], **_: Any) -> None:
        if len(data) != 1:
            raise ValidationError(_SINCE_OR_IDS, "since")


class WebhookSchema(BaseSchema):
    """A webhook endpoint without its secret."""

    id = an_id("whk_")
    types = ListOf(
        fields.String(validate=validate.OneOf(_SELECTABLE)),
        example=["intent.confirmed"],
        attribute="type_names",
    )
    status = Choice(
        WebhookStatus, "A failing endpoint is tried again by itself, a disabled one is not."
    )
    disabled_reason = String(None, "Why it was disabled.")
    failing_since = Moment(nullable=True)
    next_attempt_at = Moment("When a failing endpoint is tried again.", nullable=True)
    delivered = Number(40, "How many deliveries it has accepted.")
    position = Number(
        120,
        "The `sequence` of the last notification that it is done with: delivered, set aside, or"
        " of another type.",
        attribute="sequence",
    )
    previous_expires_at = Moment(
        "Until when requests are signed with the previous secret too.", nullable=True
    )
    created_at = Moment()
    updated_at = Moment()

    class Meta:
        include = {"url": shown(_FIELDS)["url"]}


class NewWebhookSchema(WebhookSchema):
    """A webhook endpoint with its secret. Only the response that makes the secret contains it."""

    secret = String(
        _SECRET,
        "Verifies the signatures (Standard Webhooks). Null when an idempotent request is replayed.",
        nullable=True,
        attribute="plaintext",
    )


class WebhookDeliveryQuery(PageQuery):
    """Which deliveries are listed."""

    only_failed = fields.Boolean(
        load_default=False,
        truthy={"true"},
        falsy={"false"},
        metadata={"description": "Leave out those that passed without anybody asking for them."},
    )


class WebhookDeliverySchema(BaseSchema):
    """A delivery: one that failed, that somebody asked for, or one of the last that passed."""

    id = an_id("whd_")
    webhook_id = an_id("whk_", attribute="endpoint_id")
    notification_id = String(_NOTIFICATION, "The header `webhook-id`.")
    type = Choice(NotificationType)
    status = Choice(DeliveryStatus)
    manual = YesNo(
        False, "Whether somebody asked for it (`test`, `resend`).", attribute="is_manual"
    )
    set_aside = YesNo(
        False,
        "Whether the notification was refused several times and is not tried again by itself.",
        attribute="is_set_aside",
    )
    created_at = Moment()
    attempted_at = Moment(nullable=True)
    status_code = Number(500, nullable=True)
    error = String(None, "Why there is no answer.")
    duration_ms = Number(120, nullable=True)
    answer = String("Internal error", "The beginning of the answer's body.", nullable=True)
