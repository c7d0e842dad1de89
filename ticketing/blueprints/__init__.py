"""The JSON surfaces, one file each. A view parses, makes one service call, and returns.

A surface states its guard in its constructor: that decides who may call it (web/auth.py,
web/secret_guards.py). A view has no rules. To find a rule, follow its service call. The wire format
is in schemas/, mostly under the same name.

admissions.py, api_keys.py, audit_log.py, collections.py, crowds.py, deposits.py, door_devices.py,
    erasure.py, events.py, exports.py, images.py, intents.py, members.py, messages.py, money.py,
    notifications.py, passed_ids.py, payouts.py, questions.py, reconciliation.py, refunds.py,
    sales.py, series.py, tenants.py, ticket_types.py, vouchers.py, waiting_list.py, waiting_room.py,
    wallets.py, webhooks.py: for organizers, each one resource. In paths, a ticket type is called
    `tickets`
checkout.py: for buyers: preflight, purchase, cancel, the address for a refund. web/order_polls.py
    answers most polls of an order before they come here
gasless.py: pay an order with a signature, without a network fee
voucher_tickets.py: for those who have a voucher's code: what it opens
waiting.py: for those who want to wait for what is sold out
holders.py, transfers.py: for those who have a ticket's code, or an offer of a ticket
public.py: what everybody may read: published events and ticket types; cached
    (web/response_cache.py)
door.py, pairing.py: for devices at the door; an unpaired one has only its pairing code
tokens.py: a JWT for an API key or a password
chains.py, system.py, metrics.py: the chains that buyers can pay on; health and readiness;
    Prometheus
mcp.py: for agents: POST /mcp. The tools are in the package `mcp`
oauth.py: for apps that act for a member: tokens, and what apps find out by themselves
robots_and_llms.py: /llms.txt and /robots.txt
x402.py: for agents: a POST orders a ticket, the same POST with a signed payment buys it
"""
