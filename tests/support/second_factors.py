"""A member's app that shows codes, written from RFC 6238, and the pages that ask for them."""

import base64
import hashlib
import hmac
import re
import struct
from dataclasses import dataclass
from typing import Any

from werkzeug.test import TestResponse

from tests.support.console import PASSWORD, SAME_ORIGIN, Console
from tests.support.factories import Organizer
from ticketing import clock

PATH = "/console/account/second-factor"
_SECRET = re.compile(r'data-copy="([A-Z2-7]{32})"')
_CODES = re.compile(r"\b[0-9a-z]{5}-[0-9a-z]{5}\b")
_FIRST_STEP = re.compile(r'name="first_step" value="([^"]+)"')


@dataclass
class App:
    """An app with the secret that the page showed, and the recovery codes."""

    secret: str
    recovery_codes: list[str]

    def code(self, steps: int = 0) -> str:
        """Return the code of the present time step, or of one before or after it."""
        step = int(clock.now().timestamp()) // 30 + steps
        key = base64.b32decode(self.secret)
        digest = hmac.digest(key, struct.pack(">Q", step), hashlib.sha1)
        at = digest[-1] & 15
        number = struct.unpack(">I", digest[at : at + 4])[0] & 0x7FFFFFFF
        return f"{number % 1_000_000:06}"


def set_up(console: Console, password: str = PASSWORD) -> App:
    """Set up an app for the member who is signed in."""
    begun = console.send(f"{PATH}/app", {"password": password})
    assert begun.status_code == 200, begun.text
    app = App(secret_of(begun.text), [])
    confirmed = console.send(f"{PATH}/app/confirm", {"code": app.code()})
    assert confirmed.status_code == 200, confirmed.text
    app.recovery_codes = [*dict.fromkeys(_CODES.findall(confirmed.text))]
    return app


def secret_of(page: str) -> str:
    """Return the secret that the page of a new app shows."""
    found: str = _SECRET.findall(page)[0]
    return found


class Stranger:
    """A browser in which nobody is signed in."""

    def __init__(self, organizer: Organizer) -> None:
        self.client = organizer.app.test_client()
        self.tenant = organizer.slug

    def password(self, email: str, password: str = PASSWORD) -> TestResponse:
        """Send the sign-in form."""
        form = {"tenant": self.tenant, "email": email, "password": password}
        return self.post("/console/sign-in", form)

    def first_step(self, email: str, password: str = PASSWORD) -> str:
        """Prove the password, and return what the next page sends back."""
        return first_step_of(self.password(email, password))

    def second(self, first_step: str, code: str) -> TestResponse:
        """Send the form of the second page."""
        return self.post("/console/sign-in/second", {"first_step": first_step, "code": code})

    def post(self, path: str, form: dict[str, Any]) -> TestResponse:
        """Send a form as a browser does."""
        return self.client.post(path, data=form, headers=SAME_ORIGIN)

    @property
    def is_in(self) -> bool:
        """Whether somebody is signed in."""
        return self.client.get("/console/account").status_code == 200


def first_step_of(answer: TestResponse) -> str:
    """Return what the page that asks for the second factor sends back."""
    assert answer.status_code == 200, answer.text
    return _FIRST_STEP.findall(answer.text)[0]
