"""A service restored from a backup gets the same books, and issues no address twice."""

import subprocess

import pytest

from tests.support.factories import PRICE, cli, new_organizer
from tests.support.processes import audit, variables_of
from tests.support.remote import RemoteOrganizer, eventually
from tests.support.wallets import issued
from ticketing import clock
from ticketing.models.wallets import PendingWallet
from tools import anvil
from tools.stack import Stack

pytestmark = pytest.mark.long

OWNER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
OTHER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"


@pytest.fixture
def serve(node, tmp_path):
    """Return a function that serves a database. All its processes are stopped at the end."""
    running = []

    def start(database_url):
        variables = variables_of(database_url, node.url, CONFIRMATIONS_31337="1")
        running.append(Stack(variables, log=tmp_path / f"log{len(running)}"))
        return running[-1]

    yield start
    for stack in running:
        stack.stop()


def pay(node, intent, amount=PRICE):
    anvil.transfer(node.rpc, intent["token_address"], intent["address"], amount)


def books(organizer, intents):
    """Return the books of these intents, without what each service generates itself."""
    told = []
    for intent in intents:
        found = organizer.intent(intent)
        del found["confirmed_at"], found["confirmations"]
        found["admissions"] = [each["status"] for each in found["admissions"]]
        for payment in found["payments"]:
            del payment["id"]
        told.append(found)
    return told


@pytest.fixture
def back_up(request, database_url, tmp_path, age, postgres_on_path):
    """Back up a service as docs/operations.md says. Return a function that restores it."""
    public, secret = age

    def restore():
        plain = tmp_path / "plain"
        command = ["age", "--decrypt", "--identity", secret, "--output", plain, tmp_path / "copy"]
        subprocess.run(command, check=True)
        if database_url.startswith("sqlite"):
            return f"sqlite:///{plain}"
        name = f"{database_url.rsplit('/', 1)[1]}_restored"
        url = request.getfixturevalue("postgres").create_database(name)
        into = ["--no-owner", "--exit-on-error", f"--dbname={url}", plain]
        subprocess.run(["pg_restore", *into], check=True)
        return url

    def back_up(stack):
        stack.flask("db", "backup", str(tmp_path / "copy"), "--recipient", public)
        return restore

    return back_up


def test_a_service_restored_from_a_backup_ends_with_the_same_books(
    serve, node, database_url, back_up
):
    first = serve(database_url)
    first.start_web()
    first.start_worker()
    acme = RemoteOrganizer(first, "acme")
    ticket = acme.ticket(capacity=100)
    confirmed, late, partly, unpaid = known = [acme.preflight(ticket).json for _ in range(4)]
    pay(node, confirmed)
    pay(node, partly, 1)
    eventually(lambda: acme.intent(confirmed)["status"] == "confirmed")
    eventually(lambda: acme.intent(partly)["amount_received"] == 1)
    restore = back_up(first)
    cursor = acme.ready()["chains"][0]["block_number"]

    # The backup has nothing of this.
    pay(node, late)
    pay(node, partly, PRICE - 1)
    pay(node, confirmed, 2)
    lost, shown = acme.preflight(ticket).json, acme.preflight(ticket).json
    pay(node, lost)
    for intent in (late, partly, lost):
        eventually(lambda intent=intent: acme.intent(intent)["status"] == "confirmed")
    eventually(lambda: acme.intent(confirmed)["refund_due"] == 2)
    node.rpc("evm_increaseTime", 2000)
    node.rpc("anvil_mine", "0x1")
    eventually(lambda: acme.intent(unpaid)["status"] == "expired")
    before = books(acme, known)
    assert [each["status"] for each in before] == [*["confirmed"] * 3, "expired"]
    assert audit(first)["ok"] is True
    owner = acme.send("GET", f"{acme.path}/wallet").json["address"]
    first.stop()

    second = serve(restore())
    assert second.flask("db", "restored") == f"{owner}  skipped 5 to 100004\n"
    second.start_web()
    acme.move_to(second)
    assert acme.ready()["chains"][0]["block_number"] == cursor
    assert acme.intent(late)["status"] == "awaiting_payment"
    second.start_worker()
    eventually(lambda: acme.ready()["chains"][0]["block_number"] > cursor)
    eventually(lambda: books(acme, known) == before)
    assert audit(second)["ok"] is True
    now = acme.read(ticket)
    assert (now["held"], now["sold"]) == (0, 3)

    # A buyer who got an address after the backup may still pay there, and pays for nobody else.
    after = [acme.preflight(ticket).json for _ in range(2)]
    assert {each["address"] for each in after}.isdisjoint({lost["address"], shown["address"]})
    pay(node, shown)
    pay(node, after[0])
    eventually(lambda: acme.intent(after[0])["status"] == "confirmed")
    assert acme.intent(after[1])["amount_received"] == 0
    assert books(acme, known) == before
    assert audit(second)["ok"] is True


def test_every_wallet_passes_over_as_many_addresses_as_it_is_told(app, acme, neighbour):
    ticket = acme.ticket()
    acme.buyer(ticket)
    said = cli(app, "db", "restored", "--skip", "7")
    assert sorted(line.split("  ")[1] for line in said.splitlines()) == [
        "skipped 1 to 7",
        "skipped 2 to 8",
    ]
    api = acme.api()
    assert api.get(f"{acme.path}/wallet").json["next_index"] == 9
    assert acme.buyer(ticket).intent["address"] == issued(acme.id, 9)
    assert neighbour.api().get(f"{neighbour.path}/wallet").json["next_index"] == 8


def test_a_change_of_a_wallet_that_waited_in_the_backup_is_canceled(app):
    shop = new_organizer(app, "shop", address=OWNER)
    now = clock.now()
    PendingWallet.insert(
        tenant_id=shop.id,
        owner=OTHER,
        chain_ids={1},
        asked_by="key_x",
        asked_at=now,
        effective_at=now,
    ).execute()
    cli(app, "db", "restored")
    assert shop.api().get(f"{shop.path}/wallet").json["pending"] is None


def test_there_is_nothing_to_pass_over_without_a_wallet(app):
    assert cli(app, "db", "restored") == ""
