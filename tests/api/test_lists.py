"""Every list has pages: their bounds, and cursors that stay valid while rows are added."""

import string
from itertools import count

import pytest

from tests.support.admissions import FREE
from tests.support.factories import in_days, new_organizer
from tests.support.refunds import dust
from ticketing.constants import MAX_NAME_SHOWN

BASE64 = string.ascii_letters + string.digits + "-_"


class Stage:
    """A tenant with at least three rows in each list, and a function that adds a row."""

    def __init__(self, organizer):
        self.organizer = organizer
        self.api = organizer.api()
        self.event = organizer.event(start_at=in_days(1))
        self.ticket = organizer.ticket(self.event, **FREE, capacity=None)
        self.paid = organizer.buyer(organizer.ticket(self.event))
        self.block = count(1)
        admin, public = organizer.path, organizer.public
        one = f"/events/{self.event['id']}/tickets"
        add_event = lambda: organizer.event(start_at=self.event["start_at"])  # noqa: E731
        add_ticket = lambda: organizer.ticket(self.event, **FREE)  # noqa: E731
        self.lists = {
            f"{admin}/events": add_event,
            f"{admin}/events?sort=start_at": add_event,
            f"{admin}/events?q=launch&status=published": add_event,
            f"{admin}{one}": add_ticket,
            f"{admin}/apikeys": self.add_key,
            f"{admin}/apikeys?status=active": self.add_key,
            f"{admin}/intents": self.add_intent,
            f"{admin}/intents?status=confirmed": self.add_intent,
            f"{admin}/intents/{self.paid.intent['id']}/payments": self.add_payment,
            f"{admin}/admissions": self.add_intent,
            f"{public}/events": add_event,
            f"{public}{one}": add_ticket,
        }
        for add in (add_event, add_ticket, self.add_key, self.add_intent, self.add_payment):
            for _ in range(3):
                add()

    def add_key(self):
        self.api.post(f"{self.organizer.path}/apikeys", {"name": "k", "role": "read"})

    def add_intent(self):
        assert self.organizer.buyer(self.ticket).purchase().status_code == 200

    def add_payment(self):
        dust(self.paid, 1, block_number=next(self.block))

    def page(self, path, **query):
        return self.api.get(path + ("&" if "?" in path else "?") + query_string(query))

    def cursor(self, path):
        """Return a cursor of this list, after its first row."""
        return self.page(path, limit=1).json["next_cursor"]


def query_string(query):
    return "&".join(f"{name}={value}" for name, value in query.items())


def refused(answer, field="cursor"):
    assert answer.status_code == 422, answer.json
    assert answer.json["errors"].keys() == {field}


@pytest.fixture
def stage(acme):
    return Stage(acme)


def test_a_page_has_no_more_rows_than_asked_for(stage):
    for path in stage.lists:
        whole = stage.api.get(path).json
        assert whole.keys() == {"data", "next_cursor"}
        assert whole["next_cursor"] is None and len(whole["data"]) >= 3
        for limit in (1, 2, 100):
            page = stage.page(path, limit=limit).json
            assert page["data"] == whole["data"][:limit]
            assert (page["next_cursor"] is None) == (limit >= len(whole["data"]))
        exact = stage.page(path, limit=len(whole["data"])).json
        assert exact == whole


def test_a_page_has_1_to_100_rows(stage):
    for path in stage.lists:
        for limit in ("0", "101", "-1", "x", "", "1.0", "9" * 30):
            refused(stage.page(path, limit=limit), "limit")


def test_without_a_limit_there_are_25_rows(acme):
    event = acme.event()
    for _ in range(26):
        acme.ticket(event)
    page = acme.api().get(f"{acme.path}/events/{event['id']}/tickets").json
    assert len(page["data"]) == 25 and page["next_cursor"] is not None


def test_walking_shows_every_row_once_while_rows_are_added(stage):
    for path, add in stage.lists.items():
        there = [row["id"] for row in stage.page(path, limit=100).json["data"]]
        seen, cursor, pages = [], None, 0
        while pages == 0 or cursor:
            page = stage.page(path, limit=2, **({"cursor": cursor} if cursor else {})).json
            seen += [row["id"] for row in page["data"]]
            cursor, pages = page["next_cursor"], pages + 1
            if pages <= 2:
                add()
        assert len(seen) == len(set(seen)) and set(there) <= set(seen), path
        assert pages > 1 and [each for each in seen if each in there] == there


def test_a_list_can_be_walked_backwards(stage):
    events = f"{stage.organizer.path}/events"
    for sort in ("created_at", "start_at"):
        forwards = stage.api.get(f"{events}?sort={sort}").json["data"]
        backwards, cursor = [], None
        while not backwards or cursor:
            query = {"sort": f"-{sort}", "limit": 1} | ({"cursor": cursor} if cursor else {})
            page = stage.page(events, **query).json
            backwards += page["data"]
            cursor = page["next_cursor"]
        assert backwards == forwards[::-1]


def test_a_cursor_survives_that_its_row_leaves_the_list(stage):
    events = f"{stage.organizer.path}/events?status=published"
    first, second, *_ = stage.api.get(events).json["data"]
    cursor = stage.cursor(events)
    here = f"{stage.organizer.path}/events/{first['id']}"
    stage.api.post(f"{here}/status", {"status": "canceled"})
    assert stage.page(events, limit=1, cursor=cursor).json["data"] == [second]


def test_a_cursor_is_opaque_and_safe_in_a_url(stage):
    for path in stage.lists:
        cursor = stage.cursor(path)
        assert set(cursor) <= set(BASE64) and len(cursor) < 300


def test_a_cursor_with_one_character_changed_is_refused(stage):
    path = f"{stage.organizer.path}/events?sort=start_at"
    cursor = stage.cursor(path)
    for place in range(len(cursor)):
        others = BASE64 if place == len(cursor) - 1 else "Aa"
        for other in set(others) - {cursor[place]}:
            refused(stage.page(path, cursor=cursor[:place] + other + cursor[place + 1 :]))
    for other in (cursor[:-1], cursor[1:], cursor + "A", cursor + "=", cursor + "==", cursor * 2):
        refused(stage.page(path, cursor=other))


def test_what_never_was_a_cursor_is_refused_by_every_list(stage):
    for path in stage.lists:
        for nonsense in ("", "x", "1", "null", "e30", "%00", "%F0%9F%8E%9F", "%2B%2F", "A" * 1001):
            refused(stage.page(path, cursor=nonsense))


def test_a_cursor_of_another_list_is_refused(stage, app):
    neighbour = Stage(new_organizer(app, "neighbour"))
    cursors = {path: stage.cursor(path) for path in stage.lists}
    for path in stage.lists:
        for other, cursor in cursors.items():
            if other != path:
                refused(stage.page(path, cursor=cursor))
    for path, (own, _) in zip(neighbour.lists, cursors.items(), strict=True):
        refused(neighbour.page(path, cursor=cursors[own]))


def test_a_cursor_of_another_sort_filter_or_event_is_refused(stage):
    events = f"{stage.organizer.path}/events"
    cursor = stage.cursor(events)
    for query in ("sort=-created_at", "sort=start_at", "status=published", "type=in_person", "q=a"):
        refused(stage.page(f"{events}?{query}", cursor=cursor))
    assert stage.page(f"{events}?sort=created_at", cursor=cursor).status_code == 200
    assert stage.page(events, cursor=cursor, limit=3).status_code == 200

    other = stage.organizer.event()["id"]
    tickets = stage.cursor(f"{events}/{stage.event['id']}/tickets")
    refused(stage.page(f"{events}/{other}/tickets", cursor=tickets))
    for what in ("intents", "admissions"):
        path = f"{stage.organizer.path}/{what}"
        refused(stage.page(f"{path}?event_id={stage.event['id']}", cursor=stage.cursor(path)))


def test_an_unknown_query_parameter_is_refused_by_every_list(stage):
    for path in stage.lists:
        for name in ("page", "offset", "Limit", "status[]", "x" * 500):
            refused(stage.page(path, **{name: 1}), name[:MAX_NAME_SHOWN])


def test_the_chains_are_all_on_one_page(api):
    listed = api.get("/v1/chains").json
    assert listed["next_cursor"] is None
    assert [chain["chain_id"] for chain in listed["data"]] == [31337]
