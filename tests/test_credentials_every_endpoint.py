"""Every endpoint with every kind of credential; one that is added later is in here by itself."""

import warnings
from datetime import UTC, datetime, timedelta

import jwt
import pytest

from tests.conftest import SECRET_KEY
from tests.factories import Api, cli
from ticketing import ids
from ticketing.blueprints import guards
from ticketing.blueprints.surface import Surface
from ticketing.constants import Role
from ticketing.models.api_keys import ApiKey

ADMIN, CHECKOUT = "/v1/admin/", "/v1/checkout/"
OUTSIDE_SURFACES = {"static", "openapi", "docs", "home"}
ASK_NOBODY = {"tokens", "public", "system"}
CLAIMS = {"iss", "aud", "sub", "tenant", "role", "iat", "exp", "jti"}
NEEDED = {
    "apikeys": (Role.ADMIN, Role.ADMIN),
    "wallet": (Role.ADMIN, Role.ADMIN),
    "events": (Role.READ, Role.WRITE),
    "intents": (Role.READ, Role.WRITE),
    "admissions": (Role.READ, Role.WRITE),
    "refunds": (Role.READ, Role.ADMIN),
    "audit": (Role.READ, Role.WRITE),
}
"""What the contract says; a resource that is added later says it here."""
PASSWORD = "correct horse battery staple"
OTHER_SECRET = "not-the-secret-key-0123456789abcdefghijklmnopqrstuvw"
UNKNOWN_INTENT = ids.INTENT + "0" * 26


def endpoints(app, prefix, tenant, **known):
    """Yield (method, path, guard, name of the view) of every endpoint under `prefix`."""
    with app.test_request_context():
        for rule in app.url_map.iter_rules():
            if not rule.rule.startswith(prefix):
                continue
            known["tenant"] = tenant
            values = {name: known.get(name, f"x_{'0' * 26}") for name in rule.arguments}
            _, path = rule.build(values)
            surface, view = rule.endpoint.split(".")
            guard = app.blueprints[surface].guard
            for method in sorted(rule.methods - {"OPTIONS"}):
                yield method, path, guard, view


def send(app, method, path, headers):
    return app.test_client().open(path, method=method, headers=headers)


def is_problem(method, answer, status, code):
    same = answer.status_code == status and answer.content_type == "application/problem+json"
    return same and (
        method == "HEAD" or (answer.json["status"], answer.json["code"]) == (status, code)
    )


def new_key(organizer, **fields):
    """A new admin key: its id and its plaintext."""
    body = {"name": "x", "role": "admin", **fields}
    made = organizer.with_headers({"X-API-Key": organizer.admin_key}).post(
        f"{organizer.path}/apikeys", body
    )
    return made.json["id"], made.json["key"]


def exchange(app, key):
    answer = Api(app.test_client()).post("/v1/auth/token", {"api_key": key})
    return answer.json["access_token"]


def both_ways(app, key):
    """The headers of a JWT made from a key, and of the key itself."""
    return {"Authorization": f"Bearer {exchange(app, key)}"}, {"X-API-Key": key}


def forged_jwts(organizer):
    """JWTs of a key that is good, each with one thing wrong."""
    token = exchange(organizer.app, organizer.admin_key)
    good = jwt.decode(token, SECRET_KEY, ["HS256"], audience="ticketing-admin")
    assert set(good) == CLAIMS
    past = int((datetime.now(UTC) - timedelta(seconds=2)).timestamp())
    header, payload, signature = token.split(".")
    with warnings.catch_warnings(action="ignore", category=jwt.InsecureKeyLengthWarning):
        hs512 = jwt.encode(good, SECRET_KEY, "HS512")
    return {
        "expired": jwt.encode({**good, "iat": past - 900, "exp": past}, SECRET_KEY, "HS256"),
        "alg none": jwt.encode(good, None, "none"),
        "alg none, signed": f"{jwt.encode(good, None, 'none').rsplit('.', 1)[0]}.{signature}",
        "alg HS512": hs512,
        "no signature": f"{header}.{payload}.",
        "another secret": jwt.encode(good, OTHER_SECRET, "HS256"),
        "other audience": jwt.encode({**good, "aud": "elsewhere"}, SECRET_KEY, "HS256"),
        "other issuer": jwt.encode({**good, "iss": "elsewhere"}, SECRET_KEY, "HS256"),
        "nobody's": jwt.encode({**good, "sub": "key_" + "0" * 26}, SECRET_KEY, "HS256"),
        **{
            f"without {claim}": jwt.encode(
                {name: value for name, value in good.items() if name != claim}, SECRET_KEY, "HS256"
            )
            for claim in CLAIMS
        },
    }


def bad_credentials(organizer):
    """Headers that open nothing, by what is wrong with them."""
    app, key = organizer.app, organizer.admin_key
    revoked_id, revoked = new_key(organizer)
    revoked_jwt, revoked_key = both_ways(app, revoked)
    organizer.api().post(f"{organizer.path}/apikeys/{revoked_id}/revoke")
    expired_id, expired = new_key(organizer, ttl_seconds=60)
    expired_jwt, expired_key = both_ways(app, expired)
    ApiKey.update(expires_at=datetime.now(UTC)).where(ApiKey.id == expired_id).execute()
    member = ("members", "add", organizer.slug, "ada@example.org", "--role", "admin")
    cli(app, *member, "--password-stdin", stdin=PASSWORD)
    body = {"tenant": organizer.slug, "email": "ada@example.org", "password": PASSWORD}
    disabled = Api(app.test_client()).post("/v1/auth/login", body).json["access_token"]
    cli(app, "members", "disable", organizer.slug, "ada@example.org")
    return {
        "none": {},
        "basic": {"Authorization": "Basic YWRtaW46YWRtaW4="},
        "empty bearer": {"Authorization": "Bearer"},
        "garbage bearer": {"Authorization": "Bearer garbage"},
        "garbage of three parts": {"Authorization": "Bearer a.b.c"},
        "key as bearer": {"Authorization": f"Bearer {key}"},
        "empty key": {"X-API-Key": ""},
        "garbage key": {"X-API-Key": "\xe9garbage" * 50},
        "key with a typo": {"X-API-Key": key[:-1] + ("0" if key[-1] != "0" else "1")},
        "a good key behind a bad JWT": {"Authorization": "Bearer garbage", "X-API-Key": key},
        "revoked key": revoked_key,
        "JWT of a revoked key": revoked_jwt,
        "expired key": expired_key,
        "JWT of an expired key": expired_jwt,
        "JWT of a disabled member": {"Authorization": f"Bearer {disabled}"},
        **{
            f"JWT {name}": {"Authorization": f"Bearer {token}"}
            for name, token in forged_jwts(organizer).items()
        },
    }


def test_every_route_belongs_to_a_surface_with_a_guard(app):
    assert all(isinstance(each, Surface) and each.guard for each in app.blueprints.values())
    for rule in app.url_map.iter_rules():
        if rule.endpoint not in OUTSIDE_SURFACES:
            assert rule.endpoint.split(".")[0] in app.blueprints, rule


def test_only_the_surfaces_that_say_so_ask_nobody(app):
    kinds = {name: type(surface.guard) for name, surface in app.blueprints.items()}
    assert {name for name, kind in kinds.items() if kind is guards.Open} == ASK_NOBODY
    for rule in app.url_map.iter_rules():
        if rule.rule.startswith(ADMIN):
            assert kinds[rule.endpoint.split(".")[0]] is guards.TenantRole, rule
        if rule.rule.startswith(CHECKOUT):
            assert kinds[rule.endpoint.split(".")[0]] is guards.Buyer, rule


def test_each_resource_needs_the_roles_of_the_contract(app):
    for method, path, guard, _ in endpoints(app, ADMIN, "acme"):
        assert (guard.reads, guard.writes) == NEEDED[path.split("/")[5]], (method, path)


def test_no_bad_credential_opens_an_admin_endpoint(app, acme):
    bad = bad_credentials(acme)
    for method, path, _, _ in endpoints(app, ADMIN, acme.slug):
        for what, headers in bad.items():
            answer = send(app, method, path, headers)
            case = (what, method, path, answer.status_code)
            assert is_problem(method, answer, 401, "unauthenticated"), case
            assert answer.headers["WWW-Authenticate"].startswith("Bearer"), case


def test_a_neighbours_credential_opens_no_admin_endpoint(app, acme, neighbour):
    for tenant in (acme.slug, acme.id, "nobody-here", "ten_" + "0" * 26):
        for headers in both_ways(app, neighbour.admin_key):
            for method, path, _, _ in endpoints(app, ADMIN, tenant):
                answer = send(app, method, path, headers)
                assert is_problem(method, answer, 403, "wrong_tenant"), (method, path)


def test_each_role_opens_what_it_holds_and_nothing_above(app, acme):
    for role in Role:
        for headers in both_ways(app, acme.key(role.value)):
            for method, path, guard, _ in endpoints(app, ADMIN, acme.slug):
                needed = guard.reads if method in ("GET", "HEAD") else guard.writes
                answer = send(app, method, path, headers)
                if role.holds(needed):
                    assert answer.status_code not in (401, 403), (role, method, path)
                else:
                    assert is_problem(method, answer, 403, "insufficient_role"), (role, path)


def test_the_tenant_in_the_path_may_be_its_slug_or_its_id(app, acme):
    for tenant in (acme.slug, acme.id):
        for headers in both_ways(app, acme.admin_key):
            for method, path, _, _ in endpoints(app, ADMIN, tenant):
                assert send(app, method, path, headers).status_code not in (401, 403)


@pytest.fixture
def buyer(acme):
    """Somebody with an intent that costs nothing."""
    return acme.buyer(acme.ticket(price_amount=0))


def of_intent(buyer, tenant, intent_id=None):
    """The endpoints of one intent, the one of `buyer` if no other is given."""
    intent_id = intent_id or buyer.intent["id"]
    found = endpoints(buyer.organizer.app, CHECKOUT, tenant, intent_id=intent_id)
    return [(method, path) for method, path, guard, view in found if view != guard.open_view]


def test_an_intent_asks_for_a_credential(app, acme, buyer):
    bad = bad_credentials(acme)
    garbage = {"empty bearer", "garbage bearer", "key as bearer", "a good key behind a bad JWT"}
    for method, path in of_intent(buyer, acme.slug):
        for what, headers in bad.items():
            answer = send(app, method, path, headers)
            if what in garbage:  # may have been meant as a client secret
                assert is_problem(method, answer, 404, "not_found"), (what, method, path)
            else:
                assert is_problem(method, answer, 401, "unauthenticated"), (what, method, path)
                assert answer.headers["WWW-Authenticate"].startswith("Bearer"), (what, path)


def test_a_wrong_client_secret_is_the_404_of_an_unknown_intent(app, acme, neighbour, buyer):
    own = buyer.intent["client_secret"]
    others = acme.buyer(acme.ticket(price_amount=0)).intent["client_secret"]
    typo = own[:-1] + ("0" if own[-1] != "0" else "1")
    refused = [
        *((method, path, typo) for method, path in of_intent(buyer, acme.slug)),
        *((method, path, others) for method, path in of_intent(buyer, acme.slug)),
        *((method, path, "cs_") for method, path in of_intent(buyer, acme.slug)),
        *((method, path, own) for method, path in of_intent(buyer, acme.slug, UNKNOWN_INTENT)),
        *((method, path, own) for method, path in of_intent(buyer, neighbour.slug)),
    ]
    bodies = []
    for method, path, secret in refused:
        answer = send(app, method, path, {"Authorization": f"Bearer {secret}"})
        assert is_problem(method, answer, 404, "not_found"), (method, path)
        if method != "HEAD":
            bodies.append({**answer.json, "request_id": None})
    assert all(body == bodies[0] for body in bodies)
    unknown = acme.api("paywall").get(f"{acme.checkout}/intents/{UNKNOWN_INTENT}")
    assert {**unknown.json, "request_id": None} == bodies[0]


def test_an_intent_is_open_from_the_paywall_role_upwards(app, acme, buyer):
    for role in Role:
        for headers in both_ways(app, acme.key(role.value)):
            for method, path in of_intent(buyer, acme.slug):
                answer = send(app, method, path, headers)
                if role is Role.READ:
                    assert is_problem(method, answer, 403, "insufficient_role"), (method, path)
                else:
                    assert answer.status_code in (200, 409), (role, method, path)


def test_a_neighbours_key_opens_no_intent(app, acme, neighbour, buyer):
    for tenant in (acme.slug, acme.id, "nobody-here"):
        for headers in both_ways(app, neighbour.key("paywall")):
            for method, path in of_intent(buyer, tenant):
                answer = send(app, method, path, headers)
                assert is_problem(method, answer, 403, "wrong_tenant"), (method, path)


def test_a_neighbours_key_finds_no_intent_of_others_under_its_own_path(app, neighbour, buyer):
    for headers in both_ways(app, neighbour.admin_key):
        for method, path in of_intent(buyer, neighbour.slug):
            assert is_problem(method, send(app, method, path, headers), 404, "not_found")
