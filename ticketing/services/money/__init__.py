"""What an organizer signs: collections of what orders hold, and payouts of what is owed.

The service has no key: it answers what to sign. The books are in services/payments.
"""
