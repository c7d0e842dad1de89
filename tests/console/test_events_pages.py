"""The console's pages of events."""

import re

import pytest

from tests.support.console import sign_in
from tests.support.factories import in_days

FORM = {
    "title": "Launch Night",
    "type": "in_person",
    "timezone": "Europe/Berlin",
    "start_at": "2030-06-05T20:00",
    "end_at": "",
    "description": "Doors at seven.\r\nBring a coat.",
    "capacity": "",
}


def _new(console, **fields):
    answer = console.send("/console/events/new", {**FORM, **fields})
    assert answer.status_code == 303, answer.text
    return answer.headers["Location"]


def _read(acme, path):
    return acme.api().get(f"{acme.path}/events/{path.rsplit('/', 1)[1]}").json


def test_an_event_is_created_as_a_draft_in_its_own_zone(acme, writer):
    event = _read(acme, _new(writer, capacity="300"))
    assert event["start_at"] == "2030-06-05T18:00:00Z"
    assert (event["status"], event["capacity"], event["slug"]) == ("draft", 300, "launch-night")
    assert event["description"] == "Doors at seven.\nBring a coat."
    entry = acme.api().get(f"{acme.path}/audit-log").json["data"][0]
    assert (entry["action"], entry["subject"]) == ("events_create_event", event["id"])


def test_the_same_form_twice_is_one_event(acme, writer):
    assert _new(writer) == _new(writer)
    assert len(acme.api().get(f"{acme.path}/events").json["data"]) == 1


def test_a_refused_event_is_shown_again_with_what_is_wrong(acme, writer):
    wrong = {"title": "A <b>", "start_at": "soon", "timezone": "Berlin", "capacity": "many"}
    answer = writer.send("/console/events/new", {**FORM, **wrong})
    assert answer.status_code == 422
    for name in ("start_at", "timezone", "capacity"):
        assert f'id="{name}-error"' in answer.text
    assert 'value="A &lt;b&gt;"' in answer.text
    assert acme.api().get(f"{acme.path}/events").json["data"] == []


def test_a_new_event_begins_with_the_zone_of_the_newest(acme, writer):
    assert 'name="timezone" value=""' in writer.get("/console/events/new").text
    acme.event(timezone="Asia/Tokyo")
    assert 'name="timezone" value="Asia/Tokyo"' in writer.get("/console/events/new").text


def test_an_event_is_edited_in_its_local_time(acme, writer):
    path = _new(writer)
    page = writer.get(f"{path}/edit").text
    assert 'value="2030-06-05T20:00"' in page
    changes = {**FORM, "slug": "launch", "venue": "Pier 3", "doors_open_at": "2030-06-05T18:30"}
    answer = writer.send(f"{path}/edit", changes)
    assert answer.headers["Location"] == f"{path}#saved"
    event = _read(acme, path)
    assert (event["slug"], event["venue"]) == ("launch", "Pier 3")
    assert event["doors_open_at"] == "2030-06-05T16:30:00Z"


def test_what_a_form_cannot_show_is_kept(acme, writer):
    event = acme.event(start_at="2030-06-05T18:00:00.5Z", status="draft")
    path = f"/console/events/{event['id']}"
    form = {**FORM, "slug": event["slug"], "title": "Another"}
    assert writer.send(f"{path}/edit", form).status_code == 303
    assert _read(acme, path)["start_at"] == "2030-06-05T18:00:00.500000Z"


def test_an_empty_field_removes_a_value(acme, writer):
    event = acme.event(capacity=5, end_at=in_days(31), venue="Pier")
    form = {**FORM, "venue": "", "end_at": "", "capacity": ""}
    assert writer.send(f"/console/events/{event['id']}/edit", form).status_code == 303
    now = _read(acme, f"/{event['id']}")
    assert (now["venue"], now["end_at"], now["capacity"]) == (None, None, None)


def test_contradicting_times_are_shown_at_their_field(acme, writer):
    path = _new(writer)
    answer = writer.send(f"{path}/edit", {**FORM, "end_at": "2030-06-05T19:00"})
    assert answer.status_code == 422
    assert 'id="end_at-error"' in answer.text and 'value="2030-06-05T19:00"' in answer.text


def test_a_draft_says_what_is_missing_with_links(acme, writer):
    path = _new(writer)
    page = writer.get(path).text
    assert f'href="{path}/publish"' in page
    assert f'href="{path}/tickets/new"' in page
    assert writer.get(f"{path}/tickets/new").status_code == 200


def test_an_event_is_published_and_taken_back(acme, writer):
    path = _new(writer)
    for status in ("published", "draft", "published"):
        answer = writer.send(f"{path}/status", {"status": status})
        assert answer.headers["Location"] == f"{path}#changed"
        assert _read(acme, path)["status"] == status


def test_a_status_with_a_refund_is_refused_and_changes_nothing(acme, writer):
    path = _new(writer)
    answer = writer.send(f"{path}/status", {"status": "published", "refund": "on"})
    assert answer.status_code == 422
    assert _read(acme, path)["status"] == "draft"


def test_a_move_of_tickets_into_the_past_asks_twice(acme, writer):
    ticket = acme.ticket(price_amount=0, chain_id=None)
    acme.buyer(ticket)
    path = f"/console/events/{ticket['event_id']}"
    assert 'name="force"' not in writer.get(f"{path}/edit").text
    moved = {**FORM, "start_at": "2025-06-05T20:00"}
    refused = writer.send(f"{path}/edit", moved)
    assert refused.status_code == 409
    assert "the new times are past" in refused.text and 'name="force"' in refused.text
    assert 'value="2025-06-05T20:00"' in refused.text
    assert writer.send(f"{path}/edit", {**moved, "force": "on"}).status_code == 303
    assert _read(acme, path)["start_at"] == "2025-06-05T18:00:00Z"


def test_an_event_on_sale_links_to_its_public_page(acme, reader):
    ticket = acme.ticket(price_amount=0, chain_id=None)
    page = reader.get(f"/console/events/{ticket['event_id']}").text
    assert 'href="/acme/launch-night"' in page
    assert "Nobody can buy" not in page


@pytest.mark.parametrize(("refund", "owed"), [("on", 5_000_000), ("no", 0)])
def test_a_cancelation_says_what_it_means_first(acme, node, writer, refund, owed):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    buyer.pay(node)
    assert buyer.purchase().status_code == 200
    path = f"/console/events/{ticket['event_id']}"
    page = writer.get(f"{path}/cancel").text
    assert re.search(r"become invalid</dt><dd>1</dd>", page)
    assert "5.00 USDC" in page
    answer = writer.send(f"{path}/cancel", {"status": "canceled", "refund": refund})
    assert answer.headers["Location"] == f"{path}#canceled"
    assert _read(acme, path)["status"] == "canceled"
    assert buyer.now()["refund_due"] == owed


def test_refunds_of_a_canceled_event_can_still_be_owed(acme, node, writer):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    buyer.pay(node)
    buyer.purchase()
    path = f"/console/events/{ticket['event_id']}/cancel"
    writer.send(path, {"status": "canceled", "refund": "no"})
    assert "Owe 5.00 USDC back" in writer.get(path).text
    writer.send(path, {"status": "canceled", "refund": "on"})
    assert buyer.now()["refund_due"] == 5_000_000
    assert "Nothing is left to do" in writer.get(path).text


def test_the_list_is_filtered_sorted_and_paged(acme, reader):
    for number in range(27):
        acme.event(title=f"Night {number}", start_at=in_days(number + 1))
    acme.event(title="Matinee", type="online", status="draft", online_join_url="https://x.example")
    first = reader.get("/console/events").text
    assert first.count("/console/events/evt_") == 25
    more = re.search(r'href="([^"]*cursor=[^"]*)"', first)[1].replace("&amp;", "&")
    assert reader.get(more).text.count("/console/events/evt_") == 3
    assert "Matinee" in reader.get("/console/events?status=draft").text
    assert "Matinee" not in reader.get("/console/events?type=in_person&sort=created_at").text
    found = reader.get("/console/events?q=night+26&utm_source=x").text
    assert found.count("/console/events/evt_") == 1
    assert "No event matches" in reader.get("/console/events?q=none").text
    assert reader.get("/console/events?status=odd&sort=odd").status_code == 200
    assert reader.get("/console/events?cursor=odd").status_code == 422


def test_a_reader_changes_nothing_and_is_offered_nothing(acme, reader):
    event = acme.event(status="draft")
    path = f"/console/events/{event['id']}"
    assert "/console/events/new" not in reader.get("/console/events").text
    page = reader.get(path).text
    assert f"{path}/edit" not in page and f"{path}/cancel" not in page
    assert f"{path}/publish" not in page and f"{path}/preview" not in page
    for closed in ("/console/events/new", f"{path}/edit", f"{path}/cancel", f"{path}/publish"):
        assert reader.get(closed).status_code == 403
        assert reader.send(closed, FORM).status_code == 403
    assert reader.send(f"{path}/status", {"status": "published"}).status_code == 403


def test_the_events_of_a_neighbour_do_not_exist(acme, neighbour):
    event = acme.event()
    other = sign_in(neighbour)
    path = f"/console/events/{event['id']}"
    for closed in (path, f"{path}/edit", f"{path}/cancel"):
        assert other.get(closed).status_code == 404
    for form in ("edit", "status", "cancel"):
        sent = {**FORM, "status": "canceled", "refund": "on"} if form == "cancel" else FORM
        sent = {"status": "draft"} if form == "status" else sent
        assert other.send(f"{path}/{form}", sent).status_code == 404
    assert acme.event()["title"] not in other.get("/console/events").text


def test_a_description_may_be_as_long_as_in_the_api(acme, writer):
    description = "ü" * 10_000
    event = _read(acme, _new(writer, description=description))
    assert event["description"] == description


def test_the_description_can_be_seen_before_it_is_saved(acme, writer):
    event = acme.event(description="Old")
    path = f"/console/events/{event['id']}/edit"
    form = {"title": "Unsaved", "description": "**New**\n\n- <i>one", "preview": "on"}
    for form_path in (path, "/console/events/new"):
        shown = writer.send(form_path, form)
        assert shown.status_code == 200
        assert "<strong>New</strong>" in shown.text and "&lt;i&gt;one" in shown.text
        assert 'value="Unsaved"' in shown.text
    assert writer.get(f"/console/events/{event['id']}").status_code == 200
    read = acme.api("read").get(f"{acme.path}/events/{event['id']}").json
    assert (read["title"], read["description"]) == (event["title"], "Old")


def test_one_button_publishes_an_event_with_its_ticket_types(acme, writer):
    event = acme.event(status="draft")
    sold, later = (acme.ticket(event, name=name, status="draft") for name in ("Seat", "Stand"))
    path = f"/console/events/{event['id']}"
    asked = writer.get(f"{path}/publish").text
    assert asked.count('name="ticket_id"') == 2 and "Nobody could buy yet" not in asked
    assert _read(acme, path)["status"] == "draft"
    answer = writer.send(f"{path}/publish", {"ticket_id": sold["id"]})
    assert answer.headers["Location"] == f"{path}#changed"
    types = acme.api().get(f"{acme.path}/events/{event['id']}/tickets").json["data"]
    assert {each["name"]: each["status"] for each in types} == {
        "Seat": "published",
        "Stand": "draft",
    }
    assert _read(acme, path)["obstacles"] == []
    entry = acme.api().get(f"{acme.path}/audit-log").json["data"][0]
    assert entry["action"] == "events_set_event_status"
    assert entry["after"] == {"status": "published", "ticket_ids": [sold["id"]]}
    again = writer.send(f"{path}/publish", {"ticket_id": [sold["id"], later["id"]]})
    assert again.status_code == 303


def test_publishing_is_all_or_nothing(acme, writer):
    event = acme.event(status="draft")
    draft, ended = (acme.ticket(event, name=name, status="draft") for name in ("A", "B"))
    tickets = f"{acme.path}/events/{event['id']}/tickets"
    acme.api().post(f"{tickets}/{ended['id']}/status", {"status": "canceled"})
    path = f"/console/events/{event['id']}"
    refused = writer.send(f"{path}/publish", {"ticket_id": [draft["id"], ended["id"]]})
    assert refused.status_code == 409
    assert _read(acme, path)["status"] == "draft"
    assert acme.api().get(f"{tickets}/{draft['id']}").json["status"] == "draft"


def test_the_page_that_publishes_says_what_is_missing(acme, writer):
    event = acme.event(status="draft", type="online")
    page = writer.get(f"/console/events/{event['id']}/publish").text
    assert "There is no ticket type to buy." in page
    assert "People who join online have no link for that." in page
    assert "The event is a draft" not in page


def test_a_draft_is_seen_as_buyers_will_see_it(acme, writer, reader):
    event = acme.event(status="draft", title="Secret Night")
    acme.ticket(event, name="Seat", status="draft")
    hidden = {"name": "Backstage", "require_voucher": True, "hide_without_voucher": True}
    acme.ticket(event, status="draft", **hidden)
    path = f"/console/events/{event['id']}/preview"
    page = writer.get(path).text
    assert "This is a preview." in page and "Secret Night" in page and "Seat" in page
    assert "Backstage" not in page and "application/ld+json" not in page
    assert re.search(r'<button class="primary" id="order" disabled', page)
    assert reader.get(path).status_code == 403
    assert acme.app.test_client().get(f"/acme/{event['slug']}").status_code == 404
    assert _read(acme, path.removesuffix("/preview"))["status"] == "draft"


def test_an_event_and_its_first_ticket_type_are_one_form(acme, writer):
    form = {"ticket_name": "Seat", "ticket_price": "12,50", "ticket_capacity": "80"}
    path = _new(writer, **form)
    tickets = f"{acme.path}/events/{path.rsplit('/', 1)[1]}/tickets"
    (made,) = acme.api().get(tickets).json["data"]
    assert (made["name"], made["price_amount"], made["capacity"]) == ("Seat", 12_500_000, 80)
    assert (made["status"], made["chain_ids"]) == ("draft", [31337])
    trail = acme.api().get(f"{acme.path}/audit-log").json["data"][:2]
    assert [each["action"] for each in trail] == [
        "ticket_types_create_ticket_type",
        "events_create_event",
    ]


def test_a_first_ticket_type_that_is_wrong_creates_nothing(acme, writer):
    unpriced = writer.send("/console/events/new", {**FORM, "ticket_name": "Seat"})
    assert unpriced.status_code == 422 and 'id="ticket_price-error"' in unpriced.text
    wrong = {"ticket_name": "Seat", "ticket_price": "much", "ticket_capacity": "-1"}
    answer = writer.send("/console/events/new", {**FORM, **wrong})
    assert answer.status_code == 422
    for name in ("ticket_price", "ticket_capacity"):
        assert f'id="{name}-error"' in answer.text
    assert acme.api().get(f"{acme.path}/events").json["data"] == []
