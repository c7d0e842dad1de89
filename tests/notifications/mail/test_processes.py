"""The worker's process sends mails beside its other work, and may be killed at any point."""

import pytest

from tests.support.factories import PRICE
from tests.support.mail_server import MailServer
from tests.support.mails import ADA, PUBLIC_URL, SENDER, tell
from tests.support.odd_servers import OddServer
from tests.support.remote import eventually
from ticketing import clock
from ticketing.db.connection import database, open_database
from ticketing.models.notifications import Lease, Mail
from ticketing.models.payment_intents import PaymentIntent
from tools import anvil

pytestmark = pytest.mark.long


@pytest.fixture
def variables(variables, server):
    smtp = {"SMTP_URL": server.url, "MAIL_FROM": SENDER, "PUBLIC_URL": PUBLIC_URL}
    return {**variables, **smtp, "POLL_SECONDS": "0.1"}


@pytest.fixture
def rows(stack):
    """The database of the stack, open in this process."""
    open_database(stack.database_url)
    yield
    database.close()


@pytest.fixture
def order(remote, seat, rows):
    """A confirmed order whose mail is not planned yet."""
    intent = remote.preflight(seat, buyer=ADA).json
    assert remote.purchase(intent).status == 200
    order = PaymentIntent.get_by_id(intent["id"])
    tell(order.tenant_id, ("intent.confirmed", {"intent_id": order.id}))
    return order


def test_a_worker_killed_between_sending_and_marking_sends_again_with_the_same_message_id(
    stack, server, order
):
    server.before_answer = lambda: stack.kill("worker")
    stack.start_worker()
    eventually(lambda: len(server.mails) == 1)
    row = Mail.get()
    assert (row.status, row.attempts) == ("waiting", 1)
    server.before_answer = None
    # As if a minute had passed: the worker that was killed has claimed the mail for so long.
    Mail.update(next_attempt_at=clock.now()).execute()
    Lease.update(holder=None, until=None).execute()
    stack.start_worker()
    eventually(lambda: len(server.mails) == 2)
    first, second = server.mails
    assert first["Message-ID"] == second["Message-ID"] == f"<{row.id}@tickets.example.org>"
    eventually(lambda: Mail.get().status == "sent")


def test_a_worker_that_is_asked_to_end_ends_and_hands_over(stack, server, order):
    stack.start_worker()
    eventually(lambda: len(server.mails) == 1)
    assert stack.terminate("worker")(60) == 0
    assert Lease.get_by_id("mails").holder is None


def test_a_mail_server_that_hangs_delays_no_payment(stack, node, server, order, remote):
    server.stop()
    with OddServer(server.port, "silent") as silent:
        stack.start_worker()
        eventually(lambda: silent.connections == 1)
        intent = remote.preflight(remote.ticket()).json
        eventually(lambda: remote.ready()["chains"][0]["block_number"] is not None)
        anvil.transfer(node.rpc, intent["token_address"], intent["address"], PRICE)
        eventually(lambda: remote.intent(intent)["status"] == "confirmed")
        stack.kill("worker")
    assert Mail.get_by_id(Mail.select(Mail.id).order_by(Mail.id)).attempts == 0


def test_the_worker_that_looks_once_sends_what_is_due(stack, server, order):
    stack.environ.pop("RPC_URL_31337")
    stack.flask("worker", "--once")
    assert server.recipients == [ADA["email"]]
    with MailServer() as other:
        stack.environ["SMTP_URL"] = other.url
        stack.flask("worker", "--once")
        assert not other.mails
