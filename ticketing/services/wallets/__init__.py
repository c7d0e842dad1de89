"""Where a tenant's payments go, and an address of its own for each order.

issuing.py: each order gets the next index of the tenant's wallet, so no address serves two orders
named_addresses.py: addresses that x402 clients are told before there is an order
owners.py: each order's address is a receiver, which can pay the wallet's address and nobody else.
    A contract counts only on chains on which it exists
refusals.py: what cannot be a wallet. A secret that was pasted is in no message
changes.py: a change that could send money elsewhere waits, and can be canceled, once a tenant was
    paid. One change of a tenant runs at a time
recovery.py: the file that finds all receivers without the database. A wallet that continues it
    starts where its search ends, so no address is issued twice
code_checks.py: chains that could not be asked about an address are asked by the worker
views.py: the wallet for its organizer, with warnings and the change that waits
"""
