"""Chains that could not be asked about an address are asked by the worker."""

import pytest

from tests.support.factories import CHAIN, new_organizer, worker_once
from ticketing.models.wallets import Wallet
from ticketing.services.wallets import code_checks

OWNER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


@pytest.fixture
def shop(bad_node, app):
    """A tenant whose address could not be looked at."""
    bad_node.refuse("eth_getCode")
    shop = new_organizer(app, "shop", address=OWNER)
    bad_node.well()
    return shop


def wallet(shop):
    return shop.api().get(f"{shop.path}/wallet").json


def obstacles(shop, ticket):
    path = f"{shop.path}/events/{ticket['event_id']}/tickets/{ticket['id']}"
    return shop.api().get(path).json["obstacles"]


def test_nothing_is_sold_before_the_worker_has_asked(shop):
    ticket = shop.ticket()
    assert wallet(shop)["unchecked_chains"] == [CHAIN]
    assert "wallet_not_on_chain" in obstacles(shop, ticket)
    assert shop.preflight(ticket).json["code"] == "not_payable"
    public = f"{shop.public}/events/{ticket['event_id']}/tickets"
    assert shop.api().get(public).json["data"][0]["availability"] == "unavailable"
    worker_once(shop.app)
    assert (wallet(shop)["unchecked_chains"], obstacles(shop, ticket)) == ([], [])
    assert shop.api().get(public).json["data"][0]["availability"] == "on_sale"
    assert shop.preflight(ticket).status_code == 201


def test_a_contract_is_found_and_ends_the_sale_on_networks_without_it(shop, node):
    facts = {"no_code_on": {1}, "unchecked_chains": {CHAIN}, "contract_is_mine": True}
    Wallet.update(chain_ids={1, CHAIN}, **facts).execute()
    node.rpc("anvil_setCode", OWNER, "0x6000")
    worker_once(shop.app)
    (found,) = Wallet.select()
    assert (found.code_on, found.no_code_on) == ({CHAIN}, {1})
    assert found.checked_chains == {CHAIN}


def test_what_was_answered_is_not_asked_again(shop):
    assert [each.owner for each in code_checks.unasked(CHAIN)] == [OWNER]
    worker_once(shop.app)
    assert code_checks.unasked(CHAIN) == []
    Wallet.update(
        chain_ids={313, CHAIN}, unchecked_chains={313}
    ).execute()  # "313" is a part of "31337"
    assert [each.owner for each in code_checks.unasked(313)] == [OWNER]
    assert code_checks.unasked(37) == []
