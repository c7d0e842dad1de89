"""The crowds of an event: read and change them (see services/orders/crowds.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ticketing import clock
from ticketing.config import Config
from ticketing.constants import MAX_CROWDS
from ticketing.db.connection import write_transaction
from ticketing.errors import FieldMessage, Invalid
from ticketing.models.events import Crowd, Event
from ticketing.services.catalog import events


def replace(tenant_id: str, event_id: str, crowds: Sequence[Crowd], config: Config) -> Event:
    """Replace all crowds of an event. NotFound; Invalid if one is larger than CROWD_MOST."""
    for place, crowd in enumerate(crowds):
        if crowd["seats"] > config.crowd_most:
            raise Invalid({f"crowds.{place}.seats": [_too_large(config)]})
    return _change(tenant_id, event_id, lambda _: crowds)


def add(tenant_id: str, event_id: str, crowd: Crowd, config: Config) -> Event:
    """Add a crowd, or replace the one of the same network. NotFound, Invalid."""
    if crowd["seats"] > config.crowd_most:
        raise Invalid({"seats": [_too_large(config)]})
    return _change(tenant_id, event_id, lambda before: [*_without(crowd["network"], before), crowd])


def remove(tenant_id: str, event_id: str, network: str) -> Event:
    """Remove the crowd of a network. Without one, nothing changes. NotFound."""
    return _change(tenant_id, event_id, lambda before: _without(network, before))


def _change(
    tenant_id: str, event_id: str, changed: Callable[[Sequence[Crowd]], Sequence[Crowd]]
) -> Event:
    with write_transaction():
        event = events.lock(tenant_id, event_id)
        crowds = changed(event.crowds)
        if len(crowds) > MAX_CROWDS:
            text = f"An event has at most {MAX_CROWDS} of them."
            raise Invalid({"network": [FieldMessage("too_many_crowds", text, max=MAX_CROWDS)]})
        event.crowds, event.updated_at = list(crowds), clock.now()
        event.save(only=[Event.crowds, Event.updated_at])
        return event


def _without(network: str, crowds: Sequence[Crowd]) -> list[Crowd]:
    return [each for each in crowds if each["network"] != network]


def _too_large(config: Config) -> FieldMessage:
    text = f"Must be from 1 to {config.crowd_most}."
    return FieldMessage("range", text, min=1, max=config.crowd_most)
