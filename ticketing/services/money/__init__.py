"""What an organizer signs: collections of what orders hold, and payouts of what is owed.

The service has no key: it answers what to sign. The books are in services/payments.

figures.py: what was received, kept, owed, paid back and moved. Each figure has one definition
unassigned.py: what addresses hold that belong to no order
payouts.py: refunds that one payer signs: which orders, tried on the chain, and stored first
payout_candidates.py: which orders may be listed, by the books, and which are held back
payout_checks.py: what the nodes say of them: the money is there, and no id of them is used
payout_lists.py: the answer: transactions with their call data, and what is left out
safe_files.py: transactions as a file for a Safe
refund_reports.py: what a wallet's own node says that is not as listed, for the operator
owed.py: what is owed now, by network and by the way in which it can be paid back
moved.py: what was moved before, by transaction
collectable.py: which orders may be collected, by the books
collecting.py: the transactions that collect them, each tried on a node; an order that cannot be
    collected does not stop the others
"""
