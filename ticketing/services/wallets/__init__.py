"""Where a tenant's payments go, and an address of its own for each order.

issuing.py: each order gets the next index of the tenant's wallet, so no address serves two orders
owners.py: wallets of an ordinary address: each order's address is a receiver, which can pay that
    address and nobody else
xpubs.py: wallets of an extended public key: a new account must have no other use
"""
