"""Holders of admissions for tests, and what they do."""

from dataclasses import dataclass
from typing import Any

from werkzeug.test import TestResponse

from tests.support.factories import Api, Organizer
from ticketing.models.admissions import Admission

JOIN_URL = "https://meet.example.org/x"
ADA = {"name": "Ada", "email": "ada@example.org"}
NOBODY = {"name": None, "email": None}


@dataclass
class Held:
    """An admission, and the code with which somebody manages it."""

    organizer: Organizer
    id: str
    code: str

    @property
    def path(self) -> str:
        return f"{self.organizer.checkout}/admissions/{self.id}"

    @property
    def api(self) -> Api:
        return self.organizer.with_headers({"Authorization": f"Bearer {self.code}"})

    def get(self) -> TestResponse:
        return self.api.get(self.path)

    def name(self, **holder: Any) -> TestResponse:
        return self.api.patch(self.path, {"holder": holder})

    def offer(self, **holder: Any) -> TestResponse:
        return self.api.post(f"{self.path}/transfer", {"holder": holder} if holder else None)

    def cancel(self) -> TestResponse:
        return self.api.post(f"{self.path}/transfer/cancel")

    def transferred(self, **holder: Any) -> "Held":
        """Transfer the admission, and return it as its new holder has it."""
        offer = self.offer().json["offer"]
        answer = accept(self.organizer, offer, **holder)
        assert answer.status_code == 200, answer.json
        return Held(self.organizer, self.id, answer.json["code"])


def bought(organizer: Organizer, ticket: dict[str, Any], **fields: Any) -> list[Held]:
    """The admissions of a new free order."""
    answer = organizer.buyer(ticket, **fields).purchase()
    assert answer.status_code == 200, answer.json
    return [Held(organizer, each["id"], each["code"]) for each in answer.json["admissions"]]


def accept(organizer: Organizer, offer: str, **holder: Any) -> TestResponse:
    """Accept an offer without a credential."""
    body: dict[str, Any] = {"offer": offer, **({"holder": holder} if holder else {})}
    api = Api(organizer.app.test_client())
    return api.post(f"{organizer.checkout}/transfers/accept", body)


def write(held: Held, **columns: Any) -> None:
    """Change the row of an admission."""
    Admission.update(columns).where(Admission.id == held.id).execute()


def refused(answer: TestResponse, status: int, code: str) -> None:
    """Check the status and the code of an error."""
    assert (answer.status_code, (answer.json or {}).get("code")) == (status, code)
