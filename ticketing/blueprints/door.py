"""The door's surface: what a device at the door needs."""

from typing import Any

from schemas.scans import ScanResultsSchema, ScansSchema
from ticketing.conflicts import StillRunning
from ticketing.services.door import devices, scans
from ticketing.services.door.scans import ScanRequest
from ticketing.web import auth
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import door_caller

blp = ApiBlueprint(
    "door",
    __name__,
    url_prefix="/v1/door/tenants/<tenant>/events/<event_id>",
    guard=auth.Door(),
    description="Check admissions at the door of one event.",
)


@blp.post("/scans")
@blp.arguments(ScansSchema)
@blp.response(200, ScanResultsSchema)
@blp.raises(StillRunning)
def scan(body: dict[str, Any], tenant: str, event_id: str) -> dict[str, Any]:
    """Redeem admissions, and undo that. Repeat a request freely: each nonce counts once."""
    caller = door_caller()
    requests = [ScanRequest(**each) for each in body["scans"]]
    results = scans.submit(caller, body["sent_at"], requests)
    devices.seen(caller, body["unsynced"])
    return {"results": results}
