"""Events: create, read, change, publish, cancel and list them."""

import pytest

from tests.support.factories import event_body, in_days
from tests.support.field_changes import change_each_alone
from tests.support.field_values import SCHEMAS

CONTRACT_FIELDS = {
    *SCHEMAS["EventCreate"]["properties"],
    *("id", "obstacles", "created_at", "updated_at", "held", "sold", "available", "image_url"),
}
"""What is sent is shown, and more."""

STATUSES = ("draft", "published", "canceled")
REFERENCES_TO_NOTHING = (
    "evt_" + "0" * 26,
    "evt_",
    "launch-night",
    "%00",
    "x" * 5000,
    "%F0%9F%8E%9F",
)


@pytest.fixture
def path(acme):
    return f"{acme.path}/events"


def test_it_creates_an_event_from_exactly_the_seeds_fields(admin, path):
    body = {
        "title": "Launch Night",
        "slug": "launch-2031",
        "description": "Doors open at seven.\nBring a friend.",
        "type": "online",
        "start_at": "2031-12-01T19:00:00Z",
        "timezone": "UTC",
        "status": "draft",
        "online_join_url": "https://meet.example.org/launch?room=1#now",
    }

    made = admin.post(path, body)

    assert made.status_code == 201
    assert made.json.keys() == CONTRACT_FIELDS
    assert {name: made.json[name] for name in body} == body
    assert made.json["venue"] is made.json["end_at"] is None
    assert made.json["created_at"] == made.json["updated_at"]
    assert admin.get(f"{path}/{made.json['id']}").json == made.json


def test_what_is_left_out_gets_its_default(admin, path):
    required = {name: event_body()[name] for name in ("title", "type", "start_at", "timezone")}

    made = admin.post(path, required).json

    assert made["status"] == "draft"
    assert made["slug"] == "launch-night"
    assert made["description"] == ""
    assert made["venue"] is made["end_at"] is made["online_join_url"] is None


def test_it_names_every_required_field_that_is_missing(admin, path):
    answer = admin.post(path, {})

    assert answer.status_code == 422
    assert answer.json["errors"].keys() == {"title", "type", "start_at", "timezone"}


def test_an_event_is_created_published_but_not_canceled(admin, path):
    assert admin.post(path, {**event_body(), "status": "published"}).json["status"] == "published"
    refused = admin.post(path, {**event_body(), "status": "canceled"})
    assert refused.status_code == 422 and refused.json["errors"].keys() == {"status"}


def test_a_slug_is_made_from_the_title(admin, path):
    expected = {
        "Crème Brûlée & Co.": "creme-brulee-co",
        "  -- 2031: A Night! --  ": "2031-a-night",
        "x" * 79 + " yz": "x" * 79,
        "東京の夜": "event",
    }
    for title, slug in expected.items():
        assert admin.post(path, {**event_body(), "title": title}).json["slug"] == slug


def test_a_title_that_was_there_before_gets_a_slug_of_its_own(admin, path):
    for title in ("Launch Night", "x" * 200, "夜"):
        slugs = {admin.post(path, {**event_body(), "title": title}).json["slug"] for _ in range(4)}
        assert len(slugs) == 4 and max(map(len, slugs)) <= 80


def test_an_own_slug_and_a_neighbours_can_be_used(admin, path, neighbour):
    first = admin.post(path, {**event_body(), "slug": "night"}).json
    assert admin.patch(f"{path}/{first['id']}", {"slug": "night"}).status_code == 200
    assert neighbour.event(slug="night")["slug"] == "night"


def test_a_slug_is_fixed_once_published(admin, path):
    event = admin.post(path, event_body()).json
    here = f"{path}/{event['id']}"
    assert admin.patch(here, {"slug": "other"}).json["slug"] == "other"
    for status in ("published", "canceled"):
        admin.post(f"{here}/status", {"status": status})

        refused = admin.patch(here, {"slug": "third"})

        assert refused.status_code == 409 and refused.json["code"] == "slug_fixed"
        assert admin.patch(here, {"slug": "other", "title": status}).status_code == 200


def test_each_field_can_be_changed_alone(acme, admin, path):
    here = f"{path}/{acme.event(status='draft', start_at='2031-01-01T00:00:00Z')['id']}"
    changes = {
        "title": "Second Edition",
        "slug": "second-edition",
        "description": "New.",
        "type": "hybrid",
        "venue": "Roof",
        "transfers_end_at": "2030-12-30T00:00:00Z",
        "doors_open_at": "2030-12-31T00:00:00Z",
        "start_at": "2031-05-01T10:00:00Z",
        "end_at": "2031-05-01T12:00:00Z",
        "timezone": "Asia/Tokyo",
        "online_join_url": "http://localhost:8080/room",
    }
    change_each_alone(admin, here, changes, also={"obstacles"})


def test_an_empty_change_changes_nothing(acme, admin, path):
    event = acme.event()
    answer = admin.patch(f"{path}/{event['id']}", {})
    assert answer.status_code == 200
    assert {**answer.json, "updated_at": None} == {**event, "updated_at": None}


def test_null_empties_what_may_be_empty_and_nothing_else(acme, admin, path):
    full = {"venue": "Hall", "end_at": in_days(31), "online_join_url": "https://example.org/"}
    here = f"{path}/{acme.event(**full)['id']}"

    for name in full:
        assert admin.patch(here, {name: None}).json[name] is None
    never = ("title", "slug", "description", "type", "start_at", "timezone")
    refused = admin.patch(here, dict.fromkeys(never))
    assert refused.status_code == 422 and refused.json["errors"].keys() == set(never)


def test_what_the_service_sets_cannot_be_sent(acme, admin, path):
    given = ("id", "status", "created_at", "updated_at", "obstacles", "tenant_id")
    refused = admin.patch(f"{path}/{acme.event()['id']}", dict.fromkeys(given, "published"))
    assert refused.status_code == 422 and refused.json["errors"].keys() == set(given)


def test_an_event_ends_after_it_starts(acme, admin, path):
    start = "2031-03-01T10:00:00Z"
    for end in (start, "2031-03-01T09:59:59Z", "2031-03-01T11:00:00+01:00"):
        refused = admin.post(path, {**event_body(), "start_at": start, "end_at": end})
        assert refused.status_code == 422 and refused.json["errors"].keys() == {"end_at"}

    here = f"{path}/{acme.event(start_at=start, end_at='2031-03-01T12:00:00Z')['id']}"
    for change in (
        {"end_at": "2031-03-01T10:00:00Z"},
        {"start_at": "2031-03-01T12:00:00Z"},
        {"start_at": "2031-03-02T10:00:00Z", "end_at": "2031-03-02T09:00:00Z"},
    ):
        refused = admin.patch(here, change)
        assert refused.status_code == 422 and refused.json["errors"].keys() == {"end_at"}
    assert admin.patch(here, {"start_at": "2031-03-01T11:59:59Z"}).status_code == 200
    assert (
        admin.patch(here, {"start_at": "2032-01-01T00:00:00Z", "end_at": None}).json["end_at"]
        is None
    )


def test_doors_open_two_hours_before_the_start_and_end_transfers_by_default(acme, admin, path):
    event = acme.event(start_at="2031-03-01T10:00:00Z")
    here, public = f"{path}/{event['id']}", f"{acme.public}/events/{event['id']}"

    def times():
        shown, seen = admin.get(here).json, admin.get(public).json
        names = ("doors_open_at", "transfers_end_at")
        assert [shown[name] for name in names] == [seen[name] for name in names]
        return [shown[name][11:16] for name in names]

    assert times() == ["08:00", "08:00"]
    steps = (
        ({"doors_open_at": "2031-03-01T09:00:00Z"}, ["09:00", "09:00"]),
        ({"transfers_end_at": "2031-03-01T07:00:00Z"}, ["09:00", "07:00"]),
        ({"start_at": "2031-03-01T12:00:00Z"}, ["09:00", "07:00"]),
        ({"doors_open_at": None}, ["10:00", "07:00"]),
        ({"transfers_end_at": None}, ["10:00", "10:00"]),
    )
    for change, expected in steps:
        assert admin.patch(here, change).status_code == 200
        assert times() == expected
    assert acme.event(start_at="1970-01-01T01:00:00Z")["doors_open_at"] == "1970-01-01T00:00:00Z"


def test_doors_and_transfers_do_not_wait_until_after_the_end(acme, admin, path):
    end = "2031-03-01T12:00:00Z"
    late = dict.fromkeys(("doors_open_at", "transfers_end_at"), "2031-03-01T12:00:01Z")
    body = {**event_body(), "start_at": "2031-03-01T10:00:00Z", "end_at": end}
    refused = admin.post(path, {**body, **late})
    assert refused.status_code == 422 and refused.json["errors"].keys() == set(late)
    for name, value in late.items():
        made = admin.post(path, {**body, name: end})
        assert (made.status_code, made.json[name]) == (201, end)
        here = f"{path}/{made.json['id']}"
        for change in ({name: value}, {"end_at": "2031-03-01T11:00:00Z"}):
            refused = admin.patch(here, change)
            assert refused.status_code == 422 and refused.json["errors"].keys() == {name}
        assert admin.patch(here, {name: value, "end_at": None}).json[name] == value


def test_the_list_is_filtered_by_status_type_and_title(acme, admin, path):
    acme.event(title="Über 100% Jazz", type="online", status="draft")
    acme.event(title="Rock_Night", type="hybrid")
    gone = acme.event(title="jazz brunch", type="online")
    admin.post(f"{path}/{gone['id']}/status", {"status": "canceled"})
    expected = {
        "": ["Über 100% Jazz", "Rock_Night", "jazz brunch"],
        "?status=draft": ["Über 100% Jazz"],
        "?status=published": ["Rock_Night"],
        "?status=canceled": ["jazz brunch"],
        "?type=online": ["Über 100% Jazz", "jazz brunch"],
        "?type=in_person": [],
        "?q=JAZZ": ["Über 100% Jazz", "jazz brunch"],
        "?q=%25": ["Über 100% Jazz"],
        "?q=_": ["Rock_Night"],
        "?q=%C3%9Cber": ["Über 100% Jazz"],
        "?q=%5C": [],
        "?q=jazz&type=online&status=draft": ["Über 100% Jazz"],
    }
    for query, titles in expected.items():
        found = admin.get(path + query)
        assert [event["title"] for event in found.json["data"]] == titles, query
        assert found.json["next_cursor"] is None
        assert all(event.keys() == CONTRACT_FIELDS for event in found.json["data"])


def test_the_list_is_sorted_both_ways(acme, admin, path):
    for title, day in (("a", 3), ("b", 1), ("c", 2), ("d", 1)):
        acme.event(title=title, start_at=f"2031-01-0{day}T00:00:00Z")
    expected = {
        "created_at": "abcd",
        "-created_at": "dcba",
        "start_at": "bdca",
        "-start_at": "acdb",
    }
    for sort, titles in expected.items():
        found = admin.get(f"{path}?sort={sort}").json["data"]
        assert "".join(event["title"] for event in found) == titles
    assert admin.get(path).json == admin.get(f"{path}?sort=created_at").json


def test_the_list_refuses_what_it_does_not_know(admin, path):
    refusals = {
        "sort": ("sort=title", "sort=", "sort=--start_at"),
        "status": ("status=gone", "status="),
        "type": ("type=virtual",),
        "q": ("q=", "q=%00", "q=" + "x" * 201),
        "page": ("page=2",),
        "Status": ("Status=draft",),
    }
    for field, queries in refusals.items():
        for query in queries:
            refused = admin.get(f"{path}?{query}")
            assert refused.status_code == 422, query
            assert refused.json["errors"].keys() == {field}


def test_an_event_of_another_tenant_is_not_there(admin, path, neighbour):
    foreign = neighbour.event()
    for reference in (foreign["id"], *REFERENCES_TO_NOTHING):
        here = f"{path}/{reference}"
        for answer in (
            admin.get(here),
            admin.patch(here, {"title": "Mine"}),
            admin.post(f"{here}/status", {"status": "canceled"}),
        ):
            assert answer.status_code == 404, reference
            assert answer.json["code"] == "not_found"
    assert admin.get(path).json["data"] == []
    assert neighbour.api().get(f"{neighbour.path}/events/{foreign['id']}").json == foreign
