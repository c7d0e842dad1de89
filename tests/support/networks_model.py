"""A model of one order that can be paid on several chains: plain Python, without a database.

The order has one home chain, which keeps its price. Money on any other chain is a stray. A stray on
a chain that the organizer offers may become the home: the order adopts it.

`Order` has a method for each thing that can happen. `check` raises Breach if the books are wrong.
`without` names rules that are left out, to prove that the model finds what they prevent.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

PRICE = 10
OPTIONS = (1, 2)
"""The chains that the organizer offers. The first is the home at the start."""

OTHER, FAR = 3, 4
"""A chain of the wallet that is no option, and one that the wallet cannot reach yet."""

CHAINS = (*OPTIONS, OTHER, FAR)

Status = Literal["awaiting", "processing", "confirmed", "reversed", "expired", "canceled"]
LIVE, SOLD = ("awaiting", "processing"), ("confirmed", "reversed")

Rule = Literal["unassigned", "asked_back_is_final", "owed_wins", "judged_once", "ended_is_owed"]
RULES: Sequence[Rule] = (
    "unassigned",  # a stray on an option is not owed while the order is live
    "asked_back_is_final",  # what the buyer asked back is never adopted
    "owed_wins",  # a late transfer is honoured only if it pays alone, and nothing is owed
    "judged_once",  # a late transfer that was refused is owed for ever
    "ended_is_owed",  # strays of an order that ended once are owed, also if it lives again
)


class Breach(AssertionError):
    """The books are wrong."""


@dataclass(eq=False)
class Payment:
    """One transfer. `honoured`: whether it paid for an order that had ended. None: not decided."""

    amount: int
    booked: bool = False
    canonical: bool = True
    final: bool = False
    honoured: bool | None = None


@dataclass(eq=False)
class Account:
    """What one chain holds for the order. `listed`: what the organizer's last list pays back."""

    chain: int
    payments: list[Payment] = field(default_factory=list)
    refunded: int = 0
    waivers: list[tuple[int, Sequence[Payment]]] = field(default_factory=list)
    asked_back: bool = False
    listed: int = 0

    @property
    def seen(self) -> list[Payment]:
        """Its payments that count."""
        return [each for each in self.payments if each.booked and each.canonical]

    @property
    def received(self) -> int:
        """All of them."""
        return sum(each.amount for each in self.seen)

    @property
    def waived(self) -> int:
        """What was written off, as far as its payments are still there."""
        removed = [
            (amount, sum(each.amount for each in of if not each.canonical))
            for amount, of in self.waivers
        ]
        return sum(max(0, amount - gone) for amount, gone in removed)

    @property
    def counted(self) -> int:
        """What was received, and neither refunded nor waived."""
        return self.received - self.refunded - self.waived

    @property
    def counted_final(self) -> int:
        """The same, from final payments."""
        return self.counted - sum(each.amount for each in self.seen if not each.final)

    @property
    def is_honoured(self) -> bool:
        """Whether a late transfer pays for an order that had ended."""
        return any(each.honoured for each in self.seen)


class Order:
    """One order, its accounts, and what can happen to them."""

    def __init__(self, without: Collection[Rule] = ()) -> None:
        self.status: Status = "awaiting"
        self.accounts = {chain: Account(chain) for chain in CHAINS}
        self.home = self.accounts[OPTIONS[0]]
        self.in_reach = {*OPTIONS, OTHER}
        self.has_ended = False
        self.has_stock = True
        self.is_settling = False
        self._has = frozenset(RULES) - frozenset(without)
        self._may_shrink: dict[int, int] = {}

    # What each account says.

    def unassigned(self, account: Account) -> int:
        """Money that may still become the home: neither kept nor owed."""
        is_open = self.status in LIVE and not (self.has_ended and "ended_is_owed" in self._has)
        is_option = account.chain in OPTIONS and account is not self.home
        if is_open and is_option and not account.asked_back and "unassigned" in self._has:
            return max(0, account.counted)
        return 0

    def out_of_reach(self, account: Account) -> int:
        """Money that the organizer cannot move yet."""
        return 0 if account.chain in self.in_reach else max(0, account.counted)

    def kept(self, account: Account) -> int:
        """What this account must keep for the ticket."""
        return PRICE if account is self.home and self.status in (*LIVE, *SOLD) else 0

    def due(self, account: Account) -> int:
        """What is owed from this account."""
        elsewhere = self.unassigned(account) + self.out_of_reach(account)
        return max(0, account.counted - self.kept(account) - elsewhere)

    # What can happen.

    def pay(self, chain: int, amount: int) -> None:
        """Somebody sends money. It counts when the chain is looked at."""
        self.accounts[chain].payments.append(Payment(amount))

    def look(self, chain: int) -> None:
        """Book what is new on a chain, oldest first."""
        account = self.accounts[chain]
        for payment in account.payments:
            if not payment.booked:
                payment.booked = True
                self._judge(account, payment)
        self._settle()

    def make_final(self, chain: int) -> None:
        """Add blocks until nothing of a chain can be removed by an ordinary reorganization."""
        for payment in self.accounts[chain].payments:
            payment.final = True
        self._settle()

    def reorganize(self, chain: int, which: int) -> None:
        """Remove a payment from a chain, or let it return."""
        account = self.accounts[chain]
        if account.payments:
            payment = account.payments[which % len(account.payments)]
            payment.canonical, payment.final = not payment.canonical, False
            # What goes is not owed any more. A list of before is of no use.
            self._may_shrink[chain] = PRICE * 1000
            account.listed = 0
            self._settle()

    def choose(self, chain: int) -> None:
        """The buyer moves the home: POST /intents/{id}/chain."""
        account = self.accounts[chain]
        is_open = self.status == "awaiting" and not self.has_ended and not self.is_settling
        if is_open and self.home.counted < PRICE and self._may_be_home(account):
            self.home = account
            self._settle()

    def ask_back(self, chain: int) -> None:
        """The buyer wants the money of a stray back."""
        account = self.accounts[chain]
        if self.unassigned(account):
            account.asked_back = True
            self._settle()

    def list_due(self, chain: int) -> None:
        """The organizer makes a list of what is due and final, to pay it later."""
        account = self.accounts[chain]
        account.listed = max(0, min(self.due(account), account.counted_final))

    def pay_list(self, chain: int) -> None:
        """The organizer pays what the list says."""
        account = self.accounts[chain]
        amount, account.listed = account.listed, 0
        if amount > self.due(account) + self.unassigned(account):
            raise Breach(f"chain {chain}: {amount} of the ticket's money is paid back")
        self._refund(account, amount)

    def refund_unassigned(self, chain: int, amount: int) -> None:
        """The organizer pays a part of a stray back that is not owed."""
        account = self.accounts[chain]
        self._refund(account, min(amount, self.unassigned(account)))

    def waive(self, chain: int) -> None:
        """The organizer writes off what is due."""
        account = self.accounts[chain]
        if amount := self.due(account):
            account.waivers.append((amount, tuple(account.seen)))
            account.listed = 0
            self._may_shrink[chain] = amount
            self._settle()

    def expire(self, down: Collection[int]) -> None:
        """The hold ends. All chains are looked at first, except those that are down."""
        if self.status == "awaiting" and self.home.chain not in down:
            for chain in CHAINS:
                if chain not in down:
                    self.look(chain)
            if self.status == "awaiting" and not self.is_settling:
                self.status, self.has_ended = "expired", True
                self._settle()

    def cancel(self) -> None:
        """The order is canceled."""
        if self.status == "awaiting" and self.home.counted <= 0:
            self.status, self.has_ended = "canceled", True
            self._settle()

    def sell_out(self, is_sold_out: bool) -> None:
        """Others buy the last seats, or give them back."""
        self.has_stock = not is_sold_out
        self._settle()

    def settle_transfer(self, is_settling: bool) -> None:
        """The settlement of an x402 client's signed transfer begins or ends."""
        self.is_settling = is_settling and self.status == "awaiting"
        self._settle()

    def reach(self) -> None:
        """The organizer adds the far chain to the wallet."""
        self.in_reach.add(FAR)
        self._settle()

    # What must be true.

    def owed(self) -> dict[int, int]:
        """Return what is due by chain, to compare with it later: see `check`."""
        self._may_shrink = {}
        return {chain: self.due(account) for chain, account in self.accounts.items()}

    def check(self, owed: dict[int, int]) -> None:
        """Compare the books with those before one event. Breach."""
        for chain, account in self.accounts.items():
            due, unassigned = self.due(account), self.unassigned(account)
            if due < owed[chain] - self._may_shrink.get(chain, 0):
                raise Breach(f"chain {chain}: {owed[chain]} were owed, now {due}")
            if unassigned and self.status not in LIVE:
                raise Breach(f"chain {chain}: {unassigned} are unassigned, but it is not live")
            spoken_for = due + unassigned + self.out_of_reach(account)
            # Below 0: a reorganization removed what was paid back.
            rest = account.received - account.refunded - account.waived - spoken_for
            if rest > self.kept(account):
                raise Breach(f"chain {chain}: {rest} are neither kept nor owed")
        if sum(self.kept(account) > 0 for account in self.accounts.values()) > 1:
            raise Breach("two accounts keep money for one ticket")
        if self.status == "confirmed" and self.home.counted < PRICE:
            raise Breach("a ticket is valid without its money")

    # How the order follows from its payments.

    def _may_be_home(self, account: Account) -> bool:
        is_asked_back = account.asked_back and "asked_back_is_final" in self._has
        return account.chain in OPTIONS and not is_asked_back

    def _refund(self, account: Account, amount: int) -> None:
        account.refunded += amount
        self._may_shrink[account.chain] = amount
        account.listed = 0
        self._settle()

    def _judge(self, account: Account, payment: Payment) -> None:
        """Decide whether a late transfer pays for an order that has ended."""
        if not self.has_ended or self.status not in ("expired", "awaiting"):
            return
        owes = any(
            each.counted - (payment.amount if each is account and payment.canonical else 0) > 0
            for each in self.accounts.values()
            if each.chain in self.in_reach
        )
        covers = payment.amount >= PRICE and not owes
        payment.honoured = (
            payment.canonical
            and (covers or "owed_wins" not in self._has)
            and account.counted >= PRICE
            and self.has_stock
            and self._may_be_home(account)
        )
        if payment.honoured:
            self.home = account

    def _settle(self) -> None:
        """Compute the status from the home's payments. Adopt a stray if it pays for the order."""
        if self.status == "expired" and "judged_once" not in self._has:
            for account in self.accounts.values():
                for payment in account.seen:
                    self._judge(account, payment)
        is_open = self.status == "awaiting" or (self.status == "processing" and not self._is_paid)
        if is_open and not self._is_paid and not self.has_ended and not self.is_settling:
            able = [
                account
                for account in self.accounts.values()
                if account.counted >= PRICE and self._may_be_home(account)
            ]
            self.home = able[0] if able else self.home
        self.status = self._status()

    @property
    def _is_paid(self) -> bool:
        is_in_time = not self.has_ended or self.home.is_honoured
        return self.home.counted >= PRICE and is_in_time

    def _status(self) -> Status:
        is_final = self.home.counted_final >= PRICE
        if self.status == "canceled":
            return "canceled"
        if self.status in SOLD:
            stays = self.status == "confirmed" and self._is_paid
            return "confirmed" if is_final or stays else "reversed"
        if self._is_paid:
            return "confirmed" if is_final else "processing"
        return "expired" if self.status == "expired" else "awaiting"
