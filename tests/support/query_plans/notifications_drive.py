"""What is done about notifications while the plans of all queries are recorded."""

from datetime import UTC, datetime, timedelta

from tests.support.admissions import FREE, admissions_of
from tests.support.factories import Api, Buyer, Organizer, in_days, worker_once
from tests.support.mails import ADA, confirm, tell
from tests.support.query_plans.admissions_drive import AT_IPV6, AdmissionsDrive, post_twice
from tests.support.query_plans.recorder import Recorder
from tests.support.webhook_endpoints import Webhook, new_webhook
from ticketing import ids
from ticketing.models.notifications import Notification
from ticketing.models.tenants import Tenant

NOBODY = "http://127.0.0.1:9/"
"""A URL where nobody listens."""


class NotificationsDrive(AdmissionsDrive):
    """The part of the drive that the feed, webhooks and mails do."""

    recorder: Recorder

    def work(self) -> None:
        """Let the worker look once."""
        self.recorder.where = "worker"
        worker_once(self.app)
        self.recorder.where = None

    def with_deliveries(self, slug: str) -> Webhook:
        """Create two webhook endpoints of a tenant. The first one has deliveries."""
        tenant = Organizer(self.app, slug, Tenant.get(Tenant.slug == slug).id, "")
        tenant.admin_key = self.big.headers["X-API-Key"]
        first, _ = (new_webhook(tenant, url=NOBODY) for _ in range(2))
        for _ in range(3):
            first.done("test")
        return first

    def listen(self) -> None:
        """Create a webhook endpoint and do everything with it. The worker stores its secret."""
        path = f"{self.acme.path}/webhooks"
        me, made = self.key_of("acme"), {"url": NOBODY, "types": ["*"]}
        webhook = f"{path}/{post_twice(me, path, made).json['id']}"
        assert me.get(webhook).status_code == 200
        assert me.patch(webhook, {"url": f"{NOBODY}2"}).status_code == 200
        assert post_twice(me, f"{webhook}/rotate", {}).status_code == 200
        notification = post_twice(me, f"{webhook}/test", None).json["notification_id"]
        for body in ({"since": in_days(-1)}, {"ids": [notification]}):
            assert post_twice(me, f"{webhook}/resend", body).status_code == 200
        assert post_twice(me, f"{webhook}/enable", {"from": in_days(-1)}).status_code == 200
        self.work()
        assert me.delete(webhook).status_code == 204

    def read_the_feed(self) -> None:
        """Read notifications from anywhere, and delete the oldest ones."""
        me, path = self.key_of("acme"), f"{self.acme.path}/notifications"
        for query in ({}, {"after": 3}, {"type": "intent.created"}):
            assert me.get(path, query_string={**query, "limit": 1}).json["data"]
        oldest = Notification.sequence <= 2
        old = datetime.now(UTC) - timedelta(days=100)
        Notification.update(created_at=old).where(oldest).execute()
        self.work()
        assert not Notification.select().where(oldest).exists()

    def mail(self) -> None:
        """Plan and send mails to one buyer, one holder, admins, and everybody of an event."""
        free = self.acme.ticket(**FREE)
        order = {"event_id": free["event_id"], "ticket_id": free["id"], "quantity": 2, "buyer": ADA}
        path, anybody = f"{self.acme.checkout}/preflight", Api(self.app.test_client())
        buyer = Buyer(self.acme, anybody.post(path, order, environ_overrides=AT_IPV6).json)
        assert buyer.purchase().status_code == 200
        first, _ = admissions_of(buyer)
        event = {"event_id": first.event_id, "status": "published", "changed": ["venue"]}
        tell(
            self.acme.id,
            confirm(buyer),
            ("admission.transferred", {"admission_id": first.id, "generation": 1}),
            ("admission.transfer_offered", {"transfer_id": f"{ids.TRANSFER}none"}),
            ("webhook.failing", {"webhook_id": "none"}),
            ("event.changed", {**event, "tell_people": True}),
            ("event.canceled", {**event, "refund": True}),
        )
        self.work()
