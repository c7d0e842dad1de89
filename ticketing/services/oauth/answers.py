"""What the authorization server returns, and raises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ticketing.roles import Role
from ticketing.services.oauth.clients import Client

Pairs = Sequence[tuple[str, str]]
"""Parameters as they were sent."""


@dataclass(frozen=True)
class Answer:
    """An answer in JSON, or to be sent back. `location`: where to."""

    status: int
    body: Any
    headers: list[tuple[str, str]]

    @property
    def location(self) -> str | None:
        """The URI to which a person is sent back."""
        return dict(self.headers).get("Location")


@dataclass(frozen=True)
class Asked:
    """What an app asks a member for.

    `roles`: those that the member can give, the lowest first; not empty. `page` is what the form
    sends back, signed.
    """

    client: Client
    redirect_uri: str
    roles: Sequence[Role]
    page: str


class SentBack(Exception):
    """The person is sent back to the app, at `location`, with an error."""

    def __init__(self, location: str) -> None:
        super().__init__(location)
        self.location = location


@dataclass(frozen=True)
class Decision:
    """What a member has decided on the page. `location`: where the app hears about it."""

    app_id: str
    client: Client
    location: str


class Awaited(Exception):
    """The worker reads the app's description of itself. Ask again after `seconds`."""

    def __init__(self, seconds: int) -> None:
        super().__init__(seconds)
        self.seconds = seconds
