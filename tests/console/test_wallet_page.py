"""The console's page of the wallet."""

import pytest

from tests.support.console import hidden_fields, sign_in
from tests.support.factories import new_organizer, new_xpub
from ticketing.chain.xpub import derive_address

WALLET = "/console/wallet"


@pytest.fixture
def bare(app):
    """A tenant without a wallet."""
    return new_organizer(app, "bare", xpub=None)


@pytest.fixture
def boss(bare):
    """Its administrator."""
    return sign_in(bare)


def _groups(address):
    return "".join(f"<span>{address[at : at + 4]}</span>" for at in range(0, 42, 4))


def _xpub(organizer):
    answer = organizer.api().get(f"{organizer.path}/wallet")
    return answer.json.get("xpub")


def test_nothing_is_stored_before_the_first_address_was_compared(bare, boss):
    xpub = new_xpub()
    assert "Set your wallet" in boss.get(WALLET).text
    asked = boss.send(WALLET, {"xpub": f" {xpub}\n"})
    assert asked.status_code == 200
    assert "Is this the first address that your wallet shows?" in asked.text
    assert _groups(derive_address(xpub, 0)) in asked.text
    assert _xpub(bare) is None
    answer = boss.send(f"{WALLET}/confirm", {"xpub": hidden_fields(asked.text)["xpub"]})
    assert answer.headers["Location"] == f"{WALLET}#saved"
    assert _xpub(bare) == xpub
    page = boss.get(WALLET).text
    assert xpub in page and _groups(derive_address(xpub, 0)) in page
    entry = bare.api().get(f"{bare.path}/audit-log").json["data"][0]
    assert (entry["action"], entry["subject"]) == ("wallets_set_wallet", "wallet")


def test_a_chain_that_cannot_be_read_is_named_before_it_is_stored(boss):
    asked = boss.send(WALLET, {"xpub": new_xpub()})
    assert "We could not look at" in asked.text


def test_a_chain_that_was_read_needs_no_warning(node, boss):
    asked = boss.send(WALLET, {"xpub": new_xpub()})
    assert asked.status_code == 200
    assert "We could not look at" not in asked.text


@pytest.mark.parametrize("wrong", ["", "xpub", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"])
def test_what_is_no_key_is_refused_at_its_field(bare, boss, wrong):
    for path in (WALLET, f"{WALLET}/confirm"):
        answer = boss.send(path, {"xpub": wrong})
        assert answer.status_code == 422
        assert 'id="xpub-error"' in answer.text
    assert _xpub(bare) is None


def test_another_account_replaces_the_wallet(acme, console):
    before, after = _xpub(acme), new_xpub()
    console.send(f"{WALLET}/confirm", {"xpub": after})
    assert before != _xpub(acme) == after


def test_only_administrators_see_the_wallet(acme, writer):
    assert writer.get(WALLET).status_code == 403
    for path in (WALLET, f"{WALLET}/confirm"):
        assert writer.send(path, {"xpub": new_xpub()}).status_code == 403
    assert WALLET not in writer.get("/console").text


def test_each_tenant_sees_its_own_wallet(acme, neighbour, console):
    page = console.get(WALLET).text
    assert _xpub(acme) in page
    assert _xpub(neighbour) not in page
