"""The worker: the process that reads the chains, and sends webhooks and mails.

Several processes may run: of each task, the holder of a lease does it, and another takes over 10 s
after the last renewal. The lease only saves work. Correctness comes from the database: a range of
blocks is booked only if the cursor is directly before it, so two workers never book it twice.

The watcher asks for the newest block, then loads the watched addresses: an address that is issued
later can only be paid in a later block. It reads logs in ranges, from `confirmations` blocks before
the cursor, because nodes may omit logs of the newest blocks. Each range must follow the block
before it. If not, the chain was reorganized: it goes back through the recorded blocks to the newest
one that is still on the chain, removes the payments in replaced blocks, and reads on from there.
Before an order expires, its address is asked for its balance.

loop.py: the threads: for each chain a watcher, a sweep, the check of refunds and those of
    chain_tasks.py; housekeeping, numbering, webhooks, mails; what housekeeping deletes
watcher.py: one chain: checks it, reads, books, goes back, expires. A chain without open orders is
    read every 20 s, with one request for everything
history_gap.py: blocks that no node has any more are skipped after 10 s, and named in the log;
    balances show which orders must wait for their logs
stray_look.py: reads balances of orders on the chains that they are not paid on
balance_sweep.py: an order whose address holds more than is booked does not expire before its logs
    are searched; ended orders are compared once a minute
refund_check.py: compares the block of each refund once more when it is deep, and takes back those
    of another fork
payout_reader.py: reads in final blocks what was paid back by lists, and books it as refunds
witness_check.py: asks each URL of a chain for the payments that were booked
unassigned_sweep.py: reads what receivers hold that belong to no order
receiver_check.py: proves once that receivers have the same addresses on a chain as everywhere
facilitator_check.py: asks the facilitator of x402 whether it can settle
payer_check.py: asks where payments came from, of which a page or a signature says who paid
wallet_changes.py: makes changes of wallets that have waited, after another check
chain_tasks.py: further tasks for each chain, such as that of x402; asks it about addresses of
    wallets that it was not asked about yet
delivering.py: webhooks: lease, polls, saving at most once a second
delivery_schedule.py: which endpoint is next: slow ones have half of the requests at most, a tenant
    half of each
webhook_channel.py: one endpoint: requests in order; a notification that is refused several times is
    set aside if the next one passes
description_reader.py: what apps say of themselves, for pages that wait for it
rate_reader.py: once a day, what a euro is worth, from FX_URL
mailing.py: plans and sends mails over one connection; what is the server's trouble does not count
    against a mail
"""
