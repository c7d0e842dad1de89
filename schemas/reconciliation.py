"""The proof of the books on the wire."""

from marshmallow import fields

from schemas.base import BaseSchema, documented


class BreachSchema(BaseSchema):
    """A rule that does not hold."""

    rule = fields.String(
        required=True, metadata=documented("held_is_live", "Its name; it never changes.")
    )
    ids = fields.List(
        fields.String(),
        required=True,
        metadata=documented(
            ["tkt_01hq3v5m8r2t6w9y1a4c7e0g3j"],
            "For what it does not hold: what is wrong, then its intent.",
        ),
    )
    detail = fields.String(
        required=True,
        metadata=documented("3 are held, but live intents hold 2", "What was found instead."),
    )


class ReconciliationSchema(BaseSchema):
    """Whether the books are right, and where they are not."""

    ok = fields.Boolean(required=True, metadata=documented(False))
    breaches = fields.List(
        fields.Nested(BreachSchema),
        required=True,
        metadata={"description": "The first 100 of each rule; none if the books are right."},
    )
