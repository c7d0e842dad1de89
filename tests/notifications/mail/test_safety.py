"""Hostile names and addresses, new codes by mail, and erased people."""

import unicodedata

import pytest

from tests.support.admissions import admissions_of, reissue
from tests.support.factories import cli
from tests.support.mails import (
    ADA,
    SENDER,
    confirm,
    confirmed,
    html_of,
    send,
    statuses,
    tell,
    text_of,
)
from ticketing.db.connection import database
from ticketing.models.admissions import Admission
from ticketing.models.events import Event
from ticketing.models.notifications import Mail
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.services.mail import recipients
from ticketing.services.mail.plain_text import plain

HOSTILE = [
    "Concert\r\nBcc: victim@example.org\r\n\r\n<script>alert(1)</script>",
    "Concert\nBcc: victim@example.org",
    "Concert\x0bBcc: victim@example.org\x85Bcc: x\u2028Bcc: y\u2029Bcc: z",
    "\u202egro.live\u202c \u2066inner\u2069 \u200f\u061c",
    "\x07\x1b[31m\x7f\x9b Concert",
    "x" * 10_000,
    "é" * 10_000,
    "=?utf-8?q?Bcc=3A_victim=40example=2Eorg?=",
    '"Concert" <victim@example.org>, other@example.org',
    "\U0001f389" * 500,
    "\ufeff\u200b\u00ad",
    "{{ 7 * 7 }} %(title)s %s {% raw %}",
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_stay_text(acme, server, text):
    buyer = confirmed(acme, acme.ticket())
    Event.update(title=text, venue=text).execute()
    Tenant.update(name=text).execute()
    PaymentIntent.update(buyer_name=text).execute()
    tell(acme.id, confirm(buyer))
    assert send(acme.app) is None
    mail = server.only()
    # Nothing was added to the headers.
    assert sorted(name.lower() for name in mail) == [
        "auto-submitted",
        "content-type",
        "date",
        "from",
        "message-id",
        "mime-version",
        "subject",
        "to",
    ]
    assert server.recipients == [ADA["email"]]
    assert [each.addr_spec for each in mail["From"].addresses] == [SENDER]
    assert [each.addr_spec for each in mail["To"].addresses] == [ADA["email"]]
    for shown in (mail["Subject"], mail["From"].addresses[0].display_name):
        assert len(shown) <= 160
        assert not [
            each for each in shown if unicodedata.category(each) in ("Cc", "Cf", "Zl", "Zp")
        ]
    assert "<script" not in html_of(mail) and "49" not in mail["Subject"]
    for part in (text_of(mail), html_of(mail)):
        assert len(part) < 20_000
        assert not [each for each in part if each in "\u202e\u2066\u200f\u061c\x00\x1b\u2028"]


def test_text_is_one_line_and_cut():
    assert plain(" a\r\n\t b\u2028c ", 10) == "a b c"
    assert plain("x" * 11, 10) == "x" * 9 + "…"
    assert plain("a\u202eb\x00c", 10) == "abc"
    # Emoji of several characters, and words of Persian, stay as they are.
    assert (
        plain("\U0001f469\u200d\U0001f680 \u0645\u06cc\u200c\u062e\u0648", 20)
        == "\U0001f469\u200d\U0001f680 \u0645\u06cc\u200c\u062e\u0648"
    )


@pytest.mark.parametrize(
    ("address", "used"),
    [
        ("ada@example.org", "ada@example.org"),
        ("ada+x@müller.example", "ada+x@xn--mller-kva.example"),
        ("ada@localhost", "ada@localhost"),
        *((each, None) for each in ("ädä@example.org", '"a b"@example.org', "a@[127.0.0.1]", "a")),
        *(
            (each, None)
            for each in ("a@b\r\nDATA", "a b@example.org", "a@", "@b", "a..b@example.org")
        ),
        *((each, None) for each in ("x" * 65 + "@example.org", "a@" + "b" * 64 + ".org")),
        *((each, None) for each in ("a@" + "b.c" * 100, "a@b,c@d", "<a@b>", "a@b..c", "a@é" * 90)),
    ],
)
def test_only_plain_addresses_reach_the_server(address, used):
    assert recipients.deliverable(address) == used


def test_a_mail_to_an_impossible_address_is_dropped(acme, server):
    buyer = confirmed(acme, acme.ticket(), buyer={"email": '"a\x01b"@example.org'})
    tell(acme.id, confirm(buyer))
    send(acme.app)
    assert statuses() == [("order_confirmed", "dropped")] and not server.mails


class TestReissue:
    """A reissue with an address sends the new code there, and nowhere else."""

    @pytest.fixture
    def admission(self, acme):
        (found,) = admissions_of(confirmed(acme, acme.ticket()))
        return found

    def test_the_address_gets_the_new_code(self, acme, server, admission):
        answer = reissue(acme, admission, {"email": "lost@example.org"})
        assert answer.status_code == 200 and answer.json["code"] is None
        send(acme.app)
        now = Admission.get_by_id(admission.id)
        mail = server.only()
        assert mail["To"] == "lost@example.org" and now.code in str(mail)
        assert "no longer work" in str(mail) and admission.code not in str(mail)
        assert Mail.get().recipient is None

    @pytest.mark.parametrize("body", [None, {"email": "other@example.org"}])
    def test_a_later_reissue_takes_the_code_from_the_earlier_mail(
        self, acme, server, admission, body
    ):
        reissue(acme, admission, {"email": "lost@example.org"})
        reissue(acme, admission, body)
        send(acme.app)
        assert server.recipients == ([] if body is None else ["other@example.org"])
        assert statuses()[0] == ("ticket", "dropped")

    def test_the_address_is_erased_with_the_admission(self, acme, server, admission):
        reissue(acme, admission, {"email": "zaphod@example.org"})
        query = {"subject": admission.id}
        (entry,) = acme.api().get(f"{acme.path}/audit-log", query_string=query).json["data"]
        assert entry["after"]["email"] == "zaphod@example.org"
        assert {name for name in database.get_tables() if "zaphod" in rows_of(name)} == {
            "mails",
            "trail_people",
        }
        erased = acme.api().post(f"{acme.path}/admissions/{admission.id}/erase")
        assert erased.status_code == 200
        assert not [name for name in database.get_tables() if "zaphod" in rows_of(name)]
        send(acme.app)
        assert statuses() == [("ticket", "dropped")] and not server.mails


def rows_of(table):
    return str(list(database.execute_sql(f"SELECT * FROM {table}")))


def test_the_mails_of_an_erased_order_are_dropped(acme, server):
    server.answers[ADA["email"]] = "451 ada wait"
    buyers = [confirmed(acme, acme.ticket()) for _ in range(2)]
    tell(acme.id, *map(confirm, buyers))
    send(acme.app)
    assert acme.api().post(f"{acme.path}/intents/{buyers[0].intent['id']}/erase").status_code == 200
    first, second = Mail.select().order_by(Mail.id)
    assert (first.status, first.recipient_digest, first.error) == ("dropped", None, "erased")
    assert (second.status, second.error) == ("waiting", "451 ada wait")
    assert first.ended_at is not None


def test_erasure_by_age_drops_mails_too(acme, server, time):
    server.answers[ADA["email"]] = "451 wait"
    tell(acme.id, confirm(confirmed(acme, acme.ticket())))
    send(acme.app)
    Event.update(start_at=time.now).execute()
    # The event is erased when it has been due for a week.
    for days, status in ((91, "waiting"), (7, "dropped")):
        time.forward(days=days)
        Mail.update(created_at=time.now).execute()
        cli(acme.app, "worker", "--once", exit_code=1)  # the chain's node does not answer
        assert statuses() == [("order_confirmed", status)]
