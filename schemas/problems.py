"""Errors as RFC 9457 writes them."""

from marshmallow import fields

from schemas.base import BaseSchema, documented
from schemas.intents import IntentSchema


class ProblemSchema(BaseSchema):
    """What every answer that is not a success looks like."""

    type = fields.String(
        required=True,
        metadata=documented("urn:ticketing:problem:invalid_request", "A URI that names it."),
    )
    title = fields.String(required=True, metadata=documented("Invalid request"))
    status = fields.Integer(required=True, metadata=documented(422))
    detail = fields.String(
        required=True, metadata=documented("Some fields are not valid.", "For a person to read.")
    )
    code = fields.String(
        required=True, metadata=documented("invalid_request", "For software; stable.")
    )
    request_id = fields.String(required=True, metadata=documented("req_06f3x5z8k2m1"))
    errors = fields.Dict(
        keys=fields.String(),
        values=fields.List(fields.String()),
        metadata=documented(
            {"title": ["Missing data for required field."]},
            "With 422: the fields at fault, and why.",
        ),
    )
    # A reference takes no words beside it: it comes with a purchase that is refused.
    intent = fields.Nested(IntentSchema)
