"""How many wrong codes a client may send."""

import pytest

from tests.support.factories import Api, statuses
from ticketing.models.rate_counts import RateCount
from ticketing.services.orders import vouchers

CODE = "EARLY-BIRD"

pytestmark = [pytest.mark.sql, pytest.mark.usefixtures("time")]


@pytest.fixture
def environ(environ):
    return {**environ, "RATE_LIMIT_GUESS": "10"}


@pytest.mark.long
def test_of_a_thousand_guesses_ten_a_minute_are_looked_up(acme, time, monkeypatch):
    event = acme.event()
    path = f"{acme.path}/events/{event['id']}/vouchers"
    headers = {"X-API-Key": acme.admin_key}
    made = acme.with_headers(headers).post(path, {"code": CODE, "max_usages": 9})
    assert made.status_code == 201
    looked_up = []
    find = vouchers.find
    monkeypatch.setattr(
        vouchers, "find", lambda *args, **more: looked_up.append(args) or find(*args, **more)
    )

    def guess(code, address="192.0.2.1"):
        path = f"{acme.checkout}/events/{event['id']}/tickets"
        sent = {"query_string": {"voucher": code}, "environ_overrides": {"REMOTE_ADDR": address}}
        return Api(acme.app.test_client()).get(path, **sent)

    for _ in range(3):
        assert guess(CODE).status_code == 200  # right codes do not count
    looked_up.clear()
    answers = [guess(f"GUESS-{n}") for n in range(1000)]
    assert statuses(answers) == [409] * 10 + [429] * 990
    assert len(looked_up) == 10
    refused = guess(CODE)
    assert (refused.status_code, refused.json["code"]) == (429, "too_many_guesses")
    assert refused.headers["Retry-After"]
    assert guess(CODE, "192.0.2.2").status_code == 200
    # The page counts with the API, and says so at the field.
    page = f"/{acme.slug}/{event['slug']}?voucher={CODE}"
    shown = acme.app.test_client().get(page, environ_overrides={"REMOTE_ADDR": "192.0.2.1"})
    assert shown.status_code == 429
    assert "Too many wrong codes" in shown.text
    assert [each.used for each in RateCount.select() if "guess" in each.caller] == [10]
    time.forward(minutes=1)
    assert guess(CODE).status_code == 200
