"""The waiting list: who waits for a ticket type that is sold out gets the first seats.

An offer is an ordinary order, which is held longer. While anybody waits for a ticket type, nobody
else can buy: the UPDATE that holds seats has the condition `waiting <= idle`. That, when one can
join, and what ends a place are in services/orders, because orders and canceled events need them.

entries.py: join, confirm the address, leave; who waits at which place
offers.py: the worker offers what became free, in the order in which people confirmed
candidates.py: who gets the next offer; clients with many unpaid offers come last
passed_over.py: who leaves the sale open, because what is free is not for them
offer_times.py: for how long an offer is held; less after many were not paid
"""
