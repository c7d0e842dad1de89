"""The table of refusals: how to get into each situation, and everybody who asks there.

shop.py: the surfaces that are asked: API, pages, MCP, x402
orders.py: buying, holding and canceling
tickets.py: what holders and the organizer do with tickets
events.py: events, ticket types, vouchers, questions
money.py: refunds, payouts and the wallet
access.py: members, keys and webhooks
"""
