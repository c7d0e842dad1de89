"""Admissions, transfers and scans: each fact has one notification."""

import pytest

from tests.support.admissions import FREE, admissions_of, given, invite, reissue, void
from tests.support.doors import Door, redeem, undo
from tests.support.feed import News, feed
from tests.support.holders import accept, bought
from ticketing.models.admissions import Admission, Transfer


@pytest.fixture
def ticket(acme):
    return acme.ticket(**FREE)


@pytest.fixture
def news(acme, ticket):
    return News(acme)


def data_of(admission_id, **fields):
    """The data of a notification about an admission as it is now."""
    row = Admission.get_by_id(admission_id)
    return {
        "admission_id": row.id,
        "event_id": row.event_id,
        "ticket_id": row.ticket_type_id,
        "intent_id": row.intent_id,
        "generation": row.generation,
        "status": row.status,
        **fields,
    }


def test_admissions_of_an_order_are_issued(acme, ticket, news):
    held = bought(acme, ticket, quantity=3)
    issued = [data for type, data in news.all() if type == "admission.issued"]
    assert issued == [data_of(each.id) for each in held]


def test_admissions_of_guests_are_issued_and_belong_to_no_order(acme, ticket, news):
    invited = invite(acme, ticket, {"name": "Ada", "email": "ada@example.com"}, {}).json[
        "admissions"
    ]
    happened = news.all()
    assert happened == [("admission.issued", data_of(each["id"])) for each in invited]
    assert [data["intent_id"] for _, data in happened] == [None, None]


def test_a_transfer_is_offered_and_accepted(acme, ticket, news):
    (held,) = bought(acme, ticket)
    news.all()
    first = held.offer(name="Grace", email="grace@example.com").json
    ((type, data),) = news.all()
    assert (type, data) == (
        "admission.transfer_offered",
        data_of(held.id, transfer_id=Transfer.get().id),
    )
    assert held.offer().json["id"] != first["id"]
    assert held.cancel().status_code == held.cancel().status_code == 200
    assert news.types() == ["admission.transfer_offered"]
    offer = held.offer().json["offer"]
    news.all()
    assert accept(acme, offer, name="Grace").status_code == 200
    assert news.all() == [("admission.transferred", data_of(held.id))]
    assert accept(acme, offer).status_code == 410
    assert news.all() == []


def test_naming_a_holder_records_nothing(acme, ticket, news):
    (held,) = bought(acme, ticket)
    news.all()
    assert held.name(name="Grace").status_code == 200
    assert news.all() == []


def test_a_void_and_its_repeat_are_one_fact(acme, ticket, news):
    buyer = given(acme, ticket, quantity=2)
    first, _ = admissions_of(buyer)
    news.all()
    for _ in range(2):
        assert void(acme, first).status_code == 200
    assert void(acme, first, reason="Another one.").status_code == 409
    assert news.all() == [("admission.voided", data_of(first.id))]


def test_a_reissue_is_recorded_each_time(acme, ticket, news):
    (admission,) = admissions_of(given(acme, ticket))
    news.all()
    assert reissue(acme, admission).status_code == 200
    assert news.all() == [("admission.reissued", data_of(admission.id))]
    assert void(acme, admission).status_code == 200
    news.all()
    assert reissue(acme, admission).status_code == 409
    assert news.all() == []


class TestAtTheDoor:
    @pytest.fixture
    def door(self, acme):
        return Door(acme)

    def test_a_redemption_and_its_replay_are_one_fact(self, acme, door):
        admission, gate, news = door.admission(), door.gate(), News(acme)
        scan = redeem(code=admission.code)
        for _ in range(2):
            assert gate.results(scan)[0]["outcome"] == "admitted"
        assert gate.outcome(code=admission.code) == "already_redeemed"
        ((type, data),) = news.all()
        redeemed_at = data.pop("redeemed_at")
        assert (type, data) == ("admission.redeemed", data_of(admission.id))
        shown = acme.api().get(f"{acme.path}/admissions").json["data"][0]["redeemed_at"]
        assert redeemed_at == shown

    def test_an_undo_is_recorded_and_nothing_more_to_undo_is_not(self, acme, door):
        admission, gate, news = door.admission(), door.gate(), News(acme)
        scan = redeem(code=admission.code)
        gate.results(scan)
        assert gate.results(undo(scan))[0]["outcome"] == "undone"
        assert gate.results(undo(scan))[0]["outcome"] == "nothing_to_undo"
        assert gate.outcome(code=admission.code) == "admitted"
        assert news.types() == [
            "admission.redeemed",
            "admission.redeem_undone",
            "admission.redeemed",
        ]

    def test_a_conflict_that_takes_the_place_leaves_somebody_inside(self, acme, door):
        admission, gate, news = door.admission(), door.gate(), News(acme)
        first = redeem(code=admission.code)
        second = redeem(code=admission.code, decided="admitted")
        outcomes = [each["outcome"] for each in gate.results(first, second)]
        assert outcomes == ["admitted", "conflict"]
        assert gate.results(undo(first))[0]["outcome"] == "undone"
        assert news.types() == ["admission.redeemed"]
        assert gate.results(undo(second))[0]["outcome"] == "undone"
        assert news.types() == ["admission.redeem_undone"]

    def test_refused_scans_record_nothing(self, acme, door):
        admission, gate = door.admission(), door.gate()
        assert void(acme, admission).status_code == 200
        news = News(acme)
        assert gate.outcome(code=admission.code, decided="admitted") == "conflict"
        assert gate.outcome(code="x" * 20) == "unknown"
        assert news.all() == []

    @pytest.mark.exhaustive
    def test_500_scans_of_one_request_are_all_recorded(self, acme, door):
        seats = [each for _ in range(5) for each in door.admissions(100)]
        gate, news = door.gate(), News(acme)
        gate.results(*(redeem(code=each.code) for each in seats))
        recorded = [data["admission_id"] for _, data in news.all()]
        assert recorded == [each.id for each in seats]
        assert len(feed(acme, type="admission.redeemed")) == 500
