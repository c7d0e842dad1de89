"""The system surface: health and readiness."""

from flask import current_app

from schemas.system import HealthSchema, ReadinessSchema
from ticketing.limits import CallClass
from ticketing.services import health
from ticketing.services.health import Readiness
from ticketing.web import auth
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import config

blp = ApiBlueprint(
    "system",
    __name__,
    guard=auth.Open(CallClass.PUBLIC, uncounted_view="healthz"),
    description="Health and readiness.",
)


@blp.get("/healthz")
@blp.response(200, HealthSchema)
def healthz() -> dict[str, str]:
    """Check that the process responds."""
    return {"status": "ok"}


@blp.get("/readyz")
@blp.response(200, ReadinessSchema)
@blp.alt_response(503, schema=ReadinessSchema, description="Not ready")
def readyz() -> tuple[Readiness, int]:
    """Check the database, its migrations, and the age of each chain's cursor."""
    found = health.readiness(config().chains, current_app.extensions["write_check"])
    return found, 200 if found.ready else 503
