"""Second factors: set up, asked for after the password, and never bypassed."""

import base64
import json
from datetime import UTC, datetime

import pytest

from tests.conftest import SECRET_KEY
from tests.support.console import PASSWORD, SAME_ORIGIN, sign_in
from tests.support.factories import cli
from tests.support.members import invite
from tests.support.races import at_once
from tests.support.second_factors import PATH, Stranger, first_step_of, set_up
from tests.support.stopped_clock import StoppedClock
from ticketing import clock, credentials
from ticketing.credentials import Keyring
from ticketing.models.audit_log import AuditLogEntry
from ticketing.models.members import Member, Session
from ticketing.models.second_factors import RecoveryCode, Totp
from ticketing.services.access import second_factors, sessions, totp

ADA = "ada@example.org"
NEW_PASSWORD = "another sentence to remember"


@pytest.fixture
def time(monkeypatch):
    """The clock, stopped in the middle of one of the next steps of 30 seconds."""
    step = int(clock.now().timestamp()) // 30 + 1
    return StoppedClock(monkeypatch, datetime.fromtimestamp(step * 30 + 15, UTC))


@pytest.fixture
def ada(acme, time):
    """Ada in her browser: an administrator."""
    return sign_in(acme, "admin", ADA)


@pytest.fixture
def app_of_ada(ada, time):
    """Her app, half a minute after it was set up."""
    app = set_up(ada)
    time.forward(seconds=30)
    return app


@pytest.fixture
def stranger(acme):
    return Stranger(acme)


def nested():
    """Return a credential whose client data is nested deep."""
    data = base64.urlsafe_b64encode(b"[" * 4000).decode().rstrip("=")
    response = {"clientDataJSON": data, "attestationObject": "AA", "authenticatorData": "AA"}
    response["signature"] = "AA"
    return json.dumps({"id": "AA", "rawId": "AA", "type": "public-key", "response": response})


def refused(answer, status=401):
    assert answer.status_code == status, answer.text
    return answer


def actions(member_id):
    found = AuditLogEntry.select().where(AuditLogEntry.subject == member_id)
    return [each.action for each in found.order_by(AuditLogEntry.id)]


def ada_now():
    return Member.get(Member.email == ADA)


class TestSetUp:
    def test_it_needs_the_password_and_a_code_of_the_app(self, acme, ada, time):
        other = sign_in_again(acme)
        wrong = ada.send(f"{PATH}/app", {"password": "not this one at all"})
        assert wrong.status_code == 422 and "This is not your password." in wrong.text
        begun = ada.send(f"{PATH}/app", {"password": PASSWORD})
        assert "otpauth" not in begun.text and 'class="qr"' in begun.text
        for code in ("000000", "", "1" * 41, "abcdef"):
            answer = ada.send(f"{PATH}/app/confirm", {"code": code})
            assert answer.status_code == 422, code
        # Nothing counts so far: the password alone still opens the account.
        assert not ada_now().has_second_factor
        assert Stranger(acme).password(ADA).status_code == 303
        app = set_up(ada)
        assert len(set(app.recovery_codes)) == 10 and ada_now().has_second_factor
        # All other browsers proved the password alone, and are signed out.
        assert ada.get(PATH).status_code == 200 and other.get(PATH).status_code == 303
        assert "second_factors_app_added" in actions(ada_now().id)
        stored = Totp.get_by_id(ada_now().id).secret
        assert app.secret not in stored and len(stored) > 40

    def test_the_secrets_are_shown_once(self, ada, time):
        app = set_up(ada)
        again = ada.send(f"{PATH}/app/confirm", {"code": app.code()})
        assert "shown then" in again.text  # the same form once more
        assert ada.send(f"{PATH}/app", {"password": PASSWORD}).location == PATH
        log = [str(each.__data__) for each in AuditLogEntry.select()]
        assert not any(each.digest in "".join(log) for each in RecoveryCode.select())

    def test_new_recovery_codes_end_the_old_ones(self, acme, ada, app_of_ada, stranger):
        form = {"password": PASSWORD, "idempotency_key": "1" * 32}
        assert ada.send(f"{PATH}/codes", form).status_code == 200
        answer = stranger.second(stranger.first_step(ADA), app_of_ada.recovery_codes[0])
        refused(answer)
        assert RecoveryCode.select().count() == 10
        assert actions(ada_now().id)[-1] == "second_factors_codes_made"

    def test_removing_it_needs_the_password_and_makes_the_password_enough(
        self, acme, ada, app_of_ada
    ):
        assert ada.send(f"{PATH}/app/remove", {"password": "x"}).status_code == 422
        assert Stranger(acme).password(ADA).status_code == 200
        assert ada.send(f"{PATH}/app/remove", {"password": PASSWORD}).status_code == 303
        assert Stranger(acme).password(ADA).status_code == 303
        assert not RecoveryCode.select().exists() and not Totp.select().exists()


def test_long_names_of_any_letters_fit_into_the_qr_code(acme, admin, time):
    """The address has the organizer's name twice, and each letter may need twelve characters."""
    admin.patch(acme.path, {"name": "🎪" * 200})
    email = "é" * 200 + "@" + "x" * 45 + ".example"
    console = sign_in(acme, "read", email)
    assert len(set_up(console).recovery_codes) == 10


class TestSignIn:
    def test_the_password_alone_opens_nothing(self, acme, app_of_ada, stranger):
        asked = stranger.password(ADA)
        assert asked.status_code == 200 and "Your password is right" in asked.text
        assert "Set-Cookie" not in asked.headers and not stranger.is_in
        # A wrong password says nothing about a second factor.
        wrong = refused(stranger.password(ADA, "wrong" * 4))
        unknown = refused(stranger.password("nobody@example.org"))
        assert "second" not in wrong.text.lower()
        assert wrong.text.count("<input") == unknown.text.count("<input")

    def test_a_code_works_once(self, acme, app_of_ada, stranger):
        first_step = stranger.first_step(ADA)
        code = app_of_ada.code()
        assert stranger.second(first_step, code).location == "/console"
        assert stranger.is_in
        refused(Stranger(acme).second(first_step, code))
        assert actions(ada_now().id)[-1] == "sessions_begin"

    def test_clocks_may_differ_by_a_step_and_no_code_comes_back(self, time, app_of_ada, stranger):
        first_step = stranger.first_step(ADA)
        time.forward(seconds=60)
        for steps in (-3, -2, 2):
            refused(stranger.second(first_step, app_of_ada.code(steps)))
        assert stranger.second(first_step, f" {app_of_ada.code(1)} ").status_code == 303
        # The code of now is older than that one.
        refused(stranger.second(first_step, app_of_ada.code()))
        refused(stranger.second(first_step, app_of_ada.code(1)))

    @pytest.mark.sql
    def test_of_two_who_send_one_code_one_gets_in(self, acme, app_of_ada):
        strangers = [Stranger(acme) for _ in range(4)]
        first_step = strangers[0].first_step(ADA)
        for code in (app_of_ada.code(), app_of_ada.recovery_codes[0]):
            answers = at_once(
                *[lambda each=each, code=code: each.second(first_step, code) for each in strangers]
            )
            statuses = sorted(answer.status_code for answer in answers)
            assert statuses == [303, 401, 401, 401], code

    def test_a_recovery_code_works_once_however_it_is_typed(self, acme, ada, app_of_ada, stranger):
        code = app_of_ada.recovery_codes[3]
        first_step = stranger.first_step(ADA)
        assert stranger.second(first_step, code.upper().replace("-", " ")).status_code == 303
        refused(Stranger(acme).second(first_step, code))
        assert "9 codes are left" in ada.get(PATH).text
        assert AuditLogEntry.select().where(AuditLogEntry.after.contains("recovery code")).exists()

    def test_a_recovery_code_of_another_member_is_none(self, acme, app_of_ada, stranger):
        bob = sign_in(acme, "read", "bob@example.org")
        set_up(bob)
        first_step = stranger.first_step("bob@example.org")
        refused(stranger.second(first_step, app_of_ada.recovery_codes[0]))
        refused(stranger.second(first_step, app_of_ada.code()))

    def test_twenty_wrong_codes_a_day_and_then_another_way(self, time, app_of_ada, stranger):
        for _ in range(totp.MOST_ATTEMPTS):
            refused(stranger.second(stranger.first_step(ADA), "000000"))
        first_step = stranger.first_step(ADA)
        locked = refused(stranger.second(first_step, app_of_ada.code()), 429)
        assert int(locked.headers["Retry-After"]) <= 86_400
        assert stranger.second(first_step, app_of_ada.recovery_codes[0]).status_code == 303
        time.forward(days=1, seconds=30)
        again = stranger.first_step(ADA)
        assert stranger.second(again, app_of_ada.code()).status_code == 303

    def test_a_right_code_forgets_the_wrong_ones(self, time, app_of_ada, stranger):
        for _ in range(2):
            for _ in range(totp.MOST_ATTEMPTS - 1):
                refused(stranger.second(stranger.first_step(ADA), "000000"))
            right = stranger.second(stranger.first_step(ADA), app_of_ada.code())
            assert right.status_code == 303
            time.forward(seconds=30)

    def test_a_new_session_has_a_new_secret(self, acme, app_of_ada, stranger):
        """An attacker who gave a browser a session before does not have the one that follows."""
        stranger.client.set_cookie("session", credentials.new_session())
        before = stranger.client.get_cookie("session").value
        assert stranger.second(stranger.first_step(ADA), app_of_ada.code()).status_code == 303
        assert stranger.client.get_cookie("session").value != before


class TestFirstStep:
    def test_it_ends_after_five_minutes_and_with_the_password(
        self, acme, ada, time, app_of_ada, stranger
    ):
        old = stranger.first_step(ADA)
        time.forward(minutes=5)
        ended = refused(stranger.second(old, app_of_ada.code()), 410)
        assert "This took too long" in ended.text and "Forgotten" not in ended.text
        old = stranger.first_step(ADA)
        form = {"password": PASSWORD, "new_password": NEW_PASSWORD}
        assert ada.send("/console/account/password", form).status_code == 303
        refused(stranger.second(old, app_of_ada.code()), 410)

    def test_it_cannot_be_made_or_changed(self, acme, app_of_ada, stranger):
        bob = sign_in(acme, "admin", "bob@example.org")
        set_up(bob)
        good, other = stranger.first_step(ADA), stranger.first_step("bob@example.org")
        name, body, end, digest = good.split("_")
        me = ada_now()
        reset = credentials.password_reset(SECRET_KEY, me.id, me.generation, int(end))
        for forged in (
            "x",
            "",
            "_".join((name, other.split("_")[1], end, digest)),
            "_".join((name, body, str(int(end) + 60), digest)),
            "_".join((name, body, end, other.split("_")[3])),
            reset,
            reset.replace("pr_", "fs_"),
        ):
            answer = stranger.second(forged, app_of_ada.code())
            assert answer.status_code in (410, 422), forged
            assert not stranger.is_in
        assert stranger.client.get(f"/console/reset/{good}").status_code == 404

    def test_a_disabled_member_gets_no_further(self, acme, app_of_ada, stranger):
        first_step = stranger.first_step(ADA)
        cli(acme.app, "members", "disable", acme.slug, ADA)
        refused(stranger.second(first_step, app_of_ada.code()), 410)


class TestNothingBypassesIt:
    def test_a_reset_of_the_password_does_not(self, acme, app_of_ada, stranger):
        me = ada_now()
        end = int(clock.now().timestamp()) + 3600
        reset = credentials.password_reset(SECRET_KEY, me.id, me.generation, end)
        answer = stranger.post(f"/console/reset/{reset}", {"password": NEW_PASSWORD})
        first_step = first_step_of(answer)
        assert not stranger.is_in and not Session.select().exists()
        assert stranger.second(first_step, app_of_ada.code()).status_code == 303

    def test_a_new_invitation_does_not(self, acme, admin, app_of_ada, stranger, api):
        path = f"{acme.path}/members/{ada_now().id}/invite"
        link = admin.post(path).json["invitation_url"]
        body = {"invitation": link.rpartition("/")[2], "password": NEW_PASSWORD}
        asked = api.post("/v1/auth/invitation", body)
        assert (asked.status_code, asked.json["code"]) == (401, "second_factor_required")
        wrong = api.post("/v1/auth/invitation", {**body, "code": "000000"})
        assert (wrong.status_code, wrong.json["code"]) == (401, "wrong_code")
        # Neither has used the link up.
        answer = stranger.post(f"/console/invitation/{body['invitation']}", body_of(body))
        first_step = first_step_of(answer)
        assert not stranger.is_in
        assert stranger.second(first_step, app_of_ada.code()).status_code == 303

    def test_the_api_does_not(self, acme, api, time, app_of_ada):
        body = {"tenant": "acme", "email": ADA, "password": PASSWORD}
        asked = api.post("/v1/auth/login", body)
        assert (asked.status_code, asked.json["code"]) == (401, "second_factor_required")
        for wrong in ("000000", "abcde-fghjk"):
            answer = api.post("/v1/auth/login", {**body, "code": wrong})
            assert (answer.status_code, answer.json["code"]) == (401, "wrong_code")
        code = app_of_ada.code()
        assert api.post("/v1/auth/login", {**body, "code": code}).status_code == 200
        assert api.post("/v1/auth/login", {**body, "code": code}).status_code == 401
        # A wrong password, with and without a code, says nothing about it.
        wrong = {**body, "password": "x" * 12}
        for sent in (wrong, {**wrong, "code": app_of_ada.code(1)}):
            assert api.post("/v1/auth/login", sent).json["code"] == "invalid_credentials"

    def test_only_the_operator_removes_what_was_lost(self, acme, app_of_ada):
        said = cli(acme.app, "members", "reset-second-factor", "acme", ADA)
        assert ADA in said
        assert Stranger(acme).password(ADA).status_code == 303
        assert not RecoveryCode.select().exists()
        entry = AuditLogEntry.select().order_by(AuditLogEntry.id.desc()).first()
        entries = [each.action for each in AuditLogEntry.select()]
        assert "members reset-second-factor" in entries, entry.action
        cli(acme.app, "members", "reset-second-factor", "acme", "eve@example.org", exit_code=1)


class TestRequired:
    @pytest.fixture
    def required(self, acme, admin):
        changed = admin.patch(acme.path, {"second_factor_required": True})
        assert changed.json["second_factor_required"] is True

    def test_an_administrator_sets_one_up_before_anything_else(self, acme, ada, required, time):
        for path in ("/console", "/console/people", "/console/wallet", "/console/search?q=x"):
            assert ada.get(path).location == PATH, path
        form = {"email": "eve@example.org", "role": "admin"}
        assert ada.send("/console/people", form).location == PATH
        assert not Member.select().where(Member.email == "eve@example.org").exists()
        assert "requires a second factor" in ada.get(PATH).text
        assert ada.get("/console/account").status_code == 200
        set_up(ada)
        assert ada.get("/console/people").status_code == 200

    def test_other_roles_need_none(self, acme, reader, required):
        assert reader.get("/console").status_code == 200

    def test_the_last_one_stays(self, ada, required, time):
        set_up(ada)
        answer = ada.send(f"{PATH}/app/remove", {"password": PASSWORD})
        assert answer.status_code == 409 and "requires a second factor" in answer.text
        assert ada_now().has_second_factor and Totp.select().exists()

    def test_the_api_gives_no_token_without_one(self, acme, api, ada, required):
        body = {"tenant": "acme", "email": ADA, "password": PASSWORD}
        refused = api.post("/v1/auth/login", body)
        assert (refused.status_code, refused.json["code"]) == (403, "second_factor_missing")
        invited = invite(acme, "bob@example.org", "admin")
        body = {"invitation": invited["invitation_url"].rpartition("/")[2], "password": PASSWORD}
        refused = api.post("/v1/auth/invitation", body)
        assert (refused.status_code, refused.json["code"]) == (403, "second_factor_missing")


def test_a_new_secret_key_takes_the_apps_along(acme, ada, app_of_ada):
    old = Keyring("another-secret-key-0123456789abcdefghijklmnopqrstuv", SECRET_KEY)
    assert totp.under_previous(old) == 1
    assert totp.renew(old) == 1 and totp.under_previous(old) == 0
    alone = Keyring(old.current)
    assert totp.verify(ada_now().id, app_of_ada.code(), alone)
    # Without the key under which it is stored, no code is right.
    assert not totp.verify(ada_now().id, app_of_ada.code(1), Keyring(SECRET_KEY))


def test_a_member_without_one_signs_in_as_before(acme, ada, stranger):
    assert stranger.password(ADA).status_code == 303 and stranger.is_in
    assert second_factors.of(ada_now().id).exist is False


@pytest.mark.parametrize(
    "credential",
    ["x", "null", "[]", "{}", '{"id": 1}', "[" * 4000, '{"a":' * 1100, "\0", nested(), "9" * 8000],
    ids=["text", "null", "list", "empty", "id", "deep", "deep objects", "NUL", "deep data", "long"],
)
def test_what_no_browser_sends_is_refused(acme, ada, stranger, credential):
    form = {"credential": credential}
    sent = stranger.post("/console/sign-in/passkey", form)
    assert sent.status_code in (401, 422) and not stranger.is_in
    new = {**form, "password": PASSWORD, "name": "Mine"}
    assert ada.send(f"{PATH}/passkeys", new).status_code in (401, 422)
    assert not ada_now().has_second_factor


def sign_in_again(acme):
    """Return another browser of Ada."""
    config = acme.app.extensions["ticketing"]
    client = acme.app.test_client()
    client.set_cookie("session", sessions.begin(ada_now(), None, None, config.keyring))
    return client


def body_of(body):
    return {"password": body["password"]}


def test_pages_of_second_factors_need_the_forms_token(acme, ada):
    for path in ("/app", "/app/confirm", "/app/remove", "/codes", "/passkeys"):
        answer = ada.client.post(f"{PATH}{path}", data={"password": PASSWORD}, headers=SAME_ORIGIN)
        assert answer.status_code == 403, path
