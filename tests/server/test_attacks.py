"""Requests that are expensive: what all others see beside them."""

import json
import shutil
import threading
import time
from contextlib import contextmanager

import pytest
import urllib3

from tests.conftest import NO_LIMITS
from tests.support.raw_http import RawServer
from tests.support.remote import RemoteOrganizer
from tests.support.waits import assert_wait_little, usual_seconds
from tools.json_client import Client

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("starts_processes")]

PAGE = "/v1/public/tenants/acme/events"
GUESSERS = 24


@pytest.fixture(scope="module")
def web(sqlite_template, tmp_path_factory):
    """The service behind a proxy, without limits that one address would reach."""
    folder = tmp_path_factory.mktemp("web")
    shutil.copy(sqlite_template, folder / "ticketing.db")
    url = f"sqlite:///{folder / 'ticketing.db'}"
    variables = {**NO_LIMITS, "TRUSTED_PROXIES": "127.0.0.1", "LOG_LEVEL": "WARNING"}
    with RawServer(url, folder / "log", {}, **variables) as running:
        yield running


@pytest.fixture(scope="module")
def acme(web):
    return RemoteOrganizer(web, "acme")


@contextmanager
def beside(attack, attackers):
    """Run this many attackers until the block ends. Yield the statuses that they get."""
    done, statuses, failures = threading.Event(), [], []

    def run(number):
        try:
            while not done.is_set():
                statuses.append(attack(number))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(each,)) for each in range(attackers)]
    for thread in threads:
        thread.start()
    try:
        while len(statuses) < attackers and not failures:
            time.sleep(0.01)
        yield statuses
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not failures, failures


def others_notice_nothing(web, acme, attack, attackers):
    """Check that others are not slowed down by an attack. Return the attackers' statuses."""
    clients = [Client(web.url) for _ in range(attackers)]

    def ask(number):
        return clients[number].send("POST", "/v1/auth/token", {"api_key": "x"}).status

    with beside(ask, attackers):
        usual = usual_seconds(web.url, PAGE)
    with beside(attack, attackers) as statuses:
        assert_wait_little(web.url, PAGE, usual)
    return set(statuses)


HOSTILE = {
    "a string of escapes that does not end": b'["' + b'\\"' * 32_000,
    "quotes": b"[" + b'"' * 64_000,
    "brackets": b"[" * 64_000,
    "many members": b"{" + b",".join(b'"%x":0' % n for n in range(7000)) + b"}",
    "a long number": b"9" * 64_000,
    "an email address of dots": json.dumps(
        {"tenant": "acme", "email": "a@" + "." * 60_000, "password": "x"}
    ).encode(),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_body_that_is_hard_to_read_slows_nobody_down(kind, web, acme):
    clients = [urllib3.PoolManager(retries=False, timeout=60) for _ in range(6)]

    def attack(number):
        return (
            clients[number]
            .request(
                "POST",
                f"{web.url}/v1/auth/login",
                body=HOSTILE[kind],
                headers={"Content-Type": "application/json"},
            )
            .status
        )

    assert others_notice_nothing(web, acme, attack, 6) <= {400, 422}


def test_guessing_passwords_slows_nobody_down_and_most_guesses_are_refused_at_once(web, acme):
    clients = [Client(web.url) for _ in range(GUESSERS)]
    body = {"tenant": "acme", "email": "a@example.org", "password": "x" * 12}

    def attack(number):
        return clients[number].send("POST", "/v1/auth/login", body).status

    assert others_notice_nothing(web, acme, attack, GUESSERS) == {401, 429}


def test_the_proof_of_the_books_slows_nobody_down(web, acme):
    acme.ticket()
    clients = [Client(web.url) for _ in range(8)]

    def attack(number):
        path = f"{acme.path}/reconciliation"
        return clients[number].send("GET", path, headers=acme.headers).status

    assert others_notice_nothing(web, acme, attack, 8) <= {200, 429}


def test_each_process_lets_its_share_through(web, acme):
    """Under gunicorn the limit is divided by the number of running processes."""
    with RawServer(
        web.environ["DATABASE_URL"],
        web.log_path.with_suffix(".other"),
        {},
        WEB_CONCURRENCY="4",
        RATE_LIMIT_PUBLIC="20",
        RATE_LIMIT_TOKEN="20",
    ) as other:
        answer = Client(other.url).send("GET", "/v1/chains")
        assert answer.headers["RateLimit-Policy"] == '"public";q=5;w=60'
        guess = Client(other.url).send("POST", "/v1/auth/token", {"api_key": "x"})
        assert guess.headers["RateLimit-Policy"] == '"token";q=20;w=60'
