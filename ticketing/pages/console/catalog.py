"""The console's sections about what is sold."""

from ticketing.pages.console import event_forms, events, overview, ticket_types, wallet

SURFACES = (
    overview.blp,
    events.blp,
    event_forms.blp,
    ticket_types.blp,
    ticket_types.form_blp,
    wallet.blp,
)
