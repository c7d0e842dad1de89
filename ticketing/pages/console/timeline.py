"""What happened to an order, from the notifications of it and of its tickets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ticketing.models.notifications import Notification
from ticketing.notification_types import NotificationType
from ticketing.pages.console.words import HAPPENED

_TOGETHER = timedelta(seconds=1)


@dataclass(frozen=True)
class Entry:
    """Something that happened, once or to several tickets at the same time."""

    at: datetime
    type: NotificationType
    count: int = 1

    @property
    def label(self) -> str:
        """What happened, to be translated."""
        return HAPPENED[self.type]


def of(notifications: Iterable[Notification]) -> Sequence[Entry]:
    """Return the entries of a timeline, the oldest first."""
    entries: list[Entry] = []
    for each in notifications:
        entry = Entry(each.created_at, NotificationType(each.type))
        last = entries[-1] if entries else None
        if last and last.type is entry.type and entry.at - last.at <= _TOGETHER:
            entries[-1] = replace(last, count=last.count + 1)
        else:
            entries.append(entry)
    return entries
