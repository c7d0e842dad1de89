"""Business logic. Services take plain values, return models, and raise the errors of `errors`.

Imports run down one list, SERVICES in tests/test_architecture.py: client_networks,
box_office x402 waiting_list, checkout mail,
admission_views, door exports, catalog, payments, access, orders, notifications. A service that
writes opens the transaction, and records its facts in it (services/notifications/feed.py).

client_networks.py: who holds and waits for what of an event, by network; cancels what one has
checkout.py: what an order must meet: sales window, quantity, credential, maximum amount, payable
    chain. Preflight holds, prices and issues an address in one transaction; purchase reads the
    chain and settles; cancel only what has received nothing
order_requests.py: what a buyer wants to order
channels.py: who orders, and how: a program, or a person with limits, a form and a turn to wait for
order_terms.py: on which network an order is paid, of those that all its ticket types share
box_office.py: devices at the door that sell
waiting_list/: who waits for what is sold out, and gets the first seats that are free
waiting_room/: people order one after the other while more come than can be served
wallets/: each order gets an address of its own, which can pay only the tenant's wallet
account_use.py: asks the chains what is at an address
chains.py: which chains accept payments; the cursor of each; `now_on`: the time for deadlines is
    never before the chain's newest block
admission_views.py: when codes, QR codes and the join URL are shown: to the buyer while the order is
    confirmed, and only of tickets that were not passed on or voided
oauth/: apps that act for members
erasure.py: erases names and email addresses, by call and by age; amounts and chain data stay
catalog_version.py: a cached response is valid while the tenant's `revision` and what is sold out
    are unchanged, and no sale began or ended
daily_counts.py: what is counted in a day, one at a time: orders and mails of a client, the mails
    that the buyer of an order asks for
event_locks.py: keeps an event as it is until a transaction ends
images.py: pictures and logos in the database; unused ones are deleted a day later
image_files.py: decodes an upload, and writes new files of it (Pillow)
idempotency.py: the rows of Idempotency-Key: claim, store the response with its effect, expire;
    web/idempotency.py has the header
sequencing.py: numbers rows after their commit, so that a reader with a cursor misses none
exchange_rates.py: what an amount is worth in euros, to be shown only
leases.py: of all worker processes, one does a task; another takes over after 10 s
outside_slots.py: half of a process' threads may wait for others' servers; more get 503 at once
node_slots.py: such a slot for a request that waits for nodes, one for each order: else NodesBusy
pagination.py: pages of lists, with signed cursors
stated_addresses.py: parses an address of a request, and says why nobody can be paid at it
backups.py: dated files in a folder, of which the newest are kept
counters.py, metrics.py, health.py: counters for monitoring; figures of the database; readiness
"""
