"""Contracts as a wallet: tokens are refused, and of others the organizer says that they are theirs.

The contracts are real ones on a real node.
"""

import json

import pytest

from tests.api.test_wallet_address import LOCAL, OWNER, file_for, put, refusal
from tests.support.factories import cli, new_organizer, worker_once
from tests.support.receivers import DEPLOYER, Chain
from ticketing.models.wallets import Wallet
from tools import anvil

pytestmark = pytest.mark.one_database

ANSWERS_255 = "0x60ff60005260206000f3"
ANSWERS_256 = "0x61010060005260206000f3"
ANSWERS_TWO_WORDS = "0x60406000f3"
ANSWERS_NOTHING = "0x00"
"""Code that answers every call with the same."""


@pytest.fixture
def chain(node):
    """Its first contracts are tokens of the registry: those of tests come after them."""
    chain = Chain(node, is_deployed=False)
    node.rpc("anvil_setNonce", chain.accounts[DEPLOYER], "0x64")
    return chain


@pytest.fixture
def empty(app, node):
    return new_organizer(app, "empty", address=None)


def wallet(shop):
    return shop.api().get(f"{shop.path}/wallet").json


@pytest.mark.parametrize("is_mine", [True, False])
@pytest.mark.parametrize("chain_ids", [[LOCAL], [8453]])
def test_what_answers_as_a_token_is_refused_whatever_is_said_of_it(
    empty, chain, is_mine, chain_ids
):
    for token in (chain.token(), chain.deploy("OddToken")):
        answer = put(empty, address=token, chain_ids=chain_ids, contract_is_mine=is_mine)
        assert "a token on: Local." in refusal(answer)
    assert wallet(empty)["code"] == "not_found"


def test_another_contract_must_be_confirmed_once(empty, chain):
    owner, other = chain.owner(), chain.owner()
    for said in ({}, {"contract_is_mine": False}):
        answer = put(empty, address=owner, chain_ids=[LOCAL], **said)
        assert "a contract at this address on: Local." in refusal(answer, "contract_is_mine")
    answer = put(empty, address=owner, chain_ids=[LOCAL], contract_is_mine=True)
    assert (answer.status_code, answer.json["contract_is_mine"]) == (200, True)
    answer = put(empty, address=owner, chain_ids=[LOCAL, 8453], exchange=True)
    assert (answer.status_code, answer.json["contract_is_mine"]) == (200, True)
    assert refusal(put(empty, address=other, chain_ids=[LOCAL]), "contract_is_mine")


def test_what_one_organizer_says_of_a_contract_does_not_count_for_another(empty, neighbour, chain):
    owner = chain.owner()
    assert put(empty, address=owner, chain_ids=[LOCAL], contract_is_mine=True).status_code == 200
    assert refusal(put(neighbour, address=owner, chain_ids=[LOCAL]), "contract_is_mine")


@pytest.mark.parametrize(
    ("code", "field"),
    [
        (ANSWERS_255, "address"),
        (ANSWERS_256, "contract_is_mine"),
        (ANSWERS_TWO_WORDS, "contract_is_mine"),
        (ANSWERS_NOTHING, "contract_is_mine"),
    ],
)
def test_a_token_answers_with_one_word_and_at_most_255_decimals(empty, node, code, field):
    node.rpc("anvil_setCode", OWNER, code)
    assert refusal(put(empty, address=OWNER, chain_ids=[LOCAL]), field)


def test_an_account_that_delegates_needs_no_confirmation(empty, node):
    node.rpc("anvil_setCode", OWNER, "0xef0100" + anvil.TOKEN_ADDRESS[2:])
    answer = put(empty, address=OWNER, chain_ids=[LOCAL])
    assert (answer.status_code, answer.json["unchecked_chains"]) == (200, [])


def test_a_recovery_file_of_a_contract_is_checked_as_well(empty, chain):
    owner, token = chain.owner(), chain.token()
    answer = put(empty, address=token, chain_ids=[LOCAL], recovery=file_for(token))
    assert "a token" in refusal(answer)
    fields = {"address": owner, "chain_ids": [LOCAL], "recovery": file_for(owner)}
    assert refusal(put(empty, **fields), "contract_is_mine")
    assert put(empty, **fields, contract_is_mine=True).json["next_index"] == 5_000_017


def test_the_command_line_asks_the_same(app, chain):
    owner, token = chain.owner(), chain.token()
    create = ("tenants", "create", "acme", "--name", "Acme", "--json", "--chains", str(LOCAL))
    said = cli(app, *create, "--address", token, "--contract-is-mine", exit_code=1)
    assert "a token on: Local." in said
    assert "contract_is_mine" in cli(app, *create, "--address", owner, exit_code=1)
    made = json.loads(cli(app, *create, "--address", owner, "--contract-is-mine"))
    assert "unchecked_chains" not in made
    (stored,) = Wallet.select()
    assert (stored.owner, stored.contract_is_mine) == (owner, True)


class TestWhileANodeIsSilent:
    """The worker asks later, and nothing is sold until then."""

    @pytest.fixture
    def state(self, bad_node, app, chain):
        """Set a wallet of a contract while its chain cannot be asked."""

        def state(contract, **fields):
            bad_node.refuse("eth_getCode")
            shop = new_organizer(app, "shop", address=None)
            answer = put(shop, address=contract, chain_ids=[LOCAL], **fields)
            assert (answer.status_code, answer.json["unchecked_chains"]) == (200, [LOCAL])
            bad_node.well()
            return shop

        return state

    def sells(self, shop):
        return shop.preflight(shop.ticket()).status_code == 201

    def test_a_contract_that_nobody_confirmed_sells_nothing_until_somebody_does(self, state, chain):
        owner = chain.owner()
        shop = state(owner)
        assert not self.sells(shop)
        worker_once(shop.app)
        assert (wallet(shop)["unchecked_chains"], self.sells(shop)) == ([], False)
        assert "contract_unconfirmed" in wallet(shop)["warnings"]
        assert refusal(put(shop, address=owner, chain_ids=[LOCAL]), "contract_is_mine")
        answer = put(shop, address=owner, chain_ids=[LOCAL], contract_is_mine=True)
        assert "contract_unconfirmed" not in answer.json["warnings"]
        assert self.sells(shop)

    def test_a_contract_that_was_confirmed_sells_when_the_worker_has_asked(self, state, chain):
        shop = state(chain.owner(), contract_is_mine=True)
        assert not self.sells(shop)
        worker_once(shop.app)
        assert (wallet(shop)["contract_is_mine"], self.sells(shop)) == (True, True)

    def test_a_token_never_sells_whatever_is_said_of_it(self, state, chain, bad_node):
        token = chain.token()
        shop = state(token, contract_is_mine=True)
        worker_once(shop.app)
        assert (wallet(shop)["contract_is_mine"], self.sells(shop)) == (False, False)
        assert "contract_unconfirmed" in wallet(shop)["warnings"]
        fields = {"address": token, "chain_ids": [LOCAL], "contract_is_mine": True}
        assert "a token" in refusal(put(shop, **fields))
        bad_node.refuse("eth_getCode")
        assert put(shop, **fields).json["unchecked_chains"] == [LOCAL]
        bad_node.well()
        worker_once(shop.app)
        assert (wallet(shop)["contract_is_mine"], self.sells(shop)) == (False, False)
