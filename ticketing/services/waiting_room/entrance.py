"""What an order asks before it is made: whether its buyer may order now, or has to wait."""

from __future__ import annotations

from collections.abc import Sequence

from ticketing.credentials import Keyring
from ticketing.errors import InWaitingRoom
from ticketing.models.events import Event
from ticketing.services.waiting_room import places, turns
from ticketing.services.waiting_room.places import Place
from ticketing.services.waiting_room.rooms import Room, Rooms, Visit
from ticketing.waiting_room import WaitReason


class Entrance:
    """The entrance of the waiting room, for one request of a buyer without a credential.

    `token` is theirs, None if they have none. `networks`: those of their address, from narrow to
    wide, and `client` the digests of these.
    """

    def __init__(
        self,
        rooms: Rooms,
        token: str | None,
        networks: Sequence[str],
        client: Sequence[str],
        keyring: Keyring,
    ) -> None:
        self._rooms, self._token = rooms, token
        self._networks, self._client, self._keyring = networks, client, keyring

    def check(self, event: Event, tenant_id: str) -> None:
        """Check whether they may order now. InWaitingRoom."""
        room = self._room_of(event, tenant_id)
        if room is not None:
            self._called(room)

    def begin(self, event: Event, tenant_id: str) -> None:
        """Begin their turn, if it has not begun, and end it: they order. InWaitingRoom.

        Call it in the transaction of the order: if that fails, they can try again.
        """
        room = self._room_of(event, tenant_id)
        if room is None:
            return
        place = self._called(room)
        if place.ends and turns.use(event.id, place.id, room.now()):
            return
        visit = room.begin_turn(place, self._networks, self._client, self._keyring)
        if not visit.is_admitted:
            raise self.error(room, visit)
        if not turns.use(event.id, place.id, room.now()):
            raise self.error(room, room.newcomer(self._networks, self._keyring))

    def error(self, room: Room, visit: Visit) -> InWaitingRoom:
        """Return what to say to somebody who has to wait."""
        is_drawn = visit.reason is not WaitReason.DRAW
        return InWaitingRoom(
            retry_after=visit.retry_after,
            token=places.token(visit.place, room.name, self._networks, self._keyring.current),
            place=visit.ahead + 1 if is_drawn else None,
            wait_seconds=visit.wait_seconds,
            wait_reason=visit.reason,
        )

    def _room_of(self, event: Event, tenant_id: str) -> Room | None:
        if not event.is_queueing:
            self._rooms.want_if_overloaded(event, tenant_id)
            return None
        return self._rooms.of_event(event.id)

    def _called(self, room: Room) -> Place:
        """Return the place of somebody whose turn it is. InWaitingRoom."""
        place = room.place_of(self._token, self._networks, self._keyring)
        visit = room.visit(place, self._networks, self._keyring)
        if not (visit.is_admitted or visit.is_called):
            raise self.error(room, visit)
        return visit.place
