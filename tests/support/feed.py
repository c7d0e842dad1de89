"""The feed of notifications, as its reader sees it."""

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from schemas.notification_data import OF_TYPE
from tests.support.factories import Organizer
from ticketing.models.notifications import Notification
from ticketing.notification_types import NotificationType
from ticketing.web import openapi

Entry = dict[str, Any]


def feed(organizer: Organizer, **query: Any) -> list[Entry]:
    """Return all notifications of a tenant that match, the oldest first. Reads page by page."""
    found: list[Entry] = []
    while True:
        page = feed_page(organizer, **query)
        for each in page["data"]:
            _schema_of(each["type"]).validate(each["data"])
        found += page["data"]
        if not page["data"]:
            return found
        query["after"] = page["next_after"]


def feed_page(organizer: Organizer, **query: Any) -> Any:
    """Return one page of the feed."""
    api = organizer.with_headers({"X-API-Key": organizer.admin_key})
    answer = api.get(f"{organizer.path}/notifications", query_string=query)
    assert answer.status_code == 200, answer.json
    return answer.json


@cache
def _schema_of(type: str) -> Draft202012Validator:
    """What the document says of the data of a type."""
    schema = openapi.schema_of_response(OF_TYPE[NotificationType(type)])
    return Draft202012Validator(schema)


class News:
    """What a tenant's feed has to say since this was made, or since it was asked last."""

    def __init__(self, organizer: Organizer) -> None:
        self._organizer = organizer
        self._after = 0
        self.all()

    def all(self) -> list[tuple[str, Any]]:
        """Return the types and data of what is new."""
        found = feed(self._organizer, after=self._after)
        self._after = found[-1]["sequence"] if found else self._after
        return [(each["type"], each["data"]) for each in found]

    def types(self) -> list[str]:
        """Return the types of what is new."""
        return [type for type, _ in self.all()]


def recorded() -> int:
    """Return how many notifications there are, of all tenants, numbered or not."""
    return Notification.select().count()
