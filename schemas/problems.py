"""The schema of errors (RFC 9457)."""

from marshmallow import fields

from schemas.base import EXAMPLE_PAYER, BaseSchema, documented
from schemas.intents import IntentSchema
from ticketing.constants import CURRENCY


class ProblemSchema(BaseSchema):
    """The body of every error response."""

    type = fields.String(
        required=True,
        metadata=documented(
            "urn:ticketing:problem:invalid_request", "A URI for the kind of error."
        ),
    )
    title = fields.String(required=True, metadata=documented("Invalid request"))
    status = fields.Integer(required=True, metadata=documented(422))
    detail = fields.String(
        required=True, metadata=documented("Some fields are not valid.", "A sentence for people.")
    )
    code = fields.String(
        required=True, metadata=documented("invalid_request", "A stable code for software.")
    )
    request_id = fields.String(required=True, metadata=documented("req_06f3x5z8k2m1"))
    errors = fields.Dict(
        keys=fields.String(),
        values=fields.List(fields.String()),
        metadata=documented(
            {"title": ["Missing data for required field."]},
            "With 422: the invalid fields, each with its messages.",
        ),
    )
    reason = fields.String(
        metadata=documented(
            "too_many_seats",
            "With 409 voucher_not_applicable: too_many_seats, too_few_seats or"
            " not_for_these_tickets.",
        )
    )
    signer = fields.String(
        metadata=documented(EXAMPLE_PAYER, "With 409 signature_required: the account that paid.")
    )
    message = fields.String(
        metadata=documented(
            "Send the refund of my order to 0x90F79bf6EB2c4f870365E785982E1f101E93b906.",
            "With 409 signature_required: what `signer` must sign (EIP-191).",
        )
    )
    usages_left = fields.Integer(
        metadata=documented(3, "With too_many_seats: for how many seats the voucher is still good.")
    )
    place = fields.Integer(
        allow_none=True,
        metadata=documented(
            1234, "With 429 waiting_room: 1 is the next one. Null: places are not drawn yet."
        ),
    )
    wait_seconds = fields.Integer(
        allow_none=True,
        metadata=documented(360, "With 429 waiting_room: an estimate. Null: not known."),
    )
    wait_reason = fields.String(
        metadata=documented(
            "queue",
            "With 429 waiting_room: `draw` (the sale has not started: places are drawn then),"
            " `queue`, `held` (unpaid orders hold all that is left), or `neighbor` (somebody else"
            " of the same network has their turn).",
        )
    )
    token = fields.String(
        metadata=documented(
            "wr_1764000000123456_1764000060_0_8f3k2m1x_" + "5e" * 16,
            "With 429 waiting_room: it keeps the place. Send the newest one.",
        )
    )
    # A $ref cannot have a description. This field is set if a purchase fails.
    intent = fields.Nested(IntentSchema)
    client_secret = fields.String(
        metadata=documented("cs_" + "5e" * 32, "With 402 of an x402 order: the intent's secret.")
    )
    amount = fields.Integer(
        metadata=documented(25_000_000, "With 402 of an x402 price, without an order: the total.")
    )
    currency = fields.String(metadata=documented(CURRENCY, "Of `amount`."))
    offer = fields.Dict(
        metadata=documented(
            {"unit_amount": 25_000_000}, "With 402 of a GET of an x402 offer: what 200 would have."
        )
    )
    preflight_url = fields.String(
        metadata=documented(
            "https://tickets.example.org/v1/checkout/tenants/acme/preflight",
            "With 402 of an x402 price: where to order and pay by a transfer.",
        )
    )
