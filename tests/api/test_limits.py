"""How often one caller may ask, and how much one address may hold without paying."""

import random
import secrets
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from app import create_app
from tests.support.factories import Api, Buyer, cli
from ticketing import clock
from ticketing.config import load
from ticketing.constants import CallClass
from ticketing.db.connection import database
from ticketing.models.rate_counts import RateCount
from ticketing.services.access import rate_limits
from ticketing.services.access.rate_limits import Limiter

START = datetime(2026, 11, 21, 9, 0, 15, tzinfo=UTC)
LIMITS = {"PUBLIC": 7, "CHECKOUT": 6, "PREFLIGHT": 5, "TOKEN": 4, "ADMIN": 30}


@pytest.fixture
def environ(environ):
    return {**environ, **{f"RATE_LIMIT_{name}": str(limit) for name, limit in LIMITS.items()}}


class Time:
    """A clock that stands until it is moved."""

    def __init__(self):
        self.now = START

    def __call__(self):
        return self.now

    def forward(self, **delta):
        self.now += timedelta(**delta)


@pytest.fixture
def time(monkeypatch):
    standing = Time()
    monkeypatch.setattr(clock, "now", standing)
    return standing


@pytest.fixture
def acme(time, acme):
    return acme


def ask(api, path, address="192.0.2.1", **headers):
    return api.get(path, environ_overrides={"REMOTE_ADDR": address}, headers=headers)


def statuses(answers):
    return [answer.status_code for answer in answers]


def test_an_address_is_held_to_its_limit_and_told_so(api, acme, time):
    path = f"{acme.public}/events"
    answers = [ask(api, path) for _ in range(9)]

    assert statuses(answers) == [200] * 7 + [429] * 2
    first, last = answers[0], answers[-1]
    assert first.headers["RateLimit-Policy"] == '"public";q=7;w=60'
    assert first.headers["RateLimit"] == '"public";r=6;t=45'
    assert last.headers["RateLimit"] == '"public";r=0;t=45'
    assert last.headers["Retry-After"] == "45"
    assert last.json["code"] == "too_many_requests"
    assert last.content_type == "application/problem+json"
    assert ask(api, path, "192.0.2.2").status_code == 200
    time.forward(seconds=45)
    assert ask(api, path).headers["RateLimit"] == '"public";r=6;t=60'


def test_an_answer_that_is_kept_counts_too(api, acme):
    path = f"{acme.public}/events"
    etag = ask(api, path).headers["ETag"]
    asked = [ask(api, path, **{"If-None-Match": etag}) for _ in range(7)]
    assert statuses(asked) == [304] * 6 + [429]


def test_all_processes_share_one_limit(environ, acme):
    # Each application counts for itself, as each process does.
    apis = [Api(create_app(load(environ)).test_client()) for _ in range(3)]
    path = f"{acme.public}/events"
    asked = statuses(ask(api, path) for _ in range(5) for api in apis)
    assert (asked.count(200), asked.count(429)) == (7, 8)


def test_a_part_that_is_taken_at_once_is_not_given_out_twice(environ, acme):
    apis = [
        Api(create_app(load({**environ, "RATE_LIMIT_PUBLIC": "45"})).test_client())
        for _ in range(2)
    ]
    asked = statuses(ask(api, f"{acme.public}/events") for _ in range(30) for api in apis)
    assert asked.count(200) == 45


def test_a_minute_of_another_host_whose_clock_is_ahead_is_the_same_minute(environ, acme, time):
    here, there = (Api(create_app(load(environ)).test_client()) for _ in range(2))
    path = f"{acme.public}/events"
    time.forward(seconds=46)
    assert statuses(ask(there, path) for _ in range(4)) == [200] * 4
    time.forward(seconds=-2)
    assert statuses(ask(here, path) for _ in range(4)) == [200] * 3 + [429]


def test_a_clock_that_was_an_hour_ahead_locks_nobody_out(api, acme, time):
    path = f"{acme.public}/events"
    time.forward(hours=1)
    assert statuses(ask(api, path) for _ in range(8))[-1] == 429
    time.forward(hours=-1)
    assert ask(api, path).status_code == 200


@pytest.mark.parametrize(
    ("name", "limit"), [("CHECKOUT", 6), ("PREFLIGHT", 5), ("TOKEN", 4), ("ADMIN", 30)]
)
def test_each_kind_of_call_has_its_limit(app, acme, name, limit):
    api = Api(app.test_client())
    call = {
        "CHECKOUT": lambda: api.get(f"{acme.checkout}/intents/pi_none"),
        "PREFLIGHT": lambda: api.post(f"{acme.checkout}/preflight", {}),
        "TOKEN": lambda: api.post("/v1/auth/token", {"api_key": "x"}),
        "ADMIN": lambda: api.get(f"{acme.path}/events", headers={"X-API-Key": acme.admin_key}),
    }[name]
    answers = [call() for _ in range(limit + 1)]
    assert 429 not in statuses(answers[:-1])
    assert answers[-1].status_code == 429
    assert answers[-1].headers["RateLimit-Policy"] == f'"{name.lower()}";q={limit};w=60'


def test_a_credential_counts_for_itself_wherever_it_is_sent_from(acme):
    path = f"{acme.path}/events"
    mine, other = ({"X-API-Key": acme.key("read")} for _ in range(2))
    asked = [ask(acme.with_headers(mine), path, f"192.0.2.{n}") for n in range(31)]
    assert statuses(asked) == [200] * 30 + [429]
    assert ask(acme.with_headers(other), path).status_code == 200


def test_guessing_credentials_counts_against_the_address(api, acme):
    path = f"{acme.path}/events"
    guesses = [ask(api, path, **{"X-API-Key": f"guess {n}"}) for n in range(5)]
    assert statuses(guesses) == [401] * 4 + [429]
    login = {"tenant": "acme", "email": "a@example.org", "password": "x" * 12}
    sent = api.post("/v1/auth/login", login, environ_overrides={"REMOTE_ADDR": "192.0.2.1"})
    assert sent.status_code == 429
    assert ask(api, path, **{"X-API-Key": acme.admin_key}).status_code == 200


def test_a_neighbours_credential_that_is_refused_counts_against_the_address(acme, neighbour):
    path = f"{acme.path}/events"
    api = neighbour.with_headers({"X-API-Key": neighbour.admin_key})
    assert statuses(ask(api, path) for _ in range(5)) == [403] * 4 + [429]


def test_whether_it_is_well_may_be_asked_without_end(api, acme):
    for path in ("/healthz", "/readyz"):
        answers = [api.get(path) for _ in range(50)]
        assert set(statuses(answers)) == {200}
        assert "RateLimit" not in answers[0].headers


def test_no_limit_is_no_limit(environ, acme):
    api = Api(create_app(load({**environ, "RATE_LIMIT_PUBLIC": "0"})).test_client())
    answers = [ask(api, f"{acme.public}/events") for _ in range(20)]
    assert set(statuses(answers)) == {200}
    assert "RateLimit" not in answers[0].headers


def test_a_database_that_cannot_count_keeps_nobody_from_reading(api, acme):
    path = f"{acme.public}/events"
    database.execute_sql("ALTER TABLE rate_counts RENAME TO rate_counts_gone")
    assert statuses(ask(api, path) for _ in range(3)) == [200] * 3


@pytest.mark.parametrize("processes", [2, 8, 16])
def test_nobody_is_refused_long_before_the_limit_however_many_processes(acme, processes, time):
    limiters = [Limiter() for _ in range(processes)]
    chosen = random.Random(1)
    granted = 0
    while chosen.choice(limiters).spend(CallClass.PUBLIC, "192.0.2.1", 600).granted:
        granted += 1
    assert 350 < granted <= 600


def test_a_minute_that_ends_while_it_is_counted_takes_nothing_from_the_next(acme, time):
    limiter = Limiter()
    fetched = rate_limits._fetch("public a", int(time.now.timestamp() // 60), 600, 100)
    time.forward(minutes=1)
    assert limiter.spend(CallClass.PUBLIC, "a", 600).remaining == 599
    limiter._keep("public a", fetched)
    assert limiter.spend(CallClass.PUBLIC, "a", 600).remaining == 598


def test_most_requests_count_without_a_query(environ, acme):
    api = Api(create_app(load({**environ, "RATE_LIMIT_PUBLIC": "600"})).test_client())
    for _ in range(100):
        assert ask(api, f"{acme.public}/events").status_code == 200
    # Parts grow from 1 to a tenth: 1 1 2 4 8 16 32 60.
    assert RateCount.get().used == 124


def keep_house(app):
    cli(app, "worker", "--once", exit_code=1)  # nobody answers at its chain


def test_the_worker_forgets_minutes_that_are_over(app, api, acme, time):
    ask(api, f"{acme.public}/events")
    time.forward(minutes=1)
    keep_house(app)
    assert RateCount.select().exists()
    time.forward(minutes=1)
    keep_house(app)
    assert not RateCount.select().exists()


@pytest.mark.parametrize(
    ("proxies", "peer", "forwarded", "counted"),
    [
        ("", "192.0.2.1", "203.0.113.9", "192.0.2.1"),
        ("192.0.2.1", "192.0.2.1", "203.0.113.9", "203.0.113.9"),
        ("192.0.2.0/24", "192.0.2.1", "198.51.100.1, 203.0.113.9, 192.0.2.7", "203.0.113.9"),
        ("192.0.2.0/24", "192.0.2.1", "203.0.113.9, what", "192.0.2.1"),
        ("192.0.2.0/24", "192.0.2.1", "", "192.0.2.1"),
        ("192.0.2.0/24", "203.0.113.5", "203.0.113.9", "203.0.113.5"),
        ("192.0.2.0/24", "::ffff:192.0.2.1", "203.0.113.9", "203.0.113.9"),
        ("", "", "203.0.113.9", "203.0.113.9"),
        ("::1", "::1", "2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("", "2001:db8:1:2:3::4", "", "2001:db8:1:2::/64"),
        ("10.0.0.0/8", "10.0.0.1", "203.0.113.9:4711", "203.0.113.9"),
        ("10.0.0.0/8", "10.0.0.1", "[2001:db8:1:2::4]:443", "2001:db8:1:2::/64"),
    ],
)
def test_a_forwarded_address_is_believed_from_a_trusted_proxy_alone(
    environ, acme, proxies, peer, forwarded, counted
):
    api = Api(create_app(load({**environ, "TRUSTED_PROXIES": proxies})).test_client())
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    assert ask(api, f"{acme.public}/events", peer, **headers).status_code == 200
    assert RateCount.get().caller == f"public {counted}"


def test_a_proxy_that_nobody_named_is_told_of_once(api, acme, caplog):
    proxy = f"10.{secrets.randbelow(256)}.{secrets.randbelow(256)}.{secrets.randbelow(256)}"
    for peer in (proxy, proxy, "9.9.9.9"):
        ask(api, f"{acme.public}/events", peer, **{"X-Forwarded-For": "203.0.113.9"})
    told = [each.getMessage() for each in caplog.records if "TRUSTED_PROXIES" in each.getMessage()]
    assert told == [f"{proxy} forwards requests, but is not in TRUSTED_PROXIES"]


@pytest.fixture
def unlimited(environ, monkeypatch):
    for name in LIMITS:
        environ[f"RATE_LIMIT_{name}"] = "0"
    environ["UNPAID_PER_ADDRESS"] = "10"


def hold(acme, ticket, address="192.0.2.1", quantity=4, **options):
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], "quantity": quantity}
    overrides = {"REMOTE_ADDR": address}
    api = Api(acme.app.test_client())
    return api.post(f"{acme.checkout}/preflight", body, environ_overrides=overrides, **options)


def test_an_address_holds_only_so_much_without_paying(unlimited, acme, time):
    ticket = acme.ticket(capacity=None)
    assert hold(acme, ticket).status_code == 201
    time.forward(seconds=100)
    assert hold(acme, ticket).status_code == 201

    refused = hold(acme, ticket)
    assert refused.status_code == 429
    assert refused.json["code"] == "too_much_unpaid"
    assert refused.headers["Retry-After"] == "800"
    assert acme.stock(ticket) == (8, 0)
    assert hold(acme, ticket, quantity=2).status_code == 201
    assert hold(acme, ticket, "192.0.2.2").status_code == 201


def test_what_is_paid_or_canceled_makes_room(unlimited, acme):
    ticket = acme.ticket(capacity=None, price_amount=0, chain_id=None)
    for end in (Buyer.purchase, Buyer.cancel):
        full = [hold(acme, ticket, quantity=5) for _ in range(2)]
        assert hold(acme, ticket).status_code == 429
        for each in full:
            assert end(Buyer(acme, each.json)).status_code == 200
    assert hold(acme, ticket).status_code == 201


def test_what_is_held_at_once_is_held_to_the_same(unlimited, acme):
    tickets = [acme.ticket(capacity=None) for _ in range(4)]

    def buy(n):
        try:
            return hold(acme, tickets[n % 4], quantity=3).status_code
        finally:
            database.close()

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(buy, range(16))) == [201] * 3 + [429] * 13


def test_one_order_may_be_larger_than_that(unlimited, acme):
    ticket = acme.ticket(capacity=None, max_per_order=20)
    assert hold(acme, ticket, quantity=20).status_code == 201
    assert hold(acme, ticket, quantity=1).status_code == 429


def test_a_storefront_with_a_key_may_hold_as_much_as_it_likes(unlimited, acme):
    ticket, headers = acme.ticket(capacity=None), {"X-API-Key": acme.key("paywall")}
    assert statuses(hold(acme, ticket, headers=headers) for _ in range(4)) == [201] * 4
    assert hold(acme, ticket, headers={"X-API-Key": acme.key("read")}).status_code == 403
    assert hold(acme, ticket, headers={"X-API-Key": "none"}).status_code == 401
