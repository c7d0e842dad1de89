"""How somebody tried to get a ticket for nothing, or to lose a buyer's money, with two chains."""

import threading
from datetime import timedelta

import pytest

from tests.payments.test_strays import (
    BOTH,
    SECOND,
    books,
    choose,
    nodes_of,
    order,
    pay,
    shop,
    sound,
)
from tests.support import wallets
from tests.support.factories import CHAIN, PRICE, worker_once
from tests.support.payouts import OWNER
from tests.support.races import at_once
from tests.support.receivers import Chain
from tests.support.refunds import FRIEND, account, pass_hours, pay_from
from ticketing import clock
from ticketing.chain import receivers
from ticketing.models.chains import ChainState
from ticketing.models.notifications import Notification
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import chains
from ticketing.services.payments import adoption, booking
from ticketing.services.payments.home_choice import MOST_MOVES
from ticketing.worker.watcher import Watcher
from tools import anvil

pytestmark = [pytest.mark.sql, pytest.mark.long]

__all__ = ["nodes_of", "shop"]


def watchers(shop):
    config = shop.app.extensions["ticketing"]
    return {each.chain_id: Watcher(each) for each in config.chains.values()}


def look(watcher):
    watcher.look()
    watcher.sweep()


def expire(shop, nodes_of):
    for each in nodes_of.values():
        pass_hours(each, 1)
    for _ in range(2):
        worker_once(shop.app)


def told(type):
    return Notification.select().where(Notification.type == type).count()


def test_a_booking_waits_while_another_chain_moves_the_order(shop, nodes_of, monkeypatch):
    """Full payments on both chains. While the move is not committed, the other chain is read."""
    buyer = order(shop)
    watching = watchers(shop)
    for each in watching.values():
        each.look()
    for node in nodes_of.values():
        pay_from(node, FRIEND, buyer, PRICE)
    moves, is_booked = threading.Event(), threading.Event()
    swap_home = adoption.swap_home

    def slowly(*args, **options):
        columns = swap_home(*args, **options)
        moves.set()
        is_booked.wait(1)  # on Postgres the booking waits for this transaction
        return columns

    monkeypatch.setattr(adoption, "swap_home", slowly)

    def book_home():
        assert moves.wait(20)
        watching[CHAIN].look()
        is_booked.set()

    at_once(lambda: [look(watching[SECOND]) for _ in range(2)], book_home)
    for each in watching.values():
        look(each)
    status, home, received, strays = books(sound(buyer))
    (other,) = set(BOTH) - {home}
    assert (status, received, strays) == ("confirmed", PRICE, [(other, PRICE, 0, PRICE)])


def test_two_looks_at_once_open_one_account(shop, nodes_of):
    buyer = order(shop, CHAIN)
    pay_from(nodes_of[SECOND], FRIEND, buyer, 5)
    watching = [watchers(shop)[SECOND] for _ in range(4)]
    watching[0].look()
    cursor = chains.cursor(SECOND)
    at_once(*(lambda each=each: each._stray_look.run(cursor) for each in watching))
    assert [each.chain_id for each in OrderAccount.select()] == [CHAIN, SECOND]


def test_what_is_collected_before_a_look_pays_nevertheless(shop, nodes_of):
    second = Chain(nodes_of[SECOND])
    Chain(nodes_of[CHAIN])
    worker_once(shop.app)
    owner = account(nodes_of[SECOND], OWNER)
    wallets.use_address(shop.id, owner, *BOTH)
    buyer = order(shop)
    pay_from(nodes_of[SECOND], FRIEND, buyer, PRICE)
    intent = PaymentIntent.get()
    salt = receivers.order_salt(bytes.fromhex(intent.wallet.secret), intent.address_index)
    second.collect(owner, anvil.TOKEN_ADDRESS, [salt])
    worker_once(shop.app)
    assert books(sound(buyer)) == ("confirmed", SECOND, PRICE, [])


def test_a_search_that_ends_after_the_order_moved_changes_nothing(shop, nodes_of):
    buyer = order(shop)
    nodes_of[SECOND].rpc("anvil_mine", hex(300))
    worker_once(shop.app)
    assert choose(buyer, SECOND).status_code == 200
    searched = PaymentIntent.get().home
    pay(nodes_of, buyer, CHAIN, 1)
    pay_from(nodes_of[CHAIN], FRIEND, buyer, PRICE - 1)
    nodes_of[CHAIN].rpc("anvil_mine", "0x14")
    watchers(shop)[CHAIN].look()
    assert choose(buyer, CHAIN).status_code == 200
    before = PaymentIntent.get().home
    booking.book_search(searched, [], searched.search_to)
    now = PaymentIntent.get().home
    assert (now.search_to, now.checked_block) == (before.search_to, before.checked_block)
    worker_once(shop.app)
    assert books(sound(buyer)) == ("confirmed", CHAIN, PRICE, [])


def test_nothing_is_said_to_be_owed_of_a_late_payment_that_buys_the_ticket(shop, nodes_of):
    buyer = order(shop)
    expire(shop, nodes_of)
    pay(nodes_of, buyer, SECOND)
    assert sound(buyer)["status"] == "confirmed"
    assert told("refund.due") == 0


def test_a_late_payment_beside_an_honoured_one_is_owed_whatever_happens_to_that(
    three_deep, shop, nodes_of
):
    buyer = order(shop)
    expire(shop, nodes_of)
    pay(nodes_of, buyer, CHAIN)
    assert buyer.now()["status"] == "processing"
    pay(nodes_of, buyer, SECOND)
    owed = [(SECOND, PRICE, 0, PRICE)]
    assert books(sound(buyer)) == ("processing", CHAIN, PRICE, owed)
    nodes_of[CHAIN].rpc("anvil_reorg", 1, [])
    worker_once(shop.app)
    nodes_of[SECOND].rpc("anvil_mine", "0x5")
    worker_once(shop.app)
    assert books(sound(buyer)) == ("awaiting_payment", CHAIN, 0, owed)


def test_money_elsewhere_keeps_an_order_from_being_canceled(shop, nodes_of):
    buyer = order(shop)
    pay(nodes_of, buyer, SECOND, PRICE - 1)
    assert buyer.cancel().json["code"] == "intent_not_cancelable"


def test_an_order_moves_ten_times_and_not_after_its_hold(shop, nodes_of):
    buyer = order(shop)
    answers = [choose(buyer, BOTH[1 - moved % 2]) for moved in range(MOST_MOVES + 1)]
    assert [each.status_code for each in answers] == [200] * MOST_MOVES + [409]
    assert answers[-1].json["code"] == "network_unavailable"
    buyer = order(shop)
    # It waits for a look at the balances on the second chain.
    old = clock.now() - timedelta(minutes=3)
    ChainState.update(strays_looked_at=old).where(ChainState.chain_id == SECOND).execute()
    pass_hours(nodes_of[CHAIN], 0.3)
    watchers(shop)[CHAIN].look()
    assert buyer.now()["status"] == "awaiting_payment"
    assert choose(buyer, SECOND).json["code"] == "intent_expired"
