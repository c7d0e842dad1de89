"""A member in the console: a client with a session, which sends forms as a browser does."""

import re
from dataclasses import dataclass
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.support.factories import Organizer
from ticketing.roles import Role
from ticketing.services.access import members, sessions

PASSWORD = "correct horse battery"
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}
_FORM = re.compile(r"<form\b[^>]*>.*?</form>", re.DOTALL)
_HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')


@dataclass
class Console:
    """A member of a tenant who has signed in."""

    client: FlaskClient
    email: str

    def get(self, path: str) -> TestResponse:
        """Open a page."""
        return self.client.get(path)

    def send(self, path: str, form: dict[str, Any] | None = None, **headers: str) -> TestResponse:
        """Send a form to `path`, with the hidden fields that the console's pages give."""
        page = self.client.get("/console/account").text
        hidden = {"csrf_token": hidden_fields(page)["csrf_token"], "idempotency_key": "0" * 32}
        answer = self.client.post(
            path, data={**hidden, **(form or {})}, headers=headers or SAME_ORIGIN
        )
        assert not answer.content_type.startswith("text/plain")  # a page without its type
        return answer


def hidden_fields(page: str) -> dict[str, str]:
    """Return the hidden fields of the forms of a page."""
    return dict(_HIDDEN.findall("".join(_FORM.findall(page))))


def sign_in(
    organizer: Organizer,
    role: str = "admin",
    email: str = "ada@example.org",
    event_ids: list[str] | None = None,
) -> Console:
    """Add a member with this role and a session, as after a sign-in."""
    config = organizer.app.extensions["ticketing"]
    member = members.add(organizer.id, email, Role(role), PASSWORD)
    if event_ids is not None:
        members.change(organizer.id, member.id, {"role": Role(role), "event_ids": event_ids})
    client = organizer.app.test_client()
    client.set_cookie("session", sessions.begin(member, None, None, config.keyring))
    return Console(client, email)


def signed_in(organizer: Organizer, email: str) -> Console:
    """Sign a member in with the password, in a new browser."""
    client = organizer.app.test_client()
    form = {"tenant": organizer.slug, "email": email, "password": PASSWORD}
    answer = client.post("/console/sign-in", data=form, headers=SAME_ORIGIN)
    assert answer.status_code == 303, answer.text
    return Console(client, email)
