"""The forms of pages. They check what the API checks, but their values are text."""

from enum import StrEnum
from typing import Any

from marshmallow import ValidationError, post_load

from schemas.admissions import VoidSchema
from schemas.base import (
    BaseSchema,
    Bool,
    Int,
    Items,
    LocalTime,
    QueryInt,
    Text,
    an_email,
    one_of,
)
from schemas.checks import ADDRESS, NOT_BLANK, TX_HASH, Length, Range
from schemas.events import MAX_COPIES, EventCopySchema, EventCreateSchema, starts
from schemas.messages import MessageCreateSchema
from schemas.payouts import PayoutCreateSchema
from schemas.people import PersonSchema
from schemas.refunds import MAX_SIGNATURE
from schemas.ticket_types import TicketTypeChangeSchema, TicketTypeCreateSchema
from schemas.wallets import WalletSetSchema
from ticketing.constants import (
    MAX_CODE_TYPED,
    MAX_PAGE,
    MAX_PER_ORDER,
    MAX_PRICE,
    MAX_SAFE_INTEGER,
    MAX_TICKET_CHAINS,
    MAX_WALLET_CHAINS,
)
from ticketing.errors import FieldMessage
from ticketing.refund_reports import RefundReport
from ticketing.roles import Role
from ticketing.waiting_list import MAX_QUANTITY

TOO_MANY_NETWORKS = FieldMessage(
    "networks", f"Must have at most {MAX_TICKET_CHAINS} networks.", max=MAX_TICKET_CHAINS
)


MAX_REPORTED = 100
"""Orders of one report about refunds."""

NO_PRICE = FieldMessage("number", "Must have a price. 0 is free.")


class OrderForm(PersonSchema):
    """What a buyer fills in on the page of an event."""

    ticket_id = Text(validate=Length(1, 80))
    quantity = QueryInt(load_default=1, validate=Range(1, MAX_PER_ORDER))
    voucher = Text(validate=Length(1, MAX_CODE_TYPED))
    chain_id = QueryInt(validate=Range(1, MAX_SAFE_INTEGER))


class _AlsoOn(BaseSchema):
    """Further networks of a ticket type, besides the proposed one."""

    also_on = Items(
        QueryInt(validate=Range(1, MAX_SAFE_INTEGER)),
        load_default=list,
        validate=Length(0, MAX_TICKET_CHAINS, "items"),
    )

    @post_load
    def join_networks(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return all networks as `chain_ids`, the proposed one first, if there are further ones."""
        also_on = data.pop("also_on")
        if also_on:
            proposed = data.pop("chain_id", None)
            ids = list(dict.fromkeys([*([proposed] if proposed else []), *also_on]))
            if len(ids) > MAX_TICKET_CHAINS:
                raise ValidationError(TOO_MANY_NETWORKS, "also_on")
            data["chain_ids"] = ids
        return data


class TicketTypeForm(_AlsoOn, TicketTypeCreateSchema):
    """A new ticket type, as the console's form has it."""


class TicketTypeChangeForm(_AlsoOn, TicketTypeChangeSchema):
    """The fields of a ticket type to change, as the console's form has them."""


class NewEventForm(EventCreateSchema):
    """A new event, with its first ticket type if that has a name."""

    ticket_name = Text(load_default=None, allow_none=True, validate=[Length(1, 200), NOT_BLANK])
    ticket_price = Int(load_default=None, allow_none=True, validate=Range(0, MAX_PRICE, "amount"))
    ticket_capacity = Int(load_default=None, allow_none=True, validate=Range(0, MAX_SAFE_INTEGER))

    @post_load
    def part_ticket(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the event's fields, and those of the ticket type as `ticket`: None without one."""
        name, price = data.pop("ticket_name"), data.pop("ticket_price")
        capacity = data.pop("ticket_capacity")
        if name is not None and price is None:
            raise ValidationError({"ticket_price": [NO_PRICE]})
        ticket = {"name": name, "price_amount": price, "capacity": capacity}
        return {**data, "ticket": None if name is None else ticket}


class Every(StrEnum):
    """How often an event is repeated, in a form that fills in the dates."""

    ONCE = "once"
    WEEK = "week"
    TWO_WEEKS = "two_weeks"
    MONTH = "month"


class CopyForm(EventCopySchema):
    """The dates of copies as listed in `starts`, or the rule that fills them in.

    `show`: only show these dates.
    """

    starts = starts(least=0, load_default=list)
    first = LocalTime(required=True)
    every = one_of(Every, load_default=Every.ONCE)
    times = Int(load_default=1, validate=Range(1, MAX_COPIES))
    show = Bool(load_default=False)


class MessageForm(MessageCreateSchema):
    """A message, as the console's form has it.

    `preview`: mail it to its writer only. `confirmed`: the writer saw how many people get it.
    """

    preview = Bool(load_default=False)
    confirmed = Bool(load_default=False)


class PublishForm(BaseSchema):
    """The ticket types that are published together with their event."""

    ticket_id = Items(
        Text(validate=Length(1, 80)), load_default=list, validate=Length(0, MAX_PAGE, "items")
    )


class HolderForm(PersonSchema):
    """Who a ticket is for, as its sender or its new holder says."""


class EmailForm(BaseSchema):
    """Where the mails of an order go, or whose orders somebody looks for."""

    email = an_email("ada@example.org", required=True)


class WaitingListForm(BaseSchema):
    """Who waits for what."""

    ticket_id = Text(required=True, validate=Length(1, 80))
    quantity = QueryInt(load_default=1, validate=Range(1, MAX_QUANTITY))
    email = an_email("ada@example.org", required=True)
    name = Text(validate=Length(1, 200))


class RefundAddressForm(BaseSchema):
    """Where a buyer wants money back, and on which network it is. Without, it is the order's."""

    address = Text(required=True, validate=ADDRESS)
    chain_id = QueryInt(load_default=None, validate=Range(1, MAX_SAFE_INTEGER))
    token_address = Text(load_default=None, validate=ADDRESS)
    signature = Text(load_default=None, validate=Length(1, MAX_SIGNATURE))


class EmptyForm(BaseSchema):
    """A form that only has a button."""


class ClientNetworkForm(BaseSchema):
    """A network from which people ordered: a digest of it, or its number in a waiting room."""

    network = Text(required=True, validate=Length(1, 120))


class InvitationForm(BaseSchema):
    """The password that an invited member sets, and their email address if it is not known."""

    email = Text(validate=Length(1, 254))
    password = Text(required=True, validate=Length(1, 128))


class ForgottenForm(BaseSchema):
    """Whose password is forgotten: the organizer, and the email address of the member."""

    tenant = Text(required=True, validate=Length(1, 100))
    email = an_email("ada@example.org", required=True)


class NewPasswordForm(BaseSchema):
    """The password that replaces a forgotten one."""

    password = Text(required=True, validate=Length(1, 128))


class PasswordChangeForm(NewPasswordForm):
    """The password that a member has, and the one that replaces it."""

    new_password = Text(required=True, validate=Length(1, 128))


class FirstStepForm(BaseSchema):
    """What says that the password was proved just now."""

    first_step = Text(required=True, validate=Length(1, 200))


class SecondFactorForm(FirstStepForm):
    """A code of a second factor, after the password."""

    code = Text(required=True, validate=Length(1, 40))


class AppCodeForm(BaseSchema):
    """The first code of an app that was just set up."""

    code = Text(required=True, validate=Length(1, 40))


class PasskeyForm(BaseSchema):
    """What a browser answers for a passkey, in JSON."""

    credential = Text(required=True, validate=Length(1, 8_000))


class Consent(StrEnum):
    """What a member says to an app."""

    CONNECT = "connect"
    REFUSE = "refuse"


class ConnectForm(BaseSchema):
    """Whether a member connects an app, and in which role. `page`: what was asked, signed."""

    page = Text(required=True, validate=Length(1, 10_000))
    consent = one_of(Consent, required=True)
    role = one_of(Role, required=True)


class SecondPasskeyForm(FirstStepForm, PasskeyForm):
    """A passkey, after the password."""


class NewPasskeyForm(PasskeyForm):
    """A passkey that a browser has made, its name, and the password once more."""

    password = Text(required=True, validate=Length(1, 128))
    name = Text(required=True, validate=[Length(1, 60), NOT_BLANK])


class GuestsForm(BaseSchema):
    """Guests, one a line, with the ticket that each of them gets. `check`: only show them."""

    ticket_id = Text(required=True, validate=Length(1, 80))
    guests = Text(required=True, validate=[Length(1, 16_000), NOT_BLANK])
    reason = Text(validate=[Length(1, 500), NOT_BLANK])
    check = Text()


class ChosenVoidForm(VoidSchema):
    """Why several admissions are taken back. `chosen`: their ids."""

    chosen = Items(Text(), load_default=list)


class ChainForm(BaseSchema):
    """One network."""

    chain_id = QueryInt(required=True, validate=Range(1, MAX_SAFE_INTEGER))


class CollectForm(ChainForm):
    """What to collect. `owner_confirmed`: the owner's address is the organizer's there."""

    owner_confirmed = Bool(load_default=False)


class PayoutFileForm(PayoutCreateSchema):
    """The account that will sign, and a digest of the list that was shown."""

    shown = Text(load_default="")


class RefundReportForm(ChainForm):
    """What the page saw of refunds that is not as listed: which orders, and where it is seen."""

    kind = one_of(RefundReport, required=True)
    intent_ids = Items(
        Text(validate=Length(1, 80)), required=True, validate=Length(1, MAX_REPORTED, "items")
    )
    tx_hash = Text(load_default=None, validate=TX_HASH)
    payer = Text(load_default=None, validate=ADDRESS)


class CrowdRemovalForm(BaseSchema):
    """The network of a crowd that is removed."""

    network = Text(required=True, validate=Length(1, 60))


class PasswordForm(BaseSchema):
    """The password of the member who is signed in, written once more."""

    password = Text(required=True, validate=Length(1, 128))


class WalletForm(WalletSetSchema):
    """The wallet that an organizer states, with the password where a change would wait.

    `compared` is the address that they compared with their wallet on the page.
    """

    chain_ids = Items(
        QueryInt(validate=Range(1, MAX_SAFE_INTEGER)),
        load_default=None,
        validate=Length(0, MAX_WALLET_CHAINS, "items"),
    )
    password = Text(load_default=None)
    compared = Text(load_default=None)

    class Meta:
        exclude = ("recovery",)
