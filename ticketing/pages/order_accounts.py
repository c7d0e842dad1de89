"""What the page of an order shows of its money on each network: its home, and its stray accounts.

The amounts of two networks are never added up: each is paid back where it arrived.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ticketing.config import Config
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.stray_accounts import Account, StrayAccount
from ticketing.services import chains


@dataclass(frozen=True)
class OtherNetwork:
    """A network besides the home on which an order can be paid now."""

    chain_id: int
    name: str


@dataclass(frozen=True)
class AccountView:
    """One account of an order. `network` is the name of its chain.

    `can_be_home`: the buyer can move the order there now.
    """

    account: Account
    network: str
    can_be_home: bool = False

    @property
    def key(self) -> str:
        """What names the account in the page, and in its address as `?back=`."""
        return f"{self.account.chain_id}-{self.account.token_address}"

    @property
    def is_stray(self) -> bool:
        """Whether it is another account than the home."""
        return isinstance(self.account, StrayAccount)

    @property
    def unassigned(self) -> int:
        """What may still pay for the order, in micro-units."""
        return self.account.unassigned if isinstance(self.account, StrayAccount) else 0

    @property
    def out_of_reach(self) -> int:
        """What the organizer cannot pay back yet, in micro-units."""
        return self.account.out_of_reach if isinstance(self.account, StrayAccount) else 0

    @property
    def was_asked_back(self) -> bool:
        """Whether it could have paid for the order, and the buyer wanted it back."""
        stray = self.account
        return isinstance(stray, StrayAccount) and stray.is_option and bool(stray.asked_back_at)

    @property
    def rest(self) -> int:
        """What is missing there to pay for the order, in micro-units. 0: nothing."""
        account = self.account
        if not isinstance(account, StrayAccount):
            return int(account.amount_due)
        return max(0, int(account.order.amount) - account.counted)

    @property
    def has_refund(self) -> bool:
        """Whether money is owed there, or was."""
        account = self.account
        return bool(account.refund_due or account.refunds or account.waived)

    @property
    def is_news(self) -> bool:
        """Whether it is a stray account of which the buyer must know, or should do something."""
        is_open = self.account.refund_due and not self.account.refund_address
        return self.is_stray and bool(self.unassigned or self.out_of_reach or is_open)

    @property
    def marker(self) -> str:
        """What can change of a stray account. static/pages/order.js writes it too."""
        account = self.account
        parts = (
            account.chain_id,
            account.amount_received,
            self.unassigned,
            account.refund_due,
            account.refund_pending,
            self.out_of_reach,
            len(account.refunds),
            account.refund_address or "",
        )
        return "/".join(map(str, parts))

    def is_named_by(self, values: Mapping[str, str]) -> bool:
        """Return whether the fields of a form name this account. Without any, it is the home."""
        chain_id = values.get("chain_id", "")
        if not chain_id:
            return not self.is_stray
        token = values.get("token_address", self.account.token_address or "")
        is_token = token.lower() == (self.account.token_address or "").lower()
        return is_token and chain_id == str(self.account.chain_id)


def of(intent: PaymentIntent, others: Sequence[OtherNetwork], config: Config) -> list[AccountView]:
    """Return the home of an order that has its payment details, then its stray accounts.

    A free order has none. `others`: as `other_networks` returns them.
    """
    if intent.chain_id is None:
        return []
    available = {each.chain_id for each in others}
    home = AccountView(intent, chains.name_of(intent.chain_id, config))
    strays = [
        AccountView(
            account,
            chains.name_of(account.chain_id, config),
            can_be_home=bool(account.unassigned) and account.chain_id in available,
        )
        for account in intent.strays
    ]
    return [home, *strays]


def other_networks(intent: PaymentIntent, config: Config) -> list[OtherNetwork]:
    """Return the networks to which the buyer can move an order that has its payment details."""
    return [
        OtherNetwork(chain_id, chains.name_of(chain_id, config))
        for chain_id in (each.chain_id for each in intent.payment_options if each.available)
        if chain_id != intent.chain_id
    ]
