"""Copies of an event on other dates, and series."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from icalendar import Calendar

from schemas.ticket_types import FIELDS
from tests.support.mcp import call
from tests.support.questions import ask
from ticketing.models.events import Event
from ticketing.models.ticket_types import EventStock, TicketType

pytestmark = pytest.mark.sql

BAD_LOCAL_TIMES = (
    "",
    "2031-06-01",
    "2031-06-01 20:00",
    "2031-06-01T20:00Z",
    "2031-06-01T20:00+02:00",
    "2031-06-01T24:00",
    "2031-02-29T20:00",
    "1969-12-31T20:00",
    "2031-06-01T20:00:60",
    "2031-06-01T20:00\n",
    "٢٠٣١-06-01T20:00",
    None,
    1,
    True,
    "\0",
    "\ud800",
)
BERLIN = ZoneInfo("Europe/Berlin")


def local(text: str) -> str:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN).astimezone(UTC).isoformat()


@pytest.fixture
def quiz(acme):
    """A published event in October, with two ticket types, one of them canceled."""
    event = acme.event(
        title="Quiz",
        status="published",
        start_at=local("2030-10-22T20:00"),
        end_at=local("2030-10-22T23:00"),
        doors_open_at=local("2030-10-22T19:00"),
        timezone="Europe/Berlin",
        capacity=80,
        carts=True,
    )
    acme.ticket(
        event,
        name="Seat",
        price_amount=5_000_000,
        capacity=60,
        sales_end_at=local("2030-10-22T18:30"),
        status="published",
    )
    gone = acme.ticket(event, name="Gone", price_amount=0, chain_id=None)
    path = f"{acme.path}/events/{event['id']}/tickets/{gone['id']}/status"
    assert acme.api().post(path, {"status": "canceled"}).status_code == 200
    return event


def copy(acme, event, *starts, **fields):
    path = f"{acme.path}/events/{event['id']}/copy"
    return acme.api().post(path, {"starts": list(starts), **fields})


def test_clocks_show_the_same_times_on_the_other_side_of_summer_time(acme, quiz):
    answer = copy(acme, quiz, "2030-10-29T20:00", status="published")
    assert answer.status_code == 201, answer.json
    (made,) = answer.json["data"]
    assert made["slug"] == "quiz-2030-10-29" and made["status"] == "published"
    assert made["start_at"] == "2030-10-29T19:00:00Z"  # one hour later than in summer
    assert made["doors_open_at"] == "2030-10-29T18:00:00Z"
    assert made["end_at"] == "2030-10-29T22:00:00Z"
    assert (made["capacity"], made["sold"], made["carts"]) == (80, 0, True)
    (seat,) = acme.api().get(f"{acme.path}/events/{made['id']}/tickets").json["data"]
    assert (seat["name"], seat["price_amount"], seat["status"]) == ("Seat", 5_000_000, "published")
    assert seat["sales_end_at"] == "2030-10-29T17:30:00Z" and seat["capacity"] == 60
    assert EventStock.get(EventStock.event == made["id"]).capacity == 80


def test_a_copied_ticket_type_has_every_setting(acme, quiz):
    settings = {
        "description": "Near the bar.",
        "group_heading": "Tables",
        "free_price": True,
        "max_price_amount": 9_000_000,
        "requires_ticket": True,
        "require_voucher": True,
        "hide_without_voucher": True,
        "transferable": False,
        "requires_key": True,
        "min_per_order": 2,
        "max_per_order": 4,
        "returns": "when_resold",
        "return_fee_percent": 10,
        "allow_waitinglist": True,
        "deposit_amount": 1,
    }
    table = acme.ticket(quiz, name="Table", capacity=8, status="draft", **settings)
    (made,) = copy(acme, quiz, "2030-10-29T20:00").json["data"]
    found = acme.api().get(f"{acme.path}/events/{made['id']}/tickets").json["data"]
    (copied,) = [each for each in found if each["name"] == "Table"]
    of_original = {name: table[name] for name in FIELDS}
    assert {name: copied[name] for name in FIELDS} == of_original
    assert settings.items() <= copied.items()


def test_a_skipped_time_is_refused_at_its_place_and_a_doubled_one_is_the_first(acme, quiz):
    answer = copy(acme, quiz, "2031-03-29T20:00", "2031-03-30T02:30")
    assert answer.status_code == 422
    assert answer.json["errors"] == {"starts.1": ["The clocks skip this time."]}
    (made,) = copy(acme, quiz, "2030-10-27T02:30").json["data"]
    assert made["start_at"] == "2030-10-27T00:30:00Z"
    assert "starts.0" in copy(acme, quiz, "9999-12-31T23:00").json["errors"]


def test_all_or_none(acme, quiz):
    days = [(date(2031, 1, 1) + timedelta(days=count)).isoformat() for count in range(60)]
    starts = [f"{day}T20:00" for day in days]
    acme.event(slug=f"quiz-{days[39]}")
    before = Event.select().count(), TicketType.select().count()
    answer = copy(acme, quiz, *starts)
    assert (answer.status_code, answer.json["code"]) == (409, "slug_taken")
    assert (Event.select().count(), TicketType.select().count()) == before
    twice = copy(acme, quiz, starts[0], starts[0])
    assert twice.status_code == 422 and "starts" in twice.json["errors"]
    assert copy(acme, quiz, *starts, "2031-06-01T20:00").status_code == 422


def test_two_copies_of_one_day_have_the_time_in_their_names(acme, quiz):
    made = copy(acme, quiz, "2031-01-01T15:00", "2031-01-01T20:00", "2031-01-02T20:00")
    slugs = [each["slug"] for each in made.json["data"]]
    assert slugs == ["quiz-2031-01-01-1500", "quiz-2031-01-01-2000", "quiz-2031-01-02"]
    again = copy(acme, made.json["data"][0], "2031-01-08T15:00")
    assert again.json["data"][0]["slug"] == "quiz-2031-01-08"


def test_questions_are_asked_for_the_copies_of_their_ticket_types(acme, quiz):
    types = acme.api().get(f"{acme.path}/events/{quiz['id']}/tickets").json["data"]
    seat, gone = (next(each for each in types if each["name"] == name) for name in ("Seat", "Gone"))
    options = [{"label": "a"}, {"label": "b"}]
    only = {"ticket_ids": [seat["id"]]}
    ask(acme, quiz["id"], identifier="diet", type="choice", options=options, **only)
    ask(acme, quiz["id"], identifier="lost", ticket_ids=[gone["id"]])
    ask(acme, quiz["id"], identifier="name", ask="attendee")
    (made,) = copy(acme, quiz, "2030-10-29T20:00").json["data"]
    path = f"{acme.path}/events/{made['id']}"
    (copied,) = acme.api().get(f"{path}/tickets").json["data"]
    shown = acme.api().get(f"{path}/questions").json["data"]
    assert [(each["identifier"], each["ticket_ids"]) for each in shown] == [
        ("diet", [copied["id"]]),
        ("name", None),
    ]
    assert [each["label"] for each in shown[0]["options"]] == ["a", "b"]
    event = Event.get_by_id(made["id"])
    assert (event.order_questions, event.attendee_questions) == (1, 1)


def test_a_copy_is_one_entry_of_the_audit_log_and_each_a_fact(acme, quiz):
    answer = copy(acme, quiz, "2030-11-05T20:00", "2030-11-12T20:00", status="published")
    ids = [each["id"] for each in answer.json["data"]]
    entries = acme.api().get(f"{acme.path}/audit-log").json["data"]
    (entry,) = [each for each in entries if each["action"] == "events_copy_event"]
    assert (entry["subject"], entry["after"]) == (quiz["id"], {"copies": ids})
    feed = acme.api().get(f"{acme.path}/notifications").json["data"]
    published = [each["data"]["event_id"] for each in feed if each["type"] == "event.published"]
    assert published[-2:] == ids


def test_a_series_has_a_page_with_its_coming_dates(acme, api, quiz):
    copy(acme, quiz, "2030-10-29T20:00", "2030-11-05T20:00", status="published", series="pub-quiz")
    acme.event(title="Another", status="published")
    listed = api.get(f"{acme.public}/events?series=pub-quiz").json["data"]
    assert [each["slug"] for each in listed] == ["quiz", "quiz-2030-10-29", "quiz-2030-11-05"]
    assert {each["series"] for each in listed} == {"pub-quiz"}
    assert len(call(api, "list_events", tenant="acme", series="pub-quiz")["data"]) == 3
    page = api.get("/acme/pub-quiz")
    assert page.status_code == 200 and "Another" not in page.text
    for each in listed:
        assert f'href="/acme/{each["slug"]}"' in page.text
    assert "<h1>" in page.text and "Quiz" in page.text
    calendar = api.get(f"{acme.public}/series/pub-quiz.ics")
    assert len(Calendar.from_ical(calendar.data).events) == 3
    assert 'href="/acme/pub-quiz"' in api.get("/acme/quiz").text
    for path in ("/acme/no-quiz", f"{acme.public}/series/no-quiz.ics"):
        assert api.get(path).status_code == 404


def test_a_series_says_what_its_organizer_writes(acme, api, quiz):
    copy(acme, quiz, "2030-10-29T20:00", series="pub-quiz")
    path = f"{acme.path}/series/pub-quiz"
    assert acme.api().get(path).json == {"slug": "pub-quiz", "title": None, "description": ""}
    changed = acme.api().patch(path, {"title": "Pub quiz", "description": "Six **to** a table."})
    assert changed.json["title"] == "Pub quiz"
    assert acme.api().patch(path, {"description": "Six."}).json["title"] == "Pub quiz"
    page = api.get("/acme/pub-quiz").text
    assert "Pub quiz</" in page and "Six." in page
    assert acme.api().get(f"{acme.path}/series/another").status_code == 404
    assert acme.api().patch(f"{acme.path}/series/another", {"title": "A"}).status_code == 404


def test_series_and_events_share_their_names(acme, quiz):
    taken = (409, "slug_taken")
    acme.event(title="Taken")

    def refusal(answer):
        return answer.status_code, answer.json.get("code")

    assert refusal(copy(acme, quiz, "2030-10-29T20:00", series="taken")) == taken
    event_path = f"{acme.path}/events/{quiz['id']}"
    assert refusal(acme.api().patch(event_path, {"series": "taken"})) == taken
    assert refusal(acme.api().patch(event_path, {"series": "quiz"})) == taken  # its own
    assert acme.api().patch(event_path, {"series": "pub-quiz"}).status_code == 200
    draft = acme.event(title="Pub quiz", status="draft")  # its own name would be that of the series
    assert draft["slug"].startswith("pub-quiz-")
    draft_path = f"{acme.path}/events/{draft['id']}"
    assert refusal(acme.api().patch(draft_path, {"slug": "pub-quiz"})) == taken
    assert acme.api().patch(event_path, {"series": None}).json["series"] is None
    assert acme.api().patch(draft_path, {"slug": "pub-quiz"}).status_code == 200


@pytest.mark.parametrize("time", BAD_LOCAL_TIMES)
def test_what_is_no_local_time_is_refused_at_its_place(acme, quiz, time):
    answer = copy(acme, quiz, "2031-06-01T20:00", time)
    assert answer.status_code == 422 and answer.json["errors"].keys() == {"starts.1"}
