"""The tickets in the order form of an event: a number for each ticket type, or one choice.

The number of a ticket type is the field `quantity.` and its id, and a chosen price is `price.` and
its id. A page that was opened before the event sold several types in one order has `ticket_id` and
`quantity` instead.

Example: `quantity.tkt_a=2` and `quantity.tkt_b=0` order 2 of A. If only 1 of A is left, the error
is at the field `quantity.tkt_a`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from marshmallow import ValidationError

from schemas.intents import WantedSchema
from ticketing.errors import (
    AboveMaximum,
    BelowMinimum,
    FieldMessage,
    Invalid,
    KeyRequired,
    NeedsTicket,
    SalesEnded,
    SalesNotStarted,
    SoldOut,
    TicketingError,
    VoucherRequired,
)
from ticketing.models.ticket_types import TicketType
from ticketing.pages import forms, typed_forms
from ticketing.pages.reasons import Sentence, reason
from ticketing.services.orders.lines import Wanted, all_wanted

QUANTITY, PRICE = "quantity.", "price."
_OF_A_TYPE = (
    AboveMaximum,
    BelowMinimum,
    KeyRequired,
    NeedsTicket,
    SalesEnded,
    SalesNotStarted,
    SoldOut,
    VoucherRequired,
)
"""Refusals of one ticket type. Those of several items name theirs."""

_NONE_CHOSEN = FieldMessage("none_chosen", "No ticket was chosen.")


def read(form: Mapping[str, object]) -> Sequence[Wanted]:
    """Return what the form that was sent orders. Invalid, with the names of its fields.

    `form` has `ticket_id` and `quantity` if they were sent.
    """
    ticket_id = form.get("ticket_id")
    if ticket_id is not None:
        return [Wanted(str(ticket_id), int(str(form["quantity"])))]
    sent = forms.sent()
    chosen = {
        name.removeprefix(QUANTITY): text
        for name, text in sent.items()
        if name.startswith(QUANTITY) and text.strip("0")
    }
    if not chosen:
        first = next((name for name in sent if name.startswith(QUANTITY)), "ticket_id")
        raise Invalid({first: [_NONE_CHOSEN]})
    items = [
        {"ticket_id": type_id, "quantity": _number(text), **_price(sent.get(f"{PRICE}{type_id}"))}
        for type_id, text in chosen.items()
    ]
    try:
        return all_wanted(WantedSchema().load({"items": items})["items"])
    except ValidationError as error:
        raise Invalid(_at_fields(error.normalized_messages()["items"], list(chosen))) from None


def refused(
    error: TicketingError, wanted: Sequence[Wanted], types: Sequence[TicketType]
) -> dict[str, Sentence]:
    """Return what is wrong with the tickets of an order that was refused, by the form's fields."""
    places = [place for place in error.extensions.get("errors", {}) if place.startswith("items.")]
    if not places and len(wanted) == 1 and isinstance(error, _OF_A_TYPE):
        places = ["items.0"]
    by_id = {each.id: each for each in types}
    found: dict[str, Sentence] = {}
    for place in places:
        index, _, field = place.removeprefix("items.").partition(".")
        ticket_id = wanted[int(index)].ticket_id
        prefix = PRICE if field == "price_amount" else QUANTITY
        sentence = _sentence(error, by_id.get(ticket_id))
        if sentence is not None:
            found[f"{prefix}{ticket_id}"] = sentence
    return found


def _sentence(error: TicketingError, ticket_type: TicketType | None) -> Sentence | None:
    """Return what is wrong with a ticket type, with the number that is possible. None: no field."""
    if ticket_type is None:
        return None
    values = {"least": ticket_type.min_per_order, "most": ticket_type.max_per_order}
    match error:
        case BelowMinimum():
            return Sentence("Order at least %(least)s of it.", values)
        case AboveMaximum():
            return Sentence("One order can have at most %(most)s of it.", values)
        case SoldOut() if ticket_type.few_left:
            return Sentence("Only %(n)s are left.", {"n": ticket_type.few_left})
        case Invalid():
            return Sentence("This price is not possible. Write another amount.", {})
    return Sentence(reason(error), {})


def _number(text: str) -> int | str:
    """Return a typed number. Other text stays as it is: the schema refuses it."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 4 else text


def _price(text: str | None) -> dict[str, object]:
    return {"price_amount": typed_forms.micro_units(text)} if text else {}


def _at_fields(messages: object, type_ids: Sequence[str]) -> dict[str, object]:
    """Return the errors of items by the form's fields. What is wrong with all is at the first."""
    if not isinstance(messages, Mapping):
        return {f"{QUANTITY}{type_ids[0]}": messages}
    return {
        f"{PRICE if name == 'price_amount' else QUANTITY}{type_ids[int(place)]}": texts
        for place, of_item in messages.items()
        for name, texts in of_item.items()
    }
