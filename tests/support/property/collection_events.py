"""Events of strangers who collect, and of the organizer's wallet, in the property test's world."""

import itertools
from collections.abc import Sequence

from tests.support.fake_chain import Send
from tests.support.property.core import Core
from tests.support.wallets import use_address
from ticketing.chain import receivers
from ticketing.models.payment_intents import PaymentIntent


class Collections(Core):
    """Anybody may send the money of receivers to their owner, at any moment."""

    def collect(self, whom: Sequence[int], direct: bool, stray: bool) -> None:
        """Collect some orders in one transaction of each chain and owner.

        `stray`: pay the gathering receiver before.
        """
        chosen = [self.intent(who, paid=True) for who in whom]
        for chain, owner in itertools.product(self.chains.values(), self.wallets):
            if stray:
                gathering = receivers.receiver_address(owner, receivers.GATHERING_SALT)
                chain.send([Send(chain.buyers[0], gathering, 5)], self.chain_time())
            orders = {
                intent.terms.address: _salt(intent)
                for intent in chosen
                if intent is not None
                and intent.chain_id == chain.chain_id
                and intent.wallet is not None
                and intent.wallet.owner == owner
            }
            if orders:
                chain.collect(owner, list(orders.items()), self.chain_time(), direct=direct)
            self.model.see(chain)

    def change_wallet(self, which: int) -> None:
        """Let new orders be paid to one of the organizer's addresses."""
        use_address(self.tenant.id, self.wallets[which], *self.chains)


def _salt(intent: PaymentIntent) -> bytes:
    wallet = intent.wallet
    assert wallet is not None
    return receivers.order_salt(bytes.fromhex(wallet.secret), intent.address_index or 0)
