"""The organizer ends the links of an order: each secret of before is refused, on every surface."""

import re

import pytest

from tests.conftest import SECRET_KEY
from tests.support import mcp, order_pages
from tests.support.admissions import admissions_of, given, void
from tests.support.factories import Api, Buyer, worker_once
from tests.support.mail_server import MailServer
from tests.support.mails import ADA, SENDER, change_intent, confirmed, send, text_of
from tests.support.members import accept, invite
from tests.support.races import at_once
from tests.support.routes import endpoints, operations_of, pages, sent_to
from tests.support.waiting import entry_of, offer, page_of, wait
from ticketing import credentials, links
from ticketing.credentials import Keyring
from ticketing.errors import NotFound
from ticketing.models.notifications import Mail
from ticketing.models.order_emails import OrderEmail
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.refunds import RefundAddress
from ticketing.pages.guards import OrderLink, PaymentLink
from ticketing.services.orders import intents
from ticketing.services.payments import refund_addresses
from ticketing.web.secret_guards import Buyer as BuyerGuard
from tools import anvil

pytestmark = pytest.mark.sql

KEYRING = Keyring(SECRET_KEY)
NEW = "new@example.org"
PUBLIC_URL = "http://localhost"
SAME_ORIGIN = order_pages.SAME_ORIGIN


@pytest.fixture
def server():
    with MailServer() as running:
        yield running


@pytest.fixture
def environ(environ, server):
    return {**environ, "SMTP_URL": server.url, "MAIL_FROM": SENDER, "PUBLIC_URL": PUBLIC_URL}


def end_links(buyer, email=NEW, role="admin", status=200, **more):
    """End the links of an order as its organizer. Return the buyer who has the new ones."""
    organizer, intent_id = buyer.organizer, buyer.intent["id"]
    api = role if isinstance(role, Api) else organizer.api(role)
    body = {"email": email, "end_old_links": True, **more}
    answer = api.post(f"{organizer.path}/intents/{intent_id}/email", body)
    assert answer.status_code == status, answer.json
    generation = PaymentIntent.get_by_id(intent_id).link_generation
    secret = credentials.client_secret(KEYRING.current, intent_id, generation)
    return Buyer(organizer, {**buyer.intent, "client_secret": secret})


def pay_secret(buyer, generation):
    return credentials.pay_secret(KEYRING.current, buyer.intent["id"], generation)


def with_secret(buyer, secret):
    return buyer.organizer.with_headers({"Authorization": f"Bearer {secret}"})


def guarded(app, guard):
    """Yield the paths and methods of pages with a guard."""
    for rule in pages(app):
        surface = app.blueprints[rule.endpoint.rpartition(".")[0]]
        if isinstance(surface.guard, guard):
            for method in sorted(rule.methods - {"OPTIONS"}):
                yield method, rule.rule


class TestEverySurface:
    def test_each_call_of_the_api_refuses_the_old_secret(self, app, api, acme):
        buyer = acme.buyer(acme.ticket())
        operations = operations_of(api.get("/openapi.json").json)
        of_buyers = [
            each
            for each in endpoints(app, "/v1/checkout/")
            if isinstance(each.guard, BuyerGuard) and each.ids == ["intent_id"]
        ]
        assert len(of_buyers) >= 15
        now = end_links(buyer)

        def ask(endpoint, secret):
            path = endpoint.path(tenant=acme.slug, intent_id=buyer.intent["id"])
            headers = {"Authorization": f"Bearer {secret}"}
            sent = sent_to(operations, endpoint, {})
            return app.test_client().open(path, method=endpoint.method, headers=headers, **sent)

        for endpoint in of_buyers:
            old = [buyer.intent["client_secret"]]
            if endpoint.view in endpoint.guard.pay_views:
                old.append(pay_secret(buyer, 0))
            for secret in old:
                answer = ask(endpoint, secret)
                assert answer.status_code == 404, endpoint
                assert endpoint.method == "HEAD" or answer.json["code"] == "not_found"
                assert endpoint.method == "HEAD" or "has ended" in answer.json["detail"]
            # The new one passes the guard. What is refused after that has other reasons.
            answer = ask(endpoint, now.intent["client_secret"])
            is_ended = answer.status_code == 404 and "has ended" in answer.text
            assert not is_ended and answer.status_code not in (401, 403), endpoint

    def test_each_page_refuses_the_old_link(self, app, acme):
        buyer = acme.buyer(acme.ticket())
        now = end_links(buyer)
        both = [
            (OrderLink, order_pages.link(buyer), order_pages.link(now)),
            (
                PaymentLink,
                links.payment(buyer.intent["id"], 0, KEYRING),
                links.payment(buyer.intent["id"], 1, KEYRING),
            ),
        ]
        for guard, old, new in both:
            found = list(guarded(app, guard))
            assert found
            for method, rule in found:
                for path, is_new in ((old, False), (new, True)):
                    url = re.sub("^/[^/]*/<link>", path, rule)
                    client = app.test_client()
                    answer = client.open(url, method=method, headers=SAME_ORIGIN)
                    refused = answer.status_code == 404 and "This link has ended" in answer.text
                    if method != "HEAD":
                        assert refused is not is_new, (method, rule)
                    elif not is_new:
                        assert answer.status_code == 404

    def test_a_poll_with_the_last_tag_is_refused(self, acme, server):
        buyer = acme.buyer(acme.ticket())
        tag = buyer.api.get(buyer.path).headers["ETag"]
        of_payer = with_secret(buyer, pay_secret(buyer, 0))
        payer_tag = of_payer.get(f"{buyer.path}/payment").headers["ETag"]
        now = end_links(buyer)
        assert buyer.api.get(buyer.path, headers={"If-None-Match": tag}).status_code == 404
        path = f"{buyer.path}/payment"
        assert of_payer.get(path, headers={"If-None-Match": payer_tag}).status_code == 404
        # The order has not changed, so the new link goes on where the old one was.
        assert now.api.get(buyer.path, headers={"If-None-Match": tag}).status_code == 304
        new_payer = with_secret(buyer, pay_secret(buyer, 1))
        assert new_payer.get(path, headers={"If-None-Match": payer_tag}).status_code == 304

    def test_the_tools_of_agents_refuse_it(self, acme):
        buyer = acme.buyer(acme.ticket(price_amount=0, chain_id=None))
        now = end_links(buyer)
        api = Api(acme.app.test_client())
        for name in ("cancel_order", "order_status"):
            opened = {"tenant": acme.slug, "intent_id": buyer.intent["id"]}
            old = {**opened, "client_secret": buyer.intent["client_secret"]}
            assert mcp.refused(api, name, **old)["code"] == "not_found"
            new = {**opened, "client_secret": now.intent["client_secret"]}
            # Without a node, an order is not canceled. The link was right.
            assert "not_found" not in str(mcp.call_any(api, name, **new))

    def test_a_second_end_ends_the_first_new_link(self, acme):
        buyer = acme.buyer(acme.ticket())
        first = end_links(buyer)
        second = end_links(first)
        assert (buyer.api.get(buyer.path).status_code, first.api.get(buyer.path).status_code) == (
            404,
            404,
        )
        assert second.api.get(buyer.path).status_code == 200
        intent_id, keyring = buyer.intent["id"], KEYRING.current
        for forged in ("cs_02_" + "0" * 64, "cs_2_" + "0" * 64, "cs_-1_" + "0" * 64, "cs_2"):
            assert with_secret(buyer, forged).get(buyer.path).status_code == 404
        body = credentials.client_secret(keyring, intent_id, 0).removeprefix("cs_")
        assert with_secret(buyer, f"cs_2_{body}").get(buyer.path).status_code == 404


class TestRepeats:
    """Who made the order knows its keys."""

    KEY = {"Idempotency-Key": "k" * 40}

    def test_of_a_preflight(self, acme):
        ticket = acme.ticket()
        body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"]}
        api = Api(acme.app.test_client(), self.KEY)
        first = api.post(f"{acme.checkout}/preflight", body)
        end_links(Buyer(acme, first.json))
        again = api.post(f"{acme.checkout}/preflight", body)
        assert (again.status_code, again.json["code"]) == (404, "not_found")

    def test_of_a_call_with_the_old_secret(self, acme):
        buyer = acme.buyer(acme.ticket(price_amount=0, chain_id=None))
        assert buyer.api.post(f"{buyer.path}/cancel", headers=self.KEY).status_code == 200
        end_links(buyer)
        again = buyer.api.post(f"{buyer.path}/cancel", headers=self.KEY)
        assert again.status_code == 404 and "Idempotent-Replayed" not in again.headers

    def test_of_a_tool(self, acme):
        ticket = acme.ticket()
        wanted = {
            "tenant": acme.slug,
            "event_id": ticket["event_id"],
            "ticket_id": ticket["id"],
            "idempotency_key": "k" * 40,
        }
        api = Api(acme.app.test_client())
        made = mcp.call(api, "order_ticket", **wanted)
        end_links(Buyer(acme, made))
        assert mcp.refused(api, "order_ticket", **wanted)["code"] == "not_found"

    def test_of_a_form_leads_to_the_old_link_and_replaces_nothing(self, acme):
        ticket = acme.ticket(acme.event(slug="gala"))
        client = acme.app.test_client()
        key = order_pages.key_in(client.get("/acme/gala").text)
        form = {"ticket_id": ticket["id"], "quantity": "1", "idempotency_key": key}
        made = client.post("/acme/gala/order", data=form, headers=SAME_ORIGIN)
        intent_id, _, secret = made.headers["Location"].removeprefix("/o/").partition(".")
        now = end_links(Buyer(acme, {"id": intent_id, "client_secret": secret}))
        again = client.post("/acme/gala/order", data=form, headers=SAME_ORIGIN)
        assert again.headers["Location"] == made.headers["Location"]
        assert client.get(made.headers["Location"]).status_code == 404
        other = client.post("/acme/gala/order", data={**form, "quantity": "2"}, headers=SAME_ORIGIN)
        assert other.status_code == 303 and intent_id not in other.headers["Location"]
        assert now.now()["status"] == "awaiting_payment"

    def test_of_a_place_on_the_waiting_list(self, acme, server):
        ticket = acme.ticket(capacity=1, price_amount=0, chain_id=None, allow_waitinglist=True)
        (seat,) = admissions_of(given(acme, ticket))
        wait(acme, ticket, "bob@example.org")
        Mail.delete().execute()
        assert void(acme, seat).status_code == 200
        offer(acme.app)
        entry = entry_of("bob@example.org")
        intent_id = entry.intent_id
        assert intent_id is not None
        old = credentials.client_secret(KEYRING.current, intent_id, 0)
        now = end_links(Buyer(acme, {"id": intent_id, "client_secret": old}))
        client = acme.app.test_client()
        page = client.get(page_of(entry))
        assert now.intent["client_secret"] not in page.text
        gone = client.post(f"{page_of(entry)}/leave", headers=SAME_ORIGIN)
        assert gone.status_code == 404 and now.now()["status"] == "awaiting_payment"
        send(acme.app)
        sent = {mail["To"]: text_of(mail) for mail in server.mails}
        assert now.intent["client_secret"] not in sent.get("bob@example.org", "")


class TestMails:
    def test_the_address_before_learns_that_its_link_ended_and_whom_to_ask(self, acme, server):
        contact = acme.api().patch(acme.path, {"contact_email": "help@acme.example"})
        assert contact.status_code == 200
        buyer = confirmed(acme, acme.ticket(), buyer=ADA)
        Mail.delete().execute()
        now = end_links(buyer)
        send(acme.app)
        mails = {mail["To"]: mail for mail in server.mails}
        assert mails.keys() == {ADA["email"], NEW}
        told, new = mails[ADA["email"]], mails[NEW]
        assert told["Subject"] == "The link of your order has ended: Launch Night"
        assert NEW not in str(told) and "/_m/" not in str(told) and "/o/" not in str(told)
        assert "no longer open the order" in text_of(told)
        assert "help@acme.example" in text_of(told) and told["Reply-To"] == "help@acme.example"
        assert PUBLIC_URL + order_pages.link(now) in text_of(new)

    def test_the_same_address_gets_the_new_link_only(self, acme, server):
        buyer = confirmed(acme, acme.ticket(), buyer=ADA)
        Mail.delete().execute()
        now = end_links(buyer, ADA["email"])
        send(acme.app)
        assert PUBLIC_URL + order_pages.link(now) in text_of(server.only())

    def test_the_buttons_of_before_end_and_the_link_may_change_the_address_again(
        self, acme, server
    ):
        buyer = confirmed(acme, acme.ticket(), buyer=ADA)
        buyer.api.post(f"{buyer.path}/email", {"email": "b@example.org"})
        Mail.delete().where(Mail.kind == "order_confirmed").execute()
        send(acme.app)
        put_back = re.search(rf"{PUBLIC_URL}(/_m/\S+)", text_of(server.only()))[1]
        client = acme.app.test_client()
        assert client.post(put_back, headers=SAME_ORIGIN).status_code == 303
        now = end_links(buyer)
        assert client.post(put_back, headers=SAME_ORIGIN).status_code == 404
        assert OrderEmail.get(OrderEmail.place == 1).email == ADA["email"]
        changed = now.api.post(f"{buyer.path}/email", {"email": "c@example.org"})
        assert changed.status_code == 200


class TestRoles:
    def test_without_money_write_ends_links(self, acme):
        buyer = acme.buyer(acme.ticket())
        assert end_links(buyer, role="write").now()["id"] == buyer.intent["id"]

    @pytest.mark.parametrize("column", ["received", "status"])
    def test_with_money_write_only_changes_the_address(self, acme, column):
        buyer = acme.buyer(acme.ticket(), buyer=ADA)
        change_intent(buyer, **{column: "confirmed" if column == "status" else 1})
        answer = end_links(buyer, role="write", status=403)
        assert answer.intent["client_secret"] == buyer.intent["client_secret"]
        assert PaymentIntent.get_by_id(buyer.intent["id"]).buyer_email == ADA["email"]
        assert not Mail.select().exists() and not OrderEmail.select().exists()
        path = f"{acme.path}/intents/{buyer.intent['id']}/email"
        assert acme.api("write").post(path, {"email": NEW}).status_code == 200

    def test_money_on_another_network_counts(self, acme, node):
        buyer = acme.buyer(acme.ticket())
        buyer.pay(node, 1)
        worker_once(acme.app)
        end_links(buyer, role="write", status=403)
        end_links(buyer, role="admin")

    def test_finance_ends_links_of_paid_orders_and_no_more(self, acme):
        url = invite(acme, "money@example.org", "finance")["invitation_url"]
        token = accept(acme, url).json["access_token"]
        finance = acme.with_headers({"Authorization": f"Bearer {token}"})
        Mail.delete().execute()
        buyer = confirmed(acme, acme.ticket(), buyer=ADA)
        path = f"{acme.path}/intents/{buyer.intent['id']}/email"
        assert finance.post(path, {"email": NEW}).status_code == 403
        assert end_links(buyer, role=finance).now()["status"] == "confirmed"
        end_links(acme.buyer(acme.ticket()), role=finance, status=403)

    def test_it_is_in_the_audit_log(self, acme):
        end_links(acme.buyer(acme.ticket()))
        entry = acme.api().get(f"{acme.path}/audit-log").json["data"][0]
        assert entry["action"] == "intents_send_intent_to_email"
        assert entry["after"] == {"email": NEW, "end_old_links": True}


class TestRaces:
    def test_of_two_ends_at_once_one_link_is_left(self, acme):
        for _ in range(4):
            buyer = acme.buyer(acme.ticket(), buyer=ADA)
            admin = acme.api()
            at_once(
                lambda buyer=buyer, admin=admin: end_links(buyer, "x@example.org", admin),
                lambda buyer=buyer, admin=admin: end_links(buyer, "y@example.org", admin),
            )
            row = PaymentIntent.get_by_id(buyer.intent["id"])
            assert row.link_generation == 2
            (last,) = [
                each.email
                for each in OrderEmail.select().where(OrderEmail.intent == row.id)
                if each.place == 3
            ]
            assert last == row.buyer_email

    def test_the_old_link_changes_no_address_once_it_ended(self, acme):
        """It passes the guard, and waits for the lock."""
        for _ in range(4):
            buyer = acme.buyer(acme.ticket(), buyer=ADA)
            admin = acme.api()
            changed, _ = at_once(
                lambda buyer=buyer: buyer.api.post(
                    f"{buyer.path}/email", {"email": "thief@example.org"}
                ),
                lambda buyer=buyer, admin=admin: end_links(buyer, NEW, admin),
            )
            assert changed.status_code in (200, 404)
            assert PaymentIntent.get_by_id(buyer.intent["id"]).buyer_email == NEW

    def test_the_old_link_states_no_address_for_a_refund_once_it_ended(self, app, acme):
        buyer = confirmed(acme, acme.ticket())
        at_guard = intents.get_by_link("acme", buyer.intent["id"], 0)
        end_links(buyer)
        with pytest.raises(NotFound, match="This link has ended"):
            refund_addresses.state(at_guard, anvil.BUYER, app.extensions["ticketing"])
        assert not RefundAddress.select().exists()
