"""What buyers and holders say about themselves."""

from schemas.base import BaseSchema, Text, an_email
from schemas.checks import Length


class PersonSchema(BaseSchema):
    """A name and an email address, both optional."""

    email = an_email("ada@example.org")
    name = Text("Ada", allow_none=True, validate=Length(1, 200))


class NewBuyerSchema(PersonSchema):
    """What a buyer says about themselves. All fields are optional."""


class BuyerSchema(PersonSchema):
    """What the buyer said about themselves."""
