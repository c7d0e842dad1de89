"""Webhook endpoints: created, changed, deleted, and what the audit log has of it."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.webhook_endpoints import NOT_FAILING, URL, create, new_webhook, owner, record
from ticketing import clock
from ticketing.db.connection import database
from ticketing.models.audit_log import AuditLogEntry
from ticketing.models.notifications import Notification, WebhookDelivery, WebhookEndpoint
from ticketing.notification_types import MAX_WEBHOOKS, NotificationType
from ticketing.services.notifications import webhooks


@pytest.fixture
def environ(environ):
    """The configuration without networks that may be called by http."""
    return {name: value for name, value in environ.items() if name != "WEBHOOK_ALLOW"}


@pytest.fixture
def log_of(acme):
    """Return the audit log of a subject, the latest entry first."""

    def log_of(subject):
        query = {"subject": subject}
        return owner(acme).get(f"{acme.path}/audit-log", query_string=query).json["data"]

    return log_of


def test_a_new_endpoint_is_shown_with_its_secret_once(acme):
    made = create(acme, types=["intent.confirmed", "refund.due"])
    assert made.status_code == 201
    shown = made.json
    assert shown.pop("secret").startswith("whsec_")
    assert (shown.pop("id")[:4], shown.pop("created_at")) == ("whk_", shown.pop("updated_at"))
    assert shown == {
        "url": URL,
        "types": ["intent.confirmed", "refund.due"],
        "status": "enabled",
        "disabled_reason": None,
        "failing_since": None,
        "next_attempt_at": None,
        "delivered": 0,
        "position": 0,
        "previous_expires_at": None,
    }
    (listed,) = owner(acme).get(f"{acme.path}/webhooks").json["data"]
    assert listed == owner(acme).get(f"{acme.path}/webhooks/{made.json['id']}").json
    assert {**listed, "secret": made.json["secret"]} == made.json


def test_a_repeated_creation_makes_one_endpoint_and_shows_no_secret(acme):
    api = owner(acme)
    body, headers = {"url": URL, "types": ["*"]}, {"Idempotency-Key": "one"}
    first, second = (api.post(f"{acme.path}/webhooks", body, headers=headers) for _ in range(2))
    assert second.json == {**first.json, "secret": None}
    assert WebhookEndpoint.select().count() == 1


def test_it_starts_at_now_and_not_before(acme):
    record(acme, 2)
    with database.atomic():
        unnumbered = record_unnumbered(acme)
    webhook = new_webhook(acme)
    assert webhook.now()["position"] == 3
    (later,) = record(acme)
    assert Notification.get(Notification.id == unnumbered).sequence == 3
    assert later.sequence == 4


def record_unnumbered(acme):
    return webhooks.feed.record(acme.id, NotificationType.EVENT_CHANGED, {})


def test_a_tenant_has_twenty_at_most_also_in_a_race(acme, neighbour):
    for _ in range(MAX_WEBHOOKS - 2):
        new_webhook(acme)
    new_webhook(neighbour)

    def one_more(_):
        try:
            return create(acme).status_code
        finally:
            database.close()

    with ThreadPoolExecutor(4) as pool:
        statuses = sorted(pool.map(one_more, range(8)))
    assert statuses == [201] * 2 + [409] * 6
    assert create(acme).json["code"] == "too_many_webhooks"
    page = owner(acme).get(f"{acme.path}/webhooks", query_string={"limit": 100}).json
    assert len(page["data"]) == MAX_WEBHOOKS
    assert owner(acme).delete(f"{acme.path}/webhooks/{page['data'][0]['id']}").status_code == 204
    assert create(acme).status_code == 201


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.org/",
        "https://hooks.example.org:444/",
        "https://me:secret@hooks.example.org/",
        "https://",
        "ftp://hooks.example.org/",
        "hooks.example.org",
    ],
)
def test_a_url_that_may_not_be_called_is_refused_by_name(acme, webhook, url):
    for answer in (create(acme, url=url), webhook.api.patch(webhook.path, {"url": url})):
        assert answer.status_code == 422
        assert answer.json["errors"].keys() == {"url"}
    assert webhook.now()["url"] == URL


@pytest.mark.parametrize(
    ("types", "field"),
    [
        ([], "types"),
        (["*", "intent.created"], "types"),
        (["intent.created"] * 2, "types"),
        (["intent.gone"], "types.0"),
        (["intent.created", 1], "types.1"),
    ],
)
def test_types_are_all_or_different_known_names(acme, webhook, types, field):
    for answer in (create(acme, types=types), webhook.api.patch(webhook.path, {"types": types})):
        assert answer.status_code == 422
        assert answer.json["errors"].keys() == {field}


def test_every_type_can_be_selected(acme):
    names = [str(each) for each in NotificationType]
    assert new_webhook(acme, types=names).now()["types"] == names


def test_a_change_keeps_the_position(acme, webhook):
    record(acme, 3)
    webhook.set(sequence=2)
    changed = webhook.api.patch(webhook.path, {"types": ["refund.due"]})
    assert changed.status_code == 200
    assert (changed.json["types"], changed.json["position"]) == (["refund.due"], 2)
    changed = webhook.api.patch(webhook.path, {"url": f"{URL}/2"})
    assert (changed.json["url"], changed.json["position"]) == (f"{URL}/2", 2)
    assert changed.json["types"] == ["refund.due"]


def test_another_url_ends_the_failing_state_and_the_same_one_does_not(webhook):
    webhook.fail()
    assert webhook.now()["status"] == "failing"
    before = webhook.failing
    same = webhook.api.patch(webhook.path, {"url": URL, "types": ["refund.due"]})
    assert (same.json["status"], webhook.failing) == ("failing", before)
    other = webhook.api.patch(webhook.path, {"url": f"{URL}/2"})
    assert (other.json["status"], webhook.failing) == ("enabled", NOT_FAILING)


def test_a_disabled_endpoint_stays_disabled_with_another_url(webhook):
    webhook.fail(disabled_at=clock.now(), disabled_reason="gone")
    changed = webhook.api.patch(webhook.path, {"url": f"{URL}/2"}).json
    assert (changed["status"], changed["disabled_reason"]) == ("disabled", "gone")


def test_a_change_does_not_overwrite_what_is_delivered_meanwhile(acme, webhook, monkeypatch):
    """The worker saves its progress between the read and the write of a change."""
    record(acme, 5)
    save = WebhookEndpoint.save

    def after_progress(self, *args, **options):
        webhook.set(sequence=5, delivered=5)
        return save(self, *args, **options)

    monkeypatch.setattr(WebhookEndpoint, "save", after_progress)
    assert webhook.api.patch(webhook.path, {"types": ["refund.due"]}).status_code == 200
    now = webhook.now()
    assert (now["position"], now["delivered"], now["types"]) == (5, 5, ["refund.due"])


def test_a_deleted_endpoint_is_gone_with_its_deliveries(acme, webhook):
    other = new_webhook(acme)
    for each in (webhook, other):
        each.done("test")
    gone = webhook.api.delete(webhook.path)
    assert (gone.status_code, gone.data) == (204, b"")
    assert {each.endpoint_id for each in WebhookDelivery.select()} == {other.id}
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/deliveries"), ("POST", "/test")):
        answer = webhook.api.client.open(
            webhook.path + path, method=method, headers=webhook.api.headers
        )
        assert answer.status_code == 404


def test_the_audit_log_has_every_change_and_no_secret(webhook, log_of):
    rotated = webhook.done("rotate")
    changed = {"url": f"{URL}/2", "types": ["refund.due"]}
    webhook.api.patch(webhook.path, changed)
    webhook.fail(disabled_at=clock.now())
    webhook.done("enable", **{"from": "2026-01-02T03:04:05Z"})
    webhook.done("resend", since="2026-01-02T03:04:05Z")
    webhook.api.delete(webhook.path)
    entries = log_of(webhook.id)
    assert [each["action"].removeprefix("webhooks_") for each in entries] == [
        "delete_webhook",
        "resend_to_webhook",
        "enable_webhook",
        "change_webhook",
        "rotate_webhook",
        "create_webhook",
    ]
    deleted, resent, enabled, updated, _, _ = entries
    assert deleted["before"]["url"] == changed["url"] and deleted["after"]["url"] is None
    assert resent["after"] == {"since": "2026-01-02T03:04:05Z"}
    assert enabled["before"]["status"] == "disabled"
    assert (updated["before"], updated["after"]) == ({"url": URL, "types": ["*"]}, changed)
    written = json.dumps([list(row) for row in AuditLogEntry.select().tuples()], default=str)
    for secret in (webhook.created["secret"], rotated["secret"]):
        assert secret not in written
    assert webhook.id in written


def test_the_audit_log_has_a_test_and_what_was_sent_again(acme, webhook, log_of):
    delivery = webhook.done("test")
    (sent,) = record(acme)
    webhook.done("resend", ids=[sent.id])
    (tested,) = log_of(delivery["id"])
    assert tested["after"]["webhook_id"] == webhook.id
    assert log_of(webhook.id)[0]["after"] == {"notification_ids": [sent.id]}
