"""Mails about a webhook endpoint that fails."""

from datetime import UTC, datetime

import pytest

from tests.support import webhook_receivers
from tests.support.factories import cli
from tests.support.mails import html_of, send, tell, text_of
from ticketing.models.members import Member


@pytest.mark.parametrize("is_disabled", [False, True])
def test_an_endpoint_that_fails_is_told_to_admins(acme, server, is_disabled):
    for name, role in (("boss", "admin"), ("gone", "admin"), ("reader", "read")):
        add = ("members", "add", acme.slug, f"{name}@example.org", "--role", role)
        cli(acme.app, *add, "--password-stdin", stdin="correct horse battery\n")
    Member.update(disabled_at=datetime.now(UTC)).where(Member.email.startswith("gone")).execute()
    now = datetime(2031, 5, 4, 12, 30, tzinfo=UTC)
    endpoint = webhook_receivers.endpoint(
        acme.id,
        acme.app.extensions["ticketing"].keyring,
        url="https://hooks.example.net/secret-path?token=1",
        failing_since=now,
        disabled_at=now if is_disabled else None,
    )
    tell(acme.id, ("webhook.failing", {"webhook_id": endpoint.id, "is_disabled": is_disabled}))
    send(acme.app)
    mail = server.only()
    assert mail["To"] == "boss@example.org"
    assert "hooks.example.net" in mail["Subject"]
    for part in (text_of(mail), html_of(mail)):
        assert endpoint.id in part and "secret-path" not in part
        assert "Sunday, 4 May 2031, 12:30 (UTC)" in part
        assert ("It is disabled now" in part) is is_disabled
