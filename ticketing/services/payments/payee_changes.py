"""Change where refunds go: statements that begin to count, and payees that are proven."""

from ticketing.models.payment_intents import PaymentIntent


def end_waiting(intent: PaymentIntent) -> None:
    """End the statements that wait for an order's accounts: their link has ended.

    Call it in the transaction that ends the links, with the order locked. A payee that counts stays
    as it is.
    """


def take_effect(tenant_id: str | None = None) -> None:
    """Make statements that are due count, and set the proven payees of accounts without one.

    Each account is changed in a transaction of its own, under its order's lock. The worker calls it
    for all tenants, and each list for its tenant before it reads.
    """
