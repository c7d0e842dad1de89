"""Helpers of the tests: data and people, real programs around the service, rules for all endpoints.

property/ has the property test's world and model, provider/ JSON-RPC providers that misbehave,
query_plans/ what is done while the plans of queries are recorded, refusals/ the situation behind
each refusal, and every surface that is asked in it.

Which tests run when, and on what:

kinds.py: the rule which tests are quick or long, and which also run on Postgres
real_programs.py, cpu_by_file.py: plugins of pytest: which programs took part; the CPU of each file
databases.py, nodes.py, apps.py, signed_up.py: what is costly to make and is used again: empty
    databases, nodes, applications, tenants
processes.py, prefork.py: fixtures of the service in processes of its own; starts these by a fork
lock_order.py: each transaction of a test on Postgres locks tables in one order
stopped_clock.py, tripwire.py, races.py, waits.py: a clock that only tests move; a kill or a lost
    connection at any point; calls at the same time; how long others wait
counted_work.py, linear_time.py, hostile.py: counted work; linear time; texts that make an
    expression slow
variables.py, killed_migrations.py: environment variables; kills of migrations

What tests create and do:

factories.py, remote.py: tenants, events and payments through the API; the same on a server in other
    processes
admissions.py, many_admissions.py, holders.py, refunds.py, payees.py, mails.py, feed.py, members.py,
    console.py, order_pages.py: what people do with each of these
books.py: the books of an order, written by hand
questions.py: questions of each type, with answers
second_factors.py: an app that shows codes, and who signs in with it
authenticator.py: what makes and proves a passkey
photos.py: photos of phones, and files that attackers upload
order_stories.py: orders in every state that their page can show
doors.py, door_device.py: a door; a device that shares no code with the service
door_day.py, door_guests.py: a day with devices that are offline half of the time; its guests
receivers.py: a chain with the factory of receivers, odd tokens and odd owners
payers.py: who proves to have paid, and contracts that pay or lie
backups.py: restore what a backup knew of orders, money and refunds
payout_walk.py: a random walk of all who can touch a refund, on a real node
payouts.py: organizers with an ordinary address, and who signs their refunds
mcp.py, x402.py, relayer.py: clients of agents; who submits signed transfers
wallets.py: gives a tenant another wallet at once
collecting.py: tools.collect with gas, and the recovery file of a wallet
webhook_endpoints.py, webhook_receivers.py, webhook_receiver_process.py, webhook_server.py:
    endpoints; receivers in processes, and in the same event loop

What must hold for every endpoint and field:

routes.py: every endpoint, from the routing table
credentials_table.py: credentials of every kind, valid and not
field_values.py: what each field and parameter accepts and rejects, from the golden OpenAPI document
field_changes.py: changes of one field each
odd_values.py, json_schema.py: difficult values in JSON; the part of JSON Schema that OpenAPI uses
one_of_each.py: one resource of each kind, for tests of every endpoint
fuzzing.py, fuzzing_shop.py: the fuzz and its shop
networks_model.py: a model of one order that can be paid on several chains
returns_model.py: a model of seats that are given back
broken_books.py: books that were broken by hand, and which rule must name each
fact_triggers.py: notes each fact beside the service, to compare with the notifications
stored_rows.py: all that is stored
translations.py: a language that marks each message

What is outside of the service:

fake_chain.py, bad_node.py: a chain in memory; a provider over HTTP that misbehaves on request
mail_server.py, odd_servers.py: a real SMTP server; servers that only look like one
debian.py: a Debian of its own, to build in, or booted with a real systemd
raw_http.py, nginx.py, certificates.py: raw bytes to the real server; a proxy; certificates
faults.py: what clients see during a fault, and how long until it is over
injected_wallet.py, money.py: a wallet that a browser announces; an organizer's console with it
gasless.py: a payer who signs what the service asks for
oauth.py, oauth_client.py: an app that a member connects; PyPI's MCP client as a program
tarpit.py: a server that accepts connections and says nothing
carts.py: orders of several ticket types, and with vouchers
elsewhere.py: orders that are paid on two networks, and what is owed on the second one
waiting.py: people who wait for what is sold out, and what they are offered
browser.py, buying.py, scanner.py, screen.py, fake_camera.py: a visitor in Chromium; one with a
    wallet; the scanner's page, what it shows, and its camera
"""
