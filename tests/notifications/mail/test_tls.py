"""Off loopback, mails and passwords go over TLS only, to a server whose certificate is valid."""

import ssl
from urllib.parse import quote

import pytest

from tests.support.admissions import FREE, given
from tests.support.apps import new_app
from tests.support.certificates import Authority
from tests.support.databases import only_once
from tests.support.mail_server import PASSWORD, USER, MailServer
from tests.support.mails import ADA, PUBLIC_URL, SENDER, confirm, send, tell
from ticketing.config import Smtp
from ticketing.models.notifications import Mail

pytestmark = only_once
"""The database does not matter here."""

SIGN_IN = f"{USER}:{quote(PASSWORD, safe='')}@"


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def context(authority, monkeypatch):
    """A server's TLS, whose authority the service trusts."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))
    return server_context(authority, "127.0.0.1")


def server_context(authority, *names, **options):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(*authority.certificate(*names, **options))
    return made


@pytest.fixture
def far(monkeypatch):
    """The server on this machine counts as one on another machine."""
    monkeypatch.setattr(Smtp, "is_loopback", False)


@pytest.fixture
def try_with(environ, acme):
    """A function that sends one mail through a server, and returns what the mailer says."""
    tell(acme.id, confirm(given(acme, acme.ticket(**FREE), buyer=ADA)))

    def try_with(server, scheme="smtp", sign_in=""):
        url = f"{scheme}://{sign_in}127.0.0.1:{server.port}"
        settings = {"SMTP_URL": url, "MAIL_FROM": SENDER, "PUBLIC_URL": PUBLIC_URL}
        return send(new_app({**environ, **settings}))

    return try_with


def assert_waiting():
    assert [(mail.status, mail.attempts) for mail in Mail.select()] == [("waiting", 0)]


def test_starttls_is_used_and_the_password_comes_after_it(far, context, try_with):
    with MailServer(tls_context=context, require_starttls=True, auth_require_tls=True) as server:
        assert try_with(server, sign_in=SIGN_IN) is None
        assert len(server.mails) == 1
        assert server.sign_ins == [(USER.encode(), PASSWORD.encode())]


def test_smtps_is_tls_from_the_first_byte(far, context, try_with):
    with MailServer(ssl_context=context) as server:
        assert try_with(server, scheme="smtps") is None
        assert len(server.mails) == 1


def test_a_server_without_starttls_gets_neither_mail_nor_password(far, try_with):
    with MailServer() as server:
        assert "the server has no STARTTLS" in try_with(server, sign_in=SIGN_IN)
        assert not server.mails and not server.sign_ins
    assert_waiting()


@pytest.mark.parametrize(
    ("name", "days"), [("mail.example.org", 7), ("127.0.0.1", -1)], ids=["another name", "expired"]
)
@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_an_invalid_certificate_is_refused(far, authority, context, try_with, scheme, name, days):
    wrong = server_context(authority, name, days=days)
    options = {"tls_context": wrong} if scheme == "smtp" else {"ssl_context": wrong}
    with MailServer(**options) as server:
        assert "SSLCertVerificationError" in try_with(server, scheme=scheme, sign_in=SIGN_IN)
        assert not server.mails and not server.sign_ins
    assert_waiting()


def test_an_unknown_authority_is_refused(far, authority, try_with):
    with MailServer(ssl_context=server_context(authority, "127.0.0.1")) as server:
        assert "SSLCertVerificationError" in try_with(server, scheme="smtps")
        assert not server.mails
    assert_waiting()


def test_on_loopback_tls_is_not_needed(try_with):
    with MailServer() as server:
        assert try_with(server, sign_in=SIGN_IN) is None
        assert len(server.mails) == len(server.sign_ins) == 1


def test_a_wrong_password_lets_all_mails_wait(try_with):
    with MailServer() as server:
        assert "535" in try_with(server, sign_in=f"{USER}:wrong@")
        server.answers[ADA["email"]] = "530 Sign in first"
        assert "530" in try_with(server)
        assert not server.mails
    assert_waiting()


def test_a_password_that_the_server_does_not_take_lets_all_mails_wait(try_with):
    with MailServer(auth_exclude_mechanism=["LOGIN", "PLAIN"]) as server:
        assert "unusable" in try_with(server, sign_in=SIGN_IN)
    assert_waiting()
