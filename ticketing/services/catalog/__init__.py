"""Events and ticket types: what organizers change, what the public sees, why it cannot be bought.

A change increases the tenant's revision (services/catalog_version.py), so that caches notice it.

events.py: create, change, publish, cancel. A canceled event voids its admissions, with or without
    refunds; one with orders cannot go back to draft
descriptions.py: descriptions as HTML and plain text, made when they are saved
copies.py: an event on other dates, with its ticket types and questions; all or none
series.py: events that belong together; their names are in one space with those of events
event_capacity.py: an event's own limit over all its ticket types; not below what is held and sold
event_crowds.py: networks from which many people order; see services/orders/crowds.py
ticket_types.py: create, change, publish, cancel. Open orders keep their price and chain
vouchers.py: create one or many, change, disable. What a code does in an order, and which ticket
    types are hidden without one, is in services/orders/vouchers.py
found_events.py: events of all organizers who allow that programs find them
obstacles.py: the rule of what can be bought now: every reason why not, and the one word for the
    public
scarcity.py: few are left, or unpaid orders hold them, and when these may come back
public_listing.py: published events with their published ticket types
publishing.py: an event and its ticket types at once; what would be on sale then
first_steps.py: how far a tenant is from money that it can spend
sales_figures.py: orders per day; the figures of each event
sales_by.py: what was sold by ticket type, by voucher and by tag
titles.py: titles and names for lists of orders and admissions
calendars.py: events as an iCalendar file, without its join URL
"""
