"""The door's surface: what a device at the door needs."""

from typing import Any

from flask import Response, request

from schemas.door_stats import DoorStatsSchema
from schemas.manifest import ManifestQuery, ManifestSchema
from schemas.scans import ScanResultsSchema, ScansSchema
from ticketing.errors import StillRunning, TooManyScans
from ticketing.services.door import devices, manifest, scans, stats
from ticketing.services.door.scans import ScanRequest
from ticketing.services.door.stats import Stats
from ticketing.web import secret_guards
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.conditional import may_have_changed, of_tag
from ticketing.web.context import config, door_caller

blp = ApiBlueprint(
    "door",
    __name__,
    url_prefix="/v1/door/tenants/<tenant>/events/<event_id>",
    guard=secret_guards.Door(),
    description="Check admissions at the door of one event.",
)


@blp.get("/manifest")
@may_have_changed
@blp.arguments(ManifestQuery, location="query")
@blp.response(200, ManifestSchema)
def read_manifest(query: dict[str, Any], tenant: str, event_id: str) -> Response:
    """Read what is needed to check admissions offline: all of it, or what changed."""
    caller = door_caller()
    devices.record_seen(caller, query["unsynced"])
    found = manifest.of(caller, query["since"], config())
    compressed = request.accept_encodings.quality("gzip") > 0

    def body() -> bytes:
        return found.body(compressed=compressed)

    response = of_tag(found.tag, body)
    response.headers["Vary"] = "Accept-Encoding"
    if compressed and response.status_code == 200:
        response.headers["Content-Encoding"] = "gzip"
    return response


@blp.post("/scans")
@blp.arguments(ScansSchema)
@blp.response(200, ScanResultsSchema)
@blp.raises(StillRunning, TooManyScans)
def scan(body: dict[str, Any], tenant: str, event_id: str) -> dict[str, Any]:
    """Redeem admissions, and undo that. Repeat a request freely: each nonce counts once."""
    caller = door_caller()
    requests = [ScanRequest(**each) for each in body["scans"]]
    results = scans.submit(caller, body["sent_at"], requests)
    devices.record_seen(caller, body["unsynced"])
    return {"results": results}


@blp.get("/stats")
@blp.response(200, DoorStatsSchema)
def read_stats(tenant: str, event_id: str) -> Stats:
    """Read who is inside, the last scans, and conflicts."""
    return stats.of(door_caller().event.id)
