"""The cost of a refusal reveals nothing: every refusal does the same work.

No time is measured, because it depends on the machine. The tests count statements, digests and
comparisons of secrets.
"""

from functools import partial

import jwt
import pytest

from tests.conftest import SECRET_KEY
from tests.support.counted_work import watched
from tests.support.credentials_table import (
    bearer,
    ended_keys,
    exchange,
    member,
    new_key,
    wrong_secret,
)
from tests.support.factories import Api, cli
from tests.support.routes import UNKNOWN, endpoints, same
from ticketing import credentials, ids
from ticketing.models.api_keys import ApiKey

EXCHANGE = "/v1/auth/token"


@pytest.fixture
def no_keys(acme, neighbour):
    """Well-formed keys that are refused, by reason."""
    deleted_id, deleted = new_key(acme)
    ApiKey.delete().where(ApiKey.id == deleted_id).execute()
    ended = {name: key for name, (key, _) in ended_keys(acme).items()}
    return {
        "never made": credentials.new_api_key(ids.new(ids.API_KEY)),
        "deleted": deleted,
        **ended,
        "wrong secret": wrong_secret(acme.admin_key),
        "wrong secret of another tenant's": wrong_secret(neighbour.admin_key),
        **{f"wrong secret of one {name}": wrong_secret(key) for name, key in ended.items()},
    }


def costs(requests):
    """Return cost and response of each request, by its name. Send all once before, to warm up."""
    found = {}
    for _ in range(2):
        for name, request in requests.items():
            with watched() as work:
                answer = request()
            found[name] = work, same(answer)
    return found


def test_every_refused_key_costs_the_same_work_and_gets_the_same_answer(app, acme, no_keys):
    anybody = Api(app.test_client())
    events = f"{acme.path}/events"
    for requests in (
        {why: partial(anybody.post, EXCHANGE, {"api_key": key}) for why, key in no_keys.items()},
        {
            why: partial(anybody.get, events, headers={"X-API-Key": key})
            for why, key in no_keys.items()
        },
    ):
        found = costs(requests)
        work, (status, _, _) = found["never made"]
        assert all(each == found["never made"] for each in found.values()), found
        assert status == 401
        assert len(work.statements) == 1 and work.comparisons > 0 and work.digests > 0


def test_a_key_that_cannot_be_one_of_ours_costs_no_query(app, acme):
    key = acme.admin_key
    Api(app.test_client()).get("/nothing")  # the first request reads which networks are blocked
    for strange in ("", "x", key[:-1], key + "0", key.upper(), f"{key}\n", "\u0660" * 86):
        with watched() as work:
            answer = Api(app.test_client()).post(EXCHANGE, {"api_key": strange})
        assert answer.status_code == (401 if strange else 422)
        assert work.statements == []


def test_every_refused_jwt_of_ours_costs_the_same_work(app, acme, neighbour):
    tokens = {name: token for name, (_, token) in ended_keys(acme).items()}
    tokens["disabled"] = member(acme, "gone@example.org", "admin")
    cli(app, "members", "disable", acme.slug, "gone@example.org")
    claims = jwt.decode(tokens["revoked"], SECRET_KEY, ["HS256"], audience="ticketing-admin")
    for kind in (ids.API_KEY, ids.MEMBER):
        nobody = {**claims, "sub": kind + "0" * 26}
        tokens[f"never made {kind}"] = jwt.encode(nobody, SECRET_KEY, "HS256")
    visitor = Api(app.test_client())
    found = costs(
        {
            why: partial(visitor.get, f"{acme.path}/events", headers=bearer(token))
            for why, token in tokens.items()
        }
    )
    of_members = found.pop("disabled"), found.pop(f"never made {ids.MEMBER}")
    assert of_members[0] == of_members[1]
    assert all(each == found["revoked"] for each in found.values()), found
    assert all(len(work.statements) == 1 for work, _ in found.values())


@pytest.mark.exhaustive
def test_a_neighbour_costs_the_same_whether_a_tenant_exists(app, acme, neighbour):
    for headers in (
        {"X-API-Key": neighbour.admin_key},
        bearer(exchange(neighbour, neighbour.admin_key)),
    ):
        for endpoint in endpoints(app, "/v1/admin/"):
            requests = {
                tenant: partial(
                    app.test_client().open,
                    endpoint.path(tenant=tenant),
                    method=endpoint.method,
                    headers=headers,
                )
                for tenant in (acme.slug, acme.id, "nobody-here", "ten_" + "0" * 26)
            }
            found = costs(requests)
            assert all(each == found[acme.slug] for each in found.values()), endpoint


def test_a_wrong_client_secret_costs_the_same_whether_its_intent_exists(app, acme, neighbour):
    ours = acme.buyer(acme.ticket(price_amount=0)).intent
    theirs = neighbour.buyer(neighbour.ticket(price_amount=0)).intent
    for wrong in (theirs["client_secret"], "cs_" + "0" * 64, "cs_", "\xff"):
        for endpoint in endpoints(app, "/v1/checkout/"):
            if endpoint.ids == ["intent_id"]:
                requests = {
                    intent_id: partial(
                        app.test_client().open,
                        endpoint.path(tenant=acme.slug, intent_id=intent_id),
                        method=endpoint.method,
                        headers=bearer(wrong),
                    )
                    for intent_id in (ours["id"], UNKNOWN["intent_id"], "x")
                }
                found = costs(requests)
                work, (status, _, _) = found["x"]
                assert all(each == found["x"] for each in found.values()), endpoint
                assert status == 404 and work.statements == [] and work.comparisons > 0
