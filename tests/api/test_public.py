"""The public surface: what everybody may see of published events, and its caching."""

import pytest

from tests.support.factories import event_body, in_days
from tools.json_client import Client
from tools.stack import Stack, free_port

EVENT_FIELDS = {
    *("id", "title", "slug", "description", "type", "venue", "start_at", "end_at", "timezone"),
    *("doors_open_at", "transfers_end_at", "locale", "series", "carts", "image_url"),
}
TICKET_FIELDS = {
    *("id", "name", "description", "group_heading", "position", "admission", "requires_ticket"),
    *("price_amount", "free_price", "max_price_amount", "deposit_amount", "currency", "decimals"),
    *("chain_id", "chain_ids", "min_per_order", "max_per_order", "transferable", "returns"),
    *("return_fee_percent", "sales_start_at", "sales_end_at", "allow_waitinglist"),
    *("waiting_list", "availability", "held_until"),
}
"""What everybody may see: by hand, so that nothing is shown because it was added."""

NOT_FOR_A_POSTER = (
    "online_join_url",
    "held",
    "sold",
    "available",
    "capacity",
    "obstacles",
    "status",
    "created_at",
    "updated_at",
    "tenant",
)
WEIRD = (
    "%00",
    "evt_%00",
    "x%00y",
    "..",
    "%2e%2e",
    ".",
    "-",
    "a--b",
    "Launch-Night",
    "launch-night%0a",
    "x" * 10_000,
    "évènement",
    "%F0%9F%8E%9F",
    "%ff%fe",
    "%ED%A0%80",
    "' OR 1=1 --",
    "*",
    "%25",
    "evt_" + "0" * 26,
    "evt_" + "0" * 25,
    "EVT_" + "0" * 26,
    "tkt_" + "0" * 26,
    "null",
    "-1",
)


def surface(organizer, event):
    """Return the paths of everything the public can read of one event."""
    here = f"{organizer.public}/events/{event['id']}"
    return f"{organizer.public}/events", here, f"{here}/tickets"


def set_status(organizer, event, status):
    path = f"{organizer.path}/events/{event['id']}/status"
    assert organizer.api().post(path, {"status": status}).status_code == 200


def test_published_events_are_listed_soonest_first(acme, neighbour, api):
    for title, days in (("later", 20), ("soon", 1), ("past", -3), ("middle", 7)):
        acme.event(title=title, start_at=in_days(days))
    acme.event(status="draft")
    set_status(acme, acme.event(), "canceled")
    neighbour.event()

    listed = api.get(f"{acme.public}/events")

    assert listed.status_code == 200
    titles = [event["title"] for event in listed.json["data"]]
    assert titles == ["past", "soon", "middle", "later"]
    assert listed.json["next_cursor"] is None


def test_an_event_is_found_by_its_id_and_by_its_slug(acme, api):
    event = acme.event(slug="launch")
    by_id, by_slug = (api.get(f"{acme.public}/events/{each}") for each in (event["id"], "launch"))
    assert by_id.status_code == by_slug.status_code == 200
    shown = {name: event[name] for name in EVENT_FIELDS}
    assert by_id.json == by_slug.json == {**shown, "questions": []}


def test_the_tenant_is_found_by_its_id_too(acme, api):
    event = acme.event()
    assert api.get(f"/v1/public/tenants/{acme.id}/events/{event['slug']}").json["id"] == event["id"]


def test_ticket_types_are_listed_by_the_events_id_and_slug(acme, api):
    event = acme.event(slug="launch")
    made = [acme.ticket(event, name=name) for name in ("b", "a")]
    acme.ticket()

    by_id, by_slug = (
        api.get(f"{acme.public}/events/{each}/tickets") for each in (event["id"], "launch")
    )

    assert by_id.status_code == by_slug.status_code == 200
    assert by_id.json == by_slug.json
    assert [each["id"] for each in by_id.json["data"]] == [each["id"] for each in made]
    first = by_id.json["data"][0]
    known = {"currency": "USDC", "decimals": 6, "availability": "on_sale", "held_until": None}
    known["waiting_list"] = False
    same = {name: made[0][name] for name in TICKET_FIELDS - known.keys()}
    assert first == same | known


def test_draft_and_canceled_events_are_not_there(acme, api):
    draft, canceled = acme.event(status="draft", slug="draft"), acme.event(slug="canceled")
    set_status(acme, canceled, "canceled")
    for event in (draft, canceled):
        for reference in (event["id"], event["slug"]):
            for path in ("", "/tickets", ".ics"):
                answer = api.get(f"{acme.public}/events/{reference}{path}")
                assert answer.status_code == 404 and answer.json["code"] == "not_found"


def test_draft_and_canceled_ticket_types_are_left_out(acme, api):
    event = acme.event()
    acme.ticket(event, status="draft")
    canceled = acme.ticket(event)
    path = f"{acme.path}/events/{event['id']}/tickets/{canceled['id']}/status"
    acme.api().post(path, {"status": "canceled"})
    assert api.get(surface(acme, event)[2]).json == {"data": [], "next_cursor": None}


def test_it_shows_what_belongs_on_a_poster_and_nothing_else(acme, api):
    event = acme.event(type="online", online_join_url="https://meet.example.org/secret-room")
    acme.ticket(event)
    events, one, tickets = (api.get(path) for path in surface(acme, event))
    assert events.json["data"][0].keys() == EVENT_FIELDS == one.json.keys() - {"questions"}
    assert tickets.json["data"][0].keys() == TICKET_FIELDS
    for answer in (events, one, tickets):
        assert "secret-room" not in answer.text
        assert not [word for word in NOT_FOR_A_POSTER if f'"{word}"' in answer.text]


def test_availability_says_in_one_word_whether_it_can_be_bought(acme, api):
    event = acme.event()
    expected = {
        acme.ticket(event, **fields)["id"]: word
        for word, fields in {
            "on_sale": {},
            "not_started": {"sales_start_at": in_days(1)},
            "ended": {"sales_end_at": in_days(-1)},
            "sold_out": {"capacity": 0},
            "unavailable": {"chain_id": 1},
        }.items()
    }
    listed = api.get(surface(acme, event)[2]).json["data"]
    assert {each["id"]: each["availability"] for each in listed} == expected


def test_an_unchanged_answer_is_not_sent_again(acme, api):
    event = acme.event()
    acme.ticket(event)
    for path in surface(acme, event):
        full = api.get(path)
        tag = full.headers["ETag"]
        assert full.headers["Cache-Control"].startswith("public")
        assert api.get(path).headers["ETag"] == tag
        for sent in (tag, f"W/{tag.removeprefix('W/')}", f'"other", {tag}', "*"):
            again = api.get(path, headers={"If-None-Match": sent})
            assert again.status_code == 304 and again.data == b"", sent
            assert again.headers["ETag"] == tag
            assert again.headers["Cache-Control"].startswith("public")
            assert again.headers["Access-Control-Allow-Origin"] == "*"
        assert api.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


def test_head_answers_what_get_would_without_the_body(acme, api):
    event = acme.event()
    for path in surface(acme, event):
        head, get = (api.client.open(path, method=method) for method in ("HEAD", "GET"))
        assert head.status_code == 200 and head.data == b""
        assert head.headers["ETag"] == get.headers["ETag"]
        assert head.content_type == get.content_type
        assert int(head.headers["Content-Length"]) == len(get.data)
        tag = {"If-None-Match": get.headers["ETag"]}
        assert api.client.open(path, method="HEAD", headers=tag).status_code == 304


@pytest.mark.long
def test_a_change_made_by_another_process_shows_at_once(acme, api, environ, starts_processes):
    event = acme.event()
    ticket = acme.ticket(event)
    _, one, tickets = surface(acme, event)
    before = {path: api.get(path).headers["ETag"] for path in surface(acme, event)}
    admin = {"X-API-Key": acme.admin_key}
    here = f"{acme.path}/events/{event['id']}"
    variables = {**environ, "PORT": str(free_port()), "WEB_CONCURRENCY": "1"}
    with Stack(variables) as stack:
        stack.start_web()
        other = Client(stack.url)
        assert other.send("GET", one).headers["ETag"] == before[one]
        other.send("PATCH", here, {"title": "Renamed"}, admin)
        other.send("PATCH", f"{here}/tickets/{ticket['id']}", {"capacity": 0}, admin)

        for path, tag in before.items():
            answer = api.get(path, headers={"If-None-Match": tag})
            assert answer.status_code == 200 and answer.headers["ETag"] != tag
        assert api.get(one).json["title"] == "Renamed"
        assert api.get(tickets).json["data"][0]["availability"] == "sold_out"

        other.send("POST", f"{here}/status", {"status": "canceled"}, admin)
        for path in (one, tickets):
            assert api.get(path, headers={"If-None-Match": before[path]}).status_code == 404


def test_an_error_is_not_kept_by_caches(acme, api):
    missing = api.get(f"{acme.public}/events/nothing")
    assert missing.headers["Cache-Control"] == "no-store"
    assert "ETag" not in missing.headers
    assert missing.headers["Access-Control-Allow-Origin"] == "*"


def test_scripts_of_any_origin_may_read_it(acme, api):
    for path in surface(acme, acme.event()):
        answer = api.get(path, headers={"Origin": "https://shop.example.org"})
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert "ETag" in answer.headers["Access-Control-Expose-Headers"]
        assert "Access-Control-Allow-Credentials" not in answer.headers

        asked = {
            "Origin": "https://shop.example.org",
            "Access-Control-Request-Method": "GET",
            "Access-Control-Request-Headers": "if-none-match,x-request-id",
        }
        preflight = api.client.open(path, method="OPTIONS", headers=asked)
        assert preflight.status_code in (200, 204)
        assert preflight.headers["Access-Control-Allow-Origin"] == "*"
        assert "GET" in preflight.headers["Access-Control-Allow-Methods"]
        allowed = preflight.headers["Access-Control-Allow-Headers"].lower()
        assert "if-none-match" in allowed and "x-request-id" in allowed
        assert int(preflight.headers["Access-Control-Max-Age"]) > 0


def test_a_credential_is_not_looked_at(acme, api):
    path = surface(acme, acme.event())[0]
    for headers in ({"Authorization": "Bearer nonsense"}, {"X-API-Key": "nonsense"}):
        assert api.get(path, headers=headers).status_code == 200


def test_it_cannot_be_written_to(acme, api):
    for path in surface(acme, acme.event()):
        for send in (api.post, api.patch, api.put):
            refused = send(path, event_body())
            assert refused.status_code == 405
            assert "GET" in refused.headers["Allow"]


@pytest.mark.parametrize("place", ["tenant", "event"])
def test_a_reference_to_nothing_is_not_found(acme, api, place):
    event = acme.event()
    for weird in (*WEIRD, "neighbour", acme.id + "x"):
        here = (
            f"/v1/public/tenants/{weird}/events"
            if place == "tenant"
            else f"{acme.public}/events/{weird}"
        )
        for path in (here, f"{here}/{event['id']}" if place == "tenant" else f"{here}/tickets"):
            answer = api.get(path)
            assert answer.status_code == 404, weird
            assert answer.content_type == "application/problem+json"


def test_the_lists_come_in_pages(acme, api):
    event = acme.event(start_at=in_days(1))
    for _ in range(2):
        acme.event(start_at=event["start_at"])
    for _ in range(3):
        acme.ticket(event)
    events, _, tickets = surface(acme, event)
    for path in (events, tickets):
        first = api.get(f"{path}?limit=2")
        second = api.get(f"{path}?limit=2&cursor={first.json['next_cursor']}")
        assert first.headers["ETag"] != second.headers["ETag"]
        assert [len(page.json["data"]) for page in (first, second)] == [2, 1]
        assert second.json["next_cursor"] is None
        whole = api.get(path).json["data"]
        assert first.json["data"] + second.json["data"] == whole
        assert api.get(f"{path}?sort=title").status_code == 422
