"""Orders (payment intents), the stock that they hold, and their tickets (admissions).

Stock is `capacity`, `held` and `sold` of a ticket type. An event with a capacity of its own has the
same numbers in `event_stock`; that row changes before the ticket type, and orders of other events
do not read it. services/payments/settlement.py decides when a hold ends.

stock.py: each change is one conditional UPDATE whose row count is checked; behind it is a CHECK
    constraint. Elsewhere only a new capacity (services/catalog/event_capacity.py) and a canceled
    event (services/payments/event_voids.py) write stock
holds.py: finds a published ticket type, and holds seats: of the event, then of the ticket type;
    services/checkout.py checks the sales window
lines.py: what a buyer wants, with its ticket types and prices of now; order_rules.py: whether one
    order may contain that
items.py: the rows of what an order is of, if its own columns do not say it
seats.py: moves all stock of an order, in the order of locks
vouchers.py: finds the voucher of a code, its price, and the ticket types that it opens; its usages
    are stock too
client_limits.py: what a client without a credential may order: unpaid seats, free seats, orders per
    day; a wider network has a multiple
crowds.py: networks from which many people order, as their organizer says
stored_texts.py: how many bytes of text orders store, of all clients together
accounts.py: the home of an order, and what it received elsewhere; queries that ask both tables
intents.py: find and list orders; their payment details
intent_versions.py: the ETag of an order: it changes when the API would show something else
finality.py: which orders are confirmed before their payment is final, and how long that takes
billing.py: who an order is billed to; receipts.py: its receipt, on which every amount adds up
buyer_emails.py: where the mails of an order go, as its buyer says; who is told when that changes
mailboxes.py: which addresses of an order are its buyer's
order_search.py: finds orders by what people know of them
admissions.py: issued when an order is confirmed; suspended while its payment is missing; void is
    final
holders.py: what a code opens; who may be named as holder, until they have entered
transfers.py: offer and accept: the new holder gets a new code, and the old one ends. Of an
    acceptance, a scan, a void and a cancelation, only the first counts
payees_shown.py: where refunds go, and what waits to replace that
returns.py: a holder gives a seat back, and gets money if its place is sold on
waiting_rules.py, waiting_ends.py: when people can wait for what is sold out; what ends their places
questions.py: what an event asks buyers and attendees; its row counts the questions
answers.py, answer_values.py: their answers: of an order in its transaction, of a ticket until the
    doors open; each type as text, JSON and in a CSV file
guest_list.py: admissions without an order, counted as sold
reissues.py: a new code and generation for a lost or leaked link
"""
