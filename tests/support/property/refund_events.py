"""Events of buyers and the organizer about refunds, in the property test's world."""

from collections.abc import Sequence
from typing import Any

from tests.support.fake_chain import Send
from tests.support.property.core import Core, refused
from ticketing.models.order_accounts import OWING, TO_REFUND, OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.access.audit_log import Actor
from ticketing.services.payments import refund_addresses, refund_settlement, refunds, waivers

BY = Actor("cli", "test")


class Refunds(Core):
    """Stated addresses, transfers back to buyers, what they count for, and waivers."""

    refunds_sent: list[str]

    def state_address(self, who: int, which: int) -> None:
        """State where the money of one order shall go."""
        account = self._owed(who) or self._home(who)
        if account is not None:
            addresses = [*self.chain.buyers, self.chain.friend]
            address = addresses[which % len(addresses)]
            with refused("nothing_received", "too_many_changes"):
                refund_addresses.state(account.order, address, self.config, account.chain_id)

    def send_refunds(self, whom: Sequence[tuple[int, str, str]], apart: bool) -> None:
        """Send money back for some orders in one block of their chain.

        `apart`: in a transaction for each.
        """
        owed = [(self._owed(who), to, how_much) for who, to, how_much in whom]
        for chain in self.chains.values():
            sends = [
                Send(chain.organizer, self._payee(account, to), amount)
                for account, to, how_much in owed
                if account is not None
                and self.chain_of(account) is chain
                and (amount := self._refund(account, how_much)) > 0
            ]
            if sends:
                self.refunds_sent += chain.send(sends, self.chain_time(), apart=apart)
                self.model.see(chain)

    def settle_refund(self, who: int, which: int, named: bool) -> None:
        """Record one of the sent refunds for an order. 0 is the newest one."""
        account = self._owed(who) or self._home(who)
        if self.refunds_sent and account is not None:
            tx_hash = self.refunds_sent[-1 - which % len(self.refunds_sent)]
            recipient = self.chain.friend if named else None
            if named:
                self.model.name_recipient(account.intent_id, self.chain.friend)
            with refused("no_refund_due", "refund_not_seen", "chain_unavailable"):
                self._settle(account, tx_hash, recipient)

    def waive(self, who: int, off_by: int) -> None:
        """Write off what is due to one order. Another amount is refused."""
        if account := self._owed(who):
            amount, of = account.due_now + off_by, account.intent_id
            with refused("amount_changed", "chain_unavailable"):
                waivers.waive(self.tenant.id, of, amount, "a fee", BY, account.chain_id)

    def give_all_back(self) -> None:
        """Pay everything that is owed. If everything works, nothing is owed afterwards."""
        owed = _accounts(OWING)
        if not owed:
            return
        sent = []
        for account in owed:
            chain, payee = self.chain_of(account), account.refund_address or self.chain.friend
            send = Send(chain.organizer, payee, self.atomic(account.due))
            sent += [(account, payee, *chain.send([send], self.chain_time()))]
        self.mine(self.settings.confirmations)
        for account, payee, tx_hash in sent:
            self.model.name_recipient(account.intent_id, payee)
            self._settle(account, tx_hash, None if account.refund_address else payee)
        assert not _accounts(OWING), "not all can be given back"

    def _settle(self, account: OrderAccount, tx_hash: str, recipient: str | None) -> None:
        enabled, of = self.config.chains, account.intent_id
        refund_settlement.settle(
            self.tenant.id, of, tx_hash, recipient, enabled, BY, account.chain_id
        )

    def _owed(self, who: int) -> OrderAccount | None:
        owed = _accounts(TO_REFUND)
        return owed[who % len(owed)] if owed else None

    def _home(self, who: int) -> OrderAccount | None:
        order = self.intent(who, paid=True)
        return None if order is None else order.home

    def _payee(self, account: OrderAccount, to: str) -> str:
        payers = [each.sender for each in refunds.owed_for(account).payers]
        payer = payers[-1] if payers else self.chain.buyers[0]
        return {
            "payer": payer,
            "stated": account.refund_address or payer,
            "friend": self.chain.friend,
        }[to]

    def _refund(self, account: OrderAccount, how_much: str) -> int:
        due = account.due_now
        amounts = {"all": due, "half": due // 2, "short": due - 1, "double": 2 * due}
        return self.atomic(amounts[how_much])


def _accounts(condition: Any) -> list[OrderAccount]:
    """Return the accounts that meet a condition, by order."""
    found = OrderAccount.select(OrderAccount, PaymentIntent).join(PaymentIntent).where(condition)
    return list(found.order_by(OrderAccount.intent, OrderAccount.id))
