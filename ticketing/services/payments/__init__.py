"""From transfers on a chain to an order's status, refunds, and the proof that all sums are right.

A payment is a row known by `(chain_id, tx_hash, log_index)`. It is removed only if another block
has replaced its block on the chain. Status, flags and `refund_due` of an order follow from its
payments. docs/payments.md has the states.

Locks are taken in the order of db/locks.py. A refund locks its tenant last, because several orders
may share a transfer.

A canceled event is the one exception: services/catalog/events.py locks the event, sale_locks.py all
chains, the live intents and the stock, and only then event_voids.py the sold intents and the
admissions. The event and the chains keep all others out.

The rules:

balances.py: the rule of status, flags, deadline and what is due: pure arithmetic on sums
    (`Balance.status`)
late_orders.py: whether money after the hold still buys the seats (`_may_buy`: within 24 h and
    before the event's end, price not risen, on sale; `take_seats`: seats left), else it is owed.
    `covering` in payment_sums.py says which transfer can: a single one that covers the full amount,
    while nothing older is owed
old_links.py: ends the links of an order whose address the organizer changes
payees.py: who may get a refund, and how much of a transfer counts (`countable`): pure rules
payer_proofs.py: which account has proven that it paid, so that a refund goes back to it unasked
strays.py: what is owed of money on another network than the order's, or in another token
adoption.py: moves an order to the network on which it was paid
deposits.py: the deposits of who came become owed; devices_in_use.py: who may not be known yet
owing.py: locks orders with their seats, and owes what a seat releases: for voids, resales, deposits
voids.py: what one admission's void owes; when it is refused (inside, transferred, doors unsynced)
resales.py: sells on what was given back: the oldest seats become void for a new order
event_voids.py: voids all admissions of an event that services/catalog/events.py cancels, those of
    people inside too
reconciliation.py, stock_rules.py, reconciled_vouchers.py, reconciled_accounts.py, rule_scope.py:
    the rules that must always hold, as SQL
address_check.py: computes the addresses of orders again, from their wallets, for `reconcile`
chain_comparison.py: compares all payments, refunds and collections with the nodes, for
    `reconcile --chain`

And these write or read:

settlement.py: applies balances.py under the order's lock: writes the status, and what follows from
    it (stock, admissions, facts). Deadlines count by the time of the cursor's block
chain_settlement.py: settles an order on one of its chains; records what reduces a refund
home_choice.py: moves an order to the network that its buyer chooses
booking.py: one transaction for each range of blocks, with the cursor: only if the cursor is
    directly before it, so no range is booked twice. If a range does not follow the cursor's block
    on the chain (`NotLinked`), worker/watcher.py goes back and calls `rewind`. If only the cursor
    in the database has moved (`CursorMoved`), nothing is written, and the next look reads again
payment_sums.py: the sums for balances.py, by the database: an order may have thousands of payments
payments.py: the rows of payments; removes those whose block has another hash now
collections.py: what receivers passed on to their owners, so their balance is exactly known: `Held`
block_history.py: the blocks that were read: 512 back; a worker goes back 256 by itself
watched_orders.py: for which addresses logs are read, and for which only balances
address_search.py: compares balances, and searches the logs of addresses whose balance is not right
stray_search.py, stray_looks.py: find money on other networks by balances; when each was looked at
chain_view.py: reads at most four ranges for one order while its buyer waits, or one transaction
    for a refund. If the worker goes back meanwhile, nothing of that is booked
wallet_requests.py: what wallets are told of an order: its network, and links that open them
hold_extensions.py: holds an order longer, once, whose buyer pays from an exchange
fresh_look.py: looks for one tenant's money on other networks now, before a list
refunds.py: what is owed to whom
refund_addresses.py, entered_payees.py: where buyers want their money; what they told the organizer
payee_rules.py, payee_rows.py, payee_changes.py: when a statement counts, because everybody with the
    link can make one; the payees of an account; what begins to count, is confirmed, or is stopped
payee_signatures.py: lets the account that paid agree, where nobody can be told
payee_states.py: what to look at before a refund is signed
payer_proofs.py: which account has proven that it paid
waivers.py: writes off what is not sent back
refund_settlement.py: counts a final transfer on the worker's chain as a refund; the service never
    sends money
refunds_by_hand.py: marks what the organizer pays by hand, so that no list pays it too
payout_ids.py: which order an id of a listed refund belongs to; a transfer of a list counts for the
    order of its id only
payout_events.py: stores the `Refunded` events with ids of lists, and books them as refunds
passed_ids.py: an administrator says that an id was used for something else
witnesses.py: which payments two nodes have seen; refunds are listed for these
restored_payouts.py: after a restored backup, finds payments of lists that the backup does not know
sale_locks.py: locks a sale with all its orders, and cancels the live ones:
    services/catalog/events.py and services/catalog/ticket_types.py call it
demo_wallet.py: pays from the local node, on the chains 31337 and 31338 only
"""
