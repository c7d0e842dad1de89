"""Every endpoint with every kind of credential. New endpoints are included automatically."""

from collections.abc import Callable
from typing import Any

import pytest

from app import create_app
from tests.support.credentials_table import METRICS_TOKEN, Kind, both_ways, every_credential
from tests.support.databases import only_once
from tests.support.one_of_each import one_of_each
from tests.support.routes import Endpoint, endpoints, same
from ticketing.config import load
from ticketing.limits import CallClass
from ticketing.pages.blueprint import PageBlueprint
from ticketing.roles import Role
from ticketing.web import auth, secret_guards
from ticketing.web.agent_guard import Agent, OAuthClient
from ticketing.web.blueprint import ApiBlueprint

pytestmark = pytest.mark.one_database

ADMIN, CHECKOUT, DOOR = "/v1/admin/", "/v1/checkout/", "/v1/door/tenants/"
OPEN_TO_ALL = (CHECKOUT, "/v1/x402/")
ASK_NOBODY = {"tokens", "public", "system", "chains", "transfers", "pairing", "texts"}
ASK_NOBODY |= {"voucher_tickets"}
Due = tuple[int, str] | None
PASSES: Due = None
UNAUTHENTICATED: Due = (401, "unauthenticated")


def _open(endpoint: Endpoint, kind: Kind | Role) -> Due:
    return PASSES


def _of_role(endpoint: Endpoint, kind: Kind | Role) -> Due:
    if kind is Kind.NEIGHBOUR:
        return 403, "wrong_tenant"
    if isinstance(kind, Kind):
        return UNAUTHENTICATED
    guard: Any = endpoint.guard
    needed = guard.reads if endpoint.reads else guard.writes
    return PASSES if kind.holds(*needed) else (403, "insufficient_role")


def _of_buyer(endpoint: Endpoint, kind: Kind | Role) -> Due:
    guard: Any = endpoint.guard
    begins = endpoint.view == guard.open_view
    if kind is Kind.NONE:
        return PASSES if begins else UNAUTHENTICATED
    if kind in (Kind.BEARER, Kind.METRICS):
        return UNAUTHENTICATED if begins else (404, "not_found")
    if kind in (Kind.BAD, Kind.SCHEME):
        return UNAUTHENTICATED
    if kind is Kind.NEIGHBOUR:
        return 403, "wrong_tenant"
    if endpoint.view in guard.secret_views:
        return 403, "insufficient_role"
    return PASSES if kind.holds(Role.PAYWALL) else (403, "insufficient_role")


def _of_shopper(endpoint: Endpoint, kind: Kind | Role) -> Due:
    if kind is Kind.NONE:
        return PASSES
    if kind is Kind.NEIGHBOUR:
        return 403, "wrong_tenant"
    if isinstance(kind, Kind):
        return UNAUTHENTICATED
    return PASSES if kind.holds(Role.PAYWALL) else (403, "insufficient_role")


def _of_holder(endpoint: Endpoint, kind: Kind | Role) -> Due:
    if kind in (Kind.BEARER, Kind.METRICS):
        return 404, "not_found"
    if kind in (Kind.NONE, Kind.BAD, Kind.SCHEME):
        return UNAUTHENTICATED
    if kind is Kind.NEIGHBOUR:
        return 403, "wrong_tenant"
    return PASSES if kind.holds(Role.PAYWALL) else (403, "insufficient_role")


def _of_door(endpoint: Endpoint, kind: Kind | Role) -> Due:
    if kind is Kind.NEIGHBOUR:
        return 403, "wrong_tenant"
    if isinstance(kind, Kind):
        return UNAUTHENTICATED
    return PASSES if kind.holds(Role.WRITE, Role.DOOR) else (403, "insufficient_role")


def _of_agent(endpoint: Endpoint, kind: Kind | Role) -> Due:
    wrong = [Kind.SCHEME, Kind.BEARER, Kind.BAD, Kind.METRICS]
    guard: Any = endpoint.guard
    if endpoint.rule == guard.closed_path:
        wrong.append(Kind.NONE)
    return UNAUTHENTICATED if kind in wrong else PASSES


def _of_scraper(endpoint: Endpoint, kind: Kind | Role) -> Due:
    return PASSES if kind is Kind.METRICS else UNAUTHENTICATED


ROWS: dict[type, Callable[[Endpoint, Kind | Role], Due]] = {
    auth.Open: _open,
    auth.TenantRole: _of_role,
    secret_guards.Buyer: _of_buyer,
    secret_guards.Shopper: _of_shopper,
    secret_guards.Holder: _of_holder,
    secret_guards.Door: _of_door,
    auth.Scraper: _of_scraper,
    Agent: _of_agent,
    OAuthClient: _open,  # a token request proves itself: tests/oauth
}
"""How each kind of guard answers each kind of credential."""


def due(endpoint: Endpoint, kind: Kind | Role) -> Due:
    """The expected refusal. None if it passes. A guard without a row is a KeyError."""
    return ROWS[type(endpoint.guard)](endpoint, kind)


def send(app, endpoint, headers, **known):
    return app.test_client().open(endpoint.path(**known), method=endpoint.method, headers=headers)


@pytest.fixture
def environ(environ):
    return {**environ, "METRICS_TOKEN": METRICS_TOKEN}


@pytest.fixture
def real(acme):
    """The ids of one resource of each kind that acme has."""
    return one_of_each(acme)


def test_every_route_belongs_to_a_surface_with_a_guard_that_has_a_row(app):
    assert {type(endpoint.guard) for endpoint in endpoints(app)} == set(ROWS)
    surfaces = app.blueprints.values()
    assert all(isinstance(each, ApiBlueprint | PageBlueprint) and each.guard for each in surfaces)


def test_a_route_without_a_guard_or_with_a_guard_without_a_row_fails_the_table(environ):
    other = create_app(load(environ))
    other.add_url_rule("/v1/backdoor", "backdoor", lambda: "in")
    with pytest.raises(AssertionError, match="nobody guards"):
        list(endpoints(other))

    class Lenient(auth.Open):
        """A guard of a new kind."""

    other, surface = (
        create_app(load(environ)),
        ApiBlueprint("new", __name__, guard=Lenient(CallClass.PUBLIC)),
    )
    surface.add_url_rule("/v1/new", "view", lambda: "in")
    other.register_blueprint(surface)
    added = next(endpoints(other, "/v1/new"))
    with pytest.raises(KeyError):
        due(added, Kind.NONE)
    with pytest.raises(TypeError, match="guard"):
        ApiBlueprint("unguarded", __name__)


def test_only_the_surfaces_that_say_so_ask_nobody(app):
    kinds = {name: type(surface.guard) for name, surface in app.blueprints.items()}
    assert {name for name, kind in kinds.items() if kind is auth.Open} == ASK_NOBODY
    of_checkout = {secret_guards.Buyer, secret_guards.Holder, secret_guards.Shopper, auth.Open}
    for prefix, guards in (
        (ADMIN, {auth.TenantRole}),
        (CHECKOUT, of_checkout),
        (DOOR, {secret_guards.Door}),
    ):
        assert {type(endpoint.guard) for endpoint in endpoints(app, prefix)} == guards


@pytest.mark.exhaustive
@only_once
def test_every_endpoint_answers_every_credential_as_its_guard_says(app, acme, neighbour, real):
    refusals: dict[Any, set[Any]] = {}
    table = every_credential(acme, neighbour)
    assert {credential.kind for credential in table} == {*Kind, *Role}
    for endpoint in endpoints(app):
        for credential in table:
            refusal = due(endpoint, credential.kind)
            case = (credential.name, endpoint.method, endpoint.rule)
            if refusal is PASSES:
                answer = send(app, endpoint, credential.headers, tenant=acme.slug)
                assert answer.status_code not in (401, 403, 500), case
                continue
            # Nobody learns what exists and what does not, the tenant included.
            for known in ({}, real):
                known = {**known, "tenant": acme.slug}
                answer = send(app, endpoint, credential.headers, **known)
                assert answer.status_code == refusal[0], (case, answer.text)
                assert endpoint.method == "HEAD" or answer.json["code"] == refusal[1], case
                assert answer.content_type == "application/problem+json"
                if refusal[0] == 401:
                    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
                of_checkout = endpoint.surface if endpoint.rule.startswith(OPEN_TO_ALL) else None
                # Agents learn where to sign in, and whether what they sent is wrong.
                challenge = answer.headers.get("WWW-Authenticate")
                key = (*refusal, endpoint.method == "HEAD", of_checkout, challenge)
                refusals.setdefault(key, set()).add(same(answer))
    assert all(len(answers) == 1 for answers in refusals.values()), refusals


@pytest.mark.exhaustive
def test_a_neighbour_is_not_told_whether_a_tenant_exists(app, acme, neighbour, real):
    for headers in both_ways(neighbour, neighbour.key("paywall")):
        for prefix in (ADMIN, CHECKOUT, DOOR):
            for endpoint in endpoints(app, prefix):
                if isinstance(endpoint.guard, auth.Open):
                    continue
                answers = {
                    same(send(app, endpoint, headers, **{**known, "tenant": tenant}))
                    for tenant in (acme.slug, acme.id, "nobody-here", "ten_" + "0" * 26, "\u202e")
                    for known in ({}, real)
                }
                ((status, _, _),) = answers
                assert status == 403, endpoint


def test_the_tenant_in_the_path_may_be_its_slug_or_its_id(app, acme):
    for tenant in (acme.slug, acme.id):
        for headers in both_ways(acme, acme.admin_key):
            for endpoint in endpoints(app, ADMIN):
                answer = send(app, endpoint, headers, tenant=tenant)
                assert answer.status_code not in (401, 403), endpoint
