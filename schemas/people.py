"""What buyers and holders say about themselves."""

from marshmallow import validate

from schemas.base import BaseSchema, Text, documented


class PersonSchema(BaseSchema):
    """A name and an email address, both optional."""

    email = Text(
        allow_none=True,
        validate=[validate.Length(3, 254), validate.Email()],
        metadata={
            **documented("ada@example.org", "An email address."),
            "pattern": "^[^\\u0000]+@[^\\u0000]+$",
        },
    )
    name = Text(allow_none=True, validate=validate.Length(1, 200), metadata=documented("Ada"))
