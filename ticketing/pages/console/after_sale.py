"""The console's pages about what happens after a sale, and about access to the tenant."""

from ticketing.pages.console import (
    attendees,
    audit_log,
    door,
    exports,
    guests,
    keys,
    orders,
    people,
    refunds,
    webhooks,
)

SURFACES = (
    orders.blp,
    orders.erasing,
    attendees.blp,
    attendees.erasing,
    guests.blp,
    refunds.blp,
    door.blp,
    exports.blp,
    people.blp,
    keys.blp,
    webhooks.blp,
    audit_log.blp,
)
