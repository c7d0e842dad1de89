"""Payment intents: orders."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
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

from ticketing.constants import Flag, IntentStatus
from ticketing.models.base import BaseModel, UtcDateTimeField, literal
from ticketing.models.events import Event
from ticketing.models.order_accounts import OrderAccount, PaymentTerms
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
        return _flags_of(value)


@cache  # each order that is read has flags, and there are few combinations
def _flags_of(bits: int) -> frozenset[Flag]:
    return frozenset(flag for flag in Flag if bits & flag_bits([flag]))


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

    Amounts are micro-units. What it received, keeps and owes stands in its `accounts`, one for each
    chain and token (models/order_accounts.py). It is paid in one of them, its `home`: the one on
    `chain_id`, in `token_address`. A free order has no account, and these are None. `networks`: on
    which it could be paid at order time, if on several. `paid_block` is the block in which the
    payments reached the amount.

    `hold_until` is the deadline from preflight, or the later one of a buyer who pays from an
    exchange (`hold_extended`), `grace_until` the one after a reorganization.
    `expires_at` is the effective deadline. `ended_at` is when the intent was canceled, or the
    deadline at which it first expired. A late payment does not change it.

    `released` is what the order keeps no more of its amount, the sum of what its seats released.
    `tolerance`: how much may be missing of its payment, if that comes in time: see `forgiven`.
    `pooled`: how many of its seats replace others that were given back, until that is done. They
    count in `taken` of their ticket type, and not in `held` or `sold`. `resale`: that it was to
    have such seats, also after it has ended unpaid, unless another order replaced it.
    `deposits_tried_at`: of an order with deposits, when it was made, or when those of who came were
    last released. None: it has none.
    `sold_by`: the device at the door that sold it. Then it may be confirmed early at any time.
    `free_seats`: how many of its seats count as free.
    `early`: it was confirmed with its account's `early_confirmations` blocks, and its payment is
    not final yet. `x402`: an x402 client made the order, with an Idempotency-Key if there is an
    `idempotency_digest`, and with the body of `body_digest`.
    `set_aside_until`: it could not be settled, and is tried again then.

    `stored_bytes`: of its buyer's name, email address and answers, and one. 0: they are erased, as
    the order ended unpaid a day ago.

    For an order without a credential, `held_by` is a digest of the client's IPv4 address or
    IPv6 /64, and `held_by_site` one of its IPv6 /48.

    `books_version` counts the changes of what its accounts hold. 0: nothing was ever received.
    `moves`: how often its buyer moved it to another network. `link_generation`: how often the
    organizer ended its links. `payees_version` counts the changes of its payees
    (models/refunds.py). 0: it has none.
    """

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
    currency = TextField()
    chain_id = BigIntegerField(null=True)
    wallet = ForeignKeyField(Wallet, null=True)
    wallet_id: str | None
    address_index = BigIntegerField(null=True)
    address = TextField(null=True)
    token_address = TextField(null=True)
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
    set_aside_until = UtcDateTimeField(null=True)
    x402 = BooleanField(default=False)
    idempotency_digest = TextField(null=True)
    body_digest = TextField(null=True)
    books_version = IntegerField(default=0)
    payees_version = IntegerField(default=0)
    moves = IntegerField(default=0)
    link_generation = IntegerField(default=0)

    item_rows: Iterable[Any]  # of IntentItem
    account_rows: Iterable[OrderAccount]

    read_account: OrderAccount | None = None  # one of its accounts, if a query has read that

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

    @cached_property
    def accounts(self) -> Sequence[OrderAccount]:
        """Its accounts in the order in which they were opened. It may read them."""
        if self.chain_id is None:
            return []
        found = sorted(self.account_rows, key=lambda account: int(account.id))
        for account in found:
            account.intent = self
        return found

    @property
    def home(self) -> OrderAccount:
        """The account that it is paid in. A free order has one without money. May read accounts."""
        if self.chain_id is None:
            return OrderAccount(intent=self)
        if len(self.accounts) == 1:
            return self.accounts[0]  # of nearly every order
        return next(account for account in self.accounts if account.is_home)

    @property
    def stray_accounts(self) -> Sequence[OrderAccount]:
        """Its accounts on other chains, or in other tokens, than its home. It may read them."""
        return [account for account in self.accounts if not account.is_home]

    @property
    def terms(self) -> PaymentTerms:
        """How to pay the intent. ValueError for a free order. It may read its home."""
        if self.chain_id is None:
            raise ValueError(f"{self.id} is a free order")
        return self.home.terms

    def network_on(self, chain_id: int | None) -> OrderNetwork | None:
        """Return the network of it on a chain. None: it cannot be paid there, or on one only."""
        return next((each for each in self.networks or () if each.chain_id == chain_id), None)

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
        """Whether it waits for its payment, and nothing has arrived on its home."""
        return self.status == IntentStatus.AWAITING_PAYMENT and self.home.received == 0

    @property
    def ended_without_money(self) -> bool:
        """Whether it expired or was canceled, and nothing has arrived for it on any network."""
        is_over = self.status in (IntentStatus.EXPIRED, IntentStatus.CANCELED)
        return is_over and self.books_version == 0

    @property
    def amount_received(self) -> int:
        """What its home received."""
        return int(self.home.received)

    @property
    def refund_due(self) -> int:
        """What its home owes, payments that are not final included."""
        return int(self.home.due)

    @property
    def refunded(self) -> int:
        """What was paid back of its home."""
        return int(self.home.refunded)

    @property
    def waived(self) -> int:
        """What its organizer wrote off of its home."""
        return int(self.home.waived)

    @property
    def amount_due(self) -> int:
        """The amount still to be paid, in micro-units. 0 once the intent is paid or has ended.

        It is the whole rest: buyers never see what would be forgiven.
        """
        is_open = self.status == IntentStatus.AWAITING_PAYMENT and self.ended_at is None
        return max(0, self.amount - self.home.counted) if is_open else 0

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
        return self.forgiven_of(self.home.received) if is_sold else 0

    @property
    def final(self) -> bool:
        """Whether it is confirmed by final payments: what cannot be taken back may be given out."""
        return self.status == IntentStatus.CONFIRMED and not self.early


AWAITING = PaymentIntent.status == literal(IntentStatus.AWAITING_PAYMENT)
"""Intents that are not fully paid. They have a partial index."""

ENDED_UNPAID = (
    (PaymentIntent.stored_bytes > literal(0))
    & (PaymentIntent.books_version == literal(0))
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
"""The few intents with flags. They have partial indexes."""

SET_ASIDE = PaymentIntent.set_aside_until.is_null(False)
"""The very few intents that could not be settled. They have a partial index."""

IS_HOME = (
    (OrderAccount.intent == PaymentIntent.id)
    & (OrderAccount.chain_id == PaymentIntent.chain_id)
    & (OrderAccount.token_address == PaymentIntent.token_address)
)
"""The account that an intent is paid in: a condition of joins."""


def of_home(column: Any) -> Any:
    """Return the SQL value of a column of OrderAccount in the home of a selected intent."""
    home: Any = OrderAccount.alias("home")
    return _at_home(home, getattr(home, column.name))


def _at_home(home: Any, value: Any) -> Any:
    return home.select(value).where(
        home.intent == PaymentIntent.id,
        home.chain_id == PaymentIntent.chain_id,
        home.token_address == PaymentIntent.token_address,
    )


def _forgiven() -> Any:
    home: Any = OrderAccount.alias("home")
    missing = PaymentIntent.amount - home.received
    most, none = PaymentIntent.tolerance, literal(0)
    # One subquery: by the cost of several, Postgres would compile statements for seconds.
    forgiven = _at_home(home, Case(None, [(missing > most, most), (missing > none, missing)], 0))
    # Most organizers accept nothing less, and then no account is read.
    return Case(None, [((most == none) | PaymentIntent.ended_at.is_null(False), none)], forgiven)


FORGIVEN = _forgiven()
"""What is forgiven of intents that are confirmed. Of others, what would be."""

_LEFT = PaymentIntent.amount - PaymentIntent.released
KEPT = Case(None, [(_LEFT > FORGIVEN, _LEFT - FORGIVEN)], 0)
"""What intents that are sold keep: their amount, less what was released and what is forgiven."""

TOLERANT = PaymentIntent.tolerance > literal(0)
"""The intents whose organizer accepts a little less. They have a partial index."""
