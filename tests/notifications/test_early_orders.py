"""Webhooks about an order that is confirmed before its payment is final."""

import pytest

from tests.support.factories import worker_once

DEEP = 30


@pytest.fixture
def environ(environ):
    """A payment is final after 30 blocks, and early after 1."""
    return {**environ, "CONFIRMATIONS_31337": str(DEEP)}


def test_two_webhooks_in_order_say_confirmed_and_then_final(hooks, acme, node):
    hooks.endpoint(types='["intent.confirmed", "intent.finalized", "intent.reversed"]')
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node)
    for blocks in (0, DEEP, 1):
        if blocks:
            node.rpc("anvil_mine", hex(blocks))
        worker_once(acme.app)
        hooks.deliver()
    received = [each["body"] for each in hooks.receiver.received()]
    said = [(each["type"], each["data"]["final"]) for each in received]
    assert said == [("intent.confirmed", False), ("intent.finalized", True)]
    assert {each["data"]["intent_id"] for each in received} == {buyer.intent["id"]}
    assert {each["data"]["status"] for each in received} == {"confirmed"}
