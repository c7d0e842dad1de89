"""Questions of events for tests, of each type, with answers to them."""

from typing import Any

from tests.support.factories import Organizer

OPTIONS = [{"label": "Vegetarian"}, {"label": "Vegan"}, {"label": "=cmd"}]

ANSWERS: dict[str, Any] = {
    "text": "=cmd|' /C calc'!A0",
    "long-text": "One\nTwo \u202e three",
    "boolean": False,
    "choice": "Vegan",
    "multiple-choice": ["Vegetarian", "=cmd"],
    "number": -1.5,
    "date": "2000-02-29",
}
"""An answer to a question of each type, by the identifier of `of_every_type`."""


def ask(organizer: Organizer, event_id: str, **fields: Any) -> dict[str, Any]:
    """Create a question, by default a text before the order."""
    body = {"question": "What?", "type": "text", "ask": "order", **fields}
    api = organizer.with_headers({"X-API-Key": organizer.admin_key})
    made = api.post(f"{organizer.path}/events/{event_id}/questions", body)
    assert made.status_code == 201, made.json
    return dict(made.json)


def of_every_type(organizer: Organizer, event_id: str, **fields: Any) -> list[dict[str, Any]]:
    """Create a required question of each type. The identifier is the type."""
    return [
        ask(
            organizer,
            event_id,
            type=name.replace("-", "_"),
            identifier=name,
            required=True,
            **({"options": OPTIONS} if "choice" in name else {}),
            **fields,
        )
        for name in ANSWERS
    ]
