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
"""Tables. The rows of one table are locked in the order of their keys.

Locks by name (`one_at_a_time`) come first. The account of an order has no lock of its own: lock its
order. A transaction that has locked an event exclusively, and all chains, keeps all others out. So
the cancelation of an event may lock the rest in any order.
"""
