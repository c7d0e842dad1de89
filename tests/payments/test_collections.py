"""What anybody collects from receivers: its owner has it, and the books explain each balance."""

from datetime import timedelta

import pytest

from tests.support.bad_node import checked_watcher
from tests.support.factories import CHAIN, PRICE, cli, new_organizer, worker_once
from tests.support.receivers import COIN, STRANGER, Chain, data_of, gathering, transfers_in
from tests.support.wallets import issued
from ticketing.backoff import Backoff
from ticketing.chain import receivers
from ticketing.chain.address import checksum
from ticketing.models.collections import Collection
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.payments import booking, collections
from ticketing.worker.watcher import Watcher
from tools import anvil

pytestmark = pytest.mark.sql

OWNER = checksum("0x" + "e0" * 20)
HALF = PRICE // 2
TWO_DAYS = 2 * 86_400


@pytest.fixture
def chain(node):
    """The node, with the factory."""
    return Chain(node)


@pytest.fixture
def shop(app, chain):
    """A tenant whose wallet is OWNER."""
    shop = new_organizer(app, "shop", address=OWNER)
    worker_once(app)
    return shop


def collect(chain, *buyers, token=anvil.TOKEN_ADDRESS, direct=False):
    """Collect orders, as a stranger. Return the receipt."""
    salts = []
    for buyer in buyers:
        intent = PaymentIntent.get_by_id(buyer.intent["id"])
        secret = bytes.fromhex(intent.wallet.secret)
        salts.append(receivers.order_salt(secret, intent.address_index))
    return chain.collect(intent.wallet.owner, token, salts, direct=direct)


def collected(*buyers):
    """Return recipient and amount of each canonical collection of some buyers, in order."""
    of_them = [buyer.intent["id"] for buyer in buyers]
    rows = Collection.select().where(Collection.intent.in_(of_them), Collection.canonical)
    in_order = rows.order_by(Collection.block_number, Collection.log_index)
    return [(row.recipient, row.amount) for row in in_order]


def held(buyer):
    """Return what the books say that an order's receiver holds."""
    home = PaymentIntent.get_by_id(buyer.intent["id"]).home
    return collections.held([home])[home.id]


def money(buyer):
    intent = buyer.now()
    return intent["status"], intent["amount_received"], intent["refund_due"]


def pass_time(chain, seconds):
    chain.rpc("evm_increaseTime", seconds)
    chain.rpc("anvil_mine", "0x1")


def test_a_stranger_collects_and_the_owner_has_it_in_one_transfer(app, shop, chain, node):
    ticket = shop.ticket()
    ada, bob = shop.buyer(ticket), shop.buyer(ticket)
    ada.pay(node)
    bob.pay(node, PRICE + 1)
    worker_once(app)
    moved = transfers_in(collect(chain, ada, bob))
    to_owner = [amount for _, recipient, amount in moved if recipient == OWNER]
    assert to_owner == [2 * PRICE + 1]
    worker_once(app)
    assert collected(ada, bob) == [(gathering(OWNER), PRICE), (gathering(OWNER), PRICE + 1)]
    assert [money(ada), money(bob)] == [("confirmed", PRICE, 0), ("confirmed", PRICE + 1, 1)]

    ada.pay(node)
    worker_once(app)
    collect(chain, ada, direct=True)
    worker_once(app)
    assert collected(ada) == [(gathering(OWNER), PRICE), (OWNER, PRICE)]
    assert (money(ada), held(ada)) == (("confirmed", 2 * PRICE, PRICE), 0)
    assert chain.held(anvil.TOKEN_ADDRESS, OWNER) == 3 * PRICE + 1
    said = cli(app, "reconcile", "--chain")
    assert said.endswith(", 6 booked transfers are on their chains\n")


def test_as_much_as_was_collected_is_paid_again_between_two_looks(app, shop, chain, node):
    buyer = shop.buyer(shop.ticket())
    assert buyer.cancel().status_code == 200
    worker_once(app)
    # The logs of a canceled order are not read. Its balance is.
    buyer.pay(node)
    pass_time(chain, 61)
    worker_once(app)
    pass_time(chain, TWO_DAYS)
    worker_once(app)
    assert (money(buyer), held(buyer)) == (("canceled", PRICE, PRICE), PRICE)
    collect(chain, buyer)
    buyer.pay(node)
    pass_time(chain, 61)
    worker_once(app)
    assert money(buyer) == ("canceled", 2 * PRICE, 2 * PRICE)
    assert held(buyer) == PRICE


def test_the_same_amount_while_the_worker_is_down(app, shop, chain, node):
    buyer = shop.buyer(shop.ticket())
    buyer.pay(node)
    worker_once(app)
    collect(chain, buyer)
    buyer.pay(node)
    collect(chain, buyer, direct=True)
    buyer.pay(node)
    worker_once(app)
    assert money(buyer) == ("confirmed", 3 * PRICE, 2 * PRICE)
    assert held(buyer) == PRICE


@pytest.mark.parametrize("direct", [False, True])
def test_what_receivers_pay_their_owner_pays_for_no_order(app, chain, node, direct):
    # An organizer who knows the secret of a wallet can predict the addresses of its orders.
    neighbour = new_organizer(app, "neighbour")
    owner = issued(neighbour.id, 1)
    shop = new_organizer(app, "shop", address=owner)
    worker_once(app)
    ticket = shop.ticket()
    old = [shop.buyer(ticket) for _ in range(2)]
    cheap = neighbour.buyer(neighbour.ticket())
    assert cheap.intent["address"] == owner
    for buyer in old:
        buyer.pay(node)
    collect(chain, *old, direct=direct)
    assert chain.held(anvil.TOKEN_ADDRESS, owner) == 2 * PRICE
    assert cheap.purchase().status_code == 402
    worker_once(app)
    assert money(cheap) == ("awaiting_payment", 0, 0)
    assert [money(each) for each in old] == [("confirmed", PRICE, 0)] * 2
    assert [held(each) for each in old] == [0, 0]

    cheap.pay(node)
    worker_once(app)
    assert money(cheap) == ("confirmed", PRICE, 0)


@pytest.mark.parametrize("direct", [False, True])
def test_a_strangers_collect_changes_no_order(app, shop, chain, node, direct):
    ticket = shop.ticket()
    live, late, ended = (shop.buyer(ticket) for _ in range(3))
    for buyer in (live, late, ended):
        buyer.pay(node, HALF)
    collect(chain, live, ended, direct=direct)
    worker_once(app)
    collect(chain, late, direct=direct)
    assert [money(each) for each in (live, late)] == [("awaiting_payment", HALF, 0)] * 2
    live.pay(node, HALF)
    assert live.purchase().json["status"] == "confirmed"
    pass_time(chain, 7200)
    # No look of the worker was between: the purchase reads the collection itself.
    assert late.purchase().status_code == 410
    worker_once(app)
    assert [money(each) for each in (late, ended)] == [("expired", HALF, HALF)] * 2
    assert [held(each) for each in (live, late, ended)] == [HALF, 0, 0]


@pytest.mark.usefixtures("unforgetting")
def test_a_collection_without_a_log_may_hide_a_payment(bad_node, shop, chain, node, monkeypatch):
    at_once = Backoff((timedelta(0),))
    monkeypatch.setattr("ticketing.worker.balance_sweep.BACKOFF", at_once)
    watcher = checked_watcher(shop.app)
    buyer = shop.buyer(shop.ticket())
    buyer.pay(node, HALF)
    watcher.look()
    bad_node.omit_logs()
    buyer.pay(node, PRICE - HALF)
    collect(chain, buyer)
    pass_time(chain, 7200)
    watcher.look()
    assert money(buyer) == ("awaiting_payment", HALF, 0)
    bad_node.well()
    watcher.sweep()
    watcher.look()
    assert money(buyer) == ("confirmed", PRICE, 0)
    assert held(buyer) == 0


def test_a_reorganization_removes_a_collection_and_brings_it_back(app, shop, chain, node):
    ticket = shop.ticket()
    ada, bob = shop.buyer(ticket), shop.buyer(ticket)
    for buyer in (ada, bob):
        buyer.pay(node)
    chain.rpc("anvil_mine", "0x8")
    worker_once(app)
    raw = chain.rpc("eth_getRawTransactionByHash", collect(chain, ada, bob)["transactionHash"])
    worker_once(app)
    assert (held(ada), held(bob)) == (0, 0)
    chain.rpc("anvil_reorg", 2, [])
    worker_once(app)
    assert (held(ada), held(bob), collected(ada, bob)) == (PRICE, PRICE, [])
    # It returns, later and as other logs of its block.
    chain.rpc("evm_setAutomine", False)
    anvil_pays(chain, ada)
    chain.rpc("eth_sendRawTransaction", raw)
    chain.rpc("anvil_mine", "0x2")
    chain.rpc("evm_setAutomine", True)
    worker_once(app)
    # Ada's log was the 0th and is the 1st now, where Bob's was. His is the 2nd.
    assert collected(ada, bob) == [(gathering(OWNER), 2 * PRICE), (gathering(OWNER), PRICE)]
    assert [row.log_index for row in Collection.select().where(~Collection.canonical)] == [0]
    assert (held(ada), held(bob)) == (0, 0)
    assert [money(ada), money(bob)] == [("confirmed", 2 * PRICE, PRICE), ("confirmed", PRICE, 0)]


def anvil_pays(chain, buyer):
    """Send a payment that is not mined yet, with a fee that is above all others."""
    data = anvil.transfer_data(buyer.intent["address"], PRICE)
    sent = {"from": chain.accounts[1], "to": anvil.TOKEN_ADDRESS, "data": data}
    chain.rpc("eth_sendTransaction", {**sent, "gas": hex(100_000), "gasPrice": hex(10**12)})


def test_a_worker_that_dies_while_it_books_a_collection_books_it_later(
    app, shop, chain, node, monkeypatch
):
    buyer = shop.buyer(shop.ticket())
    buyer.pay(node)
    collect(chain, buyer)
    with monkeypatch.context() as patch:
        patch.setattr(booking, "_move_cursor", lambda *_: 1 / 0)
        dying = Watcher(app.extensions["ticketing"].chains[CHAIN])
        with pytest.raises(ZeroDivisionError):
            dying.look()
        dying.leave()
    assert (money(buyer), collected(buyer)) == (("awaiting_payment", 0, 0), [])
    worker_once(app)
    assert (money(buyer), held(buyer)) == (("confirmed", PRICE, 0), 0)


def test_coins_other_tokens_and_transfers_of_zero_are_no_collections(app, shop, chain, node):
    buyer = shop.buyer(shop.ticket())
    buyer.pay(node)
    other = chain.token()
    address = buyer.intent["address"]
    chain.mint(COIN, (address, 5))
    chain.mint(other, (address, 7))
    collect(chain, buyer, token=COIN)
    collect(chain, buyer, token=other)
    # Anybody may "send" 0 in the name of another: address poisoning.
    poison = data_of("transferFrom(address,address,uint256)", address, OWNER, 0)
    assert len(transfers_in(chain.send(STRANGER, anvil.TOKEN_ADDRESS, poison))) == 1
    # A stranger's payment to the owner, and to the gathering receiver.
    for to in (OWNER, gathering(OWNER)):
        anvil.transfer(chain.rpc, anvil.TOKEN_ADDRESS, to, 3)
    worker_once(app)
    assert (Collection.select().count(), money(buyer)) == (0, ("confirmed", PRICE, 0))
    assert held(buyer) == PRICE


def test_an_amount_beyond_the_column_stops_nobody(app, shop, chain, node, caplog):
    ticket = shop.ticket()
    strange, buyer = shop.buyer(ticket), shop.buyer(ticket)
    anvil.mint(chain.rpc, anvil.TOKEN_ADDRESS, strange.intent["address"], 2**63)
    buyer.pay(node)
    collect(chain, strange, buyer)
    worker_once(app)
    assert collected(strange, buyer) == [(gathering(OWNER), PRICE)]
    assert money(buyer) == ("confirmed", PRICE, 0)
    assert "is too large: not recorded" in caplog.text


def test_a_wrong_collection_or_address_is_a_breach(app, shop, acme, chain, node):
    buyer, other = shop.buyer(shop.ticket()), acme.buyer(acme.ticket())
    buyer.pay(node)
    collect(chain, buyer)
    worker_once(app)
    row = Collection.get()
    assert (row.chain_id, row.recipient, cli(app, "reconcile")[:19]) == (
        CHAIN,
        gathering(OWNER),
        "the books are right",
    )
    Collection.update(recipient=OWNER).execute()
    said = cli(app, "reconcile", "--chain", exit_code=1)
    assert f"collection_on_chain  {row.id}" in said
    assert "its recipient is 0x" in said
    # It did not pay the wallet of this order.
    Collection.update(intent=other.intent["id"]).execute()
    assert "collections_fit_intents" in cli(app, "reconcile", exit_code=1)
    Collection.update(intent=buyer.intent["id"], token_address=OWNER).execute()
    assert "collections_fit_intents" in cli(app, "reconcile", exit_code=1)
    Collection.delete().execute()
    for wrong, organizer in ((buyer, shop), (other, acme)):
        of_it = PaymentIntent.update(address_index=PaymentIntent.address_index + 1)
        of_it.where(PaymentIntent.id == wrong.intent["id"]).execute()
        answer = organizer.api().get(f"{organizer.path}/reconciliation").json
        found = [(each["rule"], each["ids"]) for each in answer["breaches"]]
        assert found == [("address_of_wallet", [wrong.intent["id"]])]
    assert cli(app, "reconcile", exit_code=1).count("has not issued the index 2 yet") == 2
