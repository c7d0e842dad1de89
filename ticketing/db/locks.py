"""The order in which a transaction locks rows: two that keep to it cannot wait for each other."""

ORDER = (
    "events",
    "chains",
    "payment_intents",
    "admissions",
    "event_stock",
    "vouchers",
    "ticket_types",
    "wallets",
    "tenants",
)
"""Tables. Of one table, rows are locked by their keys, and intents by event and id.

First come locks by name (`one_at_a_time`). An account of an order has no lock: its order is locked.
Who keeps an event for itself and all chains keeps all others out: a canceled event locks the rest
as it needs it.
"""
