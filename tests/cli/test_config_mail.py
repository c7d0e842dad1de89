"""The mail server of the configuration."""

import pytest

from tests.support.variables import GOOD, SECRET
from ticketing.config import ConfigError, load

MAIL = {"MAIL_FROM": "tickets@example.org", "PUBLIC_URL": "https://tickets.example.org"}


@pytest.mark.parametrize(
    ("url", "port", "is_tls"),
    [
        ("smtp://mail.example.org", 587, False),
        ("smtp://mail.example.org:25", 25, False),
        ("smtps://mail.example.org", 465, True),
    ],
)
def test_it_takes_a_mail_server(url, port, is_tls):
    server = load({**GOOD, **MAIL, "SMTP_URL": url}).smtp
    assert (server.host, server.port, server.is_tls) == ("mail.example.org", port, is_tls)
    assert (server.user, server.password, server.is_loopback) == (None, None, False)


def test_a_password_of_a_mail_server_may_have_any_character_and_is_not_shown():
    url = f"smtp://us%40er:p%2F%3A{SECRET}@127.0.0.1"
    server = load({**GOOD, **MAIL, "SMTP_URL": url}).smtp
    assert (server.user, server.password) == ("us@er", f"p/:{SECRET}")
    assert server.is_loopback and SECRET not in repr(server)


@pytest.mark.parametrize(
    "change",
    [
        *({"MAIL_FROM": each} for each in ("", "x", "a..b@example.org", "Acme <a@example.org>")),
        *({"MAIL_FROM": each} for each in ("a@b@c", "a@example.org\nBcc: b@c", "é@example.org")),
        {"PUBLIC_URL": None},
    ],
)
def test_a_mail_server_needs_a_sender_and_a_public_url(change):
    variables = {**GOOD, **MAIL, "SMTP_URL": "smtp://127.0.0.1", **change}
    with pytest.raises(ConfigError, match=next(iter(change))):
        load({name: value for name, value in variables.items() if value is not None})
