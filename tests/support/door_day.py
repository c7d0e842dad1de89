"""A day at the door: guests, copies of their tickets, devices that are offline half of the time.

It works out by itself what the server must answer to each scan, and who is inside.
"""

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.support.door_device import ADMITTED, DoorDevice, Scan
from tests.support.door_guests import Guest, Ticket, verdict_on
from tests.support.doors import Door, Gate, change
from tests.support.factories import Api, Organizer, in_days
from tests.support.stopped_clock import StoppedClock
from ticketing.constants import AdmissionStatus
from ticketing.models.admissions import Admission

STARTS_IN_DAYS = 3 / 24
MOST_SEATS = 100
CLOCKS = (0, -3, 4, -11, 7, -1)
"""The devices' clocks are wrong by so many minutes."""
BATCH = 40


@dataclass
class Post:
    """A device, the way it talks to the server, and what it sent without an answer."""

    gate: Gate
    device: DoorDevice
    is_offline: bool = False
    unanswered: list[Scan] = field(default_factory=list)


@dataclass
class Day:
    """The door of one event, for one day. Everything is drawn from `draw`."""

    organizer: Organizer
    clock: StoppedClock
    draw: random.Random
    tickets: list[Ticket] = field(default_factory=list)
    queue: list[Guest] = field(default_factory=list)
    entries: dict[str, Guest] = field(default_factory=dict)
    """Who went in and was not sent out again, by the nonce of their scan."""
    times: dict[str, datetime] = field(default_factory=dict)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    refusals: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        start = in_days(STARTS_IN_DAYS)
        self.door = Door(self.organizer, start_at=start, transfers_end_at=start)
        free = {"price_amount": 0, "chain_id": None, "max_per_order": MOST_SEATS}
        self.door.ticket = self.organizer.ticket(
            self.door.event, **free, capacity=None, transferable=True
        )
        self.admissions = f"{self.organizer.path}/admissions"
        self.posts = [self._post(minutes) for minutes in CLOCKS]

    # Before the doors open, and meanwhile.

    def sell(self, quantity: int) -> None:
        """Sell tickets. Each holder queues, and sometimes somebody with a copy."""
        for bought in range(0, quantity, MOST_SEATS):
            seats = min(MOST_SEATS, quantity - bought)
            buyer = self.organizer.buyer(self.door.ticket, quantity=seats)
            for shown in buyer.purchase().json["admissions"]:
                ticket = Ticket(shown["id"], shown["code"], shown["qr"])
                self.tickets.append(ticket)
                self._enqueue(ticket)
                if self.draw.random() < 0.05:
                    self._enqueue(ticket)

    def transfer(self) -> None:
        """Transfer a ticket. The old holder still queues with the old QR code."""
        ticket = self.draw.choice(self.tickets)
        path = f"{self.organizer.checkout}/admissions/{ticket.id}"
        holder = self.organizer.with_headers({"Authorization": f"Bearer {ticket.code}"})
        offered = holder.post(f"{path}/transfer", {})
        if offered.status_code != 201:
            self._refused(ticket, offered.json["code"])
            return
        anybody = Api(self.organizer.app.test_client())
        accept = f"{self.organizer.checkout}/transfers/accept"
        accepted = anybody.post(accept, {"offer": offered.json["offer"]})
        assert accepted.status_code == 200, accepted.json
        self._new_generation(ticket, accepted.json["code"], accepted.json["qr"])

    def reissue(self) -> None:
        """Give a ticket a new code."""
        ticket = self.draw.choice(self.tickets)
        made = self.door.admin.post(f"{self.admissions}/{ticket.id}/reissue")
        if made.status_code != 200:
            self._refused(ticket, made.json["code"])
            return
        path = f"{self.organizer.checkout}/admissions/{ticket.id}"
        holder = {"Authorization": f"Bearer {made.json['code']}"}
        shown = self.organizer.with_headers(holder).get(path).json
        self._new_generation(ticket, made.json["code"], shown["qr"])

    def void(self) -> None:
        """Take a ticket back, even if a device has scans that it did not send."""
        ticket = self.draw.choice(self.tickets)
        body = {"reason": "Asked for.", "refund": False, "transferred": True}
        path = f"{self.admissions}/{ticket.id}/void"
        answer = self.door.admin.post(path, body)
        if answer.status_code == 409 and answer.json["code"] == "doors_unsynced":
            self.refusals["doors_unsynced"] = self.refusals.get("doors_unsynced", 0) + 1
            answer = self.door.admin.post(path, {**body, "force": True})
        if answer.status_code != 200:
            self._refused(ticket, answer.json["code"])
        ticket.status = ticket.status if answer.status_code != 200 else "void"

    def suspend(self) -> None:
        """Suspend a ticket, as a reorganization does."""
        ticket = self.draw.choice(self.tickets)
        if ticket.status == "valid":
            self._set_status(ticket, "suspended")

    def restore(self) -> None:
        """Make all suspended tickets valid again."""
        for ticket in self.tickets:
            if ticket.status == "suspended":
                self._set_status(ticket, "valid")

    # At the door.

    def admit_next(self, post: Post) -> None:
        """Let a device scan the next guest."""
        self.clock.forward(seconds=1)
        if not self.queue:
            return
        guest = self.queue.pop()
        if post.is_offline:
            scan, decision = post.device.scan_offline(guest.qr)
            is_in = decision.verdict == ADMITTED
        else:
            scan = post.device.new_scan(qr=guest.qr)
            self.times[scan["nonce"]] = self.clock.now
            # A guest waits until there is an answer.
            results = None
            while results is None:
                results = self._send(post, post.device.request([scan]))
            post.device.learn([scan], results)
            is_in = results[0]["outcome"] == "admitted"
        if not is_in:
            return
        self.entries[scan["nonce"]] = guest
        self.times[scan["nonce"]] = self.clock.now
        if self.draw.random() < 0.02:
            self._send_out(post, scan, guest)

    def go_online(self, post: Post) -> bool:
        """Send all that waits, and read what changed. Return whether everything was answered."""
        while post.device.queue:
            post.unanswered = post.unanswered or post.device.queue[:BATCH]
            results = self._send(post, post.device.request(post.unanswered))
            if results is None:
                return False
            post.device.learn(post.unanswered, results)
            post.unanswered = []
        self._read_manifest(post)
        post.is_offline = False
        return True

    def _send_out(self, post: Post, scan: Scan, guest: Guest) -> None:
        """Undo a scan: the guest leaves, and queues again."""
        self.clock.forward(seconds=1)
        if post.is_offline:
            undo = post.device.undo_offline(scan)
        else:
            undo = post.device.new_undo(scan)
            results = None
            while results is None:
                results = self._send(post, post.device.request([undo]))
        self.times[undo["nonce"]] = self.clock.now
        del self.entries[scan["nonce"]]
        self.queue.insert(0, guest)

    def _send(self, post: Post, body: dict[str, Any]) -> list[dict[str, Any]] | None:
        """Send a request. None: it, or its answer, was lost."""
        luck = self.draw.random()
        if luck < 0.1:
            return None
        answer = post.gate.api.post(f"{post.gate.path}/scans", body)
        assert answer.status_code == 200, answer.json
        for scan, result in zip(body["scans"], answer.json["results"], strict=True):
            self._account(scan, result)
        return None if luck < 0.2 else answer.json["results"]

    def _account(self, scan: Scan, result: dict[str, Any]) -> None:
        """Compare an answer with what it must be, or with the first answer to the same scan."""
        nonce = scan["nonce"]
        if nonce in self.answers:
            assert result == self.answers[nonce], "another answer to the same scan"
            return
        self.answers[nonce] = result
        if scan["kind"] == "undo":
            self._account_undo(scan, result)
            return
        ticket = self.of_id(result["admission"]["id"])
        generation = result["admission"]["generation"]
        verdict = verdict_on(ticket, generation)
        is_conflict = scan.get("decided") == ADMITTED != verdict
        assert result["outcome"] == ("conflict" if is_conflict else verdict)
        if verdict == ADMITTED:
            ticket.inside = nonce
        elif is_conflict:
            ticket.conflicts[nonce] = (self.times[nonce], generation)

    def _account_undo(self, undo: Scan, result: dict[str, Any]) -> None:
        assert result["outcome"] == "undone"
        ticket = self.of_id(result["admission"]["id"])
        if ticket.inside != undo["of"]:
            del ticket.conflicts[undo["of"]]
            return
        may_follow = {
            nonce: time
            for nonce, (time, generation) in ticket.conflicts.items()
            if (ticket.status, ticket.generation) == ("valid", generation)
        }
        ticket.inside = min(may_follow, key=may_follow.__getitem__) if may_follow else None
        if ticket.inside is not None:
            del ticket.conflicts[ticket.inside]

    # How it is put together.

    def of_id(self, admission_id: str) -> Ticket:
        """Return a ticket."""
        if len(self._by_id) != len(self.tickets):
            self._by_id = {each.id: each for each in self.tickets}
        return self._by_id[admission_id]

    _by_id: dict[str, Ticket] = field(default_factory=dict)

    def _post(self, minutes: int) -> Post:
        gate = self.door.gate(gate=f"Gate {minutes}")
        keys = Api(self.organizer.app.test_client()).get(f"{self.organizer.public}/ticket-keys")
        device = DoorDevice(
            self.door.event["id"],
            keys.json,
            datetime.fromisoformat(gate.device["expires_at"]) if gate.device else self.clock.now,
            lambda: self.clock.now + timedelta(minutes=minutes),
        )
        return Post(gate, device)

    def _read_manifest(self, post: Post) -> None:
        query = {"unsynced": len(post.device.queue)}
        if post.device.cursor:
            query["since"] = post.device.cursor
        answer = post.gate.api.get(f"{post.gate.path}/manifest", query_string=query)
        assert answer.status_code == 200, answer.json
        post.device.sync(answer.json)

    def _enqueue(self, ticket: Ticket) -> None:
        guest = Guest(ticket, ticket.qr, ticket.generation)
        self.queue.insert(self.draw.randint(0, len(self.queue)), guest)

    def _new_generation(self, ticket: Ticket, code: str, qr: str) -> None:
        assert (ticket.status, ticket.inside) != ("void", None) and code != ticket.code
        ticket.code, ticket.qr, ticket.generation = code, qr, ticket.generation + 1
        self._enqueue(ticket)

    def _refused(self, ticket: Ticket, code: str) -> None:
        """Check that a change was refused with a reason that is true."""
        self.refusals[code] = self.refusals.get(code, 0) + 1
        assert {
            "already_redeemed": ticket.inside is not None,
            "admission_void": ticket.status == "void",
            "admission_suspended": ticket.status == "suspended",
            "too_many_transfers": ticket.generation > 3,
        }[code], code

    def _set_status(self, ticket: Ticket, status: str) -> None:
        change(Admission.get_by_id(ticket.id), status=AdmissionStatus(status))
        ticket.status = status
