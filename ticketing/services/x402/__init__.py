"""Paid by a signature: x402 clients and people sign a transfer, the facilitator submits it.

What a facilitator says proves nothing: an order is paid when the chain says so. An order needs
three things from here: how it is held (share.py), where its payment came from, a task of the worker
(continuing.py, in worker/chain_tasks.py). Without a facilitator, nothing here runs.

ordering.py, paying.py: the first request of a client, answered with 402; the second one, whose
    signature is checked in a fixed order
gasless.py: pays any live order with a signature, whoever made it: for people with a wallet
submitting.py: settles a checked transfer in a request
asked.py: what a request asks for, and whether it is the one that made an order
pricing.py, price_claims.py: the 402 of a wallet of one address names a price without an order; the
    claim that proves it
transfer_checks.py: what a signed transfer must be before anything is done with it
order_claim.py: the secret in an order's requirements that proves a payment to be its buyer's
share.py: unpaid x402 orders hold 5 minutes, and at most a tenth of the seats; two of a client
discovery.py: what directories of x402 services list
goods.py: what is sold, in words, and the URL that sells it
requirements.py, payment_header.py: writes PAYMENT-REQUIRED; parses PAYMENT-SIGNATURE
claims.py: one transfer of an order settles at a time, so nobody pays twice
settling.py: asks the facilitator, then the chain; when a refused transfer can be given up
continuing.py: the worker's part: goes on with transfers whose request ended without an outcome
facilitator.py: one call of the facilitator
sales.py: what a client gets: an order that is paid, or whose payment is on its way
for_agents.py: what /llms.txt and MCP say about it
"""
