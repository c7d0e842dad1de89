"""What members do in the console before a sale, while the plans of all queries are recorded."""

import itertools
import re
from html import unescape
from urllib.parse import urlencode

from flask.testing import FlaskClient

from schemas.events import SORTS
from tests.support.console import PASSWORD, SAME_ORIGIN, hidden_fields
from tests.support.factories import cli, new_organizer
from tests.support.mails import PUBLIC_URL
from tests.support.query_plans.people_drive import PeopleDrive
from ticketing.constants import EventType, Publication

EMAIL, ACCOUNT = "curator@example.org", "/console/account"
_NEXT = re.compile(r'href="([^"]*cursor=[^"]*)"')
_EVENT = {
    "title": "Evening",
    "type": "in_person",
    "timezone": "Europe/Berlin",
    "start_at": "2030-06-05T20:00",
    "description": "",
}
_TICKET_TYPE = {"name": "Seat", "price_amount": "0", "chain_id": "", "capacity": "5"}


class MemberBrowser:
    """A member with a browser, who is an administrator."""

    def __init__(self, app, slug, email=EMAIL):
        self._browser: FlaskClient = app.test_client()
        self._slug, self._email = slug, email
        arguments = ("members", "add", slug, email, "--role", "admin", "--password-stdin")
        cli(app, *arguments, stdin=PASSWORD)
        self.sign_in()

    def sign_in(self):
        form = {"tenant": self._slug, "email": self._email, "password": PASSWORD}
        self._post("/console/sign-in", form)
        token = hidden_fields(self.open(ACCOUNT))["csrf_token"]
        self._hidden = {"csrf_token": token, "idempotency_key": "0" * 32}

    def open(self, path, status=200):
        answer = self._browser.get(path, base_url=PUBLIC_URL)
        assert answer.status_code == status, (path, answer.text)
        return answer.text

    def page_through(self, path):
        """Open a list, and its second page."""
        for link in _NEXT.findall(self.open(path)):
            self.open(unescape(link))

    def press(self, path, form):
        """Send a form twice, as a double click does. Return where it leads."""
        return [self.press_once(path, form) for _ in range(2)][1]

    def press_once(self, path, form):
        return self._post(path, {**self._hidden, **form})

    def send(self, path, form):
        """Send a form, whatever is answered. Return the page."""
        sent = {**self._hidden, **form}
        answer = self._browser.post(path, data=sent, headers=SAME_ORIGIN, base_url=PUBLIC_URL)
        assert answer.status_code < 500, (path, answer.text)
        return answer.text

    def end(self, path):
        """Send the form that ends the session."""
        self._post(path, self._hidden)

    def accept(self, invitation):
        """Set a password at the link of an invitation."""
        path = invitation.removeprefix(PUBLIC_URL)
        self.open(path)
        self._post(path, {"password": PASSWORD})

    def _post(self, path, form):
        answer = self._browser.post(path, data=form, headers=SAME_ORIGIN, base_url=PUBLIC_URL)
        assert answer.status_code in (200, 303), (path, answer.text)
        return answer.headers.get("Location", "").partition("#")[0]


class CatalogDrive(PeopleDrive):
    """The part of the drive that goes through the console's pages about what is sold."""

    def organize_in_the_console(self) -> None:
        """Look at a large tenant, then do everything in a small one, from its first steps on."""
        self._look_at_the_catalog(MemberBrowser(self.app, "big"))
        new_organizer(self.app, "small", address=None)
        member = MemberBrowser(self.app, "small")
        self._sell_and_cancel(member)
        self._leave(member)

    def _look_at_the_catalog(self, member: MemberBrowser) -> None:
        member.page_through("/console")
        filters = ((None, *Publication), (None, *EventType), (None, "night"), SORTS)
        for values in itertools.product(*filters):
            asked = dict(zip(("status", "type", "q", "sort"), values, strict=True))
            chosen = {name: value for name, value in asked.items() if value is not None}
            member.page_through(f"/console/events?{urlencode(chosen)}")
        here = f"/console/events/{self.hit.id}"
        for path in ("/console/events/new", here, f"{here}/edit", f"{here}/cancel"):
            member.open(path)
        for path in (f"{here}/preview", f"{here}/publish"):
            member.open(path)

    def _sell_and_cancel(self, member: MemberBrowser) -> None:
        member.open("/console")
        event = member.press("/console/events/new", _EVENT)
        member.open("/console")
        member.press(f"{event}/edit", {**_EVENT, "capacity": "9"})
        member.open(f"{event}/tickets/new")
        ticket_type = member.press(f"{event}/tickets/new", _TICKET_TYPE)
        member.open("/console")
        member.open(f"{ticket_type}/edit")
        member.press(f"{ticket_type}/edit", {**_TICKET_TYPE, "capacity": "6"})
        for path in (ticket_type, event):
            for status in ("published", "draft", "published"):
                member.press(f"{path}/status", {"status": status})
            member.open(path)
        member.press(f"{event}/publish", {"ticket_id": ticket_type.rsplit("/", 1)[1]})
        member.press(f"{ticket_type}/move", {"place": "0"})
        member.open(f"{ticket_type}/cancel")
        member.press(f"{ticket_type}/status", {"status": "canceled"})
        for refund in ("", "on"):
            member.press(f"{event}/cancel", {"status": "canceled", "refund": refund})
        address = {"address": "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC", "chain_ids": "31337"}
        member.press("/console/wallet/address", address)
        member.press("/console/wallet", address)
        member.press("/console/wallet/confirm", address)
        member.open("/console/wallet")
        member.press("/console/wallet/credited", {})
        member.press("/console/wallet/recovery", {"password": PASSWORD})
        member.press("/console/wallet/cancel", {})

    def _leave(self, member: MemberBrowser) -> None:
        member.open("/console/settings")
        member.press("/console/settings", {"name": "Small Nights"})
        member.end("/console/sign-out")
        member.open("/console/sign-in")
        invited = ("members", "invite", "small", "new@example.org", "--role", "read")
        member.accept(cli(self.app, *invited).strip())
        member.sign_in()
        sessions = re.findall(r'action="(/console/account/sessions/[^"]+)"', member.open(ACCOUNT))
        member.end(sessions[0])
