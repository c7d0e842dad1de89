"""What an organizer signs: collections of what orders hold, and payouts of what is owed.

The service has no key: it answers what to sign. The books are in services/payments.

payouts.py: refunds that one payer signs: which orders, tried on the chain, and stored first
payout_lists.py: the answer: transactions with their call data, and what is left out
"""
