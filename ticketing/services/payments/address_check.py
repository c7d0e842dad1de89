"""Compute the address of each order again, from its wallet and index, for `reconcile`.

An address that does not follow from its order's wallet is one that the organizer may not be able to
empty: a wrong row, or somebody who changed it. No rule in SQL can find it.

An address takes 23 microseconds of CPU. The command checks all, in pages. A request checks the
newest RECENT: a change that goes on shows there.
"""

from __future__ import annotations

from collections.abc import Iterator

from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.wallets import Wallet
from ticketing.services.payments.reconciliation import Breach
from ticketing.services.wallets import issuing

ROWS_PER_PAGE = 1000
"""How many orders are in memory at a time."""

RECENT = 2000
"""How many orders of a tenant one request checks."""

RULE = "address_of_wallet"


class AddressCheck:
    """One check of all orders of a tenant, or of all tenants (None). `run` does it.

    `done` is how many orders it has checked.
    """

    def __init__(self, tenant_id: str | None, *, most: int | None = None) -> None:
        """`most`: check only so many of the newest orders. None: all."""
        self._tenant_id = tenant_id
        self._left = most
        self._wallets: dict[str, Wallet] = {}
        self.done = 0

    def run(self) -> Iterator[list[Breach]]:
        """Check the orders, the newest first. Yield the differences of each page."""
        before: str | None = None
        while self._left != 0 and (page := self._page(before)):
            before = page[-1].id
            found = [breach for intent in page if (breach := self._difference(intent)) is not None]
            self.done += len(page)
            if self._left is not None:
                self._left -= len(page)
            yield found

    def _page(self, before: str | None) -> list[PaymentIntent]:
        intent = PaymentIntent
        query = intent.select(
            intent.id, intent.chain_id, intent.wallet, intent.address_index, intent.address
        )
        if self._tenant_id is not None:
            query = query.where(intent.tenant == self._tenant_id)
        if before is not None:
            query = query.where(intent.id < before)
        most = ROWS_PER_PAGE if self._left is None else min(ROWS_PER_PAGE, self._left)
        return list(query.order_by(intent.id.desc()).limit(most))

    def _difference(self, intent: PaymentIntent) -> Breach | None:
        if intent.chain_id is None:
            return None
        wallet = self._wallet(intent.wallet_id)
        if wallet is None or intent.address_index is None:
            return Breach(RULE, [intent.id], "it has no wallet or no index")
        if intent.address_index >= wallet.next_index:
            index = intent.address_index
            return Breach(RULE, [intent.id], f"its wallet has not issued the index {index} yet")
        expected = issuing.address_of(wallet, intent.address_index)
        if expected == intent.address:
            return None
        return Breach(
            RULE,
            [intent.id],
            f"its address is {intent.address}, not {expected}, which follows from its wallet",
        )

    def _wallet(self, wallet_id: str | None) -> Wallet | None:
        """Return a wallet. It is read after the newest of its orders, so it has their indexes."""
        if wallet_id is None:
            return None
        if wallet_id not in self._wallets:
            self._wallets[wallet_id] = Wallet.get_by_id(wallet_id)
        return self._wallets[wallet_id]
