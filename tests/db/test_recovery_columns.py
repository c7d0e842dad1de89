"""The migration that stores on which networks a wallet was sold on, of orders that exist."""

from tests.support.factories import CHAIN, new_organizer, worker_once
from tests.support.wallets import use_address
from ticketing.db import migrate
from ticketing.models.order_networks import OrderNetwork
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.wallets import Wallet

OWNER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


def test_networks_that_were_taken_off_are_found_in_orders(app, node):
    shop = new_organizer(app, "shop", address=OWNER)
    worker_once(app)
    shop.buyer(shop.ticket())
    path = f"{shop.path}/wallet"
    shop.api().get(f"{path}/recovery")
    use_address(shop.id, OWNER, 10)
    options = [OrderNetwork(each, OWNER, "USDC", 6, 1) for each in (137, CHAIN)]
    PaymentIntent.update(networks=options).execute()

    assert migrate.downgrade() == ["0071_recovery"]
    assert migrate.upgrade() == ["0071_recovery"]

    assert Wallet.get().all_chain_ids == {10, 137, CHAIN}
    answer = shop.api().get(path).json
    assert answer["warnings"] == ["recovery_file_not_saved"]
    (entry,) = shop.api().get(f"{path}/recovery").json["wallets"]
    assert (entry["chain_ids"], entry["other_chain_ids"]) == ([10], [137, CHAIN])
