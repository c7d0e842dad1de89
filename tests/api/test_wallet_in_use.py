"""An account that is in use is refused: its other income would pay for orders."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

from tests.support.factories import cli, new_organizer, new_xpub
from tests.support.remote import PATIENCE_SECONDS
from ticketing.chain import xpub as xpubs
from ticketing.constants import LOOKS_AT_ONCE
from ticketing.db.connection import database
from ticketing.services import account_use
from tools import anvil
from tools.anvil import Anvil

NOBODY = "http://127.0.0.1:9"


def put(organizer, xpub):
    return organizer.api().put(f"{organizer.path}/wallet", {"xpub": xpub})


def wallet(organizer):
    return organizer.api().get(f"{organizer.path}/wallet").json


def test_an_account_that_nothing_uses_is_taken(acme, node):
    answer = put(acme, new_xpub())
    assert (answer.status_code, answer.json["unchecked_chains"]) == (200, [])


@pytest.mark.parametrize("index", [0, 4])
def test_an_account_that_holds_tokens_is_refused(acme, node, index):
    xpub, before = new_xpub(), wallet(acme)
    anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, xpubs.derive_address(xpub, index), 1)
    answer = put(acme, xpub)
    assert (answer.status_code, answer.json["code"]) == (409, "wallet_in_use")
    assert "31337" in answer.json["detail"] and xpub not in answer.text
    assert wallet(acme) == before


def test_an_account_that_has_sent_something_is_refused(acme, node):
    xpub = new_xpub()
    node.rpc("anvil_setNonce", xpubs.derive_address(xpub, 3), "0x1")
    assert put(acme, xpub).json["code"] == "wallet_in_use"


def test_what_lies_behind_the_first_addresses_does_not_matter(acme, node):
    xpub = new_xpub()
    anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, xpubs.derive_address(xpub, 5), 1)
    assert put(acme, xpub).status_code == 200


def test_a_key_that_issued_addresses_before_is_taken_up_again(acme, node):
    first = wallet(acme)["xpub"]
    acme.buyer(acme.ticket()).pay(node)
    put(acme, new_xpub())
    answer = put(acme, first)
    assert (answer.status_code, answer.json["next_index"]) == (200, 2)


@pytest.mark.parametrize(("index", "status"), [(0, 200), (1, 409), (1000, 409), (1001, 200)])
def test_an_account_that_would_issue_the_owners_address_is_refused(app, node, index, status):
    xpub = new_xpub()
    shop = new_organizer(app, "shop", address=xpubs.derive_address(xpub, index))
    answer = put(shop, xpub)
    assert answer.status_code == status
    if status == 409:
        assert answer.json["code"] == "wallet_in_use"
        assert xpubs.derive_address(xpub, index) in answer.json["detail"]
        assert wallet(shop)["kind"] == "address"


def test_a_former_address_is_issued_by_no_account_either(app, acme, node):
    first, second = new_xpub(), new_xpub()
    own = xpubs.derive_address(first, 1)
    shop = new_organizer(app, "shop", address=own)
    assert put(shop, second).status_code == 200
    assert put(shop, first).json["code"] == "wallet_in_use"
    # Another organizer's addresses are nobody's business.
    assert put(acme, first).status_code == 200


@pytest.mark.parametrize(("index", "status"), [(0, 200), (2, 422), (1000, 422), (1001, 200)])
def test_an_address_that_the_account_would_issue_is_refused(app, node, index, status):
    xpub = new_xpub()
    shop = new_organizer(app, "shop", xpub=xpub)
    fields = {"address": xpubs.derive_address(xpub, index), "chain_ids": [31337]}
    answer = shop.api().put(f"{shop.path}/wallet", fields)
    assert answer.status_code == status
    if status == 422:
        (said,) = answer.json["errors"]["address"]
        assert "payment address of an order" in said
        assert wallet(shop)["kind"] == "xpub"


def test_the_command_line_refuses_it_too(app, node):
    options = ("tenants", "create", "acme", "--name", "Acme", "--xpub", anvil.DEMO_XPUB)
    assert "already in use on chain 31337" in cli(app, *options, exit_code=1)
    new_organizer(app, "acme")


def test_chains_that_cannot_be_seen_are_named(environ, node, request):
    environ["RPC_URL_1"] = NOBODY
    environ["RPC_URL_10"] = node.url  # it serves another chain
    app = request.getfixturevalue("app")
    acme = new_organizer(app, "acme", xpub=None)
    assert put(acme, new_xpub()).json["unchecked_chains"] == [1, 10]
    assert put(acme, anvil.DEMO_XPUB).json["code"] == "wallet_in_use"
    said = cli(app, "tenants", "create", "other", "--name", "Other", "--xpub", new_xpub())
    assert "unchecked_chains  [1, 10]" in said


def test_a_chain_that_hangs_delays_a_wallet_for_a_bounded_time_and_locks_nothing(
    bad_node, acme, monkeypatch
):
    in_transaction = []

    def used_on(*arguments):
        in_transaction.append(database.in_transaction())
        return real(*arguments)

    real = account_use.used_on
    monkeypatch.setattr(account_use, "used_on", used_on)
    monkeypatch.setattr(account_use, "LOOK_SECONDS", 0.3)
    bad_node.hang()
    assert put(acme, new_xpub()).json["unchecked_chains"] == [31337]
    cli(acme.app, "tenants", "create", "other", "--name", "Other", "--xpub", new_xpub())
    assert in_transaction == [False, False]


def test_nodes_that_hang_hold_few_requests_of_a_process(bad_node, acme, monkeypatch):
    monkeypatch.setattr(account_use, "LOOK_SECONDS", PATIENCE_SECONDS)
    reached, released = Barrier(LOOKS_AT_ONCE + 1), Event()

    def hang(chain_id):
        if not released.is_set():
            reached.wait(PATIENCE_SECONDS)
        released.wait(PATIENCE_SECONDS)
        return chain_id

    def put_and_close(organizer):
        try:
            return put(organizer, new_xpub())
        finally:
            database.close()

    bad_node.answer("eth_chainId", hang)
    api, path = acme.api(), f"{acme.path}/wallet"
    with ThreadPoolExecutor(LOOKS_AT_ONCE) as pool:
        first = [pool.submit(put_and_close, acme) for _ in range(LOOKS_AT_ONCE)]
        reached.wait(PATIENCE_SECONDS)
        another = api.put(path, {"xpub": new_xpub()})
        released.set()
        assert (another.status_code, another.json["code"]) == (503, "chain_unavailable")
        assert {each.result().status_code for each in first} == {200}
    assert api.put(path, {"xpub": new_xpub()}).status_code == 200


def test_a_chain_that_refuses_or_answers_garbage_is_named_too(bad_node, acme):
    bad_node.refuse("eth_getTransactionCount")
    assert put(acme, new_xpub()).json["unchecked_chains"] == [31337]
    bad_node.well()
    bad_node.answer("eth_call", "0x")
    assert put(acme, new_xpub()).json["unchecked_chains"] == [31337]


def test_an_account_in_use_on_one_of_several_chains_is_refused(environ, node, request):
    with Anvil(chain_id=8453) as other:
        environ["RPC_URL_8453"] = other.url
        environ["TOKEN_ADDRESS_8453"] = anvil.TOKEN_ADDRESS
        anvil.ensure_token(other.rpc)
        acme = request.getfixturevalue("acme")
        xpub = new_xpub()
        other.rpc("anvil_setNonce", xpubs.derive_address(xpub, 0), "0x1")
        assert "chain 8453" in put(acme, xpub).json["detail"]
