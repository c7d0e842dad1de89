"""Each string of the console's pages about sold tickets and about access goes through gettext."""

from datetime import UTC, datetime

import pytest

from tests.support.admissions import FREE, admissions_of, change, given, invite
from tests.support.books import change_home
from tests.support.doors import Door, redeem
from tests.support.holders import ADA
from tests.support.payouts import mark as mark_by_hand
from tests.support.payouts import of_an_address
from tests.support.refunds import give_back, overpay, settle, waive
from tests.support.translations import mark, not_translated
from ticketing import clock, ids
from ticketing.application import build
from ticketing.models.api_keys import ApiKey
from ticketing.models.members import Member
from ticketing.models.notifications import Mail, WebhookDelivery, WebhookEndpoint
from ticketing.models.wallets import Wallet
from ticketing.notification_types import MailKind, NotificationType
from ticketing.services.notifications import mail_queue

pytestmark = pytest.mark.exhaustive

EARLY = datetime(2026, 6, 5, 17, 2, tzinfo=UTC)


@pytest.fixture(scope="module")
def built_app():
    """An application of its own: its pages speak another language."""
    app = build()
    mark(app)
    return app


def check(member, *paths):
    """Look for text outside gettext on these pages."""
    for path in paths:
        answer = member.get(f"/console/{path}")
        assert answer.status_code == 200, path
        assert not_translated(answer.text) == [], path


def check_refused(member, path, form=None):
    answer = member.send(f"/console/{path}", form)
    assert answer.status_code in (409, 422), answer.text
    assert not_translated(answer.text) == [], path


def check_shown(member, path, form=None):
    """Look on the page that shows a secret, and on the one of the same form again."""
    for _ in range(2):
        answer = member.send(f"/console/{path}", form)
        assert answer.status_code == 200, answer.text
        assert not_translated(answer.text) == [], path


def test_empty_lists(console):
    lists = ("orders", "attendees", "refunds", "webhooks", "keys", "people", "audit-log")
    searches = ("orders?q=x", "refunds?status=settled", "keys?status=expired", "audit-log?actor=x")
    check(console, *lists, *searches)


def test_orders_and_their_refunds(acme, node, console):
    ticket = acme.ticket(**FREE)
    acme.buyer(acme.ticket())
    order = given(acme, ticket, quantity=2, buyer=ADA).intent["id"]
    overpaid = overpay(acme, node, 7, buyer=ADA)
    owing = overpaid.intent["id"]
    for kind, status in ((MailKind.TICKET, "dropped"), (MailKind.ORDER_CONFIRMED, "sent")):
        ended = {"status": status, "ended_at": clock.now(), "error": None}
        Mail.insert(mail_queue.new(acme.id, kind, order, **ended)).execute()
    lists = ("orders", f"orders?event_id={ticket['event_id']}", f"orders?q={order}", "refunds")
    check(console, *lists, f"orders/{order}", f"orders/{owing}", f"refunds/{owing}")
    check_refused(console, f"refunds/{owing}/settle", {"tx_hash": "0x12"})
    check_refused(console, f"refunds/{owing}/waive", {"amount": "1", "reason": "x"})
    of_an_address(overpaid)
    for is_exchange in (True, False):
        Wallet.update(is_exchange=is_exchange).execute()
        check(console, f"refunds/{owing}")
    assert mark_by_hand(acme, overpaid).status_code == 200
    check(console, "refunds", f"refunds/{owing}", "money/pay-back")
    check(console, "refunds/waive", "refunds/waive?most=0.000007", "refunds/waive?most=0.000006")
    check_refused(console, "refunds/waive", {"max_amount": "0.000007"})
    assert settle(acme, overpaid, give_back(node, 3)).status_code == 200
    assert waive(acme, overpaid, 4).status_code == 200
    change_home(order, due=1, pending=1)
    check(
        console, f"refunds/{owing}", f"refunds/{order}", f"orders/{owing}", "refunds?status=waived"
    )


@pytest.mark.parametrize(
    "columns",
    [
        {"status": "valid"},
        {"redeemed_at": EARLY, "redeemed_gate": "Main gate", "transferred_at": EARLY},
        {"status": "void", "voided_at": EARLY, "void_reason": "Lost.", "void_refund": True},
        {"status": "void", "voided_at": EARLY, "void_reason": "event_canceled"},
        {"status": "suspended"},
    ],
)
def test_tickets(acme, console, columns):
    (ticket,) = admissions_of(given(acme, acme.ticket(**FREE), buyer=ADA))
    change(ticket, **columns)
    here = f"attendees/{ticket.id}"
    check(console, "attendees", f"attendees?event_id={ticket.event_id}", here)
    check_refused(console, f"{here}/void", {"reason": ""})


def test_guests(acme, console):
    ticket = acme.ticket()
    here = f"events/{ticket['event_id']}/guests"
    check(console, here, f"events/{acme.event()['id']}/guests")
    check_shown(console, here, {"ticket_id": ticket["id"], "guests": "Grace"})
    check_refused(console, here, {"ticket_id": ticket["id"], "guests": "x\n" * 11})
    guest = invite(acme, ticket, ADA).json["admissions"][0]["id"]
    check(console, "attendees", f"attendees/{guest}")
    check_shown(console, f"attendees/{guest}/reissue")


def test_the_door(acme, console):
    door = Door(acme)
    here = f"events/{door.event['id']}/door"
    check(console, here)
    first, second = door.gate(gate="North"), door.gate()
    qr = door.qr(door.admission())
    first.results(redeem(qr=qr))
    second.results(redeem(qr=qr, decided="admitted"))
    check(console, here)
    check_shown(console, f"{here}/devices", {"name": "Phone", "gate": "", "show_names": "on"})
    check_refused(console, f"{here}/devices", {"name": ""})


def test_people_and_keys(acme, console):
    check_shown(console, "people", {"email": "grace@example.org", "role": "read"})
    check_refused(console, "people", {"email": "nobody", "role": "read"})
    member = Member.get(Member.email == console.email).id
    check(console, "people", *(f"people/{each.id}" for each in Member.select()))
    check_refused(console, f"people/{member}/disable")
    check_shown(console, "keys", {"name": "Shop", "role": "read", "ttl_seconds": "86400"})
    key = ApiKey.select().order_by(ApiKey.id.desc()).first().id
    check_shown(console, f"keys/{key}/rotate", {"overlap_seconds": "0"})
    check_refused(console, "keys", {"name": ""})
    console.send(f"/console/keys/{key}/revoke")
    check(console, "keys", f"keys/{key}", "audit-log")


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"failing_since": EARLY},
        {"disabled_at": EARLY, "disabled_reason": "gone"},
        {"disabled_at": EARLY, "disabled_reason": "failing"},
    ],
)
def test_webhooks(console, columns):
    check_shown(console, "webhooks", {"url": "https://shop.example.org/", "types": "refund.due"})
    here = f"webhooks/{WebhookEndpoint.get().id}"
    WebhookEndpoint.update(**{"delivered": 1, **columns}).execute()
    for error in (None, "timeout"):
        WebhookDelivery.create(
            id=ids.new(ids.WEBHOOK_DELIVERY),
            endpoint=WebhookEndpoint.get().id,
            notification_id="ntf_1",
            type=NotificationType.REFUND_DUE,
            is_manual=error is None,
            is_set_aside=error is not None,
            created_at=EARLY,
            attempted_at=EARLY,
            status_code=None if error else 500,
            error=error,
            answer="Internal error",
        )
    check(console, "webhooks", here)
    check_refused(console, "webhooks", {"url": "x", "types": ""})
    check_refused(console, f"{here}/change", {"url": "x", "types": ""})
    check_refused(console, f"{here}/resend", {"since": ""})
