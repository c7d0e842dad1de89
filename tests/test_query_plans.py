"""No request, and no look of the worker, reads a table from end to end: the databases say so."""

import itertools
import json
import re
import uuid
from contextlib import ExitStack

import pytest
from flask import request, request_finished, request_started

from bench.generate import Scale, fill
from tests.factories import (
    PRICE,
    Api,
    Organizer,
    cli,
    event_body,
    in_days,
    new_organizer,
    new_xpub,
    ticket_body,
    worker_once,
)
from tests.query_plans import Explainer, Recorder
from ticketing.db import database
from ticketing.models.chains import ChainBlock, ChainState
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType
from tools import anvil

SCALE = Scale(tenants=100, events=1_000, intents=10_000)
PASSWORD = "correct horse battery staple"
DAY = 86_400

ALLOWED = {}


class Drive:
    """Does everything that can be asked of the service, on books of some size."""

    def __init__(self, app, node):
        self.app, self.node = app, node
        fill(SCALE)
        # The generator's chain is not this test's node.
        ChainBlock.delete().execute()
        ChainState.delete().execute()
        self.acme = new_organizer(app, "acme")
        self.recorder = Recorder()
        self.exercised = set()
        self.paged = set()

    def run(self):
        with ExitStack() as stack:
            stack.enter_context(request_started.connected_to(self._begin, self.app))
            stack.enter_context(request_finished.connected_to(self._end, self.app))
            self.ask_for_every_list()
            self.organize()
            self.sell()
            self.recorder.where = "worker"
            self.watch()
            self.give_back()

    def _begin(self, sender, **_):
        self.recorder.where = request.endpoint

    def _end(self, sender, response, **_):
        if response.status_code < 400:
            self.exercised.add(request.endpoint)
        self.recorder.where = "worker"

    def ask_for_every_list(self):
        """Ask for each list with each filter and sort that the service says it takes."""
        document = Api(self.app.test_client()).get("/openapi.json").json
        big = self._key_of("big")
        event = TicketType.select().order_by(TicketType.sold.desc()).first().event_id
        fair = Event.get(Event.slug == "event-1")
        for path, item in document["paths"].items():
            query = [each for each in item.get("get", {}).get("parameters", []) if each["in"] == "query"]
            if "cursor" not in [each["name"] for each in query]:
                continue
            api, here = big, path.format(tenant="big", event_id="")
            if "{event_id}" in path:
                api, here = self._key_of("fair"), path.format(tenant="fair", event_id=fair.id)
            known = {"event_id": [event], "q": ["night"]}
            filters = {
                each["name"]: [None, *each["schema"].get("enum", known.get(each["name"], []))]
                for each in query
                if each["name"] not in ("limit", "cursor")
            }
            for values in itertools.product(*filters.values()):
                given = {n: v for n, v in zip(filters, values, strict=True) if v is not None}
                page = api.get(here, query_string={**given, "limit": 1})
                assert page.status_code == 200, page.json
                if cursor := page.json["next_cursor"]:
                    self.paged.add((path, *given))
                    given |= {"limit": 1, "cursor": cursor}
                    assert api.get(here, query_string=given).status_code == 200

    def _key_of(self, slug):
        made = cli(self.app, "keys", "create", slug, "--name", "x", "--role", "admin", "--json")
        return Api(self.app.test_client(), {"X-API-Key": json.loads(made)["key"]})

    def organize(self):
        """Do what an organizer does."""
        acme, anybody = self.acme, Api(self.app.test_client())
        cli(self.app, "members", "add", "acme", "a@example.org", "--role", "admin",
            "--password-stdin", stdin=PASSWORD)  # fmt: skip
        who = {"tenant": "acme", "email": "a@example.org", "password": PASSWORD}
        token = anybody.post("/v1/auth/login", who).json["access_token"]
        me, path = acme.with_headers({"Authorization": f"Bearer {token}"}), acme.path
        me.get(f"{path}/events")
        me = acme.api()
        key = me.post(f"{path}/apikeys", {"name": "k", "role": "read"}).json["id"]
        me.get(f"{path}/apikeys/{key}")
        me.post(f"{path}/apikeys/{key}/revoke")
        me.put(f"{path}/wallet", {"xpub": new_xpub()})
        me.get(f"{path}/wallet")
        event = me.post(f"{path}/events", event_body()).json
        self._post(me, f"{path}/events", event_body())
        here = f"{path}/events/{event['id']}"
        me.get(here)
        me.patch(here, {"title": "Another", "start_at": in_days(3)})
        ticket = me.post(f"{here}/tickets", ticket_body()).json
        there = f"{here}/tickets/{ticket['id']}"
        me.get(there)
        me.patch(there, {"capacity": 11})
        for each in (here, there):
            for status in ("published", "draft", "published"):
                assert me.post(f"{each}/status", {"status": status}).status_code == 200
        self._key_of("big").get("/v1/admin/tenants/big/audit")
        for path in ("/docs", "/static/docs.css", "/openapi.json", "/healthz", "/readyz"):
            anybody.get(path)
        anybody.get("/v1/chains")
        for reference in (event["id"], event["slug"]):
            anybody.get(f"{acme.public}/events/{reference}")
            anybody.get(f"{acme.public}/events/{reference}/tickets")
        self.ticket = ticket

    def _post(self, api, path, body=None):
        """Post twice with one key: the second time the stored answer is read."""
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        first, second = (api.post(path, body, headers=headers) for _ in range(2))
        assert first.status_code == second.status_code
        return first

    def sell(self):
        """Do what buyers do, before the worker has ever looked and after."""
        for _ in range(2):
            order = {"event_id": self.ticket["event_id"], "ticket_id": self.ticket["id"]}
            anybody = Api(self.app.test_client())
            self._post(anybody, f"{self.acme.checkout}/preflight", order)
            for pay in (lambda buyer: None, lambda buyer: buyer.pay(self.node)):
                buyer = self.acme.buyer(self.ticket)
                buyer.now()
                pay(buyer)
                buyer.purchase()
                buyer.cancel()
                by_key = self._by_key()
                by_key.get(buyer.path)
                by_key.get(f"{self.acme.path}/intents/{buyer.intent['id']}")
            for status in ("draft", "canceled"):
                path = f"{self.acme.path}/events/{order['event_id']}/tickets/{order['ticket_id']}"
                assert self._by_key().post(f"{path}/status", {"status": "draft"}).status_code == 409
                path = f"{self.acme.path}/events/{order['event_id']}"
                assert self._by_key().post(f"{path}/status", {"status": "draft"}).status_code == 409
            self.recorder.where = "worker"
            worker_once(self.app)

    def _by_key(self):
        return self.acme.with_headers({"X-API-Key": self.acme.admin_key})

    def watch(self):
        """Let the worker see payments, depth, deadlines, a reorganization, a cold address."""
        late, free = self.acme.buyer(self.ticket), self.acme.ticket(price_amount=0, chain_id=None)
        PaymentIntent.update(expires_at="2020-01-01T00:00:00.000000Z").where(
            PaymentIntent.id == self.acme.buyer(free).intent["id"]
        )
        self.acme.buyer(self.ticket).pay(self.node)
        worker_once(self.app)
        self.node.rpc("anvil_reorg", 2, [])
        worker_once(self.app)
        self.node.rpc("evm_increaseTime", 2 * DAY)
        self.node.rpc("anvil_mine", "0x1")
        worker_once(self.app)
        assert late.now()["status"] == "expired"
        cold = PaymentIntent.select().where(PaymentIntent.chain_id == 31337).order_by(PaymentIntent.swept_at.desc())
        worker_once(self.app)

    def give_back(self):
        """Give back what was paid too much."""
        buyer = self.acme.buyer(self.ticket)
        buyer.pay(self.node, PRICE + 7)
        worker_once(self.app)
        anvil.mint(self.node.rpc, anvil.TOKEN_ADDRESS, self.node.rpc("eth_accounts")[5], 7)
        sent = anvil.transfer(self.node.rpc, anvil.TOKEN_ADDRESS, anvil.BUYER, 7, sender=5)
        path = f"{self.acme.path}/refunds/{buyer.intent['id']}/settle"
        answer = self._by_key().post(path, {"tx_hash": sent["transactionHash"]})
        assert answer.status_code == 200, answer.json


def test_it(app, node):
    drive = Drive(app, node)
    drive.run()
    every = {rule.endpoint for rule in app.url_map.iter_rules()}
    print(every - drive.exercised)
    explainer = Explainer()
    seen = {}
    for s in drive.recorder.statements:
        plan = explainer.plan(s)
        for f in plan.faults(s):
            seen.setdefault((s.sql, f), (s, plan))
    print(len(drive.recorder.statements))
    for (sql, f), (s, plan) in seen.items():
        print("=====", s.where, f); print(re.sub(r'SELECT ("t\d"\."\w+"(, )?)+', 'SELECT ... ', sql)[:700], s.parameters[:8]); print(plan.text if len(plan.text) < 600 else '')
    assert 0
