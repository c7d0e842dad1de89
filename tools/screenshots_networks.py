"""Orders that can be paid on two networks, and money on the wrong one, for screenshots."""

from tools import anvil
from tools.screenshots_shop import CONFIRMATIONS, PRICE, Order, Shop, Shot

PAYER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


def _asking_back(shop: Shop) -> str:
    order = shop.partly_paid_elsewhere()
    return f"{order.url}?back={anvil.SECOND_CHAIN_ID}-{anvil.TOKEN_ADDRESS}"


def _asked_back(shop: Shop) -> Order:
    order = shop.partly_paid_elsewhere()
    order.send("refund-address", {"address": PAYER, "chain_id": anvil.SECOND_CHAIN_ID})
    return order


def _owed_elsewhere(shop: Shop) -> Order:
    order = shop.partly_paid_elsewhere()
    order.pay(PRICE, blocks=CONFIRMATIONS)
    return order.wait(lambda it: it["status"] == "confirmed")


def _moved(shop: Shop) -> str:
    order = shop.partly_paid_elsewhere()
    order.send("chain", {"chain_id": anvil.SECOND_CHAIN_ID})
    return order.url


def _exchange(shop: Shop) -> str:
    order = shop.order_on_two_networks()
    order.send("hold")
    return f"{order.url}?way=exchange"


def _refund(shop: Shop) -> str:
    named = f"chain_id={anvil.SECOND_CHAIN_ID}&token_address={anvil.TOKEN_ADDRESS}"
    return f"{shop.stack.url}/console/refunds/{_asked_back(shop).id}?{named}"


def _doubt(shop: Shop) -> str:
    named = f"payer={PAYER}&payment_id=0x{'5e' * 32}"
    return f"{shop.stack.url}/console/refunds/{_owed_elsewhere(shop).id}/pass-over?{named}"


NETWORK_SHOTS = (
    Shot("event-networks", lambda shop: shop.second_event_url),
    Shot("order-networks", lambda shop: shop.order_on_two_networks().url),
    Shot("order-networks-exchange", _exchange),
    Shot("order-stray", lambda shop: shop.partly_paid_elsewhere().url),
    Shot("order-stray-back", _asking_back),
    Shot("order-stray-asked-back", lambda shop: _asked_back(shop).url),
    Shot("order-stray-moved", _moved),
    Shot("order-stray-owed", lambda shop: _owed_elsewhere(shop).url),
    Shot(
        "console-order-stray",
        lambda shop: f"{shop.stack.url}/console/orders/{shop.partly_paid_elsewhere().id}",
        is_signed_in=True,
    ),
    Shot("console-refund-stray", _refund, is_signed_in=True),
    Shot("console-pass-over", _doubt, is_signed_in=True),
)
