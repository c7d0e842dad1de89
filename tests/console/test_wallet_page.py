"""The console's page of the wallet."""

import pytest

from tests.support.console import PASSWORD, hidden_fields, sign_in
from tests.support.factories import new_organizer
from ticketing.models.wallets import Wallet

WALLET = "/console/wallet"
OWNER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
STATED = {"address": OWNER.lower(), "chain_ids": "31337", "exchange": ""}


@pytest.fixture
def bare(app):
    """A tenant without a wallet."""
    return new_organizer(app, "bare", address=None)


@pytest.fixture
def boss(bare):
    """Its administrator."""
    return sign_in(bare)


def _groups(address):
    return "".join(f"<span>{address[at : at + 4]}</span>" for at in range(0, 42, 4))


def _address(organizer):
    answer = organizer.api().get(f"{organizer.path}/wallet")
    return answer.json.get("address")


def test_nothing_is_stored_before_the_first_address_was_compared(bare, boss):
    assert "as soon as your wallet is saved" in boss.get(WALLET).text
    asked = boss.send(WALLET, STATED)
    assert asked.status_code == 200
    assert "Is this your address?" in asked.text and _groups(OWNER) in asked.text
    assert _address(bare) is None
    answer = boss.send(f"{WALLET}/confirm", hidden_fields(asked.text))
    assert answer.headers["Location"] == f"{WALLET}#saved"
    assert _address(bare) == OWNER
    assert _groups(OWNER) in boss.get(WALLET).text
    entry = bare.api().get(f"{bare.path}/audit-log").json["data"][0]
    assert (entry["action"], entry["subject"]) == ("wallets_set_wallet", "wallet")


def test_an_address_that_was_compared_on_the_page_is_saved_at_once(bare, boss):
    part = boss.send(f"{WALLET}/address", {"address": OWNER.lower()}).text
    assert _groups(OWNER) in part
    assert f'name="compared" value="{OWNER}"' in part
    for compared in ("", OWNER.lower(), "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"):
        asked = boss.send(WALLET, {**STATED, "compared": compared})
        assert "Is this your address?" in asked.text
    assert _address(bare) is None
    answer = boss.send(WALLET, {**STATED, "compared": OWNER})
    assert answer.headers["Location"] == f"{WALLET}#saved"
    assert _address(bare) == OWNER


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (OWNER.replace("C", "c", 1), "A letter or digit of this address is wrong."),
        ("0x" + "0" * 39, "0x"),
        ("test " * 11 + "junk", "This is your secret phrase."),
        (
            "0xd9aaec86b65d86f6a7b5b1b0c42ffa531710b6ca",
            "This is the address of USDbC on Base, not of a wallet.",
        ),
        ("0xca11bde05977b3631167028862be2a173976ca11", "This is Multicall3, a contract"),
    ],
)
def test_an_address_that_cannot_be_a_wallet_is_said_before_it_is_compared(boss, wrong, said):
    answer = boss.send(f"{WALLET}/address", {"address": wrong})
    assert answer.status_code == 200
    assert said in answer.text
    assert wrong not in answer.text
    assert "checkbox" not in answer.text


MINE = "This is my Safe or smart wallet"


def test_a_contract_is_asked_about_and_saved_once_the_box_is_ticked(node, bare, boss):
    node.rpc("anvil_setCode", OWNER, "0x00")
    assert MINE not in boss.get(WALLET).text
    refused = boss.send(WALLET, {**STATED, "compared": OWNER})
    assert refused.status_code == 422
    assert "There is a contract at this address on: Local. Is it your Safe" in refused.text
    assert MINE in refused.text
    asked = boss.send(WALLET, {**STATED, "contract_is_mine": "on"})
    assert "This address is a contract. You say that it is your Safe" in asked.text
    hidden = hidden_fields(asked.text)
    assert hidden["contract_is_mine"] == "on"
    assert boss.send(f"{WALLET}/confirm", {**STATED, "contract_is_mine": ""}).status_code == 422
    assert _address(bare) is None
    answer = boss.send(f"{WALLET}/confirm", {**STATED, "contract_is_mine": "on"})
    assert answer.headers["Location"] == f"{WALLET}#saved"
    assert (_address(bare), MINE in boss.get(WALLET).text) == (OWNER, False)


def test_a_contract_that_the_worker_found_is_asked_about_until_it_is_confirmed(
    bad_node, bare, boss
):
    bad_node.refuse("eth_getCode")
    stated = {**STATED, "compared": OWNER}
    assert boss.send(WALLET, stated).status_code == 303
    bad_node.well()
    Wallet.update(code_on={31337}, unchecked_chains=frozenset()).execute()
    page = boss.get(WALLET).text
    assert "Nothing is sold until you confirm below" in page and MINE in page
    assert boss.send(WALLET, {**stated, "contract_is_mine": "on"}).status_code == 303
    assert MINE not in boss.get(WALLET).text


def test_a_wallet_of_ones_own_has_no_minimum_deposit(bare, boss):
    stated = {**STATED, "compared": OWNER, "minimum_deposit": "10"}
    assert boss.send(WALLET, stated).status_code == 303
    assert boss.send(f"{WALLET}/confirm", {**stated, "exchange": "on"}).status_code == 303
    assert bare.api().get(f"{bare.path}/wallet").json["minimum_deposit"] == 10_000_000


def test_the_page_asks_for_the_recovery_file_until_it_was_saved(bare, boss):
    assert "/recovery" not in boss.get(WALLET).text
    boss.send(WALLET, {**STATED, "compared": OWNER})
    assert '<h2 id="recovery-file">Recovery file</h2>' in boss.get(WALLET).text
    boss.send(f"{WALLET}/recovery", {"password": PASSWORD})
    assert '<h2 id="recovery-file">3. Recovery file</h2>' in boss.get(WALLET).text


def test_a_wrong_password_for_the_recovery_file_takes_off_no_network(bare, boss):
    boss.send(WALLET, {**STATED, "compared": OWNER})
    answer = boss.send(f"{WALLET}/recovery", {"password": "wrong"})
    assert answer.status_code >= 400
    assert 'value="31337" checked' in answer.text


def test_the_page_says_how_far_the_first_steps_are(bare, boss):
    assert "0 of 7 done" in boss.get(WALLET).text
    boss.send(WALLET, {**STATED, "compared": OWNER})
    assert "1 of 7 done" in boss.get(WALLET).text
    ticket = bare.ticket(price_amount=0, chain_id=None)
    bare.buyer(ticket).purchase()
    assert "First steps" not in boss.get(WALLET).text


@pytest.mark.parametrize("wrong", ["", "xpub", "0x70997970C51812dc3A010C7d01b50e0d17dc79C9"])
def test_what_is_no_address_is_refused_at_its_field(bare, boss, wrong):
    for path in (WALLET, f"{WALLET}/confirm"):
        answer = boss.send(path, {**STATED, "address": wrong})
        assert answer.status_code == 422
        assert 'id="address-error"' in answer.text
    assert _address(bare) is None


def test_another_address_replaces_the_wallet(acme, console):
    assert _address(acme) != OWNER
    console.send(f"{WALLET}/confirm", STATED)
    assert _address(acme) == OWNER


def test_only_administrators_see_the_wallet(acme, writer):
    assert writer.get(WALLET).status_code == 403
    for path in (WALLET, f"{WALLET}/confirm", f"{WALLET}/address"):
        assert writer.send(path, STATED).status_code == 403
    assert WALLET not in writer.get("/console").text


def test_each_tenant_sees_its_own_wallet(acme, neighbour, console):
    page = console.get(WALLET).text
    assert _address(acme) in page
    assert _address(neighbour) not in page
