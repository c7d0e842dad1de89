"""The database tables, one file per aggregate. Services write them.

A model has columns and no rules, except what follows from one row. Constraints are in
db/migrations.

admissions.py: admissions (people call them tickets), one per seat, and the offers to transfer them
payment_intents.py: orders. AWAITING and UNSETTLED are conditions that indexes support
ticket_types.py, events.py: what is sold; their stock, `held` and `sold`; an event has stock of its
    own only if it has a capacity
messages.py: what organizers write to the people of an event
order_emails.py: the addresses of orders whose address has changed
series.py: what the page of a series of events says
billing.py: who an order is billed to
images.py: the files of pictures and logos, by their digest
waiting_list.py: who waits for seats of what is sold out
waiting_rooms.py: who waits to order while a sale has more visitors than can be served
items.py: the ticket types of an order, where its own columns are not enough
vouchers.py: codes that lower a price, or open a ticket type
questions.py: questions to buyers and attendees, and their answers
order_accounts.py: what an order received, keeps and owes on one network, in one token
order_networks.py: the networks on which an order could be paid
payments.py: transfers to the addresses of orders
payment_reports.py: which account pays, and in which transaction, as pages and storefronts tell it
refunds.py: refunds, the addresses that buyers stated for them, waivers
tenants.py: tenants and their settings
wallets.py: where payments go; changes that wait
collections.py: what receivers passed on to their owners
unassigned_money.py: money at addresses of a wallet that belong to no order
payouts.py: refunds that were listed for a payer to sign, and what was seen of them on the chain
members.py, api_keys.py: people with their invitations and sessions; keys. Both store digests only
second_factors.py: what members prove besides the password
connected_apps.py: apps that act for members, through OAuth
app_descriptions.py: what apps say of themselves at a URL
chains.py: of each chain, the cursor and the blocks that were read
notifications.py: notifications, feeds, webhook endpoints, deliveries, mails
door.py: devices, scans, keys that sign QR codes, the manifest of an event
x402.py: signed transfers, and what became of them
audit_log.py: the log of changes; triggers prevent that a row is changed or deleted
blocked_networks.py: networks whose requests are refused
last_backup.py: when the last good backup was made
exchange_rates.py: what a euro is worth, to be shown
daily_amounts.py: what clients had in a day, where nothing else has rows that can be counted
idempotency.py, rate_counts.py, counters.py: stored responses; requests of a minute; counters
base.py: the base class, and columns that behave the same on SQLite and Postgres
prepared.py: queries whose SQL is built once, because to build it costs more than to run it
"""
