"""The console's pages about what happens after a sale, and about access to the tenant."""

from ticketing.pages.console import attendees, exports, guests, orders, refunds

SURFACES = (
    *(orders.blp, orders.erasing, attendees.blp, attendees.erasing, guests.blp),
    *(refunds.blp, exports.blp),
)
