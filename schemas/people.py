"""What buyers and holders say about themselves."""

from marshmallow import validate

from schemas.base import BaseSchema, Text, an_email, documented


class PersonSchema(BaseSchema):
    """A name and an email address, both optional."""

    email = an_email("ada@example.org")
    name = Text(allow_none=True, validate=validate.Length(1, 200), metadata=documented("Ada"))
