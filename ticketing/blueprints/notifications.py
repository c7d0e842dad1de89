"""The feed of notifications: read only."""

from typing import Any

from schemas.notifications import NotificationPageSchema, NotificationQuery
from ticketing.errors import FeedPositionGone
from ticketing.roles import Role
from ticketing.services.notifications import reading
from ticketing.services.notifications.reading import FeedPage
from ticketing.web import auth
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller

blp = ApiBlueprint(
    "notifications",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/notifications",
    guard=auth.TenantRole(reads={Role.READ, Role.FINANCE}, writes={Role.ADMIN}),
    description="What happened, in order.",
)


@blp.get("")
@blp.arguments(NotificationQuery, location="query")
@blp.response(200, NotificationPageSchema)
@blp.raises(FeedPositionGone)
def list_notifications(query: dict[str, Any], tenant: str) -> FeedPage:
    """List notifications, the oldest first.

    Each one has a `sequence`. After you have seen one, no smaller one appears. To read on, send
    `next_after` as `after`. Notifications are deleted after some time: then an old `after` is 410.
    """
    return reading.page(caller().tenant_id, **query)
