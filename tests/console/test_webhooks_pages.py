"""The console's pages of webhooks."""

import re

import pytest

from ticketing import clock, ids
from ticketing.models.notifications import Notification, WebhookDelivery, WebhookEndpoint

WEBHOOKS = "/console/webhooks"
SECRET = re.compile(r'data-copy="(whsec_[^"]+)"')
FORM = {"url": "https://shop.example.org/hooks", "types": ["", "intent.confirmed", "refund.due"]}


@pytest.fixture
def webhook(console):
    """An endpoint that was created in the console."""
    assert SECRET.findall(console.send(WEBHOOKS, FORM).text)
    return WebhookEndpoint.get()


@pytest.fixture
def here(webhook):
    return f"{WEBHOOKS}/{webhook.id}"


def now():
    return WebhookEndpoint.get()


def fail(webhook, **columns):
    """Store a delivery of the last order that failed."""
    notification = Notification.select().order_by(Notification.position.desc()).first()
    WebhookDelivery.create(
        **{
            "id": ids.new(ids.WEBHOOK_DELIVERY),
            "endpoint": webhook.id,
            "notification_id": notification.id,
            "type": notification.type,
            "is_manual": False,
            "created_at": clock.now(),
            "attempted_at": clock.now(),
            "status_code": 500,
            "answer": "<b>Internal</b>",
            **columns,
        }
    )
    return notification


def test_a_secret_is_shown_once(console, webhook, here):
    repeated = console.send(WEBHOOKS, FORM)
    assert repeated.status_code == 200 and not SECRET.findall(repeated.text)
    assert WebhookEndpoint.select().count() == 1
    assert webhook.type_names == ["intent.confirmed", "refund.due"]
    for path in (WEBHOOKS, here):
        page = console.get(path).text
        assert FORM["url"] in page and "whsec_" not in page


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"url": "http://shop.example.org/"}, 'id="url-error"'),
        ({"url": ""}, 'id="url-error"'),
        ({"types": [""]}, 'id="types-error"'),
        ({"types": ["*", "refund.due"]}, 'id="types-error"'),
        ({"types": ["refund.due", "none"]}, 'id="types-error"'),
    ],
)
def test_a_wrong_webhook_is_shown_again(console, form, said):
    answer = console.send(WEBHOOKS, {**FORM, **form})
    assert answer.status_code == 422 and said in answer.text
    chosen = [each for each in {**FORM, **form}["types"] if each == "refund.due"]
    assert len(re.findall('value="refund.due" checked', answer.text)) == len(chosen)


def test_url_and_types_are_changed(acme, console, here):
    form = {"url": "https://other.example.org/", "types": ["", "*"]}
    assert console.send(f"{here}/change", form).headers["Location"] == f"{here}#saved"
    assert (now().url, now().type_names) == (form["url"], ["*"])
    wrong = console.send(f"{here}/change", {**form, "url": "ftp://x"})
    assert wrong.status_code == 422 and 'value="ftp://x"' in wrong.text


def test_a_new_secret_is_shown_once(console, here):
    before = now().secret
    form = {"overlap_seconds": "3600"}
    assert SECRET.findall(console.send(f"{here}/rotate", form).text)
    after = now().secret
    assert not SECRET.findall(console.send(f"{here}/rotate", form).text)
    assert now().secret == after != before


def test_a_test_is_sent_once_for_a_double_click(console, webhook, here):
    for _ in range(2):
        assert console.send(f"{here}/test").headers["Location"] == f"{here}#sent"
    (delivery,) = WebhookDelivery.select()
    assert (delivery.type, delivery.is_manual) == ("webhook.test", True)
    assert "Waiting" in console.get(here).text


def test_failed_deliveries_say_why_and_are_sent_again(acme, console, webhook, here):
    acme.buyer(acme.ticket())
    notification = fail(webhook)
    fail(webhook, status_code=None, error="timeout", answer=None)
    page = console.get(here).text
    assert "<code>500</code>" in page and "timeout" in page and "&lt;b&gt;Internal" in page
    answer = console.send(f"{here}/resend", {"ids": notification.id})
    assert answer.headers["Location"] == f"{here}#sent"
    assert WebhookDelivery.select().where(WebhookDelivery.is_manual).count() == 1


def test_everything_since_a_time_is_sent_again(acme, console, here):
    WebhookEndpoint.update(sequence=1000).execute()
    acme.buyer(acme.ticket())
    form = {"since": "2020-01-01T00:00"}
    assert console.send(f"{here}/resend", form).status_code == 303
    assert now().sequence < 1000
    for since in ("", "soon"):
        wrong = console.send(f"{here}/resend", {"since": since})
        assert wrong.status_code == 422 and 'id="since-error"' in wrong.text


def test_a_disabled_webhook_says_why_and_is_enabled(console, here):
    columns = {"disabled_at": clock.now(), "disabled_reason": "gone"}
    WebhookEndpoint.update(columns).execute()
    assert "gone for good (410)" in console.get(here).text
    assert console.send(f"{here}/enable").headers["Location"] == f"{here}#saved"
    assert now().disabled_at is None


def test_a_failing_webhook_says_since_when(console, here):
    WebhookEndpoint.update(failing_since=clock.now(), attempts=3).execute()
    page = console.get(here).text
    assert "It is tried again by itself." in page and f"{here}/enable" in page


def test_a_webhook_is_deleted(console, here):
    assert console.send(f"{here}/delete").headers["Location"] == f"{WEBHOOKS}#deleted"
    assert console.get(here).status_code == 404


def test_changes_of_webhooks_are_recorded(acme, console, webhook, here):
    for action, form in (
        ("change", {**FORM, "types": "*"}),
        ("rotate", {"overlap_seconds": "0"}),
        ("test", {}),
        ("enable", {}),
        ("resend", {"since": "2020-01-01T00:00"}),
        ("delete", {}),
    ):
        assert console.send(f"{here}/{action}", form).status_code in (200, 303), action
    entries = acme.api().get(f"{acme.path}/audit-log?subject={webhook.id}").json["data"]
    actions = [each["action"].removeprefix("webhooks_") for each in entries]
    assert actions == [
        "delete_webhook",
        "resend_to_webhook",
        "rotate_webhook",
        "change_webhook",
        "create_webhook",
    ]


def test_webhooks_are_for_administrators_of_their_tenant(neighbour, console, writer, here):
    api = neighbour.with_headers({"X-API-Key": neighbour.admin_key})
    body = {"url": FORM["url"], "types": ["*"]}
    theirs = api.post(f"{neighbour.path}/webhooks", body).json["id"]
    for path in (WEBHOOKS, here):
        assert writer.get(path).status_code == 403
    path = f"{WEBHOOKS}/{theirs}"
    assert console.get(path).status_code == 404
    for action, form in (
        ("change", FORM),
        ("rotate", {"overlap_seconds": "0"}),
        ("resend", {"since": "2020-01-01T00:00"}),
        *((each, {}) for each in ("test", "enable", "delete")),
    ):
        assert writer.send(f"{here}/{action}", form).status_code == 403
        assert console.send(f"{path}/{action}", form).status_code == 404, action
    assert theirs not in console.get(WEBHOOKS).text
