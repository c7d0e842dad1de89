"""The wire format: marshmallow schemas, one file per resource.

Only what answers requests imports it: web, blueprints, pages, mcp. Services get plain values. A
schema checks one request. Rules that need the database are in services. Amounts are micro-units.

admissions.py, api_keys.py, audit_log.py, chains.py, collections.py, crowds.py, deposits.py,
    events.py, gasless.py, images.py, intents.py, members.py, messages.py, money.py,
    notifications.py,
    notification_data.py, order_emails.py, payers.py, payouts.py, questions.py, receipts.py,
    reconciliation.py, refunds.py, sales.py, series.py, tenants.py, ticket_types.py, tokens.py,
    transfers.py, vouchers.py, waiting_list.py, waiting_room.py, wallets.py, webhooks.py,
    x402.py: each one
    resource of the API
box_office.py, door_devices.py, scans.py, manifest.py, door_stats.py, ticket_keys.py: the door:
    devices that sell, devices, scans, what a device needs offline, counts, the public keys
base.py: fields that all share: strict, with examples; pages of lists
checks.py: patterns and bounds, each with a message and a code; pages have a sentence for each code
locales.py: the fields for languages
people.py: what buyers and holders say about themselves
forms.py: the forms of pages, whose values are text
mcp.py: arguments of tools, and results that no other surface has
problems.py, system.py: errors (RFC 9457); health and readiness
"""
