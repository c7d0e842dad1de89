"""Change where refunds go: statements that begin to count, and payees that are proven."""


def take_effect(tenant_id: str | None = None) -> None:
    """Make statements that are due count, and set the proven payees of accounts without one.

    Each account is changed in a transaction of its own, under its order's lock. The worker calls it
    for all tenants, and each list for its tenant before it reads.
    """
