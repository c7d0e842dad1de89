"""Events of buyers and the organizer about refunds, in the property test's world."""

from collections.abc import Sequence

from tests.support.fake_chain import Send
from tests.support.property.catalog import SLUG
from tests.support.property.core import Core, refused
from ticketing.models.payment_intents import OWING, TO_REFUND, PaymentIntent
from ticketing.services.access.audit_log import Actor
from ticketing.services.payments import refund_addresses, refund_settlement, refunds, waivers

BY = Actor("cli", "test")


class Refunds(Core):
    """Stated addresses, transfers back to buyers, what they count for, and waivers."""

    refunds_sent: list[str]

    def state_address(self, who: int, which: int) -> None:
        """State where the money of one order shall go."""
        intent = self._owed(who) or self.intent(who, paid=True)
        if intent is not None:
            addresses = [*self.chain.buyers, self.chain.friend]
            with refused("nothing_received", "too_many_changes"):
                refund_addresses.state(SLUG, intent.id, addresses[which % len(addresses)])

    def send_refunds(self, whom: Sequence[tuple[int, str, str]], apart: bool) -> None:
        """Send money back for some orders in one block of their chain.

        `apart`: in a transaction for each.
        """
        owed = [(self._owed(who), to, how_much) for who, to, how_much in whom]
        for chain in self.chains.values():
            sends = [
                Send(chain.organizer, self._payee(intent, to), amount)
                for intent, to, how_much in owed
                if intent is not None
                and self.chain_of(intent) is chain
                and (amount := self._refund(intent, how_much)) > 0
            ]
            if sends:
                self.refunds_sent += chain.send(sends, self.chain_time(), apart=apart)
                self.model.see(chain)

    def settle_refund(self, who: int, which: int, named: bool) -> None:
        """Record one of the sent refunds for an order. 0 is the newest one."""
        intent = self._owed(who) or self.intent(who, paid=True)
        if self.refunds_sent and intent is not None:
            tx_hash = self.refunds_sent[-1 - which % len(self.refunds_sent)]
            recipient = self.chain.friend if named else None
            if named:
                self.model.name_recipient(intent.id, self.chain.friend)
            with refused("no_refund_due", "refund_not_seen", "chain_unavailable"):
                self._settle(intent, tx_hash, recipient)

    def waive(self, who: int, off_by: int) -> None:
        """Write off what is due to one order. Another amount is refused."""
        if intent := self._owed(who):
            amount = intent.refund_due_now + off_by
            with refused("amount_changed", "chain_unavailable"):
                waivers.waive(self.tenant.id, intent.id, amount, "less than the fee", BY)

    def give_all_back(self) -> None:
        """Pay everything that is owed. If everything works, nothing is owed afterwards."""
        owed = list(PaymentIntent.select().where(OWING).order_by(PaymentIntent.id))
        if not owed:
            return
        sent = []
        for intent in owed:
            chain, payee = self.chain_of(intent), intent.refund_address or self.chain.friend
            send = Send(chain.organizer, payee, self.atomic(intent.refund_due))
            sent += [(intent, payee, *chain.send([send], self.chain_time()))]
        self.mine(self.settings.confirmations)
        for intent, payee, tx_hash in sent:
            self.model.name_recipient(intent.id, payee)
            self._settle(intent, tx_hash, None if intent.refund_address else payee)
            assert not PaymentIntent.get_by_id(intent.id).refund_due, "not all can be given back"

    def _settle(self, intent: PaymentIntent, tx_hash: str, recipient: str | None) -> None:
        refund_settlement.settle(
            self.tenant.id, intent.id, tx_hash, recipient, self.config.chains, BY
        )

    def _owed(self, who: int) -> PaymentIntent | None:
        owed = list(PaymentIntent.select().where(TO_REFUND).order_by(PaymentIntent.id))
        return owed[who % len(owed)] if owed else None

    def _payee(self, intent: PaymentIntent, to: str) -> str:
        payers = [each.sender for each in refunds.owed_for(intent).payers]
        payer = payers[-1] if payers else self.chain.buyers[0]
        return {
            "payer": payer,
            "stated": intent.refund_address or payer,
            "friend": self.chain.friend,
        }[to]

    def _refund(self, intent: PaymentIntent, how_much: str) -> int:
        due = intent.refund_due_now
        amounts = {"all": due, "half": due // 2, "short": due - 1, "double": 2 * due}
        return self.atomic(amounts[how_much])
