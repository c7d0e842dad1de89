"""How many requests one caller may send."""

import pytest

from tests.support.apps import new_app
from tests.support.counted_work import watched
from tests.support.factories import Api, statuses
from ticketing.limits import CallClass
from ticketing.models.rate_counts import RateCount
from ticketing.services.access import rate_limits
from ticketing.services.access.rate_limits import Limiter

LIMITS = {"PUBLIC": 7, "CHECKOUT": 6, "PREFLIGHT": 5, "TOKEN": 4, "LOGIN": 3, "ADMIN": 30}
LIMITS |= {"RECONCILIATION": 2, "ORDER": 6}

pytestmark = [pytest.mark.sql, pytest.mark.usefixtures("time")]


@pytest.fixture
def environ(environ):
    return {**environ, **{f"RATE_LIMIT_{name}": str(limit) for name, limit in LIMITS.items()}}


def ask(api, path, address="192.0.2.1", **headers):
    return api.get(path, environ_overrides={"REMOTE_ADDR": address}, headers=headers)


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


def sign_in(api, email="a@example.org", address="192.0.2.1", tenant="acme"):
    body = {"tenant": tenant, "email": email, "password": "x" * 12}
    return api.post("/v1/auth/login", body, environ_overrides={"REMOTE_ADDR": address})


def test_guesses_at_one_member_are_counted_wherever_they_come_from(api, acme):
    guesses = [sign_in(api, address=f"192.0.2.{n}") for n in range(4)]
    assert statuses(guesses) == [401] * 3 + [429]
    assert guesses[-1].headers["RateLimit-Policy"] == '"login";q=3;w=60'
    assert sign_in(api, "A@EXAMPLE.org", "192.0.2.9").status_code == 429
    assert sign_in(api, "b@example.org", "192.0.2.9").status_code == 401
    # The stored caller is not an email address.
    assert not [each.caller for each in RateCount.select() if "example" in each.caller]


def test_guesses_at_one_member_are_counted_however_the_tenant_is_named(api, acme):
    guesses = [sign_in(api, address="192.0.2.1", tenant=each) for each in ("acme", acme.id, "acme")]
    assert statuses(guesses) == [401] * 3
    for name in ("acme", acme.id):
        assert sign_in(api, address="192.0.2.2", tenant=name).status_code == 429
    assert sign_in(api, address="192.0.2.2", tenant="nobody").status_code == 401


def test_reading_writes_nothing(api, acme, time):
    ticket = acme.ticket(price_amount=0, chain_id=None)
    buyer, owner = acme.buyer(ticket), acme.with_headers({"X-API-Key": acme.admin_key})
    owner.get(f"{acme.path}/events")  # the key's use is stored once a minute
    paths = ("events", f"events/{ticket['event_id']}", f"events/{ticket['event_id']}/tickets")
    with watched() as work:
        for path in paths:
            for _ in range(2):
                assert ask(api, f"{acme.public}/{path}").status_code == 200
        for path in ("/v1/chains", "/healthz", "/docs", "/none"):
            api.get(path).close()
        assert buyer.api.get(buyer.path).status_code == 200
        assert owner.get(f"{acme.path}/events").status_code == 200
    assert work.statements
    assert not [each for each in work.statements if not each.lstrip("( ").startswith("SELECT")]


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


def test_whether_it_is_up_may_be_asked_without_end(api, acme):
    answers = [api.get("/healthz") for _ in range(50)]
    assert set(statuses(answers)) == {200}
    assert "RateLimit" not in answers[0].headers


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *[("GET", path) for path in ("/readyz", "/docs", "/openapi.json", "/static/docs.js", "/")],
        *[("GET", path) for path in ("/no/such/path", "/v1/chains", "/v1//chains")],
        *[("OPTIONS", path) for path in ("/v1/chains", "/v1/checkout/tenants/acme/preflight")],
        ("DELETE", "/v1/chains"),
    ],
)
def test_everything_else_counts_as_public(api, acme, method, path):
    answers = [api.client.open(path, method=method) for _ in range(8)]
    assert 429 not in statuses(answers[:7]) and answers[7].status_code == 429
    assert answers[0].headers["RateLimit-Policy"] == '"public";q=7;w=60'
    for each in answers:
        each.close()


@pytest.mark.parametrize("path", ["/v1/auth/token", "/mcp", "/console/sign-in"])
def test_a_body_that_is_too_large_counts_as_public(api, path):
    large = {"data": b"x" * 70_000, "content_type": "application/json"}
    answers = [api.client.post(path, **large) for _ in range(8)]
    assert 429 not in statuses(answers[:7]) and answers[7].status_code == 429
    assert answers[0].headers["RateLimit-Policy"] == '"public";q=7;w=60'


def test_a_path_with_two_slashes_leads_nowhere(api):
    answer = api.get("/v1//chains")
    assert (answer.status_code, answer.headers.get("Location")) == (404, None)


def test_no_limit_is_no_limit(environ, acme):
    api = Api(new_app({**environ, "RATE_LIMIT_PUBLIC": "0"}).test_client())
    answers = [ask(api, f"{acme.public}/events") for _ in range(20)]
    assert set(statuses(answers)) == {200}
    assert "RateLimit" not in answers[0].headers


def test_the_counts_of_a_minute_have_a_bound(acme, time, monkeypatch):
    monkeypatch.setattr(rate_limits, "KEPT_CALLERS", 100)
    limiter = Limiter()
    for n in range(300):
        assert limiter.spend(CallClass.PUBLIC, [f"a{n}"], 600).remaining == 599
    assert limiter.spend(CallClass.PUBLIC, ["a299"], 600).remaining == 598
    assert limiter.spend(CallClass.PUBLIC, ["a0"], 600).remaining == 599
    time.forward(minutes=1)
    assert limiter.spend(CallClass.PUBLIC, ["a299"], 600).remaining == 599


def test_of_ipv6_a_48_has_three_times_the_limit_of_its_64s(api, acme):
    path = f"{acme.public}/events"
    asked = [
        statuses(ask(api, path, f"2001:db8:1:{net}::{host}") for host in range(8))
        for net in range(4)
    ]
    assert asked[:3] == [[200] * 7 + [429]] * 3
    # Requests that a /64 was refused do not count for its /48.
    assert asked[3] == [429] * 8
    assert ask(api, path, "2001:db8:2::1").status_code == 200


def test_a_good_client_secret_counts_for_its_order_and_not_for_its_address(acme):
    ticket = acme.ticket(price_amount=0, chain_id=None)
    first, second = acme.buyer(ticket), acme.buyer(ticket)
    polled = [statuses(each.api.get(each.path) for _ in range(7)) for each in (first, second)]
    assert polled == [[200] * 6 + [429]] * 2
    guess = acme.with_headers({"Authorization": "Bearer cs_" + "0" * 64})
    assert statuses(guess.get(first.path) for _ in range(7)) == [404] * 6 + [429]


def test_the_proof_of_the_books_has_a_small_limit_of_its_own(acme):
    owner = acme.with_headers({"X-API-Key": acme.admin_key})
    asked = [owner.get(f"{acme.path}/reconciliation") for _ in range(3)]
    assert statuses(asked) == [200] * 2 + [429]
    assert asked[0].headers["RateLimit-Policy"] == '"reconciliation";q=2;w=60'
    assert owner.get(f"{acme.path}/events").status_code == 200
    writer = acme.with_headers({"X-API-Key": acme.key("write")})
    refused = writer.get(f"{acme.path}/reconciliation")
    assert (refused.status_code, refused.json["code"]) == (403, "insufficient_role")
