"""Schemas of deposits. Amounts are micro-units."""

from schemas.base import BaseSchema, Bool, Moment, Number, Part, YesNo


class ReleaseSchema(BaseSchema):
    """The request to release the deposits of who came."""

    force = Bool(description="Ignore devices that have scans to send.", load_default=False)


class DepositSumSchema(BaseSchema):
    """Deposits of some tickets."""

    seats = Number(80)
    orders = Number(52)
    amount = Number(800_000_000)


class DepositsSchema(BaseSchema):
    """What of an event's deposits came back to those who came, and what a release would add."""

    released = Part(DepositSumSchema)
    due = Part(DepositSumSchema, "Who came since. A release makes it owed to their orders.")
    not_final = Part(
        DepositSumSchema, "Who came, and whose payment is not final: in a later release."
    )
    is_running = YesNo(False, "A release has not gone through all orders.")
    ran_at = Moment("When the last one began.", nullable=True)
