"""Measurements. Nothing here asserts a speed. docs/scaling.md has results.

__main__.py: `make bench`: the cost of requests, compared with minimal servers
onsale.py: `make bench-onsale`: the minute in which a sale begins
peers.py: `make bench-peers`: what an order costs here, and in pretix on the same Postgres
pretix.py, ordering.py: pretix as its documentation installs it; orders through the pages of both
growth.py: `make bench-growth`: what a shop with a million orders costs more than an empty one
growing.py, bulk.py: that shop: SQL copies a hundred orders
slowest.py: what pages, lists and the worker ask of a database; the slowest statements, with plans
filling.py: a database with many orders: few are made, the rest are copies
scale.py: `make bench-scale`: two web hosts, PgBouncer and Postgres, each in its own namespace
capacity.py: calculated from that: more hosts, and what they cost
activity.py: what the connections of Postgres do meanwhile
cases.py: the measured requests, each with a bound
baselines.py: servers that send the same sizes and do nothing else
harness.py: databases with shops, servers, and rows that are measured in turn
shop.py: a tenant with events and confirmed orders
goods.py: what the buyers of a sale order: plain orders and full ones
hot.py, plain_sql.py: orders of one hot ticket type beside plain SQL that writes the same
buyers.py, loop.py: buyers as scripts; thousands of them in one process
load.py: the load, in a process of its own
cpu.py, size.py: CPU and memory of process trees; the cost of a start
million.py: a simulated crowd of a million people in a waiting room
report.py: tables, and facts about the machine
"""
