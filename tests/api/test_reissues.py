"""The organizer gives an admission a new code, for a link that was lost or leaked."""

from datetime import UTC, datetime

import pytest

from tests.support.admissions import FREE, admissions_of, change, given, reissue, void
from ticketing.models.admissions import Admission
from ticketing.models.notifications import Mail


@pytest.fixture
def admission(acme):
    """The admission of a free order."""
    (found,) = admissions_of(given(acme, acme.ticket(**FREE)))
    return found


def test_the_new_code_is_shown_once_and_the_old_one_ends(acme, admission):
    change(admission, qr="T1:OLD", change_number=7)
    answer = reissue(acme, admission)
    assert answer.status_code == 200
    now = Admission.get_by_id(admission.id)
    assert answer.json["code"] == now.code != admission.code
    assert (answer.json["generation"], now.generation) == (2, 2)
    assert (now.qr, now.change_number, now.status) == (None, None, "valid")
    assert now.holder == admission.holder
    shown = acme.api().get(f"{acme.path}/admissions").json["data"][0]
    assert "code" not in shown and shown["generation"] == 2


def test_a_repeat_with_the_same_idempotency_key_has_no_code(acme, admission):
    path, key = f"{acme.path}/admissions/{admission.id}/reissue", {"Idempotency-Key": "again"}
    first, again = (acme.api().post(path, {}, headers=key) for _ in range(2))
    # Each JWT belongs to the same key, so the second request is a repeat.
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.json == {**first.json, "code": None}
    assert Admission.get_by_id(admission.id).generation == 2


class TestByMail:
    """With a mail server, the code is sent to the address, and not shown."""

    @pytest.fixture(autouse=True)
    def smtp(self, environ):
        environ |= {"SMTP_URL": "smtp://127.0.0.1:9", "MAIL_FROM": "tickets@example.org"}
        environ["PUBLIC_URL"] = "https://tickets.example.org"

    def test_the_code_is_not_shown(self, acme, admission):
        answer = reissue(acme, admission, {"email": "lost@example.org"})
        assert (answer.status_code, answer.json["code"]) == (200, None)
        now, mail = Admission.get_by_id(admission.id), Mail.get()
        assert (now.generation, now.holder) == (2, admission.holder)
        assert (mail.kind, mail.subject, mail.generation) == ("ticket", admission.id, 2)
        assert (mail.recipient, mail.status) == ("lost@example.org", "waiting")

    def test_a_repeat_sends_nothing_more(self, acme, admission):
        path, key = f"{acme.path}/admissions/{admission.id}/reissue", {"Idempotency-Key": "again"}
        body = {"email": "lost@example.org"}
        first, again = (acme.api().post(path, body, headers=key) for _ in range(2))
        assert again.json == first.json and again.headers["Idempotent-Replayed"] == "true"
        assert Mail.select().count() == 1

    def test_a_refusal_sends_nothing(self, acme, admission):
        assert void(acme, admission).status_code == 200
        assert reissue(acme, admission, {"email": "lost@example.org"}).status_code == 409
        assert not Mail.select().exists()

    def test_null_is_no_address(self, acme, admission):
        answer = reissue(acme, admission, {"email": None})
        assert answer.json["code"] == Admission.get_by_id(admission.id).code


def test_a_suspended_one_stays_suspended(acme, admission):
    change(admission, status="suspended", transferred_at=datetime.now(UTC))
    answer = reissue(acme, admission)
    assert (answer.json["status"], answer.json["transferred"]) == ("suspended", True)


def test_it_is_in_the_audit_log_without_the_code(acme, admission):
    code = reissue(acme, admission).json["code"]
    query = {"subject": admission.id}
    (entry,) = acme.api().get(f"{acme.path}/audit-log", query_string=query).json["data"]
    assert (entry["before"], entry["after"]) == ({"generation": 1}, {"generation": 2})
    assert code not in str(entry)
