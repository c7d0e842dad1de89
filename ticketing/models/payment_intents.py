"""Payment intents: orders."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from peewee import (
    AnyField,
    BigIntegerField,
    BooleanField,
    Case,
    ForeignKeyField,
    IntegerField,
    TextField,
)

from ticketing.constants import LIVE, Flag, IntentStatus
from ticketing.models.base import BaseModel, UtcDateTimeField, literal
from ticketing.models.events import Event
from ticketing.models.order_networks import NetworksField, OrderNetwork, PaymentOption
from ticketing.models.tenants import Tenant
from ticketing.models.vouchers import Voucher
from ticketing.models.wallets import Wallet


def flag_bits(flags: Iterable[Flag]) -> int:
    """Return a set of flags as one integer, with one bit per flag in the order of Flag."""
    return sum(1 << list(Flag).index(flag) for flag in set(flags))


class FlagsField(AnyField):
    """A set of flags, stored as one integer."""

    field_type = "INTEGER"

    def db_value(self, value: Iterable[Flag] | int) -> int:
        """Convert a set of flags to an integer. A number is used as the bits."""
        return value if isinstance(value, int) else flag_bits(value)

    def python_value(self, value: int) -> frozenset[Flag]:
        """Convert the integer to a set of flags."""
        return frozenset(flag for flag in Flag if value & flag_bits([flag]))


@dataclass(frozen=True)
class PaymentTerms:
    """How to pay an intent: chain, address, token and confirmations, as shown to the buyer."""

    chain_id: int
    address: str
    token_address: str
    decimals: int
    required_confirmations: int

    def final_up_to(self, head: int) -> int:
        """Return the number of the last block whose payments are final."""
        return head - self.required_confirmations + 1


class Item(NamedTuple):
    """The seats of one ticket type in an order. Amounts are micro-units for one seat.

    `list_amount`: the price, or the lowest price, of that time without a voucher. `admission`: the
    seats count in the event's capacity. `vouchered`: each uses the voucher of the order once.
    `return_fee_percent`: what the organizer keeps of a seat that is given back. None: it cannot be.
    `deposit_amount`: what comes back of a seat whose holder came.
    """

    ticket_type_id: str
    quantity: int
    list_amount: int
    unit_amount: int
    admission: bool
    vouchered: bool
    return_fee_percent: int | None = None
    deposit_amount: int = 0

    @property
    def amount(self) -> int:
        """What all seats cost."""
        return self.unit_amount * self.quantity

    def shown(self, name: str) -> dict[str, Any]:
        """Return it for a response, with the name of its ticket type."""
        return {
            "ticket_type_id": self.ticket_type_id,
            "name": name,
            "quantity": self.quantity,
            "list_amount": self.list_amount,
            "unit_amount": self.unit_amount,
            "amount": self.amount,
            "deposit_amount": self.deposit_amount,
        }

    @property
    def discount(self) -> int:
        """How much less than the list price all seats cost."""
        return max(0, self.list_amount - self.unit_amount) * self.quantity


class PaymentIntent(BaseModel):
    """One buyer's attempt to buy `quantity` seats of one event on one chain.

    Its seats are `items`: a row for each ticket type (IntentItem). They never change.

    Amounts are micro-units. The chain's fields (from `chain_id` to `required_confirmations`) are
    None for a free order. `networks`: on which it could be paid at order time, if on several; it is
    paid on `chain_id` only. `paid_block` is the block in which the payments reached the amount.

    `hold_until` is the deadline from preflight, or the later one of a buyer who pays from an
    exchange (`hold_extended`), `grace_until` the one after a reorganization.
    `expires_at` is the effective deadline. `ended_at` is when the intent was canceled, or the
    deadline at which it first expired. A late payment does not change it.

    `refund_pending` is the part of `refund_due` in blocks that are not final yet, and
    `pending_block` the first of them. None: not known. `waived` is what
    the organizer wrote off. `released` is what the order keeps no more of its amount.
    `tolerance`: how much may be missing of its payment, if that comes in time: see `forgiven`.
    `pooled`: how many of its seats replace others that were given back, until that is done. They
    count in `taken` of their ticket type, and not in `held` or `sold`. `resale`: that it was to
    have such seats, also after it has ended unpaid, unless another order replaced it.
    `deposits_tried_at`: of an order with deposits, when it was made, or when those of who came were
    last released. None: it has none.
    `sold_by`: the device at the door that sold it. Then it may be confirmed early at any time.
    `released` is the sum of what its admissions released. `free_seats`: how many of its seats count
    as free.
    `early_confirmations`: with so many blocks it may be confirmed before its payment is final.
    None: never. `early`: it was, and its payment is not final yet.
    `refund_address` is the payee that counts. `refund_by_hand_at`: since when the
    organizer pays the refund by hand. Such an order is on no list of payouts. `x402`: an x402
    client made the order, with an Idempotency-Key if there is an `idempotency_digest`, and with the
    body of `body_digest`.

    The worker reads the address's logs until `watch_until`. After that, it compares the balance:
    `swept_balance` is the balance at `swept_at`, in atomic units. All transfers up to
    `checked_block` are known. `search_to` is the block up to which the logs must be read again, or
    None. `set_aside_until`: it could not be settled, and is tried again then.

    `stored_bytes`: of its buyer's name, email address and answers, and one. 0: they are erased, as
    the order ended unpaid a day ago.

    For an order without a credential, `held_by` is a digest of the client's IPv4 address or
    IPv6 /64, and `held_by_site` one of its IPv6 /48.

    `strays_version` counts the changes of its stray accounts (models/stray_accounts.py). 0: it has
    none. `moves`: how often its buyer moved it to another network. `link_generation`: how often the
    organizer ended its links. `payees_version` counts the changes of its payees
    (models/refunds.py), those of its stray accounts included. 0: it has none.
    """

    stray = ""
    """What the rows of its home have as their `stray`."""

    id = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    tenant_id: str
    event = ForeignKeyField(Event)
    event_id: str
    status = TextField()
    flags = FlagsField(default=frozenset)
    quantity = IntegerField()
    amount = BigIntegerField()
    tolerance = BigIntegerField(default=0)
    amount_received = BigIntegerField(default=0)
    refund_due = BigIntegerField(default=0)
    refund_pending = BigIntegerField(default=0)
    refunded = BigIntegerField(default=0)
    waived = BigIntegerField(default=0)
    released = BigIntegerField(default=0)
    pooled = IntegerField(default=0)
    # FALSE in the database. A default here would be the 51st parameter of each INSERT, and psycopg
    # parses a statement with more than 50 at each call.
    resale = BooleanField()
    deposits_tried_at = UtcDateTimeField(null=True)
    sold_by = TextField(null=True)
    free_seats = IntegerField()
    voucher = ForeignKeyField(Voucher, null=True)
    voucher_id: str | None
    refund_address = TextField(null=True)
    refund_by_hand_at = UtcDateTimeField(null=True)
    currency = TextField()
    chain_id = BigIntegerField(null=True)
    wallet = ForeignKeyField(Wallet, null=True)
    wallet_id: str | None
    address_index = BigIntegerField(null=True)
    address = TextField(null=True)
    token_address = TextField(null=True)
    token_decimals = IntegerField(null=True)
    required_confirmations = IntegerField(null=True)
    early_confirmations = IntegerField(null=True)
    early = BooleanField(default=False)
    networks = NetworksField(null=True)
    paid_block = BigIntegerField(null=True)
    held_by = TextField(null=True)
    held_by_site = TextField(null=True)
    stored_bytes = IntegerField(default=1)
    buyer_email = TextField(null=True)
    buyer_name = TextField(null=True)
    locale = TextField(null=True)
    created_at = UtcDateTimeField()
    hold_until = UtcDateTimeField()
    hold_extended = BooleanField(default=False)
    grace_until = UtcDateTimeField(null=True)
    expires_at = UtcDateTimeField()
    confirmed_at = UtcDateTimeField(null=True)
    ended_at = UtcDateTimeField(null=True)
    watch_until = UtcDateTimeField(null=True)
    checked_block = BigIntegerField(null=True)
    search_to = BigIntegerField(null=True)
    swept_at = UtcDateTimeField(null=True)
    swept_balance = TextField(null=True)
    pending_block = BigIntegerField(null=True)
    set_aside_until = UtcDateTimeField(null=True)
    x402 = BooleanField(default=False)
    idempotency_digest = TextField(null=True)
    body_digest = TextField(null=True)
    strays_version = IntegerField(default=0)
    payees_version = IntegerField(default=0)
    moves = IntegerField(default=0)
    link_generation = IntegerField(default=0)

    item_rows: Iterable[Any]  # of IntentItem

    # No columns: services set these on an instance for its response.
    item_names: Mapping[str, str]  # of its ticket types
    atomic_amount: int | None
    payment_uri: str | None
    payment_options: Sequence[PaymentOption]
    strays: Sequence[Any]  # the stray accounts that received money
    payee: Any  # of services/orders/payees_shown.py
    confirmations: int
    refunds: Sequence[Any]
    client_secret: str
    has_changed: bool  # whether the purchase or the cancelation that returned it had an effect
    capped_event: str | None  # of a locked intent: its event, if that has a capacity
    online_join_url: str | None
    payments: Sequence[Any]  # the largest ones
    payment_count: int
    admissions: Sequence[Any]
    questions: Sequence[Any]
    answers: Mapping[str, Any]
    network: str | None  # its name; this and the pictures are for the box office
    address_qr: str | None
    payment_qr: str | None
    order_qr: str | None
    x402_url: str  # only if it can be paid so; for MCP

    class Meta:
        table_name = "payment_intents"

    @cached_property
    def items(self) -> Sequence[Item]:
        """Its seats by ticket type, in the order of the buyer. It may read them."""
        rows = sorted(self.item_rows, key=lambda row: int(row.position))
        return tuple(row.item for row in rows)

    @property
    def only_item(self) -> Item | None:
        """Its only item. None if it has several."""
        return self.items[0] if len(self.items) == 1 else None

    @property
    def shown_items(self) -> list[dict[str, Any]]:
        """Its items with their names, for responses."""
        return [item.shown(self.item_names[item.ticket_type_id]) for item in self.items]

    @property
    def only_ticket_id(self) -> str | None:
        """The ticket type of its only item. None if it has several."""
        return self.items[0].ticket_type_id if len(self.items) == 1 else None

    @property
    def only_unit_amount(self) -> int | None:
        """What each of its seats costs, if it has only one item. None if it has several."""
        return self.items[0].unit_amount if len(self.items) == 1 else None

    @property
    def discount_amount(self) -> int:
        """How much less than their list prices its seats cost."""
        return sum(item.discount for item in self.items)

    @property
    def terms(self) -> PaymentTerms:
        """How to pay the intent. ValueError for a free order."""
        terms = (
            self.chain_id,
            self.address,
            self.token_address,
            self.token_decimals,
            self.required_confirmations,
        )
        if None in terms:
            raise ValueError(f"{self.id} is a free order")
        return PaymentTerms(*terms)  # type: ignore[arg-type]

    def network_on(self, chain_id: int | None) -> OrderNetwork | None:
        """Return the network of it on a chain. None: it cannot be paid there, or on one only."""
        return next((each for each in self.networks or () if each.chain_id == chain_id), None)

    @property
    def order(self) -> "PaymentIntent":
        """The order itself. So it is an Account: see models/stray_accounts.py."""
        return self

    @property
    def intent_id(self) -> str:
        """The id of the order, as of a stray account."""
        return str(self.id)

    @property
    def flags_in_order(self) -> list[Flag]:
        """The flags in the order of Flag."""
        return [flag for flag in Flag if flag in self.flags] if self.flags else []

    @property
    def held_by_networks(self) -> tuple[str, ...]:
        """The digests of the client's networks, from narrow to wide. Empty with a credential."""
        return tuple(each for each in (self.held_by, self.held_by_site) if each is not None)

    @property
    def buyer(self) -> dict[str, str | None]:
        """The buyer's email address and name, if given."""
        return {"email": self.buyer_email, "name": self.buyer_name}

    @property
    def is_unpaid(self) -> bool:
        """Whether it waits for its payment and has received nothing: it may be given up."""
        return self.status == IntentStatus.AWAITING_PAYMENT and self.amount_received == 0

    @property
    def ended_without_money(self) -> bool:
        """Whether it expired or was canceled, and nothing has arrived for it on any network."""
        is_over = self.status in (IntentStatus.EXPIRED, IntentStatus.CANCELED)
        return is_over and self.amount_received == 0 and self.strays_version == 0

    @property
    def amount_due(self) -> int:
        """The amount still to be paid, in micro-units. 0 once the intent is paid or has ended.

        It is the whole rest: buyers never see what would be forgiven.
        """
        is_open = self.status == IntentStatus.AWAITING_PAYMENT and self.ended_at is None
        counted = self.amount_received - self.refunded - self.waived
        return max(0, self.amount - counted) if is_open else 0

    @property
    def enough(self) -> int:
        """For how much the order is paid. An order that has ended once needs the whole amount."""
        return int(self.amount if self.ended_at is not None else self.amount - self.tolerance)

    def forgiven_of(self, received: int) -> int:
        """Return what would be forgiven if the order had received this much, in micro-units.

        It is a function, not a column, so that a later payment lowers it and its removal raises it.
        What is owed does not change with either.

        Example: an order of 25 with a tolerance of 1.25 received 24: 1 is forgiven. After 0.4 more
        it is 0.6, and after 3 more 0: then 2 are owed.
        """
        return min(int(self.amount) - self.enough, max(0, int(self.amount) - received))

    @property
    def forgiven(self) -> int:
        """What is missing of the payments of a confirmed order. As FORGIVEN."""
        is_sold = self.status == IntentStatus.CONFIRMED
        return self.forgiven_of(self.amount_received) if is_sold else 0

    @property
    def rest(self) -> int:
        """What was received, and is neither owed, nor paid back, nor waived. As REST."""
        return int(self.amount_received - self.refunded - self.waived - self.refund_due)

    @property
    def open(self) -> int:
        """The rest of an intent that is live: it is not decided yet."""
        return self.rest if self.status in LIVE else 0

    @property
    def kept(self) -> int:
        """The rest of an intent that is not live: what the organizer keeps."""
        return self.rest - self.open

    @property
    def final(self) -> bool:
        """Whether it is confirmed by final payments: what cannot be taken back may be given out."""
        return self.status == IntentStatus.CONFIRMED and not self.early

    @property
    def refund_due_now(self) -> int:
        """The refund that is due from final payments, in micro-units."""
        return int(self.refund_due - self.refund_pending)

    @property
    def returnable_now(self) -> int:
        """What can be paid back now. Of a stray account it may be more than is due."""
        return self.refund_due_now


AWAITING = PaymentIntent.status == literal(IntentStatus.AWAITING_PAYMENT)
"""Intents that are not fully paid. They have a partial index."""

ENDED_UNPAID = (
    (PaymentIntent.stored_bytes > literal(0))
    & (PaymentIntent.amount_received == literal(0))
    & (PaymentIntent.strays_version == literal(0))
    & PaymentIntent.status.in_([literal(IntentStatus.EXPIRED), literal(IntentStatus.CANCELED)])
)
"""Intents that ended without money, and whose buyers are not erased. They have a partial index."""

UNSETTLED = PaymentIntent.status.in_(
    [literal(IntentStatus.PROCESSING), literal(IntentStatus.REVERSED)]
)
"""Intents that wait for confirmations. They have a partial index."""

EARLY = PaymentIntent.early & (PaymentIntent.status == literal(IntentStatus.CONFIRMED))
"""Intents that were confirmed early, and are not final yet. They have a partial index."""

FLAGGED = PaymentIntent.flags != literal(0)
OWING = PaymentIntent.refund_due > literal(0)
"""The few intents with flags, and those with a refund due. Each has partial indexes."""

SET_ASIDE = PaymentIntent.set_aside_until.is_null(False)
"""The very few intents that could not be settled. They have a partial index."""

REFUND_PENDING = PaymentIntent.refund_pending > literal(0)
"""Intents with a refund due from a payment that is not final. They have a partial index."""

TO_REFUND = OWING & (PaymentIntent.refund_due > PaymentIntent.refund_pending)
"""Intents with a refund that can be paid now."""


def _forgiven() -> Any:
    in_time = PaymentIntent.ended_at.is_null()
    missing = PaymentIntent.amount - PaymentIntent.amount_received
    most, none = PaymentIntent.tolerance, literal(0)
    return Case(
        None, [(in_time & (missing > most), most), (in_time & (missing > none), missing)], 0
    )


FORGIVEN = _forgiven()
"""What is forgiven of intents that are confirmed. Of others, what would be."""

_LEFT = PaymentIntent.amount - PaymentIntent.released
KEPT = Case(None, [(_LEFT > FORGIVEN, _LEFT - FORGIVEN)], 0)
"""What intents that are sold keep: their amount, less what was released and what is forgiven."""

TOLERANT = PaymentIntent.tolerance > literal(0)
"""The intents whose organizer accepts a little less. They have a partial index."""

HAS_MONEY = (PaymentIntent.amount_received > literal(0)) | (PaymentIntent.refunded > literal(0))
"""Intents that were paid, at least in part. They have partial indexes."""

IS_LIVE = PaymentIntent.status.in_([literal(status) for status in LIVE])
REST = (
    PaymentIntent.amount_received
    - PaymentIntent.refunded
    - PaymentIntent.waived
    - PaymentIntent.refund_due
)
"""What an intent received, and neither owes, nor paid back, nor was waived: `kept` or `open`."""

NOT_OWING = PaymentIntent.refund_due == literal(0)
WAIVED = NOT_OWING & (PaymentIntent.waived > literal(0))
REFUNDED = NOT_OWING & (PaymentIntent.waived == literal(0)) & (PaymentIntent.refunded > literal(0))
"""The few intents whose refund was waived or paid. Each has a partial index."""
