"""What the mail server may do: refuse, hang, vanish, return. No mail holds up another."""

from datetime import timedelta
from itertools import pairwise

import pytest

from tests.support.mails import confirm, confirmed, send, tell
from tests.support.odd_servers import OddServer
from ticketing.models.events import Event
from ticketing.models.notifications import Lease, Mail
from ticketing.services import leases
from ticketing.services.mail import planning
from ticketing.services.notifications import mail_queue
from ticketing.worker import mailing
from ticketing.worker.mailing import Mailer

pytestmark = pytest.mark.exhaustive

TICK = timedelta(seconds=1)
PEOPLE = ["ada@example.org", "bob@example.org", "cy@example.org"]


@pytest.fixture
def ticket(acme):
    return acme.ticket(capacity=None)


@pytest.fixture
def orders(acme, ticket):
    """Three confirmed orders, whose mails are not planned yet."""
    buyers = [confirmed(acme, ticket, buyer={"email": each}) for each in PEOPLE]
    tell(acme.id, *map(confirm, buyers))
    return buyers


def mail_to(address):
    """The row of the mail to one of PEOPLE."""
    return list(Mail.select().order_by(Mail.id))[PEOPLE.index(address)]


def test_several_mails_go_over_one_connection(acme, server, orders):
    assert send(acme.app) is None
    assert server.recipients == PEOPLE
    assert server.hosts == ["tickets.example.org"]


@pytest.mark.parametrize("stage", ["answers", "data_answers"])
def test_a_refused_mail_is_dropped_and_delays_no_other(acme, server, orders, stage):
    getattr(server, stage)["ada@example.org"] = "550 5.1.1 <ADA@example.org>: no such\x07 user"
    assert send(acme.app) is None
    assert server.recipients == PEOPLE[1:]
    row = mail_to("ada@example.org")
    assert (row.status, row.next_attempt_at) == ("dropped", None)
    assert row.error == "550 5.1.1 <recipient> no such user"


def test_what_a_server_says_is_cut(acme, server, orders):
    server.answers["ada@example.org"] = "554 " + "é" * 400
    send(acme.app)
    assert mail_to("ada@example.org").error == "554 " + "é" * 199 + "…"


@pytest.mark.parametrize("stage", ["answers", "data_answers"])
def test_a_mail_that_is_refused_for_now_is_tried_again_and_delays_no_other(
    acme, server, orders, time, stage
):
    getattr(server, stage)["ada@example.org"] = "451 Greylisted"
    assert send(acme.app) is None
    assert server.recipients == PEOPLE[1:]
    row = mail_to("ada@example.org")
    assert (row.status, row.attempts, row.error) == ("waiting", 1, "451 Greylisted")
    getattr(server, stage).clear()
    time.forward(seconds=59)
    send(acme.app)
    assert len(server.mails) == 2
    time.forward(seconds=1)
    send(acme.app)
    assert server.recipients[2:] == ["ada@example.org"]
    assert mail_to("ada@example.org").error is None


def test_the_pauses_grow_to_an_hour_and_after_48_hours_the_mail_is_dropped(
    acme, server, orders, time
):
    server.answers["ada@example.org"] = "451 Greylisted"
    start, tried = time.now, []
    while (row := Mail.select().order_by(Mail.id).first()) is None or row.status == "waiting":
        send(acme.app)
        row = mail_to("ada@example.org")
        if row.status == "waiting":
            tried.append((time.now - start).total_seconds() / 60)
            time.now = row.next_attempt_at
    assert tried[:4] == [0, 1, 6, 21]
    pauses = [b - a for a, b in pairwise(tried[3:])]
    assert all(54 <= each <= 66 for each in pauses)
    assert 40 < len(tried) < 60
    assert time.now == start + mail_queue.LIFE
    assert (row.status, row.error, row.recipient) == ("dropped", "451 Greylisted", None)


def test_without_a_server_all_wait_and_no_attempt_is_counted(acme, server, orders, time):
    server.stop()
    for _ in range(5):
        assert "ConnectionRefusedError" in send(acme.app)
        time.forward(minutes=10)
    assert {(mail.status, mail.attempts) for mail in Mail.select()} == {("waiting", 0)}
    server.start()
    assert send(acme.app) is None
    assert server.recipients == PEOPLE


def test_a_sender_that_the_server_refuses_counts_for_no_mail(acme, server, orders):
    server.sender_answer = "550 You may not send as this address"
    assert "MAIL FROM: 550" in send(acme.app)
    assert {(mail.status, mail.attempts) for mail in Mail.select()} == {("waiting", 0)}
    server.sender_answer = None
    send(acme.app)
    assert server.recipients == PEOPLE


def test_after_an_unusable_server_the_mailer_pauses(acme, server, orders, monkeypatch):
    server.stop()
    mailer = Mailer(acme.app.extensions["ticketing"])
    assert mailer.run() is not None
    server.start()
    assert mailer.run() is None
    assert not server.mails
    monkeypatch.setattr(mailer, "_rests_until", 0.0)
    mailer.run()
    assert server.recipients == PEOPLE


@pytest.fixture
def impatient(monkeypatch):
    """A mailer that waits for a short time only."""
    monkeypatch.setattr(mailing, "OPERATION_SECONDS", 0.5)
    monkeypatch.setattr(mailing, "MAIL_SECONDS", 1.0)


@pytest.mark.parametrize("behaviour", ["silent", "drips", "endless", "closes", "garbage"])
def test_a_server_that_behaves_oddly_is_left_and_all_mails_wait(
    acme, orders, server, impatient, behaviour
):
    server.stop()
    with OddServer(server.port, behaviour) as odd:
        assert "unusable" in send(acme.app)
        assert odd.connections == 1
    assert {(mail.status, mail.attempts) for mail in Mail.select()} == {("waiting", 0)}


def test_a_recipient_on_whom_the_server_hangs_delays_no_other(acme, server, orders, impatient):
    server.waits["ada@example.org"] = 60
    assert send(acme.app) is None
    assert server.recipients == PEOPLE[1:]
    row = mail_to("ada@example.org")
    assert (row.status, row.attempts) == ("waiting", 1)
    assert row.error == "the connection broke: SMTPServerDisconnected"


def test_a_server_that_hangs_on_every_recipient_is_asked_for_two_only(
    acme, server, orders, impatient
):
    server.waits.update(dict.fromkeys(PEOPLE, 60))
    assert "unusable" in send(acme.app)
    # After two in a row, the server is at fault and not the mail.
    assert [mail.attempts for mail in Mail.select().order_by(Mail.id)] == [1, 0, 0]


def test_a_server_that_drips_after_a_message_is_asked_for_two_only(acme, server, orders, impatient):
    server.stop()
    with OddServer(server.port, "drips_later") as odd:
        assert "unusable" in send(acme.app)
        assert odd.connections == 2
    assert [mail.attempts for mail in Mail.select().order_by(Mail.id)] == [1, 0, 0]


def test_421_while_a_mail_is_sent_delays_that_mail_only(acme, server, orders):
    server.answers["ada@example.org"] = "421 Too many from you"
    assert send(acme.app) is None
    assert server.recipients == PEOPLE[1:]
    assert mail_to("ada@example.org").status == "waiting"


def test_a_mail_that_cannot_be_written_is_dropped_and_delays_no_other(acme, server, orders, ticket):
    other = confirmed(acme, acme.ticket())
    Event.update(timezone="No/Where").where(Event.id == ticket["event_id"]).execute()
    tell(acme.id, confirm(orders[0]), confirm(other))
    send(acme.app)
    assert [mail.error for mail in Mail.select().order_by(Mail.id)] == [
        "it could not be written",
        None,
    ]
    assert len(server.mails) == 1


def test_urgent_mails_go_before_those_to_everybody(acme, server, orders, ticket):
    event = {
        "event_id": ticket["event_id"],
        "status": "published",
        "changed": ["venue"],
        "tell_people": True,
    }
    tell(acme.id, ("event.changed", event))
    planning.plan(acme.app.extensions["ticketing"].keyring)
    late = confirmed(acme, ticket, buyer={"email": "late@example.org"})
    tell(acme.id, confirm(late))
    send(acme.app)
    assert server.recipients == ["late@example.org", *PEOPLE]


def test_only_the_holder_of_the_lease_sends(acme, server, orders, time):
    Lease.create(name=mailing.LEASE, holder="another worker", until=time.now + leases.LEASE)
    send(acme.app)
    assert not server.mails and not Mail.select().exists()
    time.now += leases.LEASE + TICK
    send(acme.app)
    assert server.recipients == PEOPLE


def test_a_mailer_that_is_stopped_sends_no_more(acme, server, orders):
    stopping = Mailer(acme.app.extensions["ticketing"], is_stopped=lambda: len(server.mails) >= 1)
    stopping.run()
    stopping.leave()
    assert server.recipients == PEOPLE[:1]
    send(acme.app)
    assert server.recipients == PEOPLE


def test_the_log_names_no_person(acme, server, orders, caplog):
    caplog.set_level("DEBUG")
    server.answers["ada@example.org"] = "550 no ada@example.org here"
    server.answers["bob@example.org"] = "450 later for bob@example.org"
    send(acme.app)
    (row, *_) = Mail.select().order_by(Mail.id)
    # The test's own server writes a log, too.
    ours = [each.getMessage() for each in caplog.records if each.name.startswith("ticketing")]
    assert f"mail {row.id} (order_confirmed) dropped: 550" in ours
    assert not [each for each in ours if "@" in each or "cs_" in each]
