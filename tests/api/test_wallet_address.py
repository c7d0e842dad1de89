"""A wallet of an ordinary address: what is taken, what is refused, and the recovery file."""

import json
import logging

import pytest

from tests.support.factories import cli, new_organizer, worker_once
from tests.support.stored_rows import rows
from ticketing.chain import receivers
from ticketing.chain.registry import REGISTRY
from ticketing.models.unassigned_money import UnassignedMoney
from ticketing.models.wallets import Wallet
from ticketing.services.wallets import issuing
from tools import anvil
from tools.anvil import TOKEN_ADDRESS

pytestmark = pytest.mark.one_database

OWNER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
OTHER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
MNEMONIC = "test test test test test test test test test test test junk"
XPRV = (
    "xprv9xfqxwSS6rXkXFVW41dgcrqAcyz2mUKL9rhsG2VxMLDAj5Rhqw7Z17t4"
    "NXH3jhWpzZ9VuyGt3gm17D516VDUbRSfpafVjWXdbrLrfZJmPwF"
)
PRIVATE_KEY = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
LOCAL = 31337
LOOK_ALIKE = REGISTRY[LOCAL].look_alikes[0].token_address


def put(organizer, **fields):
    return organizer.api().put(f"{organizer.path}/wallet", fields)


def get(organizer, path=""):
    return organizer.api().get(f"{organizer.path}/wallet{path}").json


def refusal(answer, field="address"):
    """Return why a field was refused."""
    assert (answer.status_code, answer.json["code"]) == (422, "invalid_request")
    ((name, (sentence,)),) = answer.json["errors"].items()
    assert name == field
    return sentence


@pytest.fixture
def empty(app):
    return new_organizer(app, "empty", address=None)


def test_an_address_is_a_wallet(empty):
    answer = put(empty, address=OWNER.lower(), chain_ids=[LOCAL, 8453])
    assert answer.status_code == 200
    assert answer.json == {
        "address": OWNER,
        "chain_ids": [8453, LOCAL],
        "contract_is_mine": False,
        "exchange": False,
        "minimum_deposit": None,
        "contract_version": 1,
        "next_index": 1,
        "credited_at": None,
        "unchecked_chains": [8453, LOCAL],  # one is not enabled, the other has no node here
        "warnings": ["recovery_file_not_saved"],
        "pending": None,
    }
    assert get(empty) == answer.json


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("0x" + "0" * 40, "zero address"),
        ("0x" + "0" * 36 + "ffff", "belongs to the network"),
        ("0x" + "0" * 36 + "dEaD", "Nobody can spend"),
        ("0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", "Nobody can spend"),
        (OWNER.replace("C518", "c518"), "EIP-55"),
        (OWNER[:-1], "40 hexadecimal digits"),
        (f" {OWNER}", "40 hexadecimal digits"),
        (OWNER.replace("0x", "0X"), "40 hexadecimal digits"),
        (REGISTRY[LOCAL].token_address, "USDC on Local"),
        (REGISTRY[8453].token_address.lower(), "USDC on Base"),
        (REGISTRY[1].look_alikes[0].token_address, "USDT on Ethereum"),
        ("0x000000000022D473030F116dDEE9F6B43aC78BA3", "Permit2"),
        ("0x4200000000000000000000000000000000000006", "WETH"),
        ("0x4200000000000000000000000000000000000010", "belongs to the network"),
        ("0x41675c099f32341bf84bfc5382af534df5c7461a", "Safe Singleton 1.4.1"),
        (receivers.FACTORY, "collects money"),
        (receivers.IMPLEMENTATION, "contract of receivers"),
        (receivers.PROXY, "deploys others"),
        (MNEMONIC, "secret phrase"),
        (f"0x{PRIVATE_KEY}", "private key"),
    ],
)
def test_what_cannot_be_a_wallet_is_refused_with_its_reason(empty, address, why):
    assert why in refusal(put(empty, address=address, chain_ids=[LOCAL]))
    assert get(empty)["code"] == "not_found"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"address": OWNER},
        {"address": OWNER, "chain_ids": []},
        {"address": OWNER, "chain_ids": [LOCAL, 4242]},
        {"address": OWNER, "chain_ids": [LOCAL], "minimum_deposit": 1},
        {"chain_ids": [LOCAL]},
    ],
)
def test_fields_that_do_not_belong_together_are_refused(empty, fields):
    assert put(empty, **fields).status_code == 422
    assert get(empty)["code"] == "not_found"


@pytest.mark.parametrize(
    ("secret", "why"),
    [
        *((" ".join(["abandon", "ability"][:1] * count), "secret phrase") for count in (12, 24)),
        ("zoo, " * 14 + "Wrong", "secret phrase"),
        (PRIVATE_KEY.upper(), "private key"),
        (XPRV, "private key"),
    ],
    ids=["12 words", "24 words", "15 with commas", "hex", "xprv"],
)
def test_a_secret_is_recognized_and_kept_nowhere(empty, caplog, secret, why):
    caplog.set_level(logging.DEBUG)
    answer = put(empty, address=secret)
    assert why in refusal(answer) and "Move your money" in answer.text
    stored = "\n".join(row for _, row in rows())
    for text in (answer.text, caplog.text, stored):
        assert secret not in text and secret[6:40] not in text


def test_addresses_of_orders_and_gathering_receivers_of_any_tenant_are_refused(app, acme, node):
    shop = new_organizer(app, "shop", address=OWNER)
    worker_once(app)
    order = shop.buyer(shop.ticket()).intent["address"]
    another = acme.buyer(acme.ticket()).intent["address"]
    gathering = issuing.gathering_address(OWNER)
    for address, why in ((order, "order"), (another, "order"), (gathering, "gathered")):
        assert why in refusal(put(acme, address=address, chain_ids=[LOCAL]))


def test_a_contract_is_taken_only_for_networks_on_which_it_exists(environ, node, request):
    environ["RPC_URL_8453"] = "http://127.0.0.1:9"
    app = request.getfixturevalue("app")
    shop = new_organizer(app, "shop", address=None)
    assert put(shop, address=OWNER, chain_ids=[LOCAL, 8453]).json["unchecked_chains"] == [8453]
    node.rpc("anvil_setCode", OWNER, "0x6000")
    safe = put(shop, address=OWNER, chain_ids=[LOCAL, 8453, 1], contract_is_mine=True)
    assert (safe.status_code, safe.json["unchecked_chains"]) == (200, [1, 8453])
    (wallet,) = Wallet.select()
    assert (wallet.code_on, wallet.checked_chains) == ({LOCAL}, {LOCAL})
    node.rpc("anvil_setCode", OTHER, "0xef0100" + anvil.TOKEN_ADDRESS[2:])
    assert put(shop, address=OTHER, chain_ids=[LOCAL]).status_code == 200


def test_a_contract_that_is_missing_on_a_named_network_is_refused(environ, node, nodes, request):
    with anvil.Anvil(chain_id=8453) as other:
        environ["RPC_URL_8453"] = other.url
        shop = new_organizer(request.getfixturevalue("app"), "shop", address=None)
        other.rpc("anvil_setCode", OWNER, "0x6000")
        safe = {"address": OWNER, "contract_is_mine": True}
        said = refusal(put(shop, **safe, chain_ids=[LOCAL, 8453]), "chain_ids")
        assert said.endswith("does not exist on: Local.")
        both = put(shop, address=OWNER, chain_ids=[LOCAL, 8453]).json["errors"]
        assert both.keys() == {"chain_ids", "contract_is_mine"}
        assert put(shop, **safe, chain_ids=[8453]).status_code == 200


def test_the_same_address_again_changes_only_its_settings(empty):
    put(empty, address=OWNER, chain_ids=[LOCAL])
    (before,) = Wallet.select()
    answer = put(
        empty, address=OWNER, chain_ids=[LOCAL, 1], exchange=True, minimum_deposit=5_000_000
    )
    assert answer.json["chain_ids"] == [1, LOCAL]
    assert (answer.json["exchange"], answer.json["minimum_deposit"]) == (True, 5_000_000)
    assert answer.json["warnings"] == ["wallet_untested", "recovery_file_not_saved"]
    (after,) = Wallet.select()
    assert (after.id, after.secret) == (before.id, before.secret)


def test_a_former_address_continues_with_its_secret(app, node):
    shop = new_organizer(app, "shop", address=OWNER)
    worker_once(app)
    ticket = shop.ticket(capacity=None)
    issued = [shop.buyer(ticket).intent["address"]]
    put(shop, address=OTHER, chain_ids=[LOCAL])
    issued.append(shop.buyer(ticket).intent["address"])
    assert put(shop, address=OWNER, chain_ids=[LOCAL]).json["next_index"] == 2
    issued.append(shop.buyer(ticket).intent["address"])
    assert len(set(issued)) == 3
    wallet = Wallet.get(Wallet.owner == OWNER)
    assert issued[2] == issuing.address_of(wallet, 2)
    assert Wallet.select().count() == 2


def test_two_tenants_with_one_address_have_two_secrets(app, node):
    shops = [new_organizer(app, slug, address=OWNER) for slug in ("one", "two")]
    worker_once(app)
    issued = {shop.buyer(shop.ticket()).intent["address"] for shop in shops}
    assert len(issued) == 2


def test_an_exchange_is_untested_until_it_has_credited_something(empty):
    put(empty, address=OWNER, chain_ids=[LOCAL], exchange=True)
    answer = empty.api().post(f"{empty.path}/wallet/credited")
    assert (answer.status_code, answer.json["warnings"]) == (200, ["recovery_file_not_saved"])


def test_the_recovery_file_has_every_address_that_the_tenant_had(empty, caplog):
    caplog.set_level(logging.DEBUG)
    put(empty, address=OWNER, chain_ids=[LOCAL])
    put(empty, address=OTHER, chain_ids=[1, LOCAL])
    answer = empty.api().get(f"{empty.path}/wallet/recovery")
    assert answer.headers["Cache-Control"] == "no-store"
    file = answer.json
    assert (file["kind"], file["version"]) == ("ticketing-recovery", 2)
    assert file["tenant"] == "empty"
    stored = {each.owner: each for each in Wallet.select()}
    assert [each.pop("created_at")[-1] for each in file["wallets"]] == ["Z", "Z"]
    assert file["wallets"] == [
        {
            "contract_version": 1,
            "owner": owner,
            "secret": f"0x{stored[owner].secret}",
            "exchange": False,
            "minimum_deposit": None,
            "chain_ids": chain_ids,
            "other_chain_ids": [],
            "tokens": [{"chain_id": LOCAL, "token_address": TOKEN_ADDRESS}],
            "next_index": 1,
        }
        for owner, chain_ids in ((OWNER, [LOCAL]), (OTHER, [1, LOCAL]))
    ]
    log = empty.api().get(f"{empty.path}/audit-log").text
    feed = empty.api().get(f"{empty.path}/notifications").text
    for each in stored.values():
        assert not [text for text in (log, feed, caplog.text) if each.secret in text]


def file_of(tenant, owner=OWNER):
    """Return the entry of an owner in today's recovery file."""
    return {each["owner"]: each for each in get(tenant, "/recovery")["wallets"]}[owner]


def test_the_recovery_file_has_an_exchange_with_its_minimum(empty):
    put(empty, address=OWNER, chain_ids=[LOCAL], exchange=True, minimum_deposit=10_000_000)
    entry = file_of(empty)
    assert (entry["exchange"], entry["minimum_deposit"]) == (True, 10_000_000)


def test_the_recovery_file_keeps_networks_that_were_taken_off(empty):
    put(empty, address=OWNER, chain_ids=[1, 10, LOCAL])
    put(empty, address=OWNER, chain_ids=[10])
    put(empty, address=OTHER, chain_ids=[LOCAL])
    put(empty, address=OWNER, chain_ids=[137])
    entry = file_of(empty)
    assert (entry["chain_ids"], entry["other_chain_ids"]) == ([137], [1, 10, LOCAL])
    assert file_of(empty, OTHER)["other_chain_ids"] == []


def test_the_recovery_file_has_what_orders_received_elsewhere(app, empty, node):
    """What the worker has booked, or has seen at addresses without an order."""
    put(empty, address=OWNER, chain_ids=[LOCAL])
    worker_once(app)
    buyer = empty.buyer(empty.ticket())
    look_alike = anvil.deploy_token(node.rpc)
    node.rpc("anvil_setCode", LOOK_ALIKE, node.rpc("eth_getCode", look_alike, "latest"))
    anvil.mint(node.rpc, LOOK_ALIKE, buyer.intent["address"], 7)
    worker_once(app)
    wallet = Wallet.get(Wallet.owner == OWNER)
    UnassignedMoney.insert(
        wallet=wallet.id,
        chain_id=10,
        token_address=OTHER,
        address_index=0,
        amount=5,
        seen_at=wallet.created_at,
    ).execute()
    entry = file_of(empty)
    assert [tuple(each.values()) for each in entry["tokens"]] == [
        (10, OTHER),
        (LOCAL, TOKEN_ADDRESS),
        (LOCAL, LOOK_ALIKE),
    ]
    assert entry["other_chain_ids"] == [10]


def test_warnings_about_the_recovery_file_end_when_it_is_saved(empty, tmp_path):
    put(empty, address=OWNER, chain_ids=[LOCAL])
    path = tmp_path / "recovery.json"
    cli(empty.app, "wallet", "recovery", "empty", "--output", str(path))
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text())["wallets"][0]["owner"] == OWNER
    assert get(empty)["warnings"] == []
    Wallet.update(next_index=200_001).execute()
    assert get(empty)["warnings"] == ["recovery_file_outdated"]
    assert get(empty, "/recovery")["wallets"][0]["next_index"] == 200_001
    assert get(empty)["warnings"] == []


def test_a_file_that_lacks_a_network_must_be_saved_again(empty):
    put(empty, address=OWNER, chain_ids=[1, LOCAL])
    get(empty, "/recovery")
    put(empty, address=OWNER, chain_ids=[LOCAL])
    assert put(empty, address=OWNER, chain_ids=[1, LOCAL]).json["warnings"] == []
    answer = put(empty, address=OWNER, chain_ids=[10, LOCAL])
    assert answer.json["warnings"] == ["recovery_file_not_saved"]


def test_a_tenant_without_a_wallet_has_no_recovery_file(empty):
    assert empty.api().get(f"{empty.path}/wallet/recovery").status_code == 404


def file_for(owner, secret="ab" * 32, **fields):
    """Return the recovery file of another installation."""
    wallet = {"contract_version": 1, "owner": owner, "secret": f"0x{secret}", "chain_ids": [1]}
    wallet |= {"exchange": False, "minimum_deposit": None, "other_chain_ids": [], "tokens": []}
    wallet |= {"next_index": 17, "created_at": "2026-11-20T09:00:00Z", **fields}
    return {"kind": "ticketing-recovery", "version": 2, "tenant": "old", "wallets": [wallet]}


def test_a_recovery_file_is_continued_where_its_search_ends(app, empty, node):
    fields = {"address": OWNER, "chain_ids": [LOCAL]}
    put(empty, **fields)  # nothing was issued with the secret of this one
    answer = put(empty, **fields, recovery=file_for(OWNER.lower()))
    assert (answer.status_code, answer.json["next_index"]) == (200, 5_000_017)
    assert "ab" * 32 not in answer.text
    assert put(empty, **fields, recovery=file_for(OWNER)).json["next_index"] == 5_000_017
    worker_once(app)
    salt = receivers.order_salt(bytes.fromhex("ab" * 32), 5_000_017)
    issued = empty.buyer(empty.ticket()).intent["address"]
    assert issued == receivers.receiver_address(OWNER, salt)
    assert "already" in refusal(
        put(empty, **fields, recovery=file_for(OWNER, "cd" * 32)), "recovery"
    )


def test_a_wallet_that_continues_a_file_keeps_its_networks_and_tokens(empty):
    tokens = [{"chain_id": 10, "token_address": TOKEN_ADDRESS.lower()}]
    fields = {"exchange": True, "minimum_deposit": 5, "other_chain_ids": [137], "tokens": tokens}
    put(empty, address=OWNER, chain_ids=[8453], recovery=file_for(OWNER, **fields))
    put(empty, address=OWNER, chain_ids=[8453])
    entry = file_of(empty)
    assert entry["chain_ids"] == [8453]
    assert entry["other_chain_ids"] == [1, 10, 137]
    assert entry["tokens"] == [{"chain_id": 10, "token_address": TOKEN_ADDRESS}]
    assert (entry["exchange"], entry["minimum_deposit"]) == (False, None)


def test_two_wallets_never_share_a_secret(empty, neighbour):
    put(empty, address=OWNER, chain_ids=[LOCAL], recovery=file_for(OWNER))
    for owner in (OWNER, OTHER):
        answer = put(neighbour, address=owner, chain_ids=[LOCAL], recovery=file_for(owner))
        assert "Another wallet" in refusal(answer, "recovery")
    answer = put(empty, address=OTHER, chain_ids=[LOCAL], recovery=file_for(OTHER))
    assert "Another wallet" in refusal(answer, "recovery")


@pytest.mark.parametrize(
    "file",
    [
        {},
        {**file_for(OWNER), "wallets": []},
        {**file_for(OWNER), "kind": "other"},
        file_for(OTHER),
        file_for(OWNER, "AB" * 32),
        file_for(OWNER, "ab" * 31),
        file_for(OWNER, contract_version=2),
        file_for(OWNER, next_index=0),
        file_for(OWNER, next_index=True),
        file_for(OWNER, next_index=2**53),
        file_for(None),
        file_for(OWNER, chain_ids=8453),
        file_for(OWNER, chain_ids=[True]),
        file_for(OWNER, chain_ids=[0]),
        file_for(OWNER, other_chain_ids=["10"]),
        file_for(OWNER, other_chain_ids=None),
        file_for(OWNER, other_chain_ids=[*range(1, 1002)]),
        file_for(OWNER, tokens=None),
        file_for(OWNER, tokens=[8453]),
        file_for(OWNER, tokens=[{"chain_id": "1", "token_address": OTHER}]),
        file_for(OWNER, tokens=[{"chain_id": 1, "token_address": "0x12"}]),
        file_for(OWNER, tokens=[{"chain_id": 1}]),
        {**file_for(OWNER), "version": 3},
        {**file_for(OWNER), "version": "2"},
        {**file_for(OWNER), "version": 0},
        {**file_for(OWNER), "version": 1},
        {**file_for(OWNER), "version": None},
        {**file_for(OWNER), "wallets": [1]},
        {**file_for(OWNER), "wallets": file_for(OWNER)["wallets"] * 2},
    ],
)
def test_a_file_that_is_wrong_is_refused_and_not_repeated(empty, file):
    answer = put(empty, address=OWNER, chain_ids=[LOCAL], recovery=file)
    assert refusal(answer, "recovery") and "abab" not in answer.text
    assert get(empty)["code"] == "not_found"


def test_the_audit_log_has_both_wallets_of_a_change(empty):
    put(empty, address=OWNER, chain_ids=[LOCAL])
    put(empty, address=OTHER, chain_ids=[LOCAL])
    (last, first) = empty.api().get(f"{empty.path}/audit-log?subject=wallet").json["data"]
    assert first["after"]["address"] == OWNER
    assert (last["before"]["address"], last["after"]["address"]) == (OWNER, OTHER)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--address", OWNER], "Name the networks"),
        (["--address", OWNER, "--chains", "4242"], "not known"),
        (["--address", receivers.PROXY, "--chains", "1"], "deploys others"),
        (["--address", MNEMONIC, "--chains", "1"], "secret phrase"),
        (["--chains", "1"], "State the address"),
    ],
)
def test_the_command_line_checks_the_same(app, options, why):
    said = cli(app, "tenants", "create", "acme", "--name", "Acme", *options, exit_code=1)
    assert why in said and MNEMONIC not in said


def test_the_command_line_takes_an_exchange(app):
    options = ("--address", OWNER, "--chains", "8453,10", "--exchange")
    cli(app, "tenants", "create", "acme", "--name", "Acme", *options)
    (wallet,) = Wallet.select()
    assert (wallet.is_exchange, wallet.chain_ids) == (True, {10, 8453})
