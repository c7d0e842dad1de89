"""The wallet: addresses are issued from it, each once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

from tests.support.factories import CHAIN, new_organizer
from tests.support.remote import PATIENCE_SECONDS
from tests.support.wallets import issued, new_address
from ticketing.constants import LOOKS_AT_ONCE
from ticketing.db.connection import database
from ticketing.services import account_use


@pytest.fixture
def empty(app):
    """A tenant without a wallet."""
    return new_organizer(app, "empty", address=None)


def put(organizer, address):
    fields = {"address": address, "chain_ids": [CHAIN]}
    return organizer.api().put(f"{organizer.path}/wallet", fields)


def wallet(organizer):
    return organizer.api().get(f"{organizer.path}/wallet").json


def addresses(organizer, ticket, count):
    """Return the payment addresses of this many new intents."""
    return [organizer.buyer(ticket).intent["address"] for _ in range(count)]


def test_a_tenant_without_a_wallet_has_none(empty):
    answer = empty.api().get(f"{empty.path}/wallet")
    assert (answer.status_code, answer.json["code"]) == (404, "not_found")


def test_setting_the_same_wallet_again_changes_nothing(acme, node):
    ticket = acme.ticket(capacity=None)
    addresses(acme, ticket, 2)
    assert put(acme, wallet(acme)["address"]).json["next_index"] == 3
    assert addresses(acme, ticket, 1) == [issued(acme.id, 3)]


def test_next_index_grows_by_one_with_each_intent_that_is_paid_for(acme):
    ticket, free = acme.ticket(capacity=3), acme.ticket(price_amount=0)
    for index in (1, 2, 3):
        assert wallet(acme)["next_index"] == index
        acme.buyer(ticket)
        acme.buyer(free)
    assert acme.preflight(ticket).status_code == 409
    assert wallet(acme)["next_index"] == 4


def test_replacing_a_wallet_leaves_issued_addresses_with_their_intents(acme, node):
    ticket = acme.ticket(capacity=None)
    before = acme.buyer(ticket)
    assert put(acme, new_address()).json["next_index"] == 1
    second = issued(acme.id, 1)
    assert before.now()["address"] == before.intent["address"] != second
    assert addresses(acme, ticket, 1) == [second]


def test_returning_to_an_earlier_wallet_goes_on_after_its_last_address(acme, node):
    ticket, first = acme.ticket(capacity=None), wallet(acme)["address"]
    made = addresses(acme, ticket, 2)
    put(acme, new_address())
    made += addresses(acme, ticket, 2)
    assert put(acme, first).json["next_index"] == 3
    made += addresses(acme, ticket, 2)
    assert len(set(made)) == 6
    assert made[4] == issued(acme.id, 3)


def test_two_tenants_with_one_address_never_issue_the_same_address(acme, neighbour, node):
    address = new_address()
    for each in (acme, neighbour):
        assert put(each, address).status_code == 200
    tickets = [(each, each.ticket(capacity=None)) for each in (acme, neighbour)]
    made = [address for _ in range(4) for each in tickets for address in addresses(*each, 1)]
    assert len(set(made)) == 8


def test_a_chain_that_hangs_delays_a_wallet_for_a_bounded_time_and_locks_nothing(
    bad_node, acme, monkeypatch
):
    in_transaction = []

    def kinds_on(*arguments):
        in_transaction.append(database.in_transaction())
        return real(*arguments)

    real = account_use.kinds_on
    monkeypatch.setattr(account_use, "kinds_on", kinds_on)
    monkeypatch.setattr(account_use, "LOOK_SECONDS", 0.3)
    bad_node.hang()
    assert put(acme, new_address()).json["unchecked_chains"] == [CHAIN]
    assert in_transaction == [False]


def test_nodes_that_hang_hold_few_requests_of_a_process(bad_node, acme, monkeypatch):
    monkeypatch.setattr(account_use, "LOOK_SECONDS", PATIENCE_SECONDS)
    reached, released = Barrier(LOOKS_AT_ONCE + 1), Event()

    def hang(answer):
        if not released.is_set():
            reached.wait(PATIENCE_SECONDS)
        released.wait(PATIENCE_SECONDS)
        return answer

    def put_and_close(organizer):
        try:
            return put(organizer, new_address())
        finally:
            database.close()

    bad_node.answer("eth_chainId", hang)
    api, path = acme.api(), f"{acme.path}/wallet"
    with ThreadPoolExecutor(LOOKS_AT_ONCE) as pool:
        first = [pool.submit(put_and_close, acme) for _ in range(LOOKS_AT_ONCE)]
        reached.wait(PATIENCE_SECONDS)
        another = api.put(path, {"address": new_address(), "chain_ids": [CHAIN]})
        released.set()
        assert (another.status_code, another.json["code"]) == (503, "chain_unavailable")
        assert {each.result().status_code for each in first} == {200}
    assert put(acme, new_address()).status_code == 200


def test_a_chain_that_refuses_or_answers_garbage_is_unchecked(bad_node, acme):
    bad_node.refuse("eth_getCode")
    assert put(acme, new_address()).json["unchecked_chains"] == [CHAIN]
    bad_node.well()
    bad_node.answer("eth_getCode", "no code")
    assert put(acme, new_address()).json["unchecked_chains"] == [CHAIN]
