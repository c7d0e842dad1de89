"""The audit log: who changed what, when and from where. Nothing can change it."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from peewee import DatabaseError

from tests.support.admissions import FREE, admissions_of, given, void
from tests.support.doors import Door
from tests.support.factories import (
    CHAIN,
    cli,
    event_body,
    in_days,
    ticket_body,
    worker_once,
)
from tests.support.one_of_each import entry_for
from tests.support.payees import enter
from tests.support.payouts import mark, of_an_address
from tests.support.photos import photo
from tests.support.refunds import FRIEND_ADDRESS, account, give_back
from tests.support.routes import endpoints
from tests.support.wallets import new_address
from ticketing import clock
from ticketing.db.connection import database, write_transaction
from ticketing.models.audit_log import AuditLogEntry
from ticketing.models.ticket_types import TicketType
from ticketing.models.waiting_list import WaitingListEntry
from tools import anvil

SIZE = {"question": "Size?", "type": "text", "ask": "attendee"}


def trail_of(acme, **query):
    answer = acme.api().get(f"{acme.path}/audit-log", query_string=query)
    assert answer.status_code == 200, answer.json
    return answer.json["data"]


def test_a_change_says_who_what_from_where_before_and_after(acme):
    event = acme.event(title="Launch")
    admin = acme.with_headers({"X-API-Key": acme.admin_key, "X-Request-ID": "mine-1"})
    path = f"{acme.path}/events/{event['id']}"
    remote = {"environ_overrides": {"REMOTE_ADDR": "203.0.113.7"}}
    assert admin.patch(path, {"title": "Launch Night"}, **remote).status_code == 200

    changed, created = trail_of(acme, subject=event["id"])
    assert changed.pop("id") > created["id"]
    assert changed.pop("at") >= created["at"]
    assert changed == {
        "actor": "key_" + acme.admin_key.split("_")[1],
        "address": "203.0.113.7",
        "request_id": "mine-1",
        "action": "events_change_event",
        "subject": event["id"],
        "before": {"title": "Launch"},
        "after": {"title": "Launch Night"},
    }
    assert (created["action"], created["before"]) == ("events_create_event", None)
    assert created["after"]["title"] == "Launch"


OF_MAILS = {
    "admissions_send_admission",
    "intents_send_intent_to_email",
    "messages_cancel_message",
    "messages_create_message",
}
"""They need a mail server."""


class TestWithMail:
    """The service can send mail."""

    @pytest.fixture
    def environ(self, environ):
        smtp = {"SMTP_URL": "smtp://127.0.0.1:9", "MAIL_FROM": "tickets@example.org"}
        return {**environ, **smtp, "PUBLIC_URL": "http://localhost"}

    def test_the_changes_that_send_mails_are_in_it(self, acme):
        me, path = acme.api(), acme.path
        ticket = acme.ticket(price_amount=0, chain_id=None)
        guests = {"holders": [{"email": "ada@example.org"}]}
        here = f"{path}/events/{ticket['event_id']}"
        guest = me.post(f"{here}/tickets/{ticket['id']}/admissions", guests).json["admissions"][0]
        me.post(f"{path}/admissions/{guest['id']}/send")
        order = acme.buyer(ticket).intent["id"]
        me.post(f"{path}/intents/{order}/email", {"email": "grace@example.org"})
        message = me.post(f"{here}/messages", {"subject": "A", "text": "B"}).json["id"]
        me.post(f"{here}/messages/{message}/cancel")
        found = {entry["action"]: entry for entry in trail_of(acme, limit=100)}
        assert found.keys() >= OF_MAILS
        sent = found["intents_send_intent_to_email"]
        after = {"email": "grace@example.org", "end_old_links": False}
        assert (sent["subject"], sent["after"]) == (order, after)


def test_every_change_of_the_admin_surface_is_in_it(app, acme, node):
    me, path = acme.api(), acme.path
    me.patch(path, {"website": "https://acme.example.org/"})
    event = me.post(f"{path}/events", event_body()).json
    me.patch(f"{path}/events/{event['id']}", {"title": "Other"})
    me.post(f"{path}/events/{event['id']}/status", {"status": "published"})
    me.post(f"{path}/events/{event['id']}/copy", {"starts": ["2031-01-01T20:00"], "series": "s"})
    me.patch(f"{path}/series/s", {"title": "Nights"})
    for image in (f"{path}/events/{event['id']}/image", f"{path}/logo"):
        headers = {"Content-Type": "image/jpeg", **(me.headers or {})}
        assert me.client.put(image, data=photo(), headers=headers).status_code == 200
        me.delete(image)
    tickets = f"{path}/events/{event['id']}/tickets"
    ticket = me.post(tickets, ticket_body()).json
    me.patch(f"{tickets}/{ticket['id']}", {"name": "Other"})
    me.post(f"{tickets}/{ticket['id']}/status", {"status": "published"})
    vouchers = f"{path}/events/{event['id']}/vouchers"
    voucher = f"{vouchers}/{me.post(vouchers, {}).json['id']}"
    me.patch(voucher, {"tag": "press"})
    me.post(f"{voucher}/disable")
    me.post(f"{vouchers}/batch", {"count": 1})
    me.put(
        f"{path}/events/{event['id']}/crowds", {"crowds": [{"network": "192.0.2.1", "seats": 9}]}
    )
    me.post(f"{path}/events/{event['id']}/deposits/release", {})
    listed = entry_for(acme, event["id"], ticket["id"])
    WaitingListEntry.update(status="waiting", confirmed_at=clock.now()).execute()
    TicketType.update(waiting=1).where(TicketType.id == ticket["id"]).execute()
    of_entry = f"{path}/events/{event['id']}/waiting-list/{listed.id}"
    assert me.post(f"{of_entry}/offer").status_code == 200
    assert me.post(f"{of_entry}/cancel").status_code == 200
    questions = f"{path}/events/{event['id']}/questions"
    question = me.post(questions, SIZE).json["id"]
    me.patch(f"{questions}/{question}", {"question": "Which size?"})
    key = me.post(f"{path}/apikeys", {"name": "k", "role": "read"}).json["id"]
    me.post(f"{path}/apikeys/{key}/rotate", {})
    me.post(f"{path}/apikeys/{key}/revoke")
    exchange = {"address": account(node, 7), "chain_ids": [31337], "exchange": True}
    me.put(f"{path}/wallet", exchange)
    me.post(f"{path}/wallet/credited")
    me.put(f"{path}/wallet", {**exchange, "address": new_address()})
    asked = {"email": "grace@example.org", "role": "read"}
    member = f"{path}/members/{me.post(f'{path}/members', asked).json['id']}"
    me.patch(member, {"role": "write"})
    me.post(f"{member}/invite")
    me.post(f"{member}/disable")
    guest = admissions_of(given(acme, acme.ticket(event, **FREE)))[0]
    door = Door(acme)
    inside = door.admission()
    assert door.desk().outcome(code=inside.code) == "admitted"
    assert me.post(f"{path}/admissions/{inside.id}/undo").status_code == 200
    me.patch(f"{path}/admissions/{guest.id}", {"answers": {question: "M"}})
    me.post(f"{questions}/{question}/archive")
    me.post(f"{path}/admissions/{guest.id}/reissue")
    assert void(acme, guest).status_code == 200
    me.post(f"{tickets}/{ticket['id']}/admissions", {"holders": [{"name": "Ada"}]})
    buyer, dusted, other, crumb = (acme.buyer(ticket) for _ in range(4))
    worker_once(app)
    buyer.pay(node, buyer.intent["amount"] + 9)
    dusted.pay(node, dusted.intent["amount"] + 2)
    crumb.pay(node, crumb.intent["amount"] + 1)
    other.pay(node, other.intent["amount"] + 3)
    worker_once(app)
    anvil.mint(node.rpc, anvil.TOKEN_ADDRESS, node.rpc("eth_accounts")[5], 7)
    back = anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, anvil.BUYER, 7, sender=5)
    devices = f"{path}/events/{event['id']}/door-devices"
    device = me.post(devices, {"name": "Main gate"}).json
    me.post(f"{devices}/{device['id']}/revoke")
    hooks = {"url": "https://hooks.example.org/", "types": ["*"]}
    webhook = f"{path}/webhooks/{me.post(f'{path}/webhooks', hooks).json['id']}"
    me.patch(webhook, {"types": ["refund.due"]})
    for action in ("rotate", "test"):
        assert me.post(f"{webhook}/{action}").status_code == 200
    me.post(f"{webhook}/resend", {"since": in_days(-1)})
    me.post(f"{webhook}/enable", {"from": in_days(-1)})
    me.delete(webhook)
    me.post(f"{path}/intents/{guest.intent_id}/erase")
    me.post(f"{path}/admissions/{guest.id}/erase")
    settled = {"tx_hash": back["transactionHash"]}
    me.post(f"{path}/refunds/{buyer.intent['id']}/settle", settled)
    me.post(f"{path}/refunds/{buyer.intent['id']}/waive", {"amount": 2, "reason": "fees"})
    given_back = {"tx_hash": give_back(node, 3), "chain_id": CHAIN}
    assert me.post(f"{path}/refunds/settle", given_back).json["left"] == 0
    me.post(f"{path}/refunds/waive", {"max_amount": 1, "reason": "fees"})
    of_an_address(dusted)
    assert enter(acme, dusted, FRIEND_ADDRESS).status_code == 200
    for by_hand in (True, False):
        assert mark(acme, dusted, by_hand).status_code == 200
    owed = {"chain_id": CHAIN, "payer": anvil.BUYER, "accept_unwitnessed": True}
    owed["include_cautioned"] = True  # an administrator has entered the address
    of_list = me.post(f"{path}/payouts", owed).json
    assert of_list["sum"] == 2
    used = {"payer": FRIEND_ADDRESS, "payment_id": of_list["payments"][0]["id"], "reason": "a gift"}
    pass_over = f"{path}/refunds/{dusted.intent['id']}/pass-over"
    assert me.post(pass_over, used).status_code == 200
    me.put(f"{path}/wallet", exchange)  # it waits, because orders were paid
    me.post(f"{path}/wallet/pending/cancel")

    operations = {
        f"{each.surface}_{each.view}" for each in endpoints(app, "/v1/admin/") if not each.reads
    }
    operations -= OF_MAILS | {"messages_preview_message"}  # a preview changes nothing
    found = trail_of(acme, limit=100)
    assert {entry["action"] for entry in found if entry["actor"] != "cli"} == operations
    waiver, refund = trail_of(acme, subject=buyer.intent["id"])
    assert (waiver["before"], waiver["after"]) == ({"waived": 0}, {"waived": 2, "reason": "fees"})
    assert refund["before"] == {"refunded": 0}
    assert refund["after"] == {"refunded": 7, **settled}


def test_nothing_that_is_shown_once_is_in_it(acme):
    made = acme.api().post(f"{acme.path}/apikeys", {"name": "k", "role": "read"}).json
    rotated = acme.api().post(f"{acme.path}/apikeys/{made['id']}/rotate", {}).json
    written = json.dumps([list(row) for row in AuditLogEntry.select().tuples()], default=str)
    assert made["id"] in written
    assert made["key"] not in written
    assert rotated["key"] not in written
    assert acme.admin_key not in written


def test_every_rotation_leaves_an_entry_though_nothing_that_is_shown_differs(app, acme):
    short = {"name": "k", "role": "read", "ttl_seconds": 1800}
    key = acme.api().post(f"{acme.path}/apikeys", short).json["id"]
    for _ in range(2):
        rotated = acme.api().post(f"{acme.path}/apikeys/{key}/rotate", {})
        assert rotated.status_code == 200
    cli(app, "keys", "rotate", "acme", key)
    actions = [entry["action"] for entry in trail_of(acme, subject=key)]
    assert actions == ["keys rotate", *["api_keys_rotate_api_key"] * 2, "api_keys_create_api_key"]


def test_what_changes_nothing_or_fails_leaves_none(acme):
    event = acme.event()
    path, before = f"{acme.path}/events/{event['id']}", trail_of(acme)
    same = acme.api().post(f"{path}/status", {"status": "published"})
    wrong = acme.api().patch(path, {"slug": "fixed-once-published"})
    assert (same.status_code, wrong.status_code) == (200, 409)
    assert trail_of(acme) == before


def test_a_request_sent_again_leaves_one_entry(acme):
    me, headers = acme.api(), {"Idempotency-Key": "the-same"}
    before, body = len(trail_of(acme)), event_body()
    for _ in range(2):
        assert me.post(f"{acme.path}/events", body, headers=headers).status_code == 201
    assert len(trail_of(acme)) == before + 1


def test_changes_at_once_follow_one_another(acme):
    event = acme.event(title="0")
    path = f"{acme.path}/events/{event['id']}"
    api = acme.with_headers({"X-API-Key": acme.admin_key})

    def rename(n):
        try:
            return api.patch(path, {"title": str(n)}).status_code
        finally:
            database.close()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(rename, range(1, 9))) == {200}
    entries = trail_of(acme, subject=event["id"])[::-1]
    titles = [entry["after"]["title"] for entry in entries]
    assert [entry["before"]["title"] for entry in entries[1:]] == titles[:-1]


def test_it_is_read_latest_first_in_pages_and_by_actor(acme):
    events = [acme.event()["id"] for _ in range(3)]
    first = acme.api().get(f"{acme.path}/audit-log", query_string={"limit": 2}).json
    rest = {"limit": 2, "cursor": first["next_cursor"]}
    second = acme.api().get(f"{acme.path}/audit-log", query_string=rest).json
    subjects = [entry["subject"] for entry in first["data"] + second["data"]]
    assert subjects[:3] == events[::-1]
    assert {entry["actor"] for entry in trail_of(acme, actor="cli")} == {"cli"}
    assert trail_of(acme, actor="key_none") == []


def test_what_is_typed_on_the_command_line_is_in_it(app, acme):
    cli(app, "keys", "create", "acme", "--name", "k", "--role", "read")
    added = ("acme", "a@example.org", "--role", "read", "--password-stdin")
    cli(app, "members", "add", *added, stdin="correct horse battery")
    cli(app, "members", "disable", "acme", "a@example.org")
    cli(app, "keys", "revoke-all", "acme", "--yes")
    entries = AuditLogEntry.select().order_by(AuditLogEntry.id)
    actions = [(each.actor, each.action) for each in entries]
    assert actions == [
        ("cli", "tenants create"),
        ("cli", "keys create"),
        ("cli", "members add"),
        ("cli", "members disable"),
        *[("cli", "keys revoke-all")] * 2,
    ]
    assert "correct horse" not in "".join(each.after for each in entries)


@pytest.mark.parametrize("statement", ["UPDATE trail SET actor = 'nobody'", "DELETE FROM trail"])
def test_the_database_itself_refuses_to_change_it(acme, statement):
    with pytest.raises(DatabaseError, match="append-only"), write_transaction():
        database.execute_sql(statement)
    assert AuditLogEntry.select().count() == 1
