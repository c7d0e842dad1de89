"""What the page of an order shows. It reads no chain, and changes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property

from ticketing import clock
from ticketing.config import Config
from ticketing.constants import (
    LATE_PAYMENT,
    LIVE,
    Flag,
    IntentStatus,
    Publication,
)
from ticketing.models.admissions import Admission
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payments import Payment
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.pages import order_accounts, pictures
from ticketing.pages.order_accounts import AccountView, OtherNetwork
from ticketing.pages.pace import QuickPages
from ticketing.services import admission_views, chains, exchange_rates
from ticketing.services.images import Picture
from ticketing.services.orders import answers, finality, intents, items
from ticketing.services.payments import demo_wallet, hold_extensions, wallet_requests
from ticketing.services.payments.wallet_requests import WalletRequests
from ticketing.services.x402 import gasless
from ticketing.services.x402.gasless import Offer

_UNSEEN_AFTER = timedelta(seconds=90)
"""A worker without open orders looks every 20 s."""

_POLLS_UNSEEN = 10
_TIMER_PART = 4
"""The timer runs in the last quarter of the hold."""


class State(StrEnum):
    """What the page is about. Each has a template in templates/pages/order."""

    FREE = "free"
    PAY = "pay"
    PROCESSING = "processing"
    CONFIRMED = "confirmed"
    EXPIRED = "expired"
    CANCELED = "canceled"
    REVERSED = "reversed"


class Way(StrEnum):
    """A way to pay. The address of the page has it as `?way=`."""

    BROWSER = "browser"
    PHONE = "phone"
    EXCHANGE = "exchange"


_ENDED = (State.EXPIRED, State.CANCELED)
_CODES_SHOWN = 10
"""Tickets that the page shows with their QR codes. Of the others it has links."""

_ASKED_QUICKLY, _ASKED_EVERY, _ASKED_SELDOM = 0.8, 3, 30
"""How often the page asks for news, in seconds: quickly or not while it waits, else seldom.

Quickly, a ticket is seen within 2 s of its block, if the worker looks every second.
"""

_QUICK_PAGES = QuickPages(120)
"""For each process. So they ask at most 150 times a second, which takes an eighth of a core."""


@dataclass(frozen=True)
class OrderView:
    """An order as its page shows it. `is_unseen`: its chain cannot be read at the moment.

    `ticket_types` are those of its items, by id. Of `asked` tickets that the page shows,
    `unanswered` lack answers to the organizer's questions. `can_mail`: the service sends mails.
    `payments` are the largest ones. `has_more_payments`: there are others, which are not shown.
    `chosen_way`: how the buyer wants to pay, None before they chose. `told`: what wallets and
    exchanges need to know. `gasless`: the offer to pay without a network fee. `euros`: what is due,
    in euros, if that is known. `image`: the event's picture, while the order can be paid.
    `is_quick`: it asks quickly for news. `accounts`: its home, then its stray accounts; a free
    order has none. `others`: the networks to which the buyer can move it now. `back`: the key of
    the account for which the page asks where the money shall go.
    """

    intent: PaymentIntent
    event: Event
    tenant: Tenant
    ticket_types: Mapping[str, TicketType]
    network: str
    payments: Sequence[Payment]
    has_more_payments: bool
    is_unseen: bool
    can_mail: bool
    now: datetime
    told: WalletRequests
    gasless: Offer | None
    euros: str | None
    image: Picture | None
    accounts: Sequence[AccountView]
    others: Sequence[OtherNetwork]
    is_quick: bool = False
    asked: int = 0
    unanswered: int = 0
    chosen_way: Way | None = None
    back: str | None = None

    @property
    def writes_mail(self) -> bool:
        """Whether the buyer gets mails about the order."""
        return self.can_mail and self.intent.buyer_email is not None

    @property
    def tickets(self) -> Sequence[Admission]:
        """The tickets that are the buyer's still."""
        return [each for each in self.intent.admissions if each.shown_code]

    @property
    def first_admissions(self) -> Sequence[Admission]:
        """The tickets that the page shows with their QR codes."""
        shown: Sequence[Admission] = self.intent.admissions[:_CODES_SHOWN]
        return shown

    @property
    def more_admissions(self) -> Sequence[Admission]:
        """The tickets of a large order that the page only has links of."""
        more: Sequence[Admission] = self.intent.admissions[_CODES_SHOWN:]
        return more

    @property
    def is_in(self) -> bool:
        """Whether the buyer can enter with a ticket of the order, or could."""
        is_confirmed = self.state is State.CONFIRMED
        return is_confirmed and not self.is_event_canceled and bool(self.tickets)

    @property
    def is_transferable(self) -> bool:
        """Whether one of its tickets can be passed on."""
        types = self.ticket_types
        return any(types[each.ticket_type_id].transferable for each in self.tickets)

    @property
    def return_fees(self) -> Mapping[str, int]:
        """What the organizer keeps of a ticket that is given back, in percent, by its type.

        Without the types of which no ticket can be given back now.
        """
        if self.now >= self.event.returns_end:
            return {}
        fees = {each.ticket_type_id: each.return_fee_percent for each in self.intent.items}
        return {key: fee for key, fee in fees.items() if fee is not None}

    @property
    def explorer_url(self) -> str | None:
        """A website that shows the payments of the order."""
        return self.accounts[0].explorer_url if self.accounts else None

    @cached_property
    def state(self) -> State:
        """What the page is about."""
        status = IntentStatus(self.intent.status)
        if status is not IntentStatus.AWAITING_PAYMENT:
            return State(status)
        if self.intent.chain_id is None:
            return State.FREE
        # A payment for an order that had expired was removed. No other one is asked for.
        return State.PAY if self.intent.amount_due else State.REVERSED

    @property
    def waits(self) -> bool:
        """Whether the order waits for the chain."""
        return self.state in (State.PAY, State.PROCESSING, State.REVERSED)

    @property
    def asks_every(self) -> float:
        """After how many seconds the page asks for news. 0: never."""
        if self.waits:
            return _ASKED_QUICKLY if self.is_quick else _ASKED_EVERY
        is_owed = self.owed or any(each.out_of_reach for each in self.accounts)
        is_open = is_owed or self.intent.early or self.state in _ENDED
        return _ASKED_SELDOM if is_open else 0

    @property
    def marker(self) -> str:
        """What the page shows of the order that can change. static/pages/order.js writes it too."""
        intent = self.intent
        parts = (
            intent.status,
            intent.amount_received,
            intent.amount_due,
            intent.confirmations,
            intent.refund_due,
            intent.home.pending,
            len(intent.refunds),
            intent.home.refund_address or "",
            intent.payee.waiting_address or "",
            clock.rfc3339(intent.expires_at),
            intent.chain_id or "",
            *(each.marker for each in self.strays),
        )
        return " ".join(map(str, parts))

    @property
    def strays(self) -> Sequence[AccountView]:
        """The accounts that are not its home."""
        return self.accounts[1:]

    @property
    def is_settling(self) -> bool:
        """Whether a signed transfer is on its way: the buyer must not pay in another way."""
        return self.gasless is not None and self.gasless.is_settling

    @property
    def offered(self) -> Sequence[OtherNetwork]:
        """The other networks, without those on which the page asks for the rest.

        None while a signed transfer is on its way: nothing moves the order then.
        """
        if self.is_settling:
            return ()
        asked = {each.books.chain_id for each in self.strays if each.can_be_home}
        return [each for each in self.others if each.chain_id not in asked]

    @property
    def news(self) -> Sequence[AccountView]:
        """The stray accounts that the page of an unpaid order shows first."""
        return [each for each in self.strays if each.is_news]

    @property
    def unassigned(self) -> Sequence[AccountView]:
        """The accounts with money that may still pay for the order."""
        return [each for each in self.accounts if each.unassigned]

    @property
    def owed(self) -> Sequence[AccountView]:
        """The accounts with money that is owed."""
        return [each for each in self.accounts if each.books.due]

    @property
    def refunds_first(self) -> Sequence[AccountView]:
        """The accounts whose refund the page of an unpaid order shows before how to pay."""
        is_unpaid = self.state is State.PAY
        return [each for each in self.news if each.has_refund] if is_unpaid else []

    @property
    def refunds_last(self) -> Sequence[AccountView]:
        """The other accounts with money that is owed, or was."""
        first = {each.key for each in self.refunds_first}
        return [each for each in self.accounts if each.has_refund and each.key not in first]

    @property
    def was_paid_back(self) -> bool:
        """Whether some of its money was sent back."""
        return any(each.books.refunds for each in self.accounts)

    @property
    def blocks_needed(self) -> int:
        """With how many blocks the order is confirmed."""
        return finality.blocks_needed(self.intent)

    @property
    def blocks_seen(self) -> int:
        """How many blocks the payment has, at most those that it needs."""
        return min(self.intent.confirmations, self.blocks_needed)

    @property
    def minutes_to_final(self) -> int | None:
        """In about how many minutes an early order is final. None: not known."""
        return finality.minutes_left(self.intent)

    @property
    def minutes_to_confirm(self) -> int | None:
        """In about how many minutes an order that is paid is confirmed. None: not known."""
        return finality.minutes_of(self.intent, self.blocks_needed - self.blocks_seen)

    @property
    def came_late(self) -> bool:
        """Whether all of the amount arrived, but after the tickets were held."""
        is_paid = 0 < self.intent.amount <= self.intent.amount_received
        return self.state is State.EXPIRED and is_paid

    @property
    def timer_from(self) -> datetime:
        """When the timer begins to run."""
        ends: datetime = self.intent.expires_at
        began: datetime = self.intent.created_at
        return ends - (ends - began) / _TIMER_PART

    @property
    def way(self) -> Way:
        """How the page shows to pay. A script changes to a wallet that it finds in the browser."""
        return self.chosen_way or Way.PHONE

    @property
    def can_be_extended(self) -> bool:
        """Whether to ask for a longer hold if the buyer chooses an exchange."""
        return hold_extensions.is_offered(self.intent)

    @property
    def late_until(self) -> datetime | None:
        """Until when a late payment can still buy the tickets. None: not at all.

        A late order needs one transfer of all that it costs, and nothing else that it received.
        """
        if self.intent.amount_received or self.unassigned or self.owed:
            return None
        ends = [each.sales_end_at for each in self.ticket_types.values()]
        deadline: datetime = self.intent.expires_at
        latest = min(filter(None, [deadline + LATE_PAYMENT, self.event.over_at, *ends]))
        return latest if latest > deadline else None

    @property
    def was_removed(self) -> bool:
        """Whether a reorganization removed a payment that may come back while the order waits."""
        return Flag.REORGED in self.intent.flags and self.intent.grace_until is not None

    @property
    def is_on_sale(self) -> bool:
        """Whether the event and one of its ticket types are published, and it is not over."""
        return self._is_event_on_sale and any(self._are_published)

    @property
    def _is_event_on_sale(self) -> bool:
        return self.event.status == Publication.PUBLISHED and self.now < self.event.over_at

    @property
    def _are_published(self) -> list[bool]:
        return [each.status == Publication.PUBLISHED for each in self.ticket_types.values()]

    @property
    def is_event_canceled(self) -> bool:
        """Whether the organizer has canceled the event."""
        return bool(self.event.status == Publication.CANCELED)

    @property
    def can_order_again(self) -> bool:
        """Whether the order ended without money that is owed, and all of it is still sold."""
        is_over = self.state in _ENDED and not self.owed
        return is_over and self._is_event_on_sale and all(self._are_published)

    @property
    def has_demo_wallet(self) -> bool:
        """Whether the page offers the demo wallet."""
        return not self.is_settling and demo_wallet.exists_for(self.intent)


def read(
    intent: PaymentIntent, config: Config, way: Way | None = None, back: str | None = None
) -> OrderView:
    """Return what the page of an order shows, as `intents.find` returned it.

    `way`: how the buyer wants to pay. `back`: the key of an account, see OrderView.
    """
    intents.add_payment_details([intent])
    admission_views.add_to_order(intent, intent.event.online_join_url, config.keyring)
    now, payments = clock.now(), intents.largest_payments_of(intent)
    asked = _still_asked(intent, now)
    is_payable = intent.status in LIVE and intent.chain_id is not None
    return OrderView(
        intent=intent,
        event=intent.event,
        tenant=intent.tenant,
        ticket_types=items.types_of(intent),
        network=chains.name_of(intent.chain_id, config),
        payments=[
            each for each in payments if each.canonical and each.account_id == intent.home.id
        ],
        has_more_payments=intents.count_payments(intent, payments) > len(payments),
        is_unseen=is_unseen(intent, config, now),
        can_mail=config.smtp is not None,
        now=now,
        told=wallet_requests.of(intent, config),
        gasless=gasless.offer(intent, config),
        euros=exchange_rates.euros(intent.amount_due) if config.fx_url else None,
        image=pictures.picture_of(intent.event) if is_payable else None,
        is_quick=_waits_for_chain(intent) and _QUICK_PAGES.take(),
        accounts=order_accounts.of(intent, config),
        others=order_accounts.other_networks(intent, config),
        asked=len(asked),
        unanswered=len(answers.incomplete(intent.event, asked)),
        chosen_way=way,
        back=back,
    )


def _still_asked(intent: PaymentIntent, now: datetime) -> Sequence[Admission]:
    """Return the tickets that are the buyer's still, until the doors open."""
    if now >= intent.event.doors_open:
        return []
    return [each for each in intent.admissions if each.shown_code and not each.redeemed_at]


def _waits_for_chain(intent: PaymentIntent) -> bool:
    waiting = (*LIVE, IntentStatus.REVERSED)
    return intent.chain_id is not None and intent.status in waiting


def is_unseen(intent: PaymentIntent, config: Config, now: datetime) -> bool:
    """Return whether an order waits for a chain that the worker has not read for some time."""
    if not _waits_for_chain(intent):
        return False
    state = chains.states().get(intent.chain_id or 0)
    looked_at = None if state is None else state.looked_at
    patience = max(_UNSEEN_AFTER, timedelta(seconds=_POLLS_UNSEEN * config.poll_seconds))
    return looked_at is None or now - looked_at > patience
