"""Schemas of the reconciliation."""

from marshmallow import fields

from schemas.base import BaseSchema, ListOf, String, YesNo


class BreachSchema(BaseSchema):
    """A violation of a rule."""

    rule = String("held_is_live", "The name of the rule. It is stable.")
    ids = ListOf(
        fields.String(),
        "The id of the inconsistent row, then the id of its intent.",
        example=["tkt_01hq3v5m8r2t6w9y1a4c7e0g3j"],
    )
    detail = String("3 are held, but live intents hold 2", "The values that were found.")


class ReconciliationSchema(BaseSchema):
    """Whether stock and money are consistent, and where they are not."""

    ok = YesNo(False)
    breaches = ListOf(
        BreachSchema, "The first 100 of each rule. Empty if everything is consistent."
    )
