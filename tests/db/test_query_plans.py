"""No request and no look of the worker reads a whole table, by the databases' own plans."""

import itertools
import re
from collections import Counter
from contextlib import ExitStack
from urllib.parse import urlencode

import pytest
from flask import request, request_finished, request_started

from tests.conftest import NO_LIMITS
from tests.support.carts import family, items_of
from tests.support.factories import (
    PRICE,
    Api,
    cli,
    event_body,
    in_days,
    new_organizer,
    ticket_body,
)
from tests.support.gasless import address_of, signed
from tests.support.mail_server import MailServer
from tests.support.mails import PUBLIC_URL, SENDER
from tests.support.order_pages import SAME_ORIGIN
from tests.support.payouts import OTHER, PAYER, fund, listed, owed, sign
from tests.support.query_plans.admissions_drive import AT_IPV6, post_twice
from tests.support.query_plans.after_sale_drive import AfterSaleDrive
from tests.support.query_plans.agents_drive import AgentsDrive
from tests.support.query_plans.catalog_drive import MemberBrowser
from tests.support.query_plans.filling import Scale, fill
from tests.support.query_plans.messages_drive import SERIES, MessagesDrive, fill_messages
from tests.support.query_plans.papers_drive import PapersDrive
from tests.support.query_plans.questions_drive import QuestionsDrive, fill_questions
from tests.support.query_plans.recorder import Explainer, Recorder, faults_of
from tests.support.query_plans.selling_drive import SellingDrive, fill_waiting
from tests.support.query_plans.vouchers_drive import OPEN, TAG, VouchersDrive, fill_vouchers
from tests.support.refunds import dust
from tests.support.wallets import new_address
from tests.support.x402 import Facilitator, Wallet, required
from ticketing import clock, links
from ticketing.db.connection import database
from ticketing.models.admissions import Admission
from ticketing.models.api_keys import ApiKey
from ticketing.models.chains import ChainBlock, ChainState
from ticketing.models.events import Event
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.order_emails import OrderEmail
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType
from ticketing.models.wallets import PendingWallet
from ticketing.services.payments import witnesses
from ticketing.worker.wallet_changes import WalletChanges
from tools import anvil

pytestmark = pytest.mark.long

SCALE = Scale(tenants=50, events=400, intents=6_000)
PASSWORD = "correct horse battery staple"
DAY = 86_400

METRICS_TOKEN = "scrape-me-0123456789"


@pytest.fixture
def facilitator():
    with Facilitator() as running:
        yield running


@pytest.fixture
def environ(environ, facilitator):
    """Everything that can be counted is counted."""
    limits = dict.fromkeys(NO_LIMITS, "100000")
    previous = {"SECRET_KEY_PREVIOUS": "the-one-before-0123456789abcdefghijklmnop"}
    hooks = {"WEBHOOK_ALLOW": "127.0.0.0/8"}
    with MailServer() as server:
        x402 = {"X402_FACILITATOR_URL_31337": facilitator.url, "METRICS_TOKEN": METRICS_TOKEN}
        mail = {"SMTP_URL": server.url, "MAIL_FROM": SENDER, "PUBLIC_URL": PUBLIC_URL}
        yield {**environ, **limits, **previous, **hooks, **mail, **x402}


NEEDED = (
    "events_by_start",
    "intents_deep",
    "payments_in_order",
    "refund_addresses_of_intent",
    "accounts_waived",
    "accounts_refunded",
    "accounts_owing_by_amount",
    "accounts_waived_by_amount",
    "accounts_refunded_by_amount",
    "accounts_not_final",
    "accounts_searched",
    "intents_canceled",
)
"""Without any of these indexes, a plan is wrong."""

ONE_PAGE = {"/v1/admin/tenants/{tenant}/intents": ("q",)}
"""Parameters of lists with which there is no second page. AfterSaleDrive sends them."""


class Drive(
    *(AgentsDrive, AfterSaleDrive, VouchersDrive, QuestionsDrive, MessagesDrive, PapersDrive),
    SellingDrive,
):
    """Sends every kind of request, on a database of some size."""

    def __init__(self, app, node, facilitator):
        self.app, self.node = app, node
        self.facilitator, facilitator.node = facilitator, node
        fill(SCALE)
        # The generated chain is not the node of this test.
        ChainBlock.delete().execute()
        ChainState.delete().execute()
        self.acme = new_organizer(app, "acme")
        self.big, self.fair = self.key_of("big"), self.key_of("fair")
        self.webhook = self.with_deliveries("big")
        self.with_people()
        self.hit, self.crowded = Event.select().order_by(Event.id).limit(2)
        fill_vouchers(self.crowded)
        fill_questions(self.crowded)
        fill_messages(self.crowded)
        fill_waiting(self.crowded)
        self._offer_back()
        self.key = ApiKey.select().order_by(ApiKey.id).first()
        self.recorder = Recorder()
        self.exercised = set()
        self.lists = set()
        self.paged = set()

    def run(self):
        with ExitStack() as stack:
            stack.enter_context(request_started.connected_to(self._begin, self.app))
            stack.enter_context(request_finished.connected_to(self._end, self.app))
            self.open_the_doors()
            self.ask_for_every_list()
            self.organize()
            self.sell()
            self.change_the_wallet_of_a_tenant_that_was_paid()
            self.watch()
            self.buy_by_x402()
            self.give_back()
            self.open_pages()
            self.hold()
            self.mail()
            self.take_back()
            self.listen()
            self.read_the_feed()
            self.meet()
            self.look_at_sales()
            self.organize_in_the_console()
            self.use_vouchers()
            self.ask_and_answer()
            self.write_and_copy()
            self.share_and_print()
            self.wait_and_come()
            self.sit_at_the_desk()
            self.call_tools()
            self.pay_back()
            self.look_at_the_rest()

    def _begin(self, sender, **_):
        self.recorder.where = request.endpoint

    def _end(self, sender, response, **_):
        self.recorder.where = None
        if response.status_code < 400:
            self.exercised.add(request.endpoint)

    def _offer_back(self):
        """Some holders give their seats of the large event back."""
        open_ones = (Admission.status == "valid") & Admission.redeemed_at.is_null()
        found = Admission.select().where(Admission.event == self.hit, open_ones)
        found = list(found.order_by(Admission.id).limit(20))
        for ticket_type_id, seats in Counter(each.ticket_type_id for each in found).items():
            offered = TicketType.update(offered=seats)
            offered.where(TicketType.id == ticket_type_id).execute()
        their_ids = [each.id for each in found]
        given_back = Admission.update(returned_at=clock.now(), return_amount=1)
        given_back.where(Admission.id.in_(their_ids)).execute()

    def ask_for_every_list(self):
        """Request two pages of each list, with all filters and sorts of the document."""
        for path, item in self.big.get("/openapi.json").json["paths"].items():
            parameters = item.get("get", {}).get("parameters", [])
            query = {each["name"]: each["schema"] for each in parameters if each["in"] == "query"}
            if "cursor" not in query:
                continue
            api, here = (
                self.big,
                path.format(
                    tenant="big", event_id=self.hit.id, webhook_id=self.webhook.id, intent_id=""
                ),
            )
            if "{intent_id}" in path:
                api, here = self.acme.api(), path.format(tenant="acme", intent_id=self.paid_twice())
            if "{event_id}" in path:
                api, here = self.fair, path.format(tenant="fair", event_id=self.crowded.id)
            known = {"event_id": [self.hit.id], "q": ["night"]}
            known |= {"min_amount": ["1"], "tag": [TAG], "voucher": [OPEN], "series": [SERIES]}
            known |= {
                "actor": ["cli"],
                "subject": [self.key.id],
                "only_failed": ["true"],
                "redeemed": ["true", "false"],
            }
            filters = {
                name: [None, *(schema.get("enum") or known[name])][name == "voucher" :]
                for name, schema in query.items()
                if name not in ("limit", "cursor", *ONE_PAGE.get(path, ()))
            }
            for values in itertools.product(*filters.values()):
                asked = dict(zip(filters, values, strict=True))
                asked = {name: value for name, value in asked.items() if value is not None}
                self._page_through(api, here, asked)

    def paid_twice(self):
        """Return an order with two payments."""
        buyer = self.acme.buyer(self.acme.ticket())
        dust(buyer, 2)
        return buyer.intent["id"]

    def _page_through(self, api, path, asked):
        page = api.get(path, query_string={**asked, "limit": 1})
        assert page.status_code == 200, page.json
        self.lists.add((path, *asked))
        if cursor := page.json["next_cursor"]:
            self.paged.add((path, *asked))
            again = api.get(path, query_string={**asked, "limit": 1, "cursor": cursor})
            assert again.status_code == 200

    def organize(self):
        """Act as an organizer."""
        acme, anybody, path = self.acme, Api(self.app.test_client()), self.acme.path
        who = {"tenant": "acme", "email": "a@example.org", "password": PASSWORD}
        arguments = ("acme", who["email"], "--role", "admin", "--password-stdin")
        cli(self.app, "members", "add", *arguments, stdin=PASSWORD)
        token = anybody.post("/v1/auth/login", who).json["access_token"]
        member = acme.with_headers({"Authorization": f"Bearer {token}"})
        member.get(f"{path}/events")
        me = acme.api()
        key = me.post(f"{path}/apikeys", {"name": "k", "role": "read"}).json["id"]
        me.get(f"{path}/apikeys/{key}")
        post_twice(me, f"{path}/apikeys/{key}/rotate", {})
        me.post(f"{path}/apikeys/{key}/revoke")
        assert me.get(path).status_code == 200
        assert me.patch(path, {"name": "Acme Nights", "website": None}).status_code == 200
        me.get(f"{path}/wallet")
        owner = {"address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", "chain_ids": [31337, 1]}
        me.put(f"{path}/wallet", owner)
        file = me.get(f"{path}/wallet/recovery").json
        me.put(f"{path}/wallet", {**owner, "recovery": file})
        post_twice(me, f"{path}/wallet/credited", None)
        me.put(f"{path}/wallet", {**owner, "address": new_address()})
        event = post_twice(me, f"{path}/events", event_body()).json
        here = f"{path}/events/{event['id']}"
        me.get(here)
        me.patch(here, {"title": "Another", "start_at": in_days(3)})
        self.ticket = post_twice(me, f"{here}/tickets", ticket_body()).json
        there = f"{here}/tickets/{self.ticket['id']}"
        me.get(there)
        me.patch(there, {"capacity": 11})
        for each in (here, there):
            for status in ("published", "draft", "published"):
                assert me.post(f"{each}/status", {"status": status}).status_code == 200
        for reference in (event["id"], event["slug"]):
            anybody.get(f"{acme.public}/events/{reference}")
            anybody.get(f"{acme.public}/events/{reference}.ics")
            anybody.get(f"{acme.public}/events/{reference}/tickets")
        self.sold = (here, there)

    def sell(self):
        """Act as buyers, before and after the worker's first look."""
        anybody, me = Api(self.app.test_client()), self.key_of("acme")
        order = {"event_id": self.ticket["event_id"], "ticket_id": self.ticket["id"]}
        for _ in range(2):
            post_twice(anybody, f"{self.acme.checkout}/preflight", order)
            path = f"{self.acme.checkout}/preflight"
            post_twice(anybody, path, order, environ_overrides=AT_IPV6)
            paid, unpaid = self.acme.buyer(self.ticket), self.acme.buyer(self.ticket)
            paid.pay(self.node)
            for buyer in (paid, unpaid):
                buyer.now()
                buyer.purchase()
                buyer.cancel()
                me.get(buyer.path)
                me.get(f"{self.acme.path}/intents/{buyer.intent['id']}")
            for path in self.sold:
                assert me.post(f"{path}/status", {"status": "draft"}).status_code == 409
            self.work()

    def change_the_wallet_of_a_tenant_that_was_paid(self):
        """Let a change wait and cancel it, then let the worker make one."""
        me, path = self.key_of("acme"), f"{self.acme.path}/wallet"
        me.put(path, {"address": new_address(), "chain_ids": [31337]})
        post_twice(me, f"{path}/pending/cancel", None)
        me.put(path, {"address": new_address(), "chain_ids": [31337]})
        PendingWallet.update(effective_at=PendingWallet.asked_at).execute()
        WalletChanges(self.app.extensions["ticketing"]).run()
        assert me.get(path).json["pending"] is None

    def buy_by_x402(self):
        """Act as x402 clients: one pays, and the worker goes on with another one's payment."""
        anybody, ticket = Api(self.app.test_client()), self.acme.ticket(capacity=100)
        free = self.acme.ticket(price_amount=0, chain_id=None)
        of_tenant = "/v1/x402/tenants/acme"
        assert anybody.get(f"{of_tenant}/tickets/{free['id']}/orders").status_code == 200
        assert anybody.get(f"{of_tenant}/events/{free['event_id']}/orders").status_code == 200
        path = f"{of_tenant}/tickets/{ticket['id']}/orders"
        assert anybody.get(path).status_code == 402
        key = {"Idempotency-Key": "x402-" + "k" * 40}
        for mode in ("submit", "lie"):
            self.facilitator.mode = mode
            asked = required(anybody.post(path, headers=key))
            header = Wallet().header(asked, validBefore=self.in_ten_minutes())
            for _ in range(2):
                anybody.post(path, headers=header)
            self.work()
            key = {}
        self.buy_a_cart_by_x402(anybody)
        self.buy_without_fee()

    def in_ten_minutes(self):
        """The chain's time then: it is ahead of ours."""
        return int(self.node.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16) + 600

    def buy_a_cart_by_x402(self, anybody):
        """Pay for several ticket types of one event by one signature."""
        self.facilitator.mode = "submit"
        types = family(self.acme, capacity=100)
        path = f"/v1/x402/tenants/acme/events/{types[0]['event_id']}/orders"
        assert anybody.get(path).status_code == 402
        body = {"items": items_of(*((each, 1) for each in types))}
        asked = required(anybody.post(path, body))
        header = Wallet().header(asked, validBefore=self.in_ten_minutes())
        answer = anybody.post(path, body, headers=header)
        assert answer.status_code in (200, 202), answer.json
        self.work()

    def buy_without_fee(self):
        """Pay an order by a signature."""
        buyer = self.acme.buyer(self.ticket)
        path = f"{buyer.path}/gasless"
        asked = buyer.api.get(f"{path}?payer={address_of()}").json["typed_data"]
        assert buyer.api.post(path, signed(asked)).status_code in (200, 202)
        self.work()

    def watch(self):
        """Let the worker see a payment, a reorganization, deadlines, money at an old address."""
        late = self.acme.buyer(self.ticket)
        free = self.acme.ticket(price_amount=0, chain_id=None)
        self.acme.buyer(free).purchase()
        idle = self.acme.buyer(free)
        past = PaymentIntent.update(expires_at=PaymentIntent.created_at)
        past.where(PaymentIntent.id == idle.intent["id"]).execute()
        self.acme.buyer(self.ticket).pay(self.node)
        self.work()
        self.node.rpc("anvil_reorg", 2, [])
        self.work()
        is_cold = (OrderAccount.chain_id == 31337) & OrderAccount.swept_at.is_null(False)
        cold = OrderAccount.select().where(is_cold).order_by(OrderAccount.swept_at)
        address = cold.first().address
        anvil.mint(self.node.rpc, anvil.TOKEN_ADDRESS, address, 10**12)
        self.node.rpc("evm_increaseTime", 2 * DAY)
        self.node.rpc("anvil_mine", "0x1")
        self.work()
        self.work()
        assert (late.now()["status"], idle.now()["status"]) == ("expired", "expired")

    def give_back(self):
        """Give back what was paid too much, and write off the rest."""
        buyer = self.acme.buyer(self.ticket)
        address = {"address": self.node.rpc("eth_accounts")[2]}
        assert post_twice(buyer.api, f"{buyer.path}/refund-address", address).status_code == 409
        assert post_twice(buyer.api, f"{buyer.path}/hold", None).status_code == 200
        here = {"chain_id": anvil.CHAIN_ID}
        assert post_twice(buyer.api, f"{buyer.path}/chain", here).status_code == 200
        buyer.pay(self.node, PRICE + 9)
        self.work()
        told = self.acme.buyer(self.ticket)
        for tx_hash in (told.pay(self.node), "0x" + "ab" * 32):
            sent = {"account": anvil.BUYER, "tx_hash": tx_hash, **here}
            assert post_twice(told.api, f"{told.path}/payers", sent).status_code == 204
            self.work()
        for account in (2, 3):
            address = {"address": self.node.rpc("eth_accounts")[account]}
            assert post_twice(buyer.api, f"{buyer.path}/refund-address", address).status_code == 200
        path = f"{self.acme.path}/refunds/{buyer.intent['id']}/payee"
        entered = self.key_of("acme").put(path, {**address, "reason": "the buyer called"})
        assert entered.status_code == 200
        sender = self.node.rpc("eth_accounts")[5]
        anvil.mint(self.node.rpc, anvil.TOKEN_ADDRESS, sender, 7)
        sent = anvil.transfer(self.node.rpc, anvil.TOKEN_ADDRESS, anvil.BUYER, 7, sender=5)
        path = f"{self.acme.path}/refunds/{buyer.intent['id']}/settle"
        body = {"tx_hash": sent["transactionHash"]}
        assert post_twice(self.key_of("acme"), path, body).status_code == 200
        assert self.key_of("acme").post(path, body).status_code == 200
        path = f"{self.acme.path}/refunds/{buyer.intent['id']}/waive"
        body = {"amount": 2, "reason": "less than the fee"}
        assert post_twice(self.key_of("acme"), path, body).status_code == 200
        assert len(buyer.now()["refunds"]) == 1
        dusted = self.acme.buyer(self.ticket)
        dusted.pay(self.node, PRICE + 3)
        self.work()
        for chain in ({"chain_id": 31337}, {}):
            body = {"max_amount": 3, "reason": "less than the fee", **chain}
            path = f"{self.acme.path}/refunds/waive"
            assert post_twice(self.key_of("acme"), path, body).status_code == 200
            path = "/v1/admin/tenants/big/refunds/waive"
            assert self.big.post(path, {**body, "max_amount": 1}).status_code == 200
        assert dusted.now()["refund_due"] == 0
        self.work()

    def pay_back(self):
        """Pay a list back, and settle with one transaction what several orders are due."""
        venue = new_organizer(self.app, "venue", address=self.node.rpc("eth_accounts")[6])
        self.work()
        marked, _ = owed(venue, self.node, 7, 8)
        fund(self.node, 50)
        for by_hand in (True, False):
            path = f"{venue.path}/refunds/{marked.intent['id']}/by-hand"
            assert post_twice(venue.api(), path, {"by_hand": by_hand}).status_code == 200
        listed(venue, self.node)
        path = f"{venue.path}/payouts"
        key = self.key_of("venue")
        for index in (OTHER, PAYER):
            body = {"chain_id": 31337, "payer": self.node.rpc("eth_accounts")[index]}
            body["accept_unwitnessed"] = True
            assert post_twice(key, path, body).status_code == 200
            query = {"chain_id": body["chain_id"], "payer": body["payer"]}
            assert key.get(f"{path}/preview", query_string=query).status_code == 200
        member = MemberBrowser(self.app, "venue", "venue@example.org")
        self._look_at_money(member, body, marked)
        self._press_a_mailbox_button()
        stranger = {"payer": self.node.rpc("eth_accounts")[OTHER], "reason": "a gift"}
        stranger["payment_id"] = listed(venue, self.node)["payments"][0]["id"]
        passed = f"{venue.path}/refunds/{marked.intent['id']}/pass-over"
        assert post_twice(venue.api(), passed, stranger).status_code == 200
        path = f"/console/refunds/{marked.intent['id']}/pass-over"
        member.open(f"{path}?{urlencode(stranger)}")
        member.press(path, stranger)
        tx_hash = sign(self.node, listed(venue, self.node))[-1]
        body = {"tx_hash": tx_hash, "chain_id": 31337}
        assert post_twice(key, f"{venue.path}/refunds/settle", body).status_code == 200
        self.work()
        # The worker asks a second URL about them. This chain has one.
        self.recorder.where = "worker"
        asked = witnesses.to_ask(31337, 2**31, 50)
        witnesses.note(asked, witnessed=True)
        self.recorder.where = None
        assert asked
        self.node.rpc("anvil_reorg", 1, [])
        self.node.rpc("anvil_mine", "0x1")
        self.work()

    def _look_at_money(self, member, payer, buyer):
        for name in ("collections", "payouts", "pay-back", "pay-back/safe", "signed"):
            form = payer if name.startswith("pay") else {"chain_id": 31337}
            member.press(f"/console/money/{name}", form)
        asked = {"chain_id": 31337, "payer": payer["payer"]}
        member.press("/console/money/payouts/preview", asked)
        report = {"chain_id": 31337, "kind": "id_used", "intent_ids": buyer.intent["id"]}
        report |= {"payer": payer["payer"], "tx_hash": "0x" + "ab" * 32}
        member.press("/console/money/reports", report)
        for name in ("", "/move", "/pay-back", "/move/safe.json?chain_id=31337"):
            member.open(f"/console/money{name}")

    def _press_a_mailbox_button(self):
        """Open the page of a mail's button about an order's address, and press it."""
        (row, *_) = OrderEmail.select().where(OrderEmail.salt.is_null(False))
        keyring = self.app.extensions["ticketing"].keyring
        link = links.mailbox(row.intent_id, row.place, row.salt, keyring)
        client = self.app.test_client()
        assert client.get(link, base_url=PUBLIC_URL).status_code == 200
        client.post(link, base_url=PUBLIC_URL, headers=SAME_ORIGIN)

    def look_at_the_rest(self):
        """Request what belongs to no tenant, the files and the reconciliation of a large tenant."""
        for name in ("attendees", "orders", "items", "payments"):
            path = f"/v1/admin/tenants/big/events/{self.hit.id}/{name}.csv"
            with self.big.get(path) as answer:
                assert answer.status_code == 200
        assert self.big.get("/v1/admin/tenants/big/reconciliation").json["ok"]
        # Also of all others. No request can do this: it may read everything.
        cli(self.app, "reconcile")
        path = "/v1/admin/tenants/big/collections?chain_id=31337"
        assert self.big.get(path).status_code == 200
        rules = [rule for rule in self.app.url_map.iter_rules() if "GET" in rule.methods]
        for path in ["/static/docs.js", *(rule.rule for rule in rules if not rule.arguments)]:
            self.big.get(path).close()
        scraper = Api(self.app.test_client(), {"Authorization": f"Bearer {METRICS_TOKEN}"})
        assert scraper.get("/metrics").status_code == 200


def test_nothing_but_what_is_asked_for_is_read(app, node, facilitator, monkeypatch):
    monkeypatch.setattr("ticketing.services.payments.watched_orders.COLD_ADDRESSES_PER_SWEEP", 200)
    drive = Drive(app, node, facilitator)
    drive.run()
    missing = {rule.endpoint for rule in app.url_map.iter_rules()} - drive.exercised
    assert not missing, sorted(missing)
    # Each combination of filters has a second page for some values.
    assert drive.paged == drive.lists

    statements = drive.recorder.statements.values()
    explainer = Explainer()
    faults = faults_of(explainer, statements)
    assert not faults, "\n\n".join(faults.values())

    # An index that no query uses only costs.
    used = set().union(*(explainer.plan(each).indexes for each in statements))
    made = {name for name in explainer.indexes if not re.search("^sqlite_|_(pkey|key)$", name)}
    # This database has few scans, x402 payments, notifications of a tenant, payments, turns in a
    # waiting room, and places of waiting lists. They are all read instead.
    few = {
        "scans_of_admission",
        "x402_settling",
        "intents_x402_unpaid",
        "notifications_of_type",
        "payments_unwitnessed",
    }
    few |= {"turns_by_beginning", "turns_of_network", "entries_offered", "entries_of_site"}
    assert made - used <= few

    unneeded = {index for index in NEEDED if not faults_without(index, explainer, statements)}
    assert not unneeded


def faults_without(index, explainer, statements):
    """Return what is wrong without an index with the plans that read by it."""
    by_it = [each for each in statements if index in explainer.plan(each).indexes]
    with database.atomic() as transaction:
        database.execute_sql(f"DROP INDEX {index}")
        faults = faults_of(Explainer(), by_it)
        transaction.rollback()
    return faults
