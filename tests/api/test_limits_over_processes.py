"""How the processes of the service count the requests of one caller together."""

from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice

import pytest

from tests.support.apps import new_app
from tests.support.counted_work import watched
from tests.support.factories import Api, cli, statuses
from ticketing.db.connection import database
from ticketing.models.rate_counts import RateCount
from ticketing.services.access.rate_limits import Limiter

LIMITS = {"PUBLIC": 7, "CHECKOUT": 6, "PREFLIGHT": 40, "TOKEN": 4, "LOGIN": 3}

pytestmark = [pytest.mark.exhaustive, pytest.mark.usefixtures("time")]


@pytest.fixture
def environ(environ):
    return {**environ, **{f"RATE_LIMIT_{name}": str(limit) for name, limit in LIMITS.items()}}


def processes(environ, count):
    """The API in several applications, which share only the database."""
    return [Api(new_app(environ).test_client()) for _ in range(count)]


@pytest.fixture
def two(environ, acme, monkeypatch):
    """The API in the two processes of one host."""
    monkeypatch.setattr(Limiter, "processes", 2)
    return processes(environ, 2)


def ask(api, path, address="192.0.2.1", **headers):
    return api.get(path, environ_overrides={"REMOTE_ADDR": address}, headers=headers)


def sign_in(api, email="a@example.org", address="192.0.2.1"):
    body = {"tenant": "acme", "email": email, "password": "x" * 12}
    return api.post("/v1/auth/login", body, environ_overrides={"REMOTE_ADDR": address})


def order(api, acme, ticket, quantity=1):
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], "quantity": quantity}
    return api.post(f"{acme.checkout}/preflight", body)


@pytest.mark.parametrize(
    "turns",
    [(0,), (0, 1), (0,) * 30 + (1,) * 70],
    ids=["to one", "in turn", "to one, then to the other"],
)
def test_a_caller_of_two_processes_gets_one_limit_of_both(two, acme, turns):
    ticket = acme.ticket(price_amount=0, chain_id=None, capacity=None)
    answers = [order(api, acme, ticket) for api in islice(cycle(two[n] for n in turns), 100)]
    assert statuses(answers) == [201] * 40 + [429] * 60
    assert answers[0].headers["RateLimit-Policy"] == '"preflight";q=40;w=60'
    assert answers[0].headers["RateLimit"] == '"preflight";r=39;t=45'


def test_a_caller_that_asks_two_processes_at_once_gets_no_more_than_the_limit(two, acme):
    ticket = acme.ticket(price_amount=0, chain_id=None, capacity=None)

    def buy(n):
        answer = order(two[n % 2], acme, ticket)
        database.close()
        return answer.status_code

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(buy, range(80)))
    assert set(answers) == {201, 429}
    assert answers.count(201) == 40


def test_an_order_that_is_refused_counts_in_every_process(two, acme):
    sold_out, good = acme.ticket(capacity=0), acme.ticket(price_amount=0, chain_id=None)
    kinds = [(sold_out, 1), (good, 0), ({**good, "id": "tkt_none"}, 1)]
    answers = [
        order(api, acme, *kind)
        for api, kind in zip(islice(cycle(two), 45), cycle(kinds), strict=False)
    ]
    assert statuses(answers[:6]) == [409, 422, 404] * 2
    assert statuses(answers).count(429) == 45 - 40
    assert statuses(order(api, acme, good) for api in two) == [429] * 2


def test_each_order_of_an_address_is_counted_with_one_statement(two, acme):
    ticket = acme.ticket(capacity=0)
    counted = []
    for _ in range(4):
        with watched() as work:
            assert order(two[0], acme, ticket).status_code == 409
        counted.append(sum("rate_counts" in each for each in work.statements))
    assert counted == [1, 1, 1, 1]
    assert [each.used for each in RateCount.select()] == [4]


def test_each_process_lets_its_share_of_the_limit_through(environ, acme, monkeypatch):
    monkeypatch.setattr(Limiter, "processes", 3)
    apis = processes(environ, 3)
    path = f"{acme.public}/events"
    asked = [ask(api, path) for _ in range(5) for api in apis]
    assert (statuses(asked).count(200), statuses(asked).count(429)) == (9, 6)  # 7 / 3, rounded up
    assert asked[0].headers["RateLimit-Policy"] == '"public";q=3;w=60'


def test_all_processes_share_one_limit_of_sign_ins(environ, acme, monkeypatch):
    monkeypatch.setattr(Limiter, "processes", 3)
    apis = processes(environ, 3)
    asked = statuses(sign_in(api, f"{n}@example.org") for n in range(3) for api in apis)
    assert (asked.count(401), asked.count(429)) == (4, 5)


def test_a_minute_of_another_host_whose_clock_is_ahead_is_the_same_minute(environ, acme, time):
    here, there = processes(environ, 2)
    time.forward(seconds=46)
    assert statuses(sign_in(there, f"{n}@example.org") for n in range(2)) == [401] * 2
    time.forward(seconds=-2)
    assert statuses(sign_in(here, f"{n}@a.org") for n in range(3)) == [401] * 2 + [429]


def test_an_address_that_is_over_its_limit_costs_no_more_queries(api, acme):
    for n in range(4):
        sign_in(api, f"{n}@example.org")
    assert sign_in(api).status_code == 429
    with watched() as work:
        assert sign_in(api).status_code == 429
    assert work.statements == []


def test_a_database_that_cannot_count_lets_reading_pass_and_nothing_that_it_counts(api, acme):
    database.execute_sql("ALTER TABLE rate_counts RENAME TO rate_counts_gone")
    assert statuses(ask(api, f"{acme.public}/events") for _ in range(3)) == [200] * 3
    refused = [
        sign_in(api),
        api.post("/v1/auth/token", {"api_key": acme.admin_key}),
        api.post(f"{acme.checkout}/preflight", {}),
        ask(api, f"{acme.path}/events", **{"X-API-Key": "guess"}),
    ]
    for answer in refused:
        assert (answer.status_code, answer.json["code"]) == (503, "database_unavailable")
        assert int(answer.headers["Retry-After"]) > 0


def keep_house(app):
    cli(app, "worker", "--once", exit_code=1)  # nobody answers at its chain


def test_the_worker_forgets_minutes_that_are_over(app, api, acme, time):
    sign_in(api)
    time.forward(minutes=1)
    keep_house(app)
    assert RateCount.select().exists()
    time.forward(minutes=1)
    keep_house(app)
    assert not RateCount.select().exists()
