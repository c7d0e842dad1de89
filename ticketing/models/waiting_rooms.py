"""Waiting rooms that are open, and who is let in. A room that closes is deleted with its rows.

Times here are microseconds since the Unix epoch, by the room's own clock (`WaitingRoom.at`).
"""

from peewee import (
    BigIntegerField,
    BooleanField,
    CompositeKey,
    ForeignKeyField,
    IntegerField,
    TextField,
)

from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.events import Event


class WaitingRoom(BaseModel):
    """The waiting room of an event: services/waiting_room/admitting.py moves it once a second.

    `opened`: when. Places of an earlier opening count no more. `sale_starts`: until then nobody is
    admitted. `at`: the time of the last move. It never goes back. `admitted_until`: all places
    before this one are admitted. `per_minute`: how many are called a minute. `called`: how many
    were, in each of the last moves, as JSON. `slowed_at`: when the service was too slow the last
    time. `caught_up_at`: since when nobody has to wait. `held_since`: since when orders that are
    not paid hold all that is left. `turns`: how many people of one network have their turn at a
    time. `used_turns`: how many turns of one network may have ended while others wait. 0: the sale
    has not started.
    """

    event = ForeignKeyField(Event, primary_key=True)
    event_id: str
    opened = BigIntegerField()
    sale_starts = BigIntegerField(null=True)
    at = BigIntegerField()
    admitted_until = BigIntegerField()
    per_minute = IntegerField()
    called = TextField()
    slowed_at = BigIntegerField()
    caught_up_at = BigIntegerField(null=True)
    held_since = BigIntegerField(null=True)
    turns = IntegerField(default=1)
    used_turns = IntegerField(default=0)

    class Meta:
        table_name = "waiting_rooms"


class WaitingRoomArrivals(BaseModel):
    """How many people came to a room in one second."""

    event = ForeignKeyField(Event)
    event_id: str
    second = BigIntegerField()
    people = BigIntegerField()

    class Meta:
        table_name = "waiting_room_arrivals"
        primary_key = CompositeKey("event", "second")


class WaitingRoomNetwork(BaseModel):
    """How many people of a network were counted, and in which second the last time.

    `network`: a number that few networks share, see services/waiting_room/places.py.
    """

    event = ForeignKeyField(Event)
    event_id: str
    network = IntegerField()
    people = IntegerField()
    counted_at = BigIntegerField()

    class Meta:
        table_name = "waiting_room_networks"
        primary_key = CompositeKey("event", "network")


class WaitingRoomProcess(BaseModel):
    """How fast a process of a web server answers: see ticketing/response_times.py."""

    event = ForeignKeyField(Event)
    event_id: str
    process = TextField()
    at = BigIntegerField()
    responses = IntegerField()
    not_quick = IntegerField()
    slow = IntegerField()

    class Meta:
        table_name = "waiting_room_processes"
        primary_key = CompositeKey("event", "process")


class WaitingRoomTurn(BaseModel):
    """The turn of somebody who waited: they may order once, until `ends_at`.

    `place`: the id in their token. `client`: a digest of their network. `site`: the same of the
    wide network. `seen`: about when they asked for something the last time. `used`: they have
    ordered. `bars`: no turn, but a mark of the organizer: the people of a network come after the
    others.
    """

    event = ForeignKeyField(Event)
    event_id: str
    place = TextField()
    client = TextField()
    site = TextField()
    began = BigIntegerField()
    seen = BigIntegerField(default=0)
    ends_at = UtcDateTimeField()
    used = BooleanField(default=False)
    bars = BooleanField(default=False)

    class Meta:
        table_name = "waiting_room_turns"
        primary_key = CompositeKey("event", "place")
