"""A facilitator that cannot settle turns x402 off, instead of leaving buyers without an answer."""

import pytest

from tests.support.databases import only_once
from tests.support.factories import worker_once
from tests.support.x402 import TOKEN, Facilitator, required
from ticketing.models.chains import ChainState
from ticketing.worker import facilitator_check

SCRAPER = "scrape-me-0123456789"
OFF = (404, "x402_not_enabled")


@pytest.fixture
def environ(environ):
    return {**environ, "METRICS_TOKEN": SCRAPER}


@pytest.fixture
def always(monkeypatch):
    """The worker asks again each time."""
    monkeypatch.setattr(facilitator_check, "_asked", {})
    past = facilitator_check.AGAIN * 0
    monkeypatch.setattr(facilitator_check, "EVERY", past)
    monkeypatch.setattr(facilitator_check, "AGAIN", past)


def code(answer):
    return answer.status_code, answer.json.get("code")


def refusal(api):
    (chain,) = api.get("/readyz").json["chains"]
    return chain["facilitator_refusal"]


@pytest.mark.parametrize(
    ("offers", "reason"),
    [
        (401, "it responds to /supported with status 401"),
        (308, "it responds to /supported with status 308"),
        (500, "it responds to /supported with status 500"),
        (200, "it does not support version 2, scheme exact on eip155:31337"),
        (["eip155:8453"], "it does not support version 2, scheme exact on eip155:31337"),
    ],
)
def test_a_wrong_facilitator_is_said_before_anybody_pays(
    app, api, path, acme, ticket, facilitator, always, caplog, offers, reason
):
    assert (api.post(path).status_code, refusal(api)) == (402, None)
    facilitator.offers, facilitator.moved_to = offers, "https://elsewhere.example/x402?key=secret"
    worker_once(app)
    assert code(api.post(path)) == OFF and code(api.get(path)) == OFF
    assert refusal(api) == reason
    here = f"{acme.path}/events/{ticket['event_id']}/tickets/{ticket['id']}"
    assert acme.api().get(here).json["warnings"] == ["facilitator_unavailable"]
    assert f"x402 is off. Its facilitator: {reason}" in caplog.text
    assert ("elsewhere.example/x402" in caplog.text) == (offers == 308)
    assert "secret" not in caplog.text
    # People still buy, and it is on again by itself.
    assert acme.preflight(ticket).status_code == 201
    facilitator.offers = ["eip155:31337"]
    worker_once(app)
    assert (api.post(path).status_code, refusal(api)) == (402, None)


def test_one_that_is_down_is_off_until_it_answers(app, api, path, environ, always, facilitator):
    facilitator.stop()
    worker_once(app)
    assert code(api.post(path)) == OFF and "cannot be reached" in refusal(api)


def test_before_it_was_asked_x402_is_off(api, path):
    ChainState.update(facilitator_asked_at=None).execute()
    assert code(api.post(path)) == OFF
    assert refusal(api) == "it was not asked yet"


def test_it_is_asked_every_three_minutes_with_the_token(app, ticket, facilitator, monkeypatch):
    asked = ChainState.get().facilitator_asked_at
    worker_once(app)
    assert ChainState.get().facilitator_asked_at == asked
    monkeypatch.setattr(facilitator_check, "_asked", {})  # as a worker that starts
    worker_once(app)
    assert ChainState.get().facilitator_asked_at > asked
    assert set(facilitator.authorized) == {f"Bearer {TOKEN}"}


@only_once
def test_a_redirect_on_the_same_host_is_followed(app, api, path, wallet, facilitator, always):
    facilitator.moves = 2
    facilitator.moved_to = "/new"
    worker_once(app)
    assert refusal(api) is None
    facilitator.moves = 1
    assert api.post(path, headers=wallet.header(required(api.post(path)))).status_code == 200


@only_once
@pytest.mark.parametrize("moves", [1, 9])
def test_another_host_never_gets_the_token(
    app, api, path, wallet, facilitator, always, node, moves
):
    payment = wallet.header(required(api.post(path)))
    with Facilitator(node) as other:
        facilitator.moves, facilitator.moved_to = moves, f"{other.url}/settle"
        assert api.post(path, headers=payment).status_code == 202
        worker_once(app)
        assert (other.asked, other.authorized) == ([], [])


@only_once
def test_what_facilitators_say_is_counted(api, path, wallet, facilitator):
    for mode in ("submit", "refuse", "pending"):
        facilitator.mode = mode
        api.post(path, headers=wallet.header(required(api.post(path))))
    headers = {"Authorization": f"Bearer {SCRAPER}"}
    text = api.get("/metrics", headers=headers).text
    for outcome in ("submitted", "refused", "unknown"):
        name = f'ticketing_x402_settles_total{{chain_id="31337",outcome="{outcome}"}}'
        assert f"{name} 1.0" in text
