"""What the page of an order shows of its money on each network: its home, and its stray accounts.

The amounts of two networks are never added up: each is paid back where it arrived.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from ticketing.config import Config
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import chains
from ticketing.services.payments import payee_states


@dataclass(frozen=True)
class OtherNetwork:
    """A network besides the home on which an order can be paid now."""

    chain_id: int
    name: str


@dataclass(frozen=True)
class AccountView:
    """One account of an order. `books`: what it received and owes. `network`: its chain's name.

    `explorer_url`: a website that shows the transactions of the chain, if one is known.
    `can_be_home`: it has money that may still pay for the order, and its chain was read a moment
    ago. So the order can be moved there, unless a signed transfer is settling. `prepared_until`:
    until then, a list of the organizer can still pay it to an address of before.
    """

    books: OrderAccount
    network: str
    explorer_url: str | None = None
    can_be_home: bool = False
    prepared_until: datetime | None = None

    @property
    def key(self) -> str:
        """What names the account in the page, and in its address as `?back=`."""
        return f"{self.books.chain_id}-{self.books.token_address}"

    @property
    def is_stray(self) -> bool:
        """Whether it is another account than the home."""
        return not self.books.is_home

    @property
    def unassigned(self) -> int:
        """What may still pay for the order, in micro-units."""
        return int(self.books.open) if self.is_stray else 0

    @property
    def out_of_reach(self) -> int:
        """What the organizer cannot pay back yet, in micro-units."""
        return int(self.books.out_of_reach)

    @property
    def was_asked_back(self) -> bool:
        """Whether it could have paid for the order, and the buyer wanted it back."""
        return self.is_stray and self.books.is_option and self.books.asked_back

    @property
    def rest(self) -> int:
        """What is missing there to pay for the order, in micro-units. 0: nothing."""
        order = self.books.order
        return max(0, int(order.amount) - self.books.counted) if self.is_stray else order.amount_due

    @property
    def has_refund(self) -> bool:
        """Whether money is owed there, or was."""
        books = self.books
        return bool(books.due or books.refunds or books.waived)

    @property
    def is_news(self) -> bool:
        """Whether it is a stray account of which the buyer must know, or should do something."""
        stated = self.books.refund_address or self.books.payee.waiting_address
        is_open = self.books.due and not stated
        return self.is_stray and bool(self.unassigned or self.out_of_reach or is_open)

    @property
    def marker(self) -> str:
        """What can change of a stray account. static/pages/order.js writes it too."""
        books = self.books
        parts = (
            books.chain_id,
            books.received,
            self.unassigned,
            books.due,
            books.pending,
            self.out_of_reach,
            len(books.refunds),
            books.refund_address or "",
            books.payee.waiting_address or "",
        )
        return "/".join(map(str, parts))

    def is_named_by(self, values: Mapping[str, str]) -> bool:
        """Return whether the fields of a form name this account. Without any, it is the home."""
        chain_id = values.get("chain_id", "")
        if not chain_id:
            return not self.is_stray
        token = values.get("token_address", self.books.token_address)
        is_token = token.lower() == (self.books.token_address).lower()
        return is_token and chain_id == str(self.books.chain_id)


def of(intent: PaymentIntent, config: Config) -> list[AccountView]:
    """Return the home of an order that has its payment details, then its stray accounts.

    A free order has none.
    """
    if intent.chain_id is None:
        return []
    # An account that pays for all of the order is not `available`: nothing is missing there.
    states = chains.states() if any(each.open for each in intent.strays) else {}
    seen = {chain_id for chain_id, state in states.items() if chains.is_fresh(state)}
    books = intent.home
    home = AccountView(
        books, *_chain(books.chain_id, config), prepared_until=_prepared_until(books)
    )
    strays = [
        AccountView(
            account,
            *_chain(account.chain_id, config),
            can_be_home=bool(account.open) and account.chain_id in seen,
            prepared_until=_prepared_until(account),
        )
        for account in intent.strays
    ]
    return [home, *strays]


def _prepared_until(account: OrderAccount) -> datetime | None:
    """Return until when an account that has had several payees can be paid to an earlier one."""
    payee = account.payee.waiting_address or account.refund_address
    if not account.due or payee is None:
        return None
    return payee_states.prepared_until(account, payee)


def _chain(chain_id: int, config: Config) -> tuple[str, str | None]:
    """Return the name and the explorer of a chain."""
    known = chains.known_as(chain_id, config)
    return chains.name_of(chain_id, config), None if known is None else known.explorer_url


def other_networks(intent: PaymentIntent, config: Config) -> list[OtherNetwork]:
    """Return the networks to which the buyer can move an order that has its payment details."""
    return [
        OtherNetwork(chain_id, chains.name_of(chain_id, config))
        for chain_id in (each.chain_id for each in intent.payment_options if each.available)
        if chain_id != intent.chain_id
    ]
