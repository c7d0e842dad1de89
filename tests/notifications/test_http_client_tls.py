"""Webhooks over TLS: which certificates are accepted."""

import ssl

import pytest

from tests.support.certificates import Authority
from tests.support.webhook_server import OK, one, run, says
from ticketing.notification_types import DeliveryError


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls"))


def contexts(authority, monkeypatch, *names, days=7):
    """Return the contexts of a server with this certificate, and of a client, which trusts it."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(*authority.certificate(*names, days=days))
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))
    return server, ssl.create_default_context(), names[0]


def over_tls(tls, host):
    ((outcome,), server) = run(says(OK), tls=(*tls[:2], host), url="https://{}:{}/")
    return outcome, server


def test_tls_is_checked_against_the_name_by_the_operators_own_authority(authority, monkeypatch):
    tls = contexts(authority, monkeypatch, "hooks.example.org", "127.0.0.1")
    for host in ("hooks.example.org", "127.0.0.1"):
        outcome, server = over_tls(tls, host)
        assert outcome.status_code == 200
        assert f"Host: {host}:{server.port}".encode() in server.requests[0][0]
    # The address is right, the certificate is of another name.
    assert over_tls(tls, "other.example.org")[0].error is DeliveryError.CERTIFICATE_INVALID


def test_the_servers_name_is_sent_and_not_its_address(authority, monkeypatch):
    tls = contexts(authority, monkeypatch, "hooks.example.org")
    seen = []
    tls[0].sni_callback = lambda _, name, __: seen.append(name)
    assert over_tls(tls, "hooks.example.org")[0].status_code == 200
    assert seen == ["hooks.example.org"]


def test_a_certificate_that_is_old_or_of_an_unknown_authority_is_refused(
    authority, monkeypatch, tmp_path
):
    old = contexts(authority, monkeypatch, "hooks.example.org", days=-1)
    assert over_tls(old, "hooks.example.org")[0].error is DeliveryError.CERTIFICATE_INVALID
    server, _, _ = contexts(authority, monkeypatch, "hooks.example.org")
    stranger = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(stranger.path))
    tls = server, ssl.create_default_context()
    assert over_tls(tls, "hooks.example.org")[0].error is DeliveryError.CERTIFICATE_INVALID


def test_a_server_without_tls_is_a_failure():
    async def serve(server, reader, writer):
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await reader.read()

    assert one(serve, url="https://{}:{}/").error is DeliveryError.TLS_FAILED
