"""The schema of errors (RFC 9457)."""

from marshmallow import fields

from schemas.base import EXAMPLE_PAYER, BaseSchema, Number, String, documented
from schemas.intents import IntentSchema
from ticketing.constants import CURRENCY


class ProblemSchema(BaseSchema):
    """The body of every error response."""

    type = String("urn:ticketing:problem:invalid_request", "A URI for the kind of error.")
    title = String("Invalid request")
    status = Number(422)
    detail = String("Some fields are not valid.", "A sentence for people.")
    code = String("invalid_request", "A stable code for software.")
    request_id = String("req_06f3x5z8k2m1")
    errors = fields.Dict(
        keys=fields.String(),
        values=fields.List(fields.String()),
        metadata=documented(
            {"title": ["Missing data for required field."]},
            "With 422: the invalid fields, each with its messages.",
        ),
    )
    reason = String(
        "too_many_seats",
        "With 409 voucher_not_applicable: too_many_seats, too_few_seats or not_for_these_tickets.",
        required=False,
    )
    signer = String(
        EXAMPLE_PAYER, "With 409 signature_required: the account that paid.", required=False
    )
    message = String(
        "Send the refund of my order to 0x90F79bf6EB2c4f870365E785982E1f101E93b906.",
        "With 409 signature_required: what `signer` must sign (EIP-191).",
        required=False,
    )
    usages_left = Number(
        3, "With too_many_seats: for how many seats the voucher is still good.", required=False
    )
    place = Number(
        1234,
        "With 429 waiting_room: 1 is the next one. Null: places are not drawn yet.",
        nullable=True,
        required=False,
    )
    wait_seconds = Number(
        360, "With 429 waiting_room: an estimate. Null: not known.", nullable=True, required=False
    )
    wait_reason = String(
        "queue",
        "With 429 waiting_room: `draw` (the sale has not started: places are drawn then),"
        " `queue`, `held` (unpaid orders hold all that is left), or `neighbor` (somebody else of"
        " the same network has their turn).",
        required=False,
    )
    token = String(
        "wr_1764000000123456_1764000060_0_8f3k2m1x_" + "5e" * 16,
        "With 429 waiting_room: it keeps the place. Send the newest one.",
        required=False,
    )
    # A $ref cannot have a description. This field is set if a purchase fails.
    intent = fields.Nested(IntentSchema)
    client_secret = String(
        "cs_" + "5e" * 32, "With 402 of an x402 order: the intent's secret.", required=False
    )
    amount = Number(
        25_000_000, "With 402 of an x402 price, without an order: the total.", required=False
    )
    currency = String(CURRENCY, "Of `amount`.", required=False)
    offer = fields.Dict(
        metadata=documented(
            {"unit_amount": 25_000_000}, "With 402 of a GET of an x402 offer: what 200 would have."
        )
    )
    preflight_url = String(
        "https://tickets.example.org/v1/checkout/tenants/acme/preflight",
        "With 402 of an x402 price: where to order and pay by a transfer.",
        required=False,
    )
