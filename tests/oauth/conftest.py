"""An app that has registered itself, and one that describes itself at a URL."""

import pytest

from tests.support.certificates import Authority
from tests.support.console import sign_in
from tests.support.oauth import App, Documents, registered
from tests.support.stopped_clock import StoppedClock
from ticketing import clock
from ticketing.services.access import passwords


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch):
    """Each test signs in. What a hash costs is tested elsewhere."""
    monkeypatch.setattr(passwords, "hasher", passwords.hasher.using(memory_cost=8, time_cost=1))


@pytest.fixture
def environ(environ):
    return {**environ, "WEBHOOK_ALLOW": "127.0.0.0/8,::1/128"}


@pytest.fixture
def client(acme):
    return acme.app.test_client()


@pytest.fixture
def registered_app(client):
    return registered(client)


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def documents(authority, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))
    with Documents(*authority.certificate("localhost")) as server:
        yield server


@pytest.fixture
def described_app(documents, client):
    return App(client, documents.describe())


@pytest.fixture
def console(acme):
    return sign_in(acme, "write")


@pytest.fixture
def stopped(monkeypatch):
    return StoppedClock(monkeypatch, clock.now())
