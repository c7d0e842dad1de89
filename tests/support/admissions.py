"""Admissions for tests: of orders that were paid on the chain or cost nothing, and of guests."""

from datetime import UTC, datetime
from typing import Any

from werkzeug.test import TestResponse

from tests.support.factories import Buyer, Organizer, worker_once
from ticketing.models.admissions import Admission
from tools.anvil import Anvil

FREE: dict[str, Any] = {"price_amount": 0, "chain_id": None}


def sold(organizer: Organizer, node: Anvil, ticket: dict[str, Any], **fields: Any) -> Buyer:
    """A buyer whose order is paid and confirmed."""
    buyer = organizer.buyer(ticket, **fields)
    worker_once(organizer.app)
    buyer.pay(node)
    worker_once(organizer.app)
    assert buyer.now()["status"] == "confirmed"
    return buyer


def given(organizer: Organizer, ticket: dict[str, Any], **fields: Any) -> Buyer:
    """A buyer whose free order is confirmed."""
    buyer = organizer.buyer(ticket, **fields)
    assert buyer.purchase().status_code == 200
    return buyer


def admissions_of(buyer: Buyer) -> list[Admission]:
    """The rows of an order's admissions, the oldest first."""
    rows = Admission.select().where(Admission.intent == buyer.intent["id"])
    return list(rows.order_by(Admission.id))


def change(admission: Admission, **columns: Any) -> None:
    """Change an admission's row by hand, as another part of the service would."""
    assert Admission.update(columns).where(Admission.id == admission.id).execute() == 1


def redeem(admission: Admission) -> bool:
    """Let the holder in if that is still allowed, as the door does: by one conditional UPDATE."""
    let_in = Admission.update(redeemed_at=datetime.now(UTC)).where(
        Admission.id == admission.id,
        Admission.status == "valid",
        Admission.redeemed_at.is_null(),
    )
    return bool(let_in.execute())


def void(organizer: Organizer, admission: Admission | str, **fields: Any) -> TestResponse:
    """What the organizer is answered who takes an admission back."""
    admission_id = admission if isinstance(admission, str) else admission.id
    body = {"reason": "Asked for.", "refund": True, **fields}
    api = organizer.with_headers({"X-API-Key": organizer.admin_key})
    return api.post(f"{organizer.path}/admissions/{admission_id}/void", body)


def reissue(organizer: Organizer, admission: Admission, body: Any = None) -> TestResponse:
    """What the organizer is answered who asks for a new code."""
    api = organizer.with_headers({"X-API-Key": organizer.admin_key})
    return api.post(f"{organizer.path}/admissions/{admission.id}/reissue", body)


def invite(organizer: Organizer, ticket: dict[str, Any], *holders: dict[str, Any]) -> TestResponse:
    """What the organizer is answered who puts holders on the guest list."""
    api = organizer.with_headers({"X-API-Key": organizer.admin_key})
    path = f"{organizer.path}/events/{ticket['event_id']}/tickets/{ticket['id']}/admissions"
    return api.post(path, {"holders": list(holders), "reason": "Press."})
