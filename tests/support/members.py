"""Members for tests: through the API, the CLI and their invitations."""

from typing import Any

from werkzeug.test import TestResponse

from tests.support.factories import Api, Organizer

PASSWORD = "correct horse battery staple"


def first_member(organizer: Organizer) -> str:
    """Return the id of the member that every tenant begins with."""
    owner = organizer.with_headers({"X-API-Key": organizer.admin_key})
    first: str = owner.get(f"{organizer.path}/members").json["data"][0]["id"]
    return first


def invite(
    organizer: Organizer, email: str, role: str = "read", event_ids: list[str] | None = None
) -> dict[str, Any]:
    """Invite a person through the API, and return the member."""
    owner = organizer.with_headers({"X-API-Key": organizer.admin_key})
    body = {"email": email, "role": role, "event_ids": event_ids}
    made = owner.post(f"{organizer.path}/members", body)
    assert made.status_code == 201, made.json
    invited: dict[str, Any] = made.json
    return invited


def limited(organizer: Organizer, role: str, event_ids: list[str]) -> Api:
    """Return a client with the JWT of a new member who is limited to these events."""
    invited = invite(organizer, f"{role}-of-some@example.org", role, event_ids)
    token = accept(organizer, invited["invitation_url"]).json["access_token"]
    return organizer.with_headers({"Authorization": f"Bearer {token}"})


def accept(
    organizer: Organizer, invitation_url: str, password: str = PASSWORD, **fields: str
) -> TestResponse:
    """Set the password of an invited member, and return the response."""
    body = {"invitation": invitation_url.rpartition("/")[2], "password": password, **fields}
    return Api(organizer.app.test_client()).post("/v1/auth/invitation", body)
