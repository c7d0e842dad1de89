"""Each field of an event is shown on each surface, or is there a deliberate exception.

A new field that a surface neither shows nor excepts fails here by its name. docs/extending.md has
the files of each surface.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

import pytest

from schemas.base import Instant
from schemas.events import FIELDS
from tests.support.console import sign_in
from tests.support.databases import only_once
from tests.support.factories import Organizer, worker_once
from tests.support.mail_server import MailServer
from tests.support.mails import SENDER, html_of, text_of
from tests.support.mcp import call
from ticketing import formats
from ticketing.models.events import Event

NOT_SET_BY_ORGANIZERS = {
    "id",
    "tenant",
    "status",
    "was_published",
    "created_at",
    "updated_at",
    "description_html",
    "description_plain",
    "erased_at",
    "erasure_due_at",
    "erasure_tried_at",
    "order_questions",
    "attendee_questions",
    "questions_reminded_at",
    "reminded_at",
    "image_digest",
    "deposits_run_at",
    "deposits_running",
    "is_queueing",
    "crowds",
}
"""The columns of an event that are no fields of it."""

ZONE = "Asia/Kathmandu"
VALUES = {
    "slug": "the-slug-of-the-event",
    "type": "hybrid",
    "timezone": ZONE,
    "start_at": "2031-06-01T10:01:00Z",
    "end_at": "2031-06-02T12:02:00Z",
    "doors_open_at": "2031-06-01T08:03:00Z",
    "transfers_end_at": "2031-06-01T07:04:00Z",
    "online_join_url": "https://meet.example.org/the-link-to-join",
    "capacity": 987_654_321,
    "reminder_hours": 163,
    "waiting_list_hours": 71,
    "deposits_release": "manual",
    "waiting_room": "off",
    "series": "the-series-of-the-event",
    "carts": True,
    "visibility": "public",
    "locale": "en",
}
"""Values that can be recognized. Each other field is a text that has its name."""

WORDS = {
    "visibility": '<option value="public" selected>',
    "locale": 'lang="en"',
    "reminder_hours": 'name="reminder_hours" value="163"',
    "waiting_list_hours": 'name="waiting_list_hours" value="71"',
    "deposits_release": '<option value="manual" selected>',
    "waiting_room": '<option value="off" selected>',
}
"""The values that are words of many surfaces, as the console's form has them."""

SECRET = {"online_join_url": "only people with a ticket see it"}
INTERNAL = {
    **SECRET,
    "capacity": "buyers see what is sold out, and not how many tickets there are",
    "reminder_hours": "people see the mail",
    "deposits_release": "people see the refund",
    "waiting_list_hours": "people see until when their order is held",
    "waiting_room": "people see the room when it is open",
    "visibility": "an unlisted event is in no list; who has its link needs to know no more",
}
RULES = {
    "transfers_end_at": "a rule of tickets; their pages show it when they can be passed on",
    "carts": "a rule of orders; the form on the event's page follows it",
}
SPOKEN = {"locale": "the language of the words around the organizer's own texts"}
NO_SERIES = {"series": "the event's page and the API lead to the other dates"}
NO_DOORS = {"doors_open_at": "a rule of tickets; the event's page and JSON-LD show it"}


@dataclass(frozen=True)
class Surface:
    """What shows events. `exceptions`: the fields that it does not show, and why.

    `time` says how it writes a time. `words` are the fields whose values it writes in other words.
    """

    read: Callable[["Shown"], str]
    time: Callable[[datetime], str]
    exceptions: dict[str, str] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)

    def text_of(self, name: str) -> str:
        """Return what the surface shows of this field."""
        value = value_of(name)
        if isinstance(FIELDS[name], Instant):
            return self.time(datetime.fromisoformat(value))
        return (WORDS | self.words).get(name, str(value))


@dataclass(frozen=True)
class Shown:
    """A draft of an event with every field filled, with a free ticket type."""

    organizer: Organizer
    event: dict
    ticket: dict
    server: MailServer

    def publish(self):
        path = f"{self.organizer.path}/events/{self.event['id']}/status"
        answer = self.organizer.api().post(path, {"status": "published"})
        assert answer.status_code == 200, answer.json

    def get(self, path):
        answer = self.organizer.app.test_client().get(path)
        assert answer.status_code == 200, answer.text
        return answer.text


def value_of(name):
    return VALUES.get(name, f"The {name} of the event")


def console_form(shown):
    console = sign_in(shown.organizer)
    page = console.client.get(f"/console/events/{shown.event['id']}/edit")
    return page.text


def public_page(shown):
    """Return the page without its head, which has the JSON-LD."""
    return shown.get(f"/acme/{shown.event['slug']}").split("<body", 1)[1]


def json_ld(shown):
    page = shown.get(f"/acme/{shown.event['slug']}")
    return re.search(r'<script type="application/ld\+json">(.*?)</script>', page)[1]


def calendar(shown):
    file = shown.get(f"{shown.organizer.public}/events/{shown.event['id']}.ics")
    return file.replace("\r\n ", "")


def mcp_tool(shown):
    found = call(
        shown.organizer.with_headers({}), "get_event", tenant="acme", event_id=shown.event["id"]
    )
    return json.dumps(found)


def public_api(shown):
    return shown.get(f"{shown.organizer.public}/events/{shown.event['id']}")


def mail(shown):
    """Return the mail to a buyer of a free ticket."""
    shown.organizer.buyer(shown.ticket, buyer={"email": "ada@example.org"}).purchase()
    worker_once(shown.organizer.app)
    return shown.server.only()


def mail_text(shown):
    return text_of(mail(shown))


def mail_html(shown):
    return html_of(mail(shown))


def in_api(at):
    return at.isoformat().replace("+00:00", "Z")


SURFACES = {
    "the console's form": Surface(
        console_form,
        lambda at: formats.typed(at, ZONE),
        exceptions={"waiting_room": "the event's page in the console has a switch"},
        words={
            "carts": 'name="carts" value="on" checked',
            "locale": '<option value="en" selected>',
        },
    ),
    "the public page": Surface(
        public_page,
        datetime.isoformat,
        exceptions={**INTERNAL, **RULES},
        words={"type": "Also online. The ticket has the link."},
    ),
    "JSON-LD": Surface(
        json_ld,
        datetime.isoformat,
        exceptions={
            **INTERNAL,
            **RULES,
            **SPOKEN,
            **NO_SERIES,
            "timezone": "each time has its offset",
        },
        words={"type": "MixedEventAttendanceMode"},
    ),
    "the calendar": Surface(
        calendar,
        lambda at: f"{at:%Y%m%dT%H%M%SZ}",
        exceptions={
            **INTERNAL,
            **RULES,
            **SPOKEN,
            **NO_DOORS,
            **NO_SERIES,
            "timezone": "its times are in UTC (docs/decisions.md)",
            "type": "iCalendar has no property for it",
        },
    ),
    "the tool of MCP": Surface(
        mcp_tool,
        in_api,
        exceptions=INTERNAL,
        words={"carts": '"carts": true', "locale": '"locale": "en"'},
    ),
    "the public API": Surface(
        public_api,
        in_api,
        exceptions=INTERNAL,
        words={"carts": '"carts":true', "locale": '"locale":"en"'},
    ),
    **{
        name: Surface(
            read,
            # The end has no zone beside the start, which has it.
            lambda at: formats.moment(at, ZONE).partition(" (")[0],
            exceptions={
                **INTERNAL,
                **RULES,
                **({} if "HTML" in name else SPOKEN),
                **NO_DOORS,
                **NO_SERIES,
                "description": "the mail has a link to the event's page",
            },
            words={"type": "Online: the link to join is on the page of your ticket."},
        )
        for name, read in (
            ("the text of a buyer's mail", mail_text),
            ("the HTML of a buyer's mail", mail_html),
        )
    },
}


@pytest.fixture
def server():
    with MailServer() as running:
        yield running


@pytest.fixture
def environ(environ, server):
    """A configuration with mail, and without a chain: the ticket costs nothing."""
    del environ["RPC_URL_31337"]
    return {
        **environ,
        "PUBLIC_URL": "http://localhost",
        "SMTP_URL": server.url,
        "MAIL_FROM": SENDER,
    }


@pytest.fixture
def shown(acme, server):
    fields = {name: value_of(name) for name in FIELDS}
    event = acme.event(**fields, status="draft")
    return Shown(acme, event, acme.ticket(event, price_amount=0, chain_id=None), server)


def test_each_column_of_an_event_is_a_field_of_it():
    assert set(Event._meta.fields) - NOT_SET_BY_ORGANIZERS == FIELDS.keys()


@only_once
@pytest.mark.parametrize("name", SURFACES)
def test_a_surface_shows_each_field_of_an_event(name, shown):
    surface = SURFACES[name]
    if name != "the console's form":  # it has the slug only while the event is a draft
        shown.publish()
    text = surface.read(shown)
    missing = {field for field in FIELDS if surface.text_of(field) not in text}
    assert missing == surface.exceptions.keys()
