"""The console's words for what the API names. They are translated where they are shown."""

from typing import NamedTuple

from ticketing.constants import EventType, Publication, Role


class Word(NamedTuple):
    """A status in words, and how it looks: a class of `.badge`."""

    label: str
    tone: str = ""


ROLES = {
    Role.READ: "Reader",
    Role.PAYWALL: "Checkout software",
    Role.WRITE: "Editor",
    Role.ADMIN: "Administrator",
}

_BROWSERS = (("Edg", "Edge"), ("Firefox", "Firefox"), ("Chrome", "Chrome"), ("Safari", "Safari"))
_SYSTEMS = (
    *(("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows")),
    *(("Mac OS", "Mac"), ("Linux", "Linux")),
)


def browser(user_agent: str | None) -> str:
    """Return the browser and the system in a User-Agent header, as people call them.

    Empty if neither is known: the header can say anything.
    """
    agent = user_agent or ""
    found = (
        next((name for word, name in words if word in agent), "") for words in (_BROWSERS, _SYSTEMS)
    )
    return ", ".join(filter(None, found))


PUBLICATIONS = {
    Publication.DRAFT: Word("Draft"),
    Publication.PUBLISHED: Word("Published", "good"),
    Publication.CANCELED: Word("Canceled", "quiet"),
}

EVENT_TYPES = {
    EventType.IN_PERSON: "At a place",
    EventType.ONLINE: "Online",
    EventType.HYBRID: "At a place and online",
}
