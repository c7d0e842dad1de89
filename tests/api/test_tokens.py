"""JWTs: for an API key, and for a password."""

from datetime import UTC, datetime, timedelta

import jwt
import pytest

from tests.conftest import SECRET_KEY
from tests.support.apps import new_app
from tests.support.factories import Api, cli
from ticketing import clock
from ticketing.db.connection import database
from ticketing.models.api_keys import ApiKey
from ticketing.services.access import passwords
from tools.stack import Stack

EXCHANGE, LOGIN = "/v1/auth/token", "/v1/auth/login"
EMAIL, PASSWORD = "ada@example.org", "correct horse battery staple"
ANSWER_FIELDS = {"access_token", "token_type", "expires_in", "role", "tenant"}
CLAIMS = {"iss", "aud", "sub", "tenant", "role", "iat", "exp", "jti"}
ROLES = ["read", "paywall", "write", "admin"]


def decoded(token):
    assert jwt.get_unverified_header(token) == {"alg": "HS256", "typ": "JWT"}
    return jwt.decode(token, SECRET_KEY, ["HS256"], audience="ticketing-admin", issuer="ticketing")


def refusals(answers):
    """Return the distinct refusals, without what differs in every response."""
    assert {answer.status_code for answer in answers} == {401}
    assert all(answer.headers["WWW-Authenticate"].startswith("Bearer") for answer in answers)
    assert all(answer.content_type == "application/problem+json" for answer in answers)
    return {str({**answer.json, "request_id": None}) for answer in answers}


@pytest.fixture
def new_key(acme):
    """Create a key through the API and return the response."""

    def new_key(**fields):
        body = {"name": "x", "role": "read", **fields}
        return acme.api().post(f"{acme.path}/apikeys", body).json

    return new_key


@pytest.fixture
def add_member(app, acme):
    def add_member(email=EMAIL, role="write", password=PASSWORD):
        arguments = ("members", "add", acme.slug, email, "--role", role, "--password-stdin")
        return cli(app, *arguments, stdin=f"{password}\n")

    return add_member


@pytest.fixture
def login(api):
    """Sign in as the member of acme. A test may change the fields."""

    def login(**fields):
        return api.post(LOGIN, {"tenant": "acme", "email": EMAIL, "password": PASSWORD, **fields})

    return login


@pytest.mark.parametrize("role", ROLES)
def test_a_key_is_exchanged_for_a_jwt_of_its_role(acme, api, role):
    answer = api.post(EXCHANGE, {"api_key": acme.key(role)})
    assert answer.status_code == 200
    assert answer.json.keys() == ANSWER_FIELDS
    expected = {"token_type": "Bearer", "expires_in": 900, "role": role, "tenant": "acme"}
    assert {name: answer.json[name] for name in expected} == expected
    assert answer.headers["Cache-Control"] == "no-store"


def test_the_jwt_has_the_claims_of_the_contract(api, new_key):
    key = new_key(role="paywall")
    before = int(datetime.now(UTC).timestamp())
    claims = decoded(api.post(EXCHANGE, {"api_key": key["key"]}).json["access_token"])
    assert claims.keys() == CLAIMS
    assert (claims["sub"], claims["tenant"], claims["role"]) == (key["id"], "acme", "paywall")
    assert before <= claims["iat"] <= int(datetime.now(UTC).timestamp())
    assert claims["exp"] - claims["iat"] == 900


def test_no_two_jwts_are_alike(acme, api):
    tokens = [api.post(EXCHANGE, {"api_key": acme.admin_key}).json for _ in range(2)]
    first, second = (decoded(token["access_token"]) for token in tokens)
    assert first["jti"] != second["jti"]


def test_a_jwt_never_outlives_its_key(api, new_key):
    key = new_key(ttl_seconds=60)
    answer = api.post(EXCHANGE, {"api_key": key["key"]}).json
    ends = datetime.fromisoformat(key["expires_at"]).timestamp()
    assert ends - 1 < decoded(answer["access_token"])["exp"] <= ends
    assert 55 <= answer["expires_in"] <= 60


def test_token_ttl_seconds_sets_how_long_a_jwt_lives(acme, environ):
    other = new_app({**environ, "TOKEN_TTL_SECONDS": "5"})
    answer = Api(other.test_client()).post(EXCHANGE, {"api_key": acme.admin_key}).json
    claims = decoded(answer["access_token"])
    assert answer["expires_in"] == claims["exp"] - claims["iat"] == 5


def test_every_refused_key_gets_one_and_the_same_answer(acme, api, new_key):
    expired, revoked = new_key(ttl_seconds=60), new_key()
    past = datetime.now(UTC) - timedelta(seconds=1)
    ApiKey.update(expires_at=past).where(ApiKey.id == expired["id"]).execute()
    acme.api().post(f"{acme.path}/apikeys/{revoked['id']}/revoke")
    never_made = new_key()["key"]
    ApiKey.delete().where(ApiKey.id << [f"key_{never_made.split('_')[1]}"]).execute()
    keys = [expired["key"], revoked["key"], never_made, never_made[:-1], "x", "é" * 200, " "]
    answers = [api.post(EXCHANGE, {"api_key": key}) for key in keys]
    assert len(refusals(answers)) == 1
    assert answers[0].json["code"] == "invalid_credentials"


@pytest.mark.parametrize("role", ROLES)
def test_a_member_signs_in_and_gets_the_same_answer(acme, add_member, login, role):
    add_member(role=role)
    answer = login()
    assert answer.status_code == 200
    assert answer.json.keys() == ANSWER_FIELDS
    expected = {"token_type": "Bearer", "expires_in": 900, "role": role, "tenant": "acme"}
    assert {name: answer.json[name] for name in expected} == expected
    claims = decoded(answer.json["access_token"])
    assert claims.keys() == CLAIMS and claims["sub"].startswith("mem_")
    headers = {"Authorization": f"Bearer {answer.json['access_token']}"}
    assert acme.with_headers(headers).get(f"{acme.path}/events").status_code == 200


def test_a_tenant_may_be_named_by_its_id_and_an_email_in_any_case(acme, add_member, login):
    add_member(email="Ada@Example.org")
    for tenant in (acme.slug, acme.id):
        for email in (EMAIL, EMAIL.upper(), "aDa@example.ORG"):
            assert login(tenant=tenant, email=email).json["tenant"] == "acme"


def test_every_refused_sign_in_gets_one_and_the_same_answer(app, acme, add_member, login):
    add_member()
    add_member(email="gone@example.org")
    cli(app, "members", "disable", "acme", "gone@example.org")
    answers = [
        login(tenant="nobody-here"),
        login(tenant="ten_" + "0" * 26),
        login(email="nobody@example.org"),
        login(email="gone@example.org"),
        login(password=PASSWORD.upper()),
        login(password=PASSWORD + " "),
        login(tenant="ACME"),
    ]
    assert len(refusals(answers)) == 1
    assert answers[0].json["code"] == "invalid_credentials"


def test_a_member_of_one_tenant_is_nobody_to_another(acme, neighbour, add_member, login):
    add_member()
    assert login(tenant=neighbour.slug).status_code == 401


def test_every_refused_sign_in_costs_one_hash(app, acme, add_member, login, monkeypatch):
    add_member()
    add_member(email="gone@example.org")
    cli(app, "members", "disable", "acme", "gone@example.org")
    costs = []
    verify = passwords.hasher.verify

    def counted(password, hashed):
        costs.append(hashed.rsplit("$", 2)[0])
        return verify(password, hashed)

    monkeypatch.setattr(passwords.hasher, "verify", counted)
    for wrong in (
        {"tenant": "nobody-here"},
        {"email": "nobody@example.org"},
        {"email": "gone@example.org"},
        {"password": "wrong"},
    ):
        login(**wrong)
    assert len(costs) == 4 and len(set(costs)) == 1


def test_a_password_is_stored_as_its_argon2id_hash_only(add_member):
    add_member()
    query = "SELECT password_hash FROM members WHERE email IS NOT NULL"
    ((stored,),) = database.execute_sql(query).fetchall()
    assert stored.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert PASSWORD not in stored


def test_a_password_of_128_characters_of_any_script_works(add_member, login):
    password = "пароль🎟 é" * 14 + "xx"
    assert len(password) == 128
    add_member(password=password)
    assert login(password=password).status_code == 200
    assert login(password=password[:-1]).status_code == 401


@pytest.mark.parametrize(
    ("path", "body", "fields"),
    [
        (EXCHANGE, {}, {"api_key"}),
        (EXCHANGE, {"api_key": 1}, {"api_key"}),
        (EXCHANGE, {"api_key": "x" * 201}, {"api_key"}),
        (EXCHANGE, {"api_key": "x", "tenant": "acme"}, {"tenant"}),
        (LOGIN, {}, {"tenant", "email", "password"}),
        (LOGIN, {"tenant": "a", "email": "b", "password": "c\0"}, {"password"}),
        (LOGIN, {"tenant": "a", "email": "b", "password": "x" * 129}, {"password"}),
    ],
)
def test_a_malformed_request_names_every_field_at_fault(acme, api, path, body, fields):
    answer = api.post(path, body)
    assert (answer.status_code, set(answer.json["errors"])) == (422, fields)


@pytest.mark.long
def test_a_member_disabled_by_another_process_is_out_at_once(
    acme, environ, add_member, login, starts_processes
):
    add_member()
    member = acme.with_headers({"Authorization": f"Bearer {login().json['access_token']}"})
    assert member.get(f"{acme.path}/events").status_code == 200
    Stack({**environ, "PORT": "1"}).flask("members", "disable", "acme", EMAIL.upper())
    assert member.get(f"{acme.path}/events").status_code == 401
    assert login().status_code == 401


def test_a_jwt_is_good_in_another_process_of_the_same_secret_only(acme, environ):
    headers = acme.api().headers
    for secret, status in ((SECRET_KEY, 200), (SECRET_KEY[::-1], 401)):
        other = new_app({**environ, "SECRET_KEY": secret})
        answer = Api(other.test_client()).get(f"{acme.path}/events", headers=headers)
        assert answer.status_code == status


def test_a_token_from_a_host_whose_clock_is_ahead_is_good(acme, monkeypatch):
    now = clock.now
    monkeypatch.setattr(clock, "now", lambda: now() + timedelta(seconds=5))
    ahead = acme.api("read")
    monkeypatch.setattr(clock, "now", now)
    assert ahead.get(f"{acme.path}/events").status_code == 200
