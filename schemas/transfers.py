"""Schemas of transfers."""

from marshmallow import fields

from schemas.admissions import NewHolderSchema
from schemas.base import BaseSchema, Moment, String, Text, an_id
from schemas.checks import Length

_EXAMPLE_OFFER = "to_01hq3v5m8r2t6w9y1a4c7e0g3j_" + "5e" * 20


class TransferCreateSchema(BaseSchema):
    """Whom the sender offers the admission to. The body may be absent."""

    MAY_BE_ABSENT = True

    holder = fields.Nested(NewHolderSchema, load_default=dict)


class TransferSchema(BaseSchema):
    """An offer as its sender sees it."""

    id = an_id("xfr_")
    offer = String(
        _EXAMPLE_OFFER,
        "Secret. Accepts the admission once. Null in a repeat, if it has ended.",
        nullable=True,
    )
    url = String(
        f"https://tickets.example.org/x/{_EXAMPLE_OFFER}",
        "A page that accepts the offer. Null if the service does not know its own address.",
        nullable=True,
    )
    expires_at = Moment(example="2026-11-23T09:00:00Z")


class TransferAcceptSchema(BaseSchema):
    """The offer, and the new holder. Fields of the holder that are missing become null."""

    offer = Text(_EXAMPLE_OFFER, required=True, validate=Length(1, 200))
    holder = fields.Nested(NewHolderSchema, load_default=dict)
