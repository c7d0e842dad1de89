"""A door for tests: an event whose doors are open, its tickets, and devices that scan them."""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.conftest import SECRET_KEY
from tests.support.factories import Api, Organizer, in_days, written
from ticketing.credentials import Keyring
from ticketing.models.admissions import Admission
from ticketing.services.door import ticket_signing

KEYRING = Keyring(SECRET_KEY)
OPEN = 1 / 24
"""In days: the event starts in an hour, so the doors are open."""
NOTHING = {"admission": None, "first_at": None, "first_gate": None}
"""What the result of a scan shows of an admission that is unknown at this event."""


def moment(minutes: float = 0) -> str:
    """The time so many minutes from now, as the API writes it."""
    return written(datetime.now(UTC) + timedelta(minutes=minutes))


def nonce() -> str:
    return str(uuid.uuid4())


def redeem(**fields: Any) -> dict[str, Any]:
    """A scan that redeems, now unless told otherwise."""
    return {"nonce": nonce(), "kind": "redeem", "at": moment(), **fields}


def undo(of: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A scan that undoes another."""
    return {"nonce": nonce(), "kind": "undo", "of": of["nonce"], **fields}


@dataclass
class Gate:
    """Who scans at one event: a device, or a credential."""

    api: Api
    path: str
    device: dict[str, Any] | None = None

    def send(self, *scans: dict[str, Any], **body: Any) -> Any:
        """The answer to these scans."""
        return self.api.post(f"{self.path}/scans", {"sent_at": moment(), "scans": scans, **body})

    def results(self, *scans: dict[str, Any], **body: Any) -> list[dict[str, Any]]:
        """The results of these scans."""
        answer = self.send(*scans, **body)
        assert answer.status_code == 200, answer.json
        assert [each["nonce"] for each in answer.json["results"]] == [
            each["nonce"] for each in scans
        ]
        return answer.json["results"]

    def scan(self, **fields: Any) -> dict[str, Any]:
        """The result of one scan that redeems."""
        return self.results(redeem(**fields))[0]

    def outcome(self, **fields: Any) -> str:
        return self.scan(**fields)["outcome"]


class Door:
    """An event with its doors open."""

    def __init__(self, organizer: Organizer, **event: Any) -> None:
        self.organizer = organizer
        self.event = organizer.event(**{"start_at": in_days(OPEN), **event})
        self.ticket = organizer.ticket(
            self.event, price_amount=0, chain_id=None, capacity=None, max_per_order=100
        )
        self.admin = organizer.with_headers({"X-API-Key": organizer.admin_key})
        self.devices = f"{organizer.path}/events/{self.event['id']}/door-devices"
        self.path = f"/v1/door/tenants/{organizer.slug}/events/{self.event['id']}"

    def admissions(self, quantity: int = 1) -> list[Admission]:
        """New admissions of the event."""
        before = {each.id for each in self._all()}
        buyer = self.organizer.buyer(self.ticket, quantity=quantity)
        assert buyer.purchase().status_code == 200
        return [each for each in self._all() if each.id not in before]

    def admission(self) -> Admission:
        return self.admissions()[0]

    def qr(self, admission: Admission) -> str:
        """The text of an admission's QR code as it is now."""
        return ticket_signing.qrs_of([Admission.get_by_id(admission.id)], KEYRING)[0]

    def new_device(self, **fields: Any) -> dict[str, Any]:
        """A device that is not paired yet."""
        made = self.admin.post(self.devices, {"name": "phone", **fields})
        assert made.status_code == 201, made.json
        return made.json

    def gate(self, **fields: Any) -> Gate:
        """A paired device."""
        device = self.new_device(**fields)
        anybody = Api(self.organizer.app.test_client())
        paired = anybody.post("/v1/door/pair", {"pairing_code": device["pairing_code"]})
        assert paired.status_code == 200, paired.json
        bearer = {"Authorization": f"Bearer {paired.json['token']}"}
        return Gate(self.organizer.with_headers(bearer), self.path, device)

    def desk(self) -> Gate:
        """The organizer, with the role that may scan."""
        key = {"X-API-Key": self.organizer.key("write")}
        return Gate(self.organizer.with_headers(key), self.path)

    def _all(self) -> list[Admission]:
        return list(Admission.select().where(Admission.event == self.event["id"]))


def change(admission: Admission, **fields: Any) -> None:
    """Change an admission behind the back of the API, as another part of the service does."""
    Admission.update(**fields, change_number=None).where(Admission.id == admission.id).execute()


def now(admission: Admission) -> Admission:
    """The admission as it is now."""
    return Admission.get_by_id(admission.id)


def read_manifest(gate: Gate, since: str | None = None) -> dict[str, Any]:
    """The manifest, or what changed since its cursor."""
    query = {} if since is None else {"since": since}
    answer = gate.api.get(f"{gate.path}/manifest", query_string=query)
    assert answer.status_code == 200, answer.text
    return answer.json


def ids_of(manifest: dict[str, Any]) -> set[str]:
    """The ids of a manifest's admissions."""
    return {each["id"] for each in manifest["admissions"]}
