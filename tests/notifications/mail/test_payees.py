"""Who decides where a refund goes: the buyer's mailbox, or a day in which it was told."""

from datetime import timedelta

import pytest

from tests.support import payees
from tests.support.mails import PUBLIC_URL, change_intent, html_of, send, text_of
from tests.support.members import accept, invite
from tests.support.order_pages import SAME_ORIGIN, link
from tests.support.order_pages import text_of as text_of_page
from tests.support.payees import ask, enter, links_in, payee, press, state_only, stop
from tests.support.refunds import received
from ticketing import credentials
from ticketing.models.audit_log import AuditLogEntry
from ticketing.models.notifications import Mail
from ticketing.models.refunds import RefundAddress
from ticketing.services.mail import cautioned_refunds
from ticketing.services.payments import payee_changes
from tools import anvil

VICTIM = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
THIEF = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
OTHER = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"
WAIT = timedelta(hours=24)


@pytest.fixture
def owed(buyer):
    """An order that owes its buyer something."""
    received(buyer, 7_000_000)
    change_intent(buyer, due=7_000_000)
    return buyer


def told(acme, server):
    """Let the mailer run, and return the new mails."""
    before = len(server.mails)
    send(acme.app)
    return server.mails[before:]


def is_payee(buyer, address):
    return buyer.now()["refund_address"] == address


class TestAStatementWaits:
    def test_it_counts_after_a_day_in_which_the_buyer_was_told(self, acme, server, time, owed):
        answer = state_only(owed, VICTIM)
        assert answer.status_code == 200 and answer.json["refund_address"] is None
        shown = answer.json["payee"]
        assert shown["waiting_address"] == VICTIM and shown["source"] is None
        assert shown["waits_until"] == (time.now + WAIT).isoformat().replace("+00:00", "Z")
        (mail,) = told(acme, server)
        assert mail["Subject"] == "Where should your refund go? Launch Night"
        time.forward(hours=23, minutes=59)
        payee_changes.take_effect()
        assert is_payee(owed, None)
        time.forward(minutes=1)
        payee_changes.take_effect()
        assert is_payee(owed, VICTIM)
        found = payee(acme, owed)
        assert (found["source"], found["cautions"], found["waits_until"]) == ("stated", [], None)
        assert owed.now()["payee"]["waiting_address"] is None

    def test_the_button_in_the_mail_makes_it_count_at_once(self, acme, server, owed):
        state_only(owed, VICTIM)
        (mail,) = told(acme, server)
        buttons = links_in(mail)
        for part in (text_of(mail), html_of(mail)):
            assert "0x709979…dc79C8" in part and VICTIM not in part
        page = ask(acme, buttons["confirm"])
        assert VICTIM in page.text and is_payee(owed, None)
        assert press(acme, buttons["confirm"]).status_code == 303
        assert is_payee(owed, VICTIM)
        assert press(acme, buttons["confirm"]).status_code == 303
        assert payee(acme, owed)["cautions"] == []

    def test_opening_a_link_changes_nothing_and_neither_does_another_site(self, acme, owed):
        state_only(owed, VICTIM)
        path = payees.link_of(owed)
        for each in (path, f"{path}/stop"):
            assert ask(acme, each).status_code == ask(acme, each, "HEAD").status_code == 200
            foreign = {"Sec-Fetch-Site": "cross-site"}
            assert press(acme, each, headers=foreign).status_code == 403
        (row,) = RefundAddress.select()
        assert row.waits and row.ended_at is None

    def test_an_unknown_secret_finds_nothing(self, acme, owed, neighbour):
        state_only(owed, VICTIM)
        good = payees.link_of(owed)
        order_id, change_id, secret = good.removeprefix("/_r/").split(".")
        keyring = acme.app.extensions["ticketing"].keyring
        no_salt = credentials.change_secret(keyring.current, order_id, change_id, "")
        for path in (
            good[:-1] + ("0" if good[-1] != "0" else "1"),
            f"/_r/{order_id}.{change_id}",
            f"/_r/{order_id}.{change_id}.{no_salt}",
            f"/_r/{order_id}.rad_0.{secret}",
            f"/_r/{change_id}.{order_id}.{secret}",
            f"/_r/{order_id}.{change_id}.{owed.intent['client_secret']}",
        ):
            for method in ("GET", "POST"):
                assert ask(acme, path, method, headers=SAME_ORIGIN).status_code == 404, path

    def test_the_same_address_again_changes_nothing(self, acme, server, owed):
        for _ in range(3):
            state_only(owed, VICTIM)
        assert len(told(acme, server)) == 1
        assert RefundAddress.select().count() == 1

    def test_a_statement_that_another_one_replaced_counts_for_nothing(
        self, acme, server, time, owed
    ):
        state_only(owed, THIEF)
        send(acme.app)
        time.forward(hours=1)
        state_only(owed, VICTIM)
        send(acme.app)
        assert press(acme, payees.link_of(owed, 0)).status_code == 410
        time.forward(hours=23, minutes=30)
        payee_changes.take_effect()
        assert is_payee(owed, None)
        time.forward(hours=1)
        payee_changes.take_effect()
        assert is_payee(owed, VICTIM)

    def test_the_address_that_counts_takes_back_what_waits(self, acme, time, owed):
        payees.state(owed, VICTIM)
        state_only(owed, THIEF)
        answer = state_only(owed, VICTIM)
        assert answer.json["payee"]["waiting_address"] is None
        time.forward(hours=48)
        payee_changes.take_effect()
        assert is_payee(owed, VICTIM)

    def test_a_mail_that_was_late_lengthens_the_wait(self, acme, server, time, owed):
        """The buyer always has a whole day, also if the mail server was down."""
        payees.state(owed, VICTIM)
        server.answers["ada@example.org"] = "451 Later"
        state_only(owed, THIEF)
        send(acme.app)
        time.forward(hours=25)
        payee_changes.take_effect()
        assert is_payee(owed, VICTIM), "the buyer was not told yet"
        server.answers.clear()
        send(acme.app)
        time.forward(hours=23)
        payee_changes.take_effect()
        assert is_payee(owed, VICTIM)
        time.forward(hours=3)
        payee_changes.take_effect()
        assert is_payee(owed, THIEF)

    def test_the_fourth_in_30_days_counts_by_the_button_only(self, acme, server, time, owed):
        for address in (OTHER, THIEF, OTHER):
            state_only(owed, address)
            time.forward(hours=25)
            send(acme.app)
            payee_changes.take_effect()
            time.forward(hours=25)
            payee_changes.take_effect()
        answer = state_only(owed, VICTIM)
        shown = answer.json["payee"]
        assert (shown["waiting_address"], shown["waits_until"]) == (VICTIM, None)
        (mail,) = told(acme, server)
        assert "Without it, nothing changes" in text_of(mail)
        time.forward(days=7)
        payee_changes.take_effect()
        assert is_payee(owed, OTHER)
        payees.confirm(owed)
        assert is_payee(owed, VICTIM)


def test_administrators_get_one_mail_about_cautions_that_wait(acme, server, time, owed):
    accept(acme, invite(acme, "admin@example.org", "admin")["invitation_url"])
    enter(acme, owed, VICTIM)
    config = acme.app.extensions["ticketing"]
    time.forward(hours=71)
    cautioned_refunds.plan(config)
    assert not any("to look at" in each["Subject"] for each in told(acme, server))
    time.forward(hours=1)
    for _ in range(3):
        cautioned_refunds.plan(config)
    (mail,) = (each for each in told(acme, server) if "to look at" in each["Subject"])
    assert mail["Subject"] == "1 refund to look at before you pay it"
    assert f"{PUBLIC_URL}/console/refunds" in text_of(mail) and mail["To"] == "admin@example.org"


class TestThisWasntMe:
    def test_it_ends_the_change_and_the_link_alone_changes_nothing_more(
        self, acme, server, time, owed
    ):
        payees.state(owed, VICTIM)
        send(acme.app)
        state_only(owed, THIEF)
        (mail,) = told(acme, server)
        assert press(acme, links_in(mail)["stop"]).status_code == 303
        for _ in range(3):
            time.forward(hours=25)
            payee_changes.take_effect()
            assert is_payee(owed, VICTIM)
            assert state_only(owed, THIEF).json["payee"]["waits_until"] is None
            send(acme.app)
        payees.confirm(owed)
        assert is_payee(owed, THIEF), "a button of a mail still can"

    def test_it_also_ends_what_counts_already(self, acme, server, time, owed):
        payees.state(owed, VICTIM)
        state_only(owed, THIEF)
        send(acme.app)
        time.forward(hours=24)
        payee_changes.take_effect()
        assert is_payee(owed, THIEF)
        stop(owed)
        assert is_payee(owed, VICTIM)
        stop(owed)
        assert is_payee(owed, VICTIM)
        assert press(acme, payees.link_of(owed)).status_code == 410

    def test_another_statement_that_waits_counts_by_a_button_only(self, acme, server, time, owed):
        """Two were made with the link. Who stops the first one stops what the link can do."""
        state_only(owed, THIEF)
        send(acme.app)
        state_only(owed, OTHER)
        send(acme.app)
        stop(owed, 0)
        time.forward(hours=48)
        payee_changes.take_effect()
        assert is_payee(owed, None)
        assert owed.now()["payee"]["waits_until"] is None

    def test_what_was_stopped_is_no_payee_in_settle(self, acme, owed, time):
        state_only(owed, THIEF)
        stop(owed)
        (row,) = RefundAddress.select()
        assert row.counts_since is None and row.ended_at is not None


class TestWithoutAMailbox:
    @pytest.fixture(autouse=True)
    def nobody(self, owed):
        change_intent(owed, buyer_email=None)

    def test_a_first_statement_counts_after_the_wait_with_a_caution(self, acme, time, owed):
        assert state_only(owed, VICTIM).status_code == 200
        time.forward(hours=24)
        payee_changes.take_effect()
        assert payee(acme, owed)["cautions"] == ["nobody_told"]

    def test_what_nobody_could_confirm_is_refused(self, acme, time, owed):
        for address in (OTHER, THIEF, OTHER):
            assert state_only(owed, address).status_code == 200
        answer = state_only(owed, VICTIM)
        assert (answer.status_code, answer.json["code"]) == (409, "refund_address_fixed")


def test_a_mail_that_could_not_be_delivered_told_nobody(acme, server, time, owed):
    server.answers["ada@example.org"] = "550 No such user"
    state_only(owed, THIEF)
    send(acme.app)
    time.forward(hours=24)
    payee_changes.take_effect()
    assert payee(acme, owed)["cautions"] == ["nobody_told"]


class TestEntered:
    def test_finance_enters_what_the_buyer_told_and_the_buyer_gets_a_mail(
        self, acme, server, time, owed
    ):
        state_only(owed, THIEF)
        send(acme.app)
        answer = enter(acme, owed, VICTIM)
        assert answer.status_code == 200, answer.json
        found = answer.json["payee"]
        assert answer.json["refund_address"] == VICTIM and found["source"] == "entered"
        assert found["cautions"] == ["entered"] and found["entered_by"]
        assert found["waiting_address"] is None
        (mail,) = told(acme, server)
        assert mail["Subject"] == "Where your refund goes: Launch Night"
        assert "0x709979…dc79C8" in text_of(mail) and not links_in(mail)
        entry = AuditLogEntry.select().order_by(AuditLogEntry.id.desc()).first()
        assert "Ada called" in entry.after and VICTIM in entry.after
        time.forward(hours=25)
        payee_changes.take_effect()
        assert is_payee(owed, VICTIM)
        assert payee(acme, owed)["entered_by"] is None

    @pytest.mark.parametrize("role", ["read", "paywall", "write"])
    def test_no_role_below_finance_does(self, acme, owed, role):
        assert enter(acme, owed, THIEF, role).status_code == 403
        assert is_payee(owed, None)

    def test_the_neighbour_does_not(self, acme, neighbour, owed):
        path = f"{neighbour.path}/refunds/{owed.intent['id']}/payee"
        body = {"address": THIEF, "reason": "mine"}
        assert neighbour.api("admin").put(path, body).status_code == 404
        path = f"{acme.path}/refunds/{owed.intent['id']}/payee"
        assert neighbour.api("admin").put(path, body).status_code == 403

    @pytest.mark.parametrize(
        "fields", [{"reason": ""}, {"reason": " "}, {"address": anvil.TOKEN_ADDRESS}]
    )
    def test_it_needs_a_reason_and_an_address(self, acme, owed, fields):
        assert enter(acme, owed, **{"address": VICTIM, **fields}).status_code == 422


def test_the_page_says_what_to_do(acme, server, time, owed):
    state_only(owed, VICTIM)
    page = text_of_page(ask(acme, link(owed)).text)
    assert "Open our email and press the button, or wait until tomorrow, " in page
    assert Mail.select().where(Mail.kind == "refund_address_changed").count() == 1
