"""What a process knows of the open waiting rooms. It looks at the database once a second.

In between, it gives places and answers visitors from memory. At each look it writes how many people
came, and how fast it answers. If nobody moved the room for a second, it does: with an UPDATE that
counts only if no other process was faster. The room has its own clock, which never goes back: the
time of its last move, and what passed since then by the monotonic clock of each process. So the
order of people does not depend on the clocks of hosts.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from peewee import Case, DatabaseError, InterfaceError, ModelInsert, ModelSelect, fn

from ticketing import clock
from ticketing.constants import Publication
from ticketing.credentials import Keyring
from ticketing.db.connection import close_broken_connection, locked, write_transaction
from ticketing.models.events import Event
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.models.waiting_rooms import (
    WaitingRoom,
    WaitingRoomArrivals,
    WaitingRoomProcess,
    WaitingRoomTurn,
)
from ticketing.response_times import Counts, ResponseTimes
from ticketing.services.waiting_room import admitting, opening, pauses, places, seats, turns
from ticketing.services.waiting_room.admitting import Seen, State
from ticketing.services.waiting_room.arrivals import Arrivals
from ticketing.services.waiting_room.newcomers import Newcomers
from ticketing.services.waiting_room.places import SECOND, Place
from ticketing.services.waiting_room.seats import Seats
from ticketing.services.waiting_room.turns import Most, Refusal
from ticketing.waiting_room import DRAW_SECONDS, PATIENCE_SECONDS, WaitingRoomMode, WaitReason

LOOK_SECONDS = 1.0
REPORTED_FOR = 4 * SECOND
"""Response times of a process that has not reported them for longer do not count."""

MOST_ASKED = 2_000
"""How many people in their turns a process remembers between two looks at the database."""

ORDERING_FOR = 180 * SECOND
"""Who has not ordered after so long has perhaps gone. Their turn goes on, and others get one."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Visit:
    """What a room says to somebody who came. `ahead`: how many people are before them.

    `is_admitted`: they have their turn. `is_called`: it can begin now. `wait_seconds`: an estimate.
    None: there is none.
    """

    place: Place
    is_admitted: bool
    is_called: bool
    reason: WaitReason
    ahead: int
    wait_seconds: int | None
    retry_after: int


class Room:
    """An open room, as this process knows it."""

    def __init__(self, event: Event, state: State, arrivals: Arrivals) -> None:
        self.event = event
        self.state = state
        self.arrivals = arrivals
        self.moved_at = clock.monotonic()
        self._lock = threading.Lock()
        self._came = Newcomers()
        self._asked: set[str] = set()
        self._latest = state.at

    @property
    def path(self) -> str:
        """The path of the event's page."""
        return f"/{self.event.tenant.slug}/{self.event.slug}"

    @property
    def name(self) -> str:
        """What tokens are for: the event, and this opening of its room."""
        return f"{self.event.id} {self.state.opened}"

    def now(self) -> int:
        """Return the time of the room."""
        with self._lock:
            passed = int((clock.monotonic() - self.moved_at) * SECOND)
            self._latest = max(self._latest, self.state.at + passed)
            return self._latest

    def update(self, state: State, arrivals: Arrivals) -> None:
        """Take over what the database says."""
        with self._lock:
            if state.at != self.state.at:
                self.moved_at = clock.monotonic()
            self.state, self.arrivals = state, arrivals

    def arrive(self, networks: Sequence[str], secret_key: str) -> Place:
        """Return a new place for somebody who comes now. They may be counted: see newcomers.py."""
        now, starts = self.now(), self.state.sale_starts
        is_draw = starts is not None and now < starts
        second = now // SECOND if starts is None or not is_draw else starts // SECOND - 1
        lot, network = places.draw(self.event.id, networks, secret_key)
        with self._lock:
            self._came.add(network, second, is_draw=is_draw)
        return places.new(second, lot, now // SECOND)

    def take_newcomers(self) -> Newcomers:
        """Return who came since the last call."""
        with self._lock:
            came, self._came = self._came, Newcomers()
        return came

    def give_newcomers(self, came: Newcomers) -> None:
        """Take back those who could not be written."""
        with self._lock:
            self._came.give_back(came)

    @property
    def sale_starts_at(self) -> datetime | None:
        """When the sale starts. None: it had started when the room opened."""
        starts = self.state.sale_starts
        return None if starts is None else datetime.fromtimestamp(starts // SECOND, UTC)

    @property
    def waiting(self) -> int:
        """How many people wait."""
        return self.arrivals.total - self.arrivals.before(self.state.admitted_until)

    def place_of(
        self, offered: str | None, networks: Sequence[str], keyring: Keyring
    ) -> Place | None:
        """Return the place of a token. None if it is not valid, or if its turn has ended.

        `networks`: those of their address, the narrow one first.
        """
        place = places.read(offered, self.name, networks, keyring)
        has_ended = place is not None and 0 < place.ends <= clock.now().timestamp()
        return None if has_ended else place

    def visit(self, place: Place | None, networks: Sequence[str], keyring: Keyring) -> Visit:
        """Return what to say to somebody with this place. None: they get one, and may be counted.

        Call it when their request is within its limit.
        """
        state, now = self.state, self.now()
        if place is None:
            place = self.arrive(networks, keyring.current)
        if place.ends:
            return self._visit(place, is_admitted=True)
        is_called = not state.is_draw and place.position < state.admitted_until
        if is_called and now // SECOND - place.seen > PATIENCE_SECONDS:
            # They were away when they were called: the next move calls them again.
            place, is_called = replace(place, position=state.admitted_until), False
        return self._visit(replace(place, seen=now // SECOND), is_called=is_called)

    def newcomer(self, networks: Sequence[str], keyring: Keyring) -> Visit:
        """Return what to say to somebody who has had their turn, and comes again."""
        return self._visit(self.arrive(networks, keyring.current))

    def begin_turn(
        self, place: Place, networks: Sequence[str], client: Sequence[str], keyring: Keyring
    ) -> Visit:
        """Begin the turn of somebody who was called, and return what to say to them.

        They are not admitted if others of their network have theirs. If many of it had, and others
        wait, their place is after these. If they had their turn themselves, they get a new place.
        `client`: digests of `networks`.
        """
        state, at = self.state, self.now()
        is_alone = state.caught_up_at is not None or state.used_turns == 0
        most = Most(state.turns, turns.UNLIMITED if is_alone else state.used_turns)
        ends = turns.begin(
            self.event.id,
            place.id,
            client,
            most,
            network=places.draw(self.event.id, networks, keyring.current).network,
            opened=state.opened,
            at=at,
        )
        match ends:
            case Refusal.ENDED:
                return self.newcomer(networks, keyring)
            case Refusal.AFTER_OTHERS:
                last = at // SECOND * SECOND + place.position % SECOND
                return self._visit(replace(place, position=last))
            case Refusal.NEIGHBOR:
                waits = self._visit(replace(place, ends=0, seen=at // SECOND))
                return replace(waits, reason=WaitReason.NEIGHBOR, wait_seconds=None)
        return self._visit(replace(place, ends=ends), is_admitted=True)

    def note(self, place: Place) -> None:
        """Note that somebody asks for something in their turn. `look` writes it."""
        with self._lock:
            if len(self._asked) < MOST_ASKED:
                self._asked.add(place.id)

    def take_asked(self) -> set[str]:
        """Return whose turns were noted since the last call."""
        with self._lock:
            asked, self._asked = self._asked, set()
        return asked

    def _visit(self, place: Place, *, is_admitted: bool = False, is_called: bool = False) -> Visit:
        state = self.state
        before = self.arrivals.before(place.position) - self.arrivals.before(state.admitted_until)
        with self._lock:
            unwritten = Arrivals(sorted(self._came.seconds.items()))
        ahead = max(0, before) + unwritten.before(place.position)
        if state.is_draw:
            starts_in = ((state.sale_starts or 0) - self.now()) // SECOND
            retry = pauses.pause_before_sale(starts_in, place.position, self.waiting)
            return Visit(place, False, False, WaitReason.DRAW, 0, starts_in, retry)
        pace = state.called_per_minute or state.per_minute
        wait = None if state.held_since else 60 * ahead // pace + pauses.LEAST
        retry = pauses.pause(wait, self.waiting)
        reason = WaitReason.HELD if state.held_since else WaitReason.QUEUE
        return Visit(place, is_admitted, is_called, reason, ahead, wait, retry)


class Rooms:
    """All rooms that this process knows. Threads may share it."""

    def __init__(self, times: ResponseTimes) -> None:
        self.times = times
        self._by_event: dict[str, Room] = {}
        self._by_path: dict[str, Room] = {}
        self._wanted: dict[str, tuple[str, datetime | None]] = {}
        self._looking = threading.Lock()
        self._next_look = 0.0
        self._process = ""

    @property
    def are_quiet(self) -> bool:
        """Whether this process knows no open room, and has none to open."""
        return not self._by_event and not self._wanted

    def of_path(self, path: str) -> Room | None:
        """Return the open room of the event whose page has this path. It costs no SQL."""
        return self._by_path.get(path)

    def of_event(self, event_id: str) -> Room | None:
        """Return the open room of an event. None if it has closed. Reads it if it is not known."""
        return self._by_event.get(event_id) or self._read(event_id)

    def want(self, event: Event, tenant_id: str, sale_starts: datetime | None = None) -> None:
        """Note that the room of an event should open. `look` opens it, outside of a transaction."""
        if event.waiting_room != WaitingRoomMode.OFF:
            self._wanted[event.id] = (tenant_id, sale_starts)

    def want_if_overloaded(self, event: Event, tenant_id: str) -> None:
        """Do the same if all threads of this process have been busy for two seconds."""
        if self.times.is_overloaded:
            self.want(event, tenant_id)

    def want_before_sale(self, event: Event) -> None:
        """Do the same if the sale of an event starts soon, and nothing is on sale before."""
        if event.waiting_room != WaitingRoomMode.ON or event.is_queueing:
            return
        now = clock.now()
        found = seats.of_event(event, now)
        start = found.next_start
        if start is None or found.unsold != 0:
            return
        if start - now <= timedelta(seconds=DRAW_SECONDS):
            self.want(event, event.tenant_id, start)

    def look(self) -> None:
        """Once a second: write what happened here, move the rooms, and read them again.

        Call it outside of a transaction. Other threads go on with what was read before.
        """
        if clock.monotonic() < self._next_look or not self._looking.acquire(blocking=False):
            return
        try:
            self._next_look = clock.monotonic() + LOOK_SECONDS
            while self._wanted:
                event_id, (tenant_id, sale_starts) = self._wanted.popitem()
                opening.open_room(event_id, tenant_id, sale_starts)
                self._read(event_id)
            for room in list(self._by_event.values()):
                self._look_at(room)
        except (DatabaseError, InterfaceError) as error:
            log.error("waiting rooms: %s", str(error).strip().split("\n")[0])
            close_broken_connection()
        finally:
            self._looking.release()

    def _look_at(self, room: Room) -> None:
        came = room.take_newcomers()
        try:
            with write_transaction():
                # Who closes the room waits for this lock, and deletes what is written here, too.
                row = WaitingRoom.select().where(WaitingRoom.event == room.event.id)
                if locked(row, shared=True).first() is None:
                    self._forget(room)
                    return
                self._report(room, came)
        except BaseException:
            room.give_newcomers(came)
            raise
        turns.see(room.event.id, room.take_asked(), room.now())
        state, arrivals = _read(room.event.id)
        if state is None:
            self._forget(room)
            return
        room.update(state, arrivals)
        if clock.monotonic() - room.moved_at >= LOOK_SECONDS:
            self._move(room)

    def _report(self, room: Room, came: Newcomers) -> None:
        self._process = self._process or uuid.uuid4().hex
        came.write(room.event.id, room.now() // SECOND, is_draw=room.state.is_draw)
        times = self.times.counts()
        _set_times.run(
            event_id=room.event.id,
            process=self._process,
            at=room.now(),
            responses=times.responses,
            not_quick=times.not_quick,
            slow=times.slow,
        )

    def _move(self, room: Room) -> None:
        event: Event = Event.get_by_id(room.event.id)
        state = room.state
        at = max(room.now(), opening.microseconds(clock.now()))
        # By the clock of the room, so that all hosts see the sale start at the same moment.
        found = seats.of_event(event, _moment(at))
        before, at = _with_start_of(state, at, found)
        seen = _seen(room, at, found)
        next_state = admitting.moved(before, at, seen)
        is_over = found.unsold == 0 and not next_state.is_draw
        is_gone = event.status != Publication.PUBLISHED or _moment(at) >= event.over_at
        is_off = event.waiting_room == WaitingRoomMode.OFF
        if is_over or is_gone or is_off or admitting.may_close(next_state, seen):
            opening.close_room(event.id, event.tenant_id, state)
            self._forget(room)
            return
        unmoved = WaitingRoom.event == event.id, WaitingRoom.at == state.at
        moved = WaitingRoom.update(**opening.columns(next_state)).where(*unmoved).execute()
        if moved == 1:
            room.update(next_state, room.arrivals)

    def _read(self, event_id: str) -> Room | None:
        state, arrivals = _read(event_id)
        event = _event_of.first(event_id=event_id)
        if state is None or event is None:
            return None
        room = self._by_event.setdefault(event_id, Room(event, state, arrivals))
        self._by_path[room.path] = room
        return room

    def _forget(self, room: Room) -> None:
        self._by_event.pop(room.event.id, None)
        self._by_path.pop(room.path, None)


@Prepared
def _event_of(event_id: Any) -> ModelSelect[Event]:
    return (
        Event.select(Event.id, Event.slug, Event.waiting_room, Event.tenant, Tenant.id, Tenant.slug)
        .join_from(Event, Tenant)
        .where(Event.id == event_id)
    )


@Prepared
def _row_of(event_id: Any) -> ModelSelect[WaitingRoom]:
    return WaitingRoom.select().where(WaitingRoom.event == event_id)


@Prepared
def _arrivals_since(event_id: Any, second: Any) -> ModelSelect[WaitingRoomArrivals]:
    came = WaitingRoomArrivals
    return (
        came.select(came.second, came.people)
        .where(came.event == event_id, came.second >= second)
        .order_by(came.second)
    )


@Prepared
def _set_times(
    event_id: Any, process: Any, at: Any, responses: Any, not_quick: Any, slow: Any
) -> ModelInsert:
    of = WaitingRoomProcess
    columns = {of.at: at, of.responses: responses, of.not_quick: not_quick, of.slow: slow}
    return of.insert({of.event: event_id, of.process: process, **columns}).on_conflict(
        conflict_target=[of.event, of.process], update=columns
    )


@Prepared
def _times_of_all(event_id: Any, since: Any) -> ModelSelect[WaitingRoomProcess]:
    of = WaitingRoomProcess
    sums = map(fn.SUM, (of.responses, of.not_quick, of.slow))
    return of.select(*sums).where(of.event == event_id, of.at >= since)


@Prepared
def _turns_since(
    event_id: Any, since: Any, lately: Any, in_memory: Any, idle: Any
) -> ModelSelect[WaitingRoomTurn]:
    turn = WaitingRoomTurn
    came = fn.SUM(Case(None, [(turn.began >= lately, 1)], 0))
    came_in_memory = fn.SUM(Case(None, [(turn.began >= in_memory, 1)], 0))
    ordering = fn.SUM(Case(None, [(~turn.used & (turn.seen > idle), 1)], 0))
    return turn.select(came, came_in_memory, ordering).where(
        turn.event == event_id, turn.began >= since
    )


def _moment(at: int) -> datetime:
    return datetime.fromtimestamp(at / SECOND, UTC)


def _with_start_of(state: State, at: int, found: Seats) -> tuple[State, int]:
    """Return a room with the start of the sale as it is now, and its time.

    If the sale starts earlier than people were told, the clock of the room jumps to that time: who
    came before stays before the others.
    """
    starts, next_start = state.sale_starts, found.next_start
    if starts is None:
        return state, at
    if found.unsold != 0:
        return state, max(at, starts)
    if next_start is not None and opening.microseconds(next_start) > max(at, starts):
        return replace(state, sale_starts=opening.microseconds(next_start)), at
    return state, at


def _read(event_id: str) -> tuple[State | None, Arrivals]:
    row = _row_of.first(event_id=event_id)
    if row is None:
        return None, Arrivals(())
    since = row.admitted_until // SECOND
    return opening.state_of(row), Arrivals(_arrivals_since.tuples(event_id=event_id, second=since))


def _seen(room: Room, at: int, found: Seats) -> Seen:
    event_id = room.event.id
    (times,) = _times_of_all.tuples(event_id=event_id, since=at - REPORTED_FOR)
    ((came, came_in_memory, ordering),) = _turns_since.tuples(
        event_id=event_id,
        since=at - ORDERING_FOR,
        lately=at - admitting.COMING_MOVES * SECOND,
        in_memory=at - admitting.MEMORY * SECOND,
        idle=at - turns.IDLE,
    )
    return Seen(
        arrivals=room.arrivals,
        times=Counts(*(int(each or 0) for each in times)),
        came=int(came or 0),
        came_in_memory=int(came_in_memory or 0),
        ordering=int(ordering or 0),
        left=found.left,
        turns=turns.at_a_time(found.unsold, found.per_order),
        used_turns=turns.used(found.unsold),
    )
