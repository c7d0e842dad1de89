"""The property test: a small world of events, and a model of what must be true of it.

hypothesis draws the events, the service reacts, and the models calculate in plain Python what must
be true then, from rows and from the chain. They share no code with the service.

world.py, worlds.py: the world; worlds on one database, one after another
core.py: chain, clock, workers, node, faults
events.py: what can happen, as hypothesis draws it
catalog.py: the data at the start
sale_events.py, refund_events.py, admission_events.py, door_events.py: what people do
voucher_events.py: orders with codes, and how the organizer changes these
collection_events.py: strangers collect from receivers, and the organizer changes the wallet
model.py, model_rows.py, model_strays.py: payments, orders, stock, strays; the rows that it reads
model_admissions.py, model_refunds.py, model_door.py, model_feed.py: tickets; who may get a refund;
    one person in per ticket; one notification for each fact
model_early.py: which orders are confirmed before their payment is final
model_vouchers.py: usages, prices, and which late order still gets them
node.py: a faulty provider behind the service's client
anvil_chain.py: a real node for the same sequences
"""
