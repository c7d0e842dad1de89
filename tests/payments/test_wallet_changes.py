"""A change of a wallet waits once the tenant was paid, and administrators can cancel it."""

from datetime import UTC, datetime
from functools import partial

import pytest

from tests.support.console import PASSWORD, sign_in, signed_in
from tests.support.factories import CHAIN, cli, new_organizer, worker_once
from tests.support.members import accept
from tests.support.races import at_once
from tests.support.stopped_clock import StoppedClock
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.models.wallets import PendingWallet, Wallet
from ticketing.services.wallets import issuing
from ticketing.worker.wallet_changes import WalletChanges

OWNER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
OTHER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
THIRD = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"


@pytest.fixture
def time(monkeypatch):
    return StoppedClock(monkeypatch, datetime.now(UTC))


@pytest.fixture
def shop(time, app, node):
    """A tenant with a wallet of an address, which was paid."""
    shop = new_organizer(app, "shop", address=OWNER)
    worker_once(app)
    # Only this sum decides whether a change waits.
    shop.buyer(shop.ticket())
    OrderAccount.update(received=1, open=1).execute()
    return shop


def put(shop, address=OTHER, chain_ids=(CHAIN,), **fields):
    body = {"address": address, "chain_ids": list(chain_ids), **fields}
    return shop.api().put(f"{shop.path}/wallet", body).json


def wallet(shop):
    return shop.api().get(f"{shop.path}/wallet").json


def told(shop):
    """Return what the feed has about wallets, the oldest first."""
    data = shop.api().get(f"{shop.path}/notifications").json["data"]
    return [each for each in data if each["type"].startswith("wallet.")]


def types(shop):
    return [each["type"].removeprefix("wallet.") for each in told(shop)]


def make(shop):
    WalletChanges(shop.app.extensions["ticketing"]).run()


def ordered(shop, ticket):
    """Return the owner to whose wallet a new order is paid."""
    index = shop.buyer(ticket).intent["address"]
    return PaymentIntent.get(PaymentIntent.address == index).wallet.owner


def test_another_address_waits_a_day_in_which_orders_are_paid_as_before(shop, time):
    ticket = shop.ticket(capacity=None)
    answer = put(shop)
    assert (answer["address"], answer["pending"]["wallet"]["address"]) == (OWNER, OTHER)
    assert answer["pending"]["by"].startswith("key_")
    time.forward(hours=23, minutes=59)
    make(shop)
    assert ordered(shop, ticket) == OWNER
    time.forward(minutes=1)
    make(shop)
    assert ordered(shop, ticket) == OTHER
    assert (wallet(shop)["address"], wallet(shop)["pending"]) == (OTHER, None)
    requested, changed = told(shop)
    assert (requested["type"], changed["type"]) == ("wallet.change_requested", "wallet.changed")
    assert changed["data"]["address"] == requested["data"]["address"] == OTHER
    assert changed["data"]["former_address"] == OWNER
    (entry, *_) = shop.api().get(f"{shop.path}/audit-log?subject=wallet").json["data"]
    assert (entry["actor"], entry["action"]) == ("worker", "wallets_set_wallet")
    assert (entry["before"]["address"], entry["after"]["address"]) == (OWNER, OTHER)
    assert not [each for each in Wallet.select() if each.secret in str(entry)]


def test_a_network_that_is_added_waits_and_one_that_is_removed_does_not(shop, time):
    answer = put(shop, OWNER, [CHAIN, 8453], exchange=True)
    assert (answer["chain_ids"], answer["exchange"]) == ([CHAIN], True)
    assert answer["pending"]["wallet"]["chain_ids"] == [8453, CHAIN]
    answer = put(shop, OWNER, [8453])
    assert (answer["chain_ids"], answer["pending"]["wallet"]["chain_ids"]) == ([], [8453])
    answer = put(shop, OWNER, [8453])
    time.forward(days=1)
    make(shop)
    assert (wallet(shop)["chain_ids"], wallet(shop)["pending"]) == ([8453], None)


def test_a_change_can_be_canceled(shop, time):
    put(shop)
    answer = shop.api().post(f"{shop.path}/wallet/pending/cancel")
    assert (answer.status_code, answer.json["pending"]) == (200, None)
    assert shop.api().post(f"{shop.path}/wallet/pending/cancel").status_code == 404
    time.forward(days=2)
    make(shop)
    assert wallet(shop)["address"] == OWNER
    assert types(shop) == ["change_requested", "change_canceled"]


def test_another_request_starts_the_time_again(shop, time):
    put(shop)
    time.forward(hours=20)
    put(shop, THIRD)
    time.forward(hours=20)
    make(shop)
    assert wallet(shop)["address"] == OWNER
    time.forward(hours=4)
    make(shop)
    assert wallet(shop)["address"] == THIRD


def test_the_wallet_of_now_set_again_ends_the_change_that_waits(shop, time):
    put(shop)
    assert put(shop, OWNER)["pending"] is None
    assert types(shop) == ["change_requested", "change_canceled"]


def test_a_tenant_that_was_never_paid_changes_at_once(shop):
    OrderAccount.update(received=0, open=0).execute()
    assert (put(shop)["address"], types(shop)) == (OTHER, ["changed"])


def test_without_hours_nothing_waits(environ, node, request):
    environ["WALLET_CHANGE_HOURS"] = "0"
    shop = request.getfixturevalue("shop")
    assert (put(shop)["address"], types(shop)) == (OTHER, ["changed"])


def test_it_is_checked_once_more_and_dropped_if_it_is_not_possible(shop, node, time):
    put(shop, chain_ids=[CHAIN])
    # Meanwhile another tenant's money is gathered there.
    Wallet.update(gathering=OTHER).execute()
    time.forward(days=1)
    make(shop)
    assert (wallet(shop)["address"], wallet(shop)["pending"]) == (OWNER, None)
    assert types(shop) == ["change_requested", "change_canceled"]
    (entry, *_) = shop.api().get(f"{shop.path}/audit-log?subject=wallet").json["data"]
    assert entry["action"] == "wallets_cancel_wallet_change"
    assert entry["after"]["not_possible"] == OTHER


@pytest.mark.parametrize(("code", "is_made"), [("0x00", True), ("0x60ff60005260206000f3", False)])
def test_a_contract_that_was_confirmed_is_asked_again_before_it_is_made(
    shop, node, time, code, is_made
):
    node.rpc("anvil_setCode", OTHER, "0x00")
    assert "contract_is_mine" in put(shop)["errors"]
    assert put(shop, contract_is_mine=True)["pending"]["wallet"]["contract_is_mine"] is True
    node.rpc("anvil_setCode", OTHER, code)  # answers each call with 255, as a token may
    time.forward(days=1)
    make(shop)
    assert (wallet(shop)["address"], wallet(shop)["pending"]) == (OTHER if is_made else OWNER, None)
    assert types(shop)[-1] == ("changed" if is_made else "change_canceled")


def test_a_contract_that_nobody_confirmed_is_not_made_the_wallet_later(shop, node, time):
    put(shop)
    node.rpc("anvil_setCode", OTHER, "0x00")
    time.forward(days=1)
    make(shop)
    assert (wallet(shop)["address"], wallet(shop)["pending"]) == (OWNER, None)
    assert types(shop) == ["change_requested", "change_canceled"]


def test_a_recovery_file_waits_with_its_address(shop, time):
    entry = {"contract_version": 1, "owner": OTHER, "secret": "0x" + "ab" * 32, "chain_ids": [1]}
    entry |= {"next_index": 17, "created_at": "2026-11-20T09:00:00Z"}
    entry["tokens"] = [{"chain_id": 10, "token_address": THIRD}]
    entry["other_chain_ids"] = [10]
    file = {"kind": "ticketing-recovery", "version": 2, "tenant": "old", "wallets": [entry]}
    put(shop, recovery=file)
    time.forward(days=1)
    make(shop)
    assert (wallet(shop)["address"], wallet(shop)["next_index"]) == (OTHER, 5_000_017)
    entries = shop.api().get(f"{shop.path}/wallet/recovery").json["wallets"]
    (continued,) = (each for each in entries if each["owner"] == OTHER)
    assert continued["other_chain_ids"] == [1, 10]
    assert {"chain_id": 10, "token_address": THIRD} in continued["tokens"]


class TestWhoMayChangeItAtOnce:
    """In the console, with the password, an administrator of a day or longer."""

    @pytest.fixture
    def boss(self, shop):
        return sign_in(shop)

    def change(self, boss, shop, password=PASSWORD):
        form = {"address": OTHER, "chain_ids": str(CHAIN), "exchange": ""}
        answer = boss.send("/console/wallet/confirm", {**form, "password": password})
        return answer.status_code, wallet(shop)["address"]

    def test_an_administrator_of_a_day_changes_it_with_the_password(self, shop, boss, time):
        time.forward(days=1)
        assert self.signed_in_again(shop, boss) == (303, OTHER)
        assert types(shop) == ["changed"]

    def signed_in_again(self, shop, boss):
        return self.change(self.fresh(shop, boss), shop)

    def fresh(self, shop, boss):
        return signed_in(shop, boss.email)

    def test_an_address_that_was_compared_still_asks_for_the_password(self, shop, boss):
        form = {"address": OTHER, "chain_ids": str(CHAIN), "exchange": "", "compared": OTHER}
        assert (
            "It is made at once if you write your password"
            in boss.send("/console/wallet", form).text
        )
        assert (wallet(shop)["address"], wallet(shop)["pending"]) == (OWNER, None)

    def test_a_wrong_password_changes_nothing(self, shop, boss, time):
        time.forward(days=1)
        status, address = self.change(self.fresh(shop, boss), shop, "not the password")
        assert (status, address, wallet(shop)["pending"]) == (422, OWNER, None)

    def test_a_new_administrator_waits(self, shop, boss, time):
        time.forward(hours=23)
        assert self.signed_in_again(shop, boss) == (303, OWNER)
        assert wallet(shop)["pending"]["wallet"]["address"] == OTHER

    def test_an_administrator_with_a_new_password_waits(self, shop, boss, time):
        time.forward(days=1)
        (member,) = [
            each
            for each in shop.api().get(f"{shop.path}/members").json["data"]
            if each["email"] == boss.email
        ]
        again = shop.api().post(f"{shop.path}/members/{member['id']}/invite").json
        accept(shop, again["invitation_url"], password=PASSWORD)
        assert self.signed_in_again(shop, boss) == (303, OWNER)
        assert wallet(shop)["pending"]["by"] == member["id"]

    def test_who_was_demoted_and_promoted_again_waits(self, shop, boss, time):
        time.forward(days=1)
        (path,) = [
            f"{shop.path}/members/{each['id']}"
            for each in shop.api().get(f"{shop.path}/members").json["data"]
            if each["email"] == boss.email
        ]
        cli(
            shop.app,
            "members",
            "add",
            "shop",
            "b@example.org",
            "--role",
            "admin",
            "--password-stdin",
            stdin=f"{PASSWORD}\n",
        )
        for role in ("write", "admin"):
            assert shop.api().patch(path, {"role": role}).status_code == 200
        assert self.signed_in_again(shop, boss) == (303, OWNER)

    def test_the_page_shows_the_change_that_waits_and_cancels_it(self, shop, boss, time):
        put(shop, THIRD)
        page = boss.get("/console/wallet").text
        assert "A change waits" in page and THIRD[:4] in page
        boss.send("/console/wallet/cancel")
        assert wallet(shop)["pending"] is None


class TestAtTheSameTime:
    pytestmark = pytest.mark.sql

    def test_of_two_requests_one_waits(self, shop):
        at_once(partial(put, shop), partial(put, shop, THIRD))
        (pending,) = PendingWallet.select()
        assert wallet(shop)["pending"]["wallet"]["address"] == pending.owner
        assert types(shop) == ["change_requested"] * 2

    def test_of_two_first_wallets_one_is_set_and_both_rows_stay(self, app, node):
        shop = new_organizer(app, "bare", address=None)
        at_once(partial(put, shop), partial(put, shop, THIRD))
        owners = {each.id: each.owner for each in Wallet.select()}
        assert set(owners.values()) == {OTHER, THIRD}
        assert wallet(shop)["address"] == owners[Tenant.get().wallet_id]

    def test_two_workers_make_a_change_once(self, shop, time):
        put(shop)
        time.forward(days=1)
        at_once(*[partial(make, shop)] * 3)
        assert types(shop) == ["change_requested", "changed"]
        assert wallet(shop)["address"] == OTHER

    def test_a_request_and_the_worker_leave_what_was_asked_last_or_its_wait(self, shop, time):
        put(shop)
        time.forward(days=1)
        at_once(partial(make, shop), partial(put, shop, THIRD))
        # The request came first: it replaced the change. Or second: it waits behind it.
        found = wallet(shop)
        assert found["address"] in (OWNER, OTHER)
        assert found["pending"]["wallet"]["address"] == THIRD

    def test_no_address_is_issued_twice_while_the_wallet_changes(self, shop, time):
        OrderAccount.update(received=0, open=0).execute()
        ticket = shop.ticket(capacity=None)
        orders = [partial(shop.buyer, ticket)] * 6
        at_once(*orders, partial(put, shop), *orders, partial(put, shop, OWNER))
        of_orders = [each for each in PaymentIntent.select() if each.wallet_id]
        assert len({each.address for each in of_orders}) == len(of_orders) == 13
        for each in of_orders:
            assert each.address == issuing.address_of(each.wallet, each.address_index)
