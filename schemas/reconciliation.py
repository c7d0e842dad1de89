"""Schemas of the reconciliation."""

from marshmallow import fields

from schemas.base import BaseSchema, documented


class BreachSchema(BaseSchema):
    """A violation of a rule."""

    rule = fields.String(
        required=True, metadata=documented("held_is_live", "The name of the rule. It is stable.")
    )
    ids = fields.List(
        fields.String(),
        required=True,
        metadata=documented(
            ["tkt_01hq3v5m8r2t6w9y1a4c7e0g3j"],
            "The id of the inconsistent row, then the id of its intent.",
        ),
    )
    detail = fields.String(
        required=True,
        metadata=documented("3 are held, but live intents hold 2", "The values that were found."),
    )


class ReconciliationSchema(BaseSchema):
    """Whether stock and money are consistent, and where they are not."""

    ok = fields.Boolean(required=True, metadata=documented(False))
    breaches = fields.List(
        fields.Nested(BreachSchema),
        required=True,
        metadata={"description": "The first 100 of each rule. Empty if everything is consistent."},
    )
