"""New passwords: by a mailed link for who forgot theirs, and with the old one."""

import re
from datetime import timedelta

import pytest

from tests.support.console import PASSWORD, SAME_ORIGIN, sign_in
from tests.support.mail_server import MailServer
from tests.support.mails import SENDER, send, text_of
from tests.support.races import at_once
from ticketing import clock
from ticketing.errors import InvalidCredentials
from ticketing.models.audit_log import AuditLogEntry
from ticketing.models.members import Member, Session
from ticketing.models.notifications import Mail
from ticketing.services.access import members, password_resets

FORGOTTEN, ACCOUNT = "/console/forgotten", "/console/account"
ADA = "ada@example.org"
NEW_PASSWORD = "another sentence to remember"
LINK = re.compile(r"http://localhost(/console/reset/pr_\w+)")


@pytest.fixture
def server():
    with MailServer() as running:
        yield running


@pytest.fixture
def environ(environ, server):
    mail = {"SMTP_URL": server.url, "MAIL_FROM": SENDER, "PUBLIC_URL": "http://localhost"}
    return {**environ, **mail}


@pytest.fixture
def ada(acme):
    """Ada in her browser: an administrator."""
    return sign_in(acme, "admin", ADA)


@pytest.fixture
def stranger(acme):
    """A browser in which nobody has signed in."""
    return acme.app.test_client()


def ask(stranger, email=ADA, tenant="acme"):
    form = {"tenant": tenant, "email": email}
    return stranger.post(FORGOTTEN, data=form, headers=SAME_ORIGIN)


def links(acme, server):
    """The links of all mails that were sent, the oldest first."""
    send(acme.app)
    return [found[1] for mail in server.mails if (found := LINK.search(text_of(mail)))]


def use(stranger, link, password=NEW_PASSWORD):
    return stranger.post(link, data={"password": password}, headers=SAME_ORIGIN)


def can_sign_in(acme, password, email=ADA):
    return members.sign_in(acme.id, email, password) is not None


def test_who_forgot_a_password_sets_another_one_once(acme, ada, stranger, server):
    assert "Forgotten your password?" in stranger.get("/console/sign-in").text
    answer = ask(stranger)
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{FORGOTTEN}#sent")
    (link,) = links(acme, server)
    assert ADA in stranger.get(link).text
    short = use(stranger, link, "short")
    assert short.status_code == 422 and "short" not in short.text.replace("shorter", "")
    assert can_sign_in(acme, PASSWORD)
    assert use(stranger, link).headers["Location"] == "/console"
    assert stranger.get(ACCOUNT).status_code == 200
    assert ada.get(ACCOUNT).status_code == 303  # her other browser
    assert can_sign_in(acme, NEW_PASSWORD) and not can_sign_in(acme, PASSWORD)
    for again in (stranger.get(link), use(stranger, link, PASSWORD)):
        assert again.status_code == 410 and "Ask for a new one" in again.text
    entry = AuditLogEntry.get(AuditLogEntry.action == "passwords_reset")
    assert entry.actor == entry.subject == Member.get(Member.email == ADA).id


def test_all_administrators_are_told(acme, ada, stranger, server):
    sign_in(acme, "admin", "grace@example.org")
    sign_in(acme, "read", "joan@example.org")
    ask(stranger)
    (link,) = links(acme, server)
    use(stranger, link)
    send(acme.app)
    told = [mail for mail in server.mails if mail["Subject"] == "A password was changed"]
    assert sorted(mail["To"] for mail in told) == [ADA, "grace@example.org"]
    assert f"The password of {ADA}" in text_of(told[0])


def test_the_answer_is_the_same_for_everybody_and_nobody_else_gets_a_mail(
    acme, neighbour, ada, stranger, server
):
    sign_in(neighbour, "admin", "eve@example.org")
    members.disable(acme.id, sign_in_disabled(acme))
    asked = [
        ask(stranger, "nobody@example.org"),
        ask(stranger, "eve@example.org"),
        ask(stranger, "gone@example.org"),
        ask(stranger, ADA, "nobody-at-all"),
    ]
    assert {(each.status_code, each.headers["Location"]) for each in asked} == {
        (303, f"{FORGOTTEN}#sent")
    }
    assert links(acme, server) == []


def sign_in_disabled(acme):
    sign_in(acme, "read", "gone@example.org")
    return Member.get(Member.email == "gone@example.org").id


@pytest.mark.parametrize("tenant", ["acme", "ACME", " Acme "])
def test_the_name_that_people_see_will_do(acme, ada, stranger, server, tenant):
    form = {"tenant": tenant, "email": ADA, "password": PASSWORD}
    assert stranger.post("/console/sign-in", data=form, headers=SAME_ORIGIN).status_code == 303
    ask(stranger, ADA.upper(), tenant)
    assert len(links(acme, server)) == 1


def test_a_link_ends_after_an_hour_with_another_password_and_with_the_access(
    acme, ada, stranger, server, monkeypatch
):
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now - timedelta(hours=1))
    ask(stranger)
    first_links = links(acme, server)
    monkeypatch.setattr(clock, "now", lambda: now)
    ask(stranger)
    first, second = first_links[0], links(acme, server)[-1]
    member = Member.get(Member.email == ADA).id
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(minutes=1))
    assert use(stranger, first).status_code == 410
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(minutes=58))
    assert use(stranger, second).status_code == 303
    assert use(stranger, first).status_code == 410
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(hours=1))
    ask(stranger)
    *_, third = links(acme, server)
    members.disable(acme.id, member, even_last_admin=True)
    assert use(stranger, third).status_code == 410


@pytest.mark.parametrize("change", [("pr_", "px_"), ("_1", "_9")])
def test_a_forged_link_opens_nothing(acme, ada, stranger, server, change):
    ask(stranger)
    (link,) = links(acme, server)
    answer = use(stranger, link.replace(*change))
    assert answer.status_code in (404, 410)
    assert can_sign_in(acme, PASSWORD)


@pytest.mark.sql
def test_of_two_uses_at_once_one_sets_the_password(acme, ada, stranger, server):
    ask(stranger)
    (link,) = links(acme, server)
    passwords = [f"{NEW_PASSWORD} {number}" for number in range(2)]
    used = at_once(*((lambda each=each: use_alone(acme, link, each)) for each in passwords))
    assert sorted(used) in ([303, 410], [303, 429])
    won = passwords[used.index(303)]
    assert [can_sign_in(acme, each) for each in passwords] == [each == won for each in passwords]


def use_alone(acme, link, password):
    return use(acme.app.test_client(), link, password).status_code


def test_an_address_gets_one_mail_an_hour_and_a_client_asks_ten_times(acme, ada, stranger, server):
    asked = [ask(stranger).status_code for _ in range(3)]
    asked += [ask(stranger, f"{number}@example.org").status_code for number in range(10)]
    assert asked == [303, 200, 200, *[303] * 9, 429]
    assert len(links(acme, server)) == 1


def test_a_new_password_in_the_account_asks_for_the_old_one(acme, ada, server):
    before = Member.get(Member.email == ADA)
    other = sign_in_again(acme)
    wrong = ada.send(f"{ACCOUNT}/password", {"password": "x" * 12, "new_password": NEW_PASSWORD})
    assert wrong.status_code == 422 and "This is not your password." in wrong.text
    assert NEW_PASSWORD not in wrong.text
    short = ada.send(f"{ACCOUNT}/password", {"password": PASSWORD, "new_password": "short"})
    assert short.status_code == 422 and can_sign_in(acme, PASSWORD)
    done = ada.send(f"{ACCOUNT}/password", {"password": PASSWORD, "new_password": NEW_PASSWORD})
    assert done.headers["Location"] == f"{ACCOUNT}#password-changed"
    assert can_sign_in(acme, NEW_PASSWORD) and not can_sign_in(acme, PASSWORD)
    assert ada.get(ACCOUNT).status_code == 200 and other.get(ACCOUNT).status_code == 303
    assert Session.select().count() == 1
    # For changes of the wallet, it is a new password.
    after = Member.get(Member.email == ADA)
    assert members.is_longer_admin(before, timedelta(0))
    assert not members.is_longer_admin(after, timedelta(hours=1))
    assert AuditLogEntry.select().where(AuditLogEntry.action == "passwords_change").count() == 1
    assert Mail.select().where(Mail.kind == "password_changed").count() == 1


@pytest.mark.parametrize("meanwhile", ["another password", "the end of access"])
def test_who_has_the_old_password_cannot_replace_a_newer_one(app, acme, ada, meanwhile):
    config = app.extensions["ticketing"]
    stale = Member.get(Member.email == ADA)  # the old password was proved for this one
    if meanwhile == "another password":
        form = {"password": PASSWORD, "new_password": NEW_PASSWORD}
        assert ada.send(f"{ACCOUNT}/password", form).status_code == 303
    else:
        members.disable(acme.id, stale.id, even_last_admin=True)
    before = Member.get(Member.email == ADA).password_hash
    with pytest.raises(InvalidCredentials):
        password_resets.change(stale, "a sentence of somebody else", config)
    assert Member.get(Member.email == ADA).password_hash == before


def sign_in_again(acme):
    """A second browser of Ada."""
    browser = acme.app.test_client()
    form = {"tenant": "acme", "email": ADA, "password": PASSWORD}
    browser.post("/console/sign-in", data=form, headers=SAME_ORIGIN)
    assert browser.get(ACCOUNT).status_code == 200
    return browser


class TestWithoutMail:
    @pytest.fixture
    def environ(self, environ):
        return {name: environ[name] for name in environ if name not in ("SMTP_URL", "MAIL_FROM")}

    def test_an_administrator_is_asked(self, acme, ada, stranger):
        assert "Ask an administrator" in stranger.get("/console/sign-in").text
        assert "cannot send mail" in stranger.get(FORGOTTEN).text
        assert ask(stranger).status_code == 409
