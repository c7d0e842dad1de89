"""Errors as RFC 9457 writes them."""

from marshmallow import fields

from schemas.base import BaseSchema
from schemas.intents import IntentSchema


class ProblemSchema(BaseSchema):
    """What every answer that is not a success looks like."""

    type = fields.String(required=True, metadata={"description": "A URI that names the problem."})
    title = fields.String(required=True)
    status = fields.Integer(required=True)
    detail = fields.String(required=True, metadata={"description": "For a person to read."})
    code = fields.String(required=True, metadata={"description": "For software; stable."})
    request_id = fields.String(required=True)
    errors = fields.Dict(
        keys=fields.String(),
        values=fields.List(fields.String()),
        metadata={"description": "With 422: the fields at fault, and why."},
    )
    # A reference takes no words beside it: it comes with a purchase that is refused.
    intent = fields.Nested(IntentSchema)

    EXAMPLE = {
        "type": "urn:ticketing:problem:invalid_request",
        "title": "Invalid request",
        "status": 422,
        "detail": "Some fields are not valid.",
        "code": "invalid_request",
        "request_id": "req_06f3x5z8k2m1",
        "errors": {"title": ["Missing data for required field."]},
    }
