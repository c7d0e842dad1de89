"""The table of refusals: how to get into each situation, and everybody who asks there."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from html import unescape
from typing import Any

from werkzeug.test import TestResponse

from tests.support import mcp
from tests.support.admissions import FREE, given, redeem
from tests.support.console import PASSWORD, SAME_ORIGIN, sign_in
from tests.support.factories import (
    CHAIN,
    Api,
    Organizer,
    event_body,
    in_days,
    new_organizer,
    new_xpub,
)
from tests.support.holders import Held, bought, write
from tests.support.order_pages import link
from tests.support.payouts import of_an_address
from tests.support.refunds import overpay, state
from ticketing import clock, errors
from ticketing.chain.xpub import derive_address
from ticketing.constants import MAX_QUESTIONS
from ticketing.errors import TicketingError
from ticketing.models.admissions import Admission
from ticketing.models.door import DoorDevice
from ticketing.models.members import Member
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.vouchers import Voucher
from ticketing.notification_types import MAX_WEBHOOKS
from ticketing.pages.reasons import reason
from ticketing.web import operation
from tools import anvil

PAST = "2020-01-01T00:00:00Z"
CANCELED = {"status": "canceled"}
X402 = {
    "PUBLIC_URL": "http://localhost",
    f"X402_FACILITATOR_URL_{CHAIN}": "http://127.0.0.1:9",
    f"X402_FACILITATOR_TOKEN_{CHAIN}": "facilitator-token-0123456789",
}
"""Variables for a shop that sells to x402 clients. An order is refused before they are used."""
NO_SENTENCE = "For programmers."

Error = type[TicketingError]


@dataclass
class Shop:
    """An organizer with an administrator, and the questions that are asked in a situation.

    Each question takes the error that it must be refused with. Paths of the API begin at the
    organizer's, and those of forms at the console, unless they begin with a slash.
    """

    organizer: Organizer
    asks: list[Callable[[Error], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.admin, self.console = self.organizer.api(), sign_in(self.organizer)
        self.public = Api(self.organizer.app.test_client())

    def has(self, path: str, body: Any, method: str = "post") -> Any:
        """Change something by the API, so that a situation arises. Return the answer's body."""
        answer = getattr(self.admin, method)(f"{self.organizer.path}/{path}", body)
        assert answer.status_code in (200, 201), answer.json
        return answer.json

    def api(self, path: str, body: Any = None, by: Api | None = None, method: str = "POST") -> None:
        """Ask the API, by default as an administrator. The view must document the error."""
        path = path if path.startswith("/") else f"{self.organizer.path}/{path}"

        def ask(error: Error) -> None:
            app = self.organizer.app
            endpoint, _ = app.url_map.bind("localhost").match(path, method)
            assert error in operation.of(app.view_functions[endpoint]).errors, endpoint
            answer = getattr(by or self.admin, method.lower())(path, body)
            assert (answer.status_code, answer.json["code"]) == (error.status, error.code), path

        self.asks.append(ask)

    def form(self, path: str, **fields: Any) -> None:
        """Send a form to a page. The page must say why in the sentence for people."""
        sent = {"idempotency_key": "k" * 32, **{name: str(each) for name, each in fields.items()}}

        def ask(error: Error) -> None:
            if path.startswith("/"):
                page = self.public.client.post(path, data=sent, headers=SAME_ORIGIN)
            else:
                page = self.console.send(f"/console/{path}", sent)
            says_why(page, error)

        self.asks.append(ask)

    def both(self, path: str, form: str, method: str = "POST", **fields: Any) -> None:
        """Ask the API and the console for the same."""
        self.api(path, fields, method=method)
        self.form(form, **fields)

    def tool(self, name: str, **arguments: Any) -> None:
        """Call a tool of MCP."""

        def ask(error: Error) -> None:
            problem = mcp.refused(self.public, name, tenant=self.organizer.slug, **arguments)
            assert (problem["status"], problem["code"]) == (error.status, error.code), name

        self.asks.append(ask)

    def order(self, ticket: dict[str, Any], **fields: Any) -> None:
        """Order a ticket on all surfaces that sell it.

        x402 sells what costs something only after a look at the chain, and a quote does not say
        that something cannot be paid. So both are asked about free tickets only.
        """
        event_id, ticket_id = ticket["event_id"], ticket["id"]
        wanted = {"event_id": event_id, "ticket_id": ticket_id, **fields}
        self.api(f"{self.organizer.checkout}/preflight", wanted, self.public)
        self.tool("order_ticket", **wanted)
        if ticket["price_amount"] == 0:
            self.tool("quote", **wanted)
            x402 = f"/v1/x402/tenants/{self.organizer.slug}/tickets/{ticket_id}/orders"
            self.api(x402, fields, self.public)
        if "max_amount" not in fields:  # people see the price
            event = self.admin.get(f"{self.organizer.path}/events/{event_id}").json
            path = f"/{self.organizer.slug}/{event['slug']}/order"
            self.form(path, ticket_id=ticket_id, **fields)

    def cart(self, *tickets: dict[str, Any]) -> None:
        """Order one of each ticket type where an order can have several.

        Like `order`, x402 is asked about free ones only.
        """
        items = [{"ticket_id": each["id"], "quantity": 1} for each in tickets]
        wanted = {"event_id": tickets[0]["event_id"], "items": items}
        self.api(f"{self.organizer.checkout}/preflight", wanted, self.public)
        for tool in ("quote", "order_ticket"):
            self.tool(tool, **wanted)
        if not any(each["price_amount"] for each in tickets):
            x402 = f"/v1/x402/tenants/{self.organizer.slug}/events/{wanted['event_id']}/orders"
            self.api(x402, {"items": items}, self.public)

    def add_guests(self, ticket: dict[str, Any], number: int) -> None:
        """Issue tickets to guests."""
        self.api(f"{path_of(ticket)}/admissions", {"holders": [{"name": "Ada"}] * number})
        form = f"events/{ticket['event_id']}/guests"
        self.form(form, ticket_id=ticket["id"], guests="Ada\n" * number)

    def pass_on(self, held: Held, offer: str) -> None:
        """Offer a ticket, and accept an offer of it that was made before."""
        self.api(f"{held.path}/transfer", by=held.api)
        self.form(f"/t/{held.code}/offer")
        self.api(f"{self.organizer.checkout}/transfers/accept", {"offer": offer}, self.public)
        self.form(f"/x/{offer}")
        self.asks.append(lambda error: says_why(self.public.get(f"/x/{offer}"), error))

    def name(self, held: Held) -> None:
        """Write another name on a ticket."""
        self.api(held.path, {"holder": {"name": "Eve"}}, held.api, "PATCH")
        self.form(f"/t/{held.code}/holder", name="Eve")

    def void(self, held: Held) -> None:
        """Take a ticket back."""
        path = f"{held.id}/void"
        self.api(f"admissions/{path}", {"reason": "Another.", "refund": False})
        self.form(f"attendees/{path}", reason="Another.", refund="")

    def reissue(self, held: Held, **fields: str) -> None:
        """Give a ticket a new code."""
        self.both(f"admissions/{held.id}/reissue", f"attendees/{held.id}/reissue", **fields)


Situation = Callable[..., None]
REFUSALS: dict[Error, Situation] = {}
ON_CHAIN: dict[Error, Situation] = {}
"""The situations in which an error is raised. Those of ON_CHAIN get a shop and a node."""


def refuses(error: Error, table: dict[Error, Situation] = REFUSALS) -> Callable[..., Situation]:
    """Add a situation to a table."""
    return lambda situation: table.setdefault(error, situation)


def says_why(page: TestResponse, error: Error) -> None:
    """Check that a page refuses something, and says why."""
    sentence = reason(error(NO_SENTENCE))
    assert sentence != NO_SENTENCE, f"pages/reasons.py has no sentence for {error.code}"
    assert page.status_code == error.status, page.request.path
    assert sentence in unescape(page.text), page.request.path


def path_of(ticket: dict[str, Any]) -> str:
    """The path of a ticket type, from that of the organizer or of the console."""
    return f"events/{ticket['event_id']}/tickets/{ticket['id']}"


def held_of(shop: Shop, ticket: dict[str, Any] | None = None) -> tuple[Held, str]:
    """A free ticket with an open offer."""
    (held,) = bought(shop.organizer, ticket or shop.organizer.ticket(**FREE))
    return held, held.offer().json["offer"]


@refuses(errors.SoldOut)
def more_than_are_left(shop: Shop) -> None:
    ticket = shop.organizer.ticket(**FREE, capacity=3)
    buyer = shop.organizer.buyer(ticket, quantity=2)
    shop.order(ticket, quantity=2)
    shop.form(f"{link(buyer)}/again")
    shop.add_guests(ticket, 2)


ORDERS: dict[Error, tuple[dict[str, Any], int]] = {
    errors.SalesNotStarted: ({"sales_start_at": in_days(1)}, 1),
    errors.SalesEnded: ({"sales_end_at": in_days(-1)}, 1),
    errors.BelowMinimum: ({"min_per_order": 2}, 1),
    errors.AboveMaximum: ({"max_per_order": 2}, 3),
    errors.KeyRequired: ({"requires_key": True}, 1),
    errors.VoucherRequired: ({"require_voucher": True}, 1),
}
"""Fields of a ticket type, and how many of it are ordered."""


def order(error: Error, shop: Shop) -> None:
    fields, quantity = ORDERS[error]
    shop.order(shop.organizer.ticket(**FREE, **fields), quantity=quantity)


REFUSALS |= {error: partial(order, error) for error in ORDERS}


@refuses(errors.OverMaxAmount)
def more_than_the_buyer_allows(shop: Shop) -> None:
    ticket = shop.organizer.ticket()
    shop.order(ticket, max_amount=ticket["price_amount"] - 1)


@refuses(errors.OneTypeOnly)
def several_types_of_an_event_without_carts(shop: Shop) -> None:
    event = shop.organizer.event()
    shop.cart(*(shop.organizer.ticket(event, **FREE) for _ in range(2)))


@refuses(errors.NeedsTicket)
def a_child_without_an_adult(shop: Shop) -> None:
    child = shop.organizer.ticket(**FREE, requires_ticket=True)
    shop.order(child)
    shop.cart(child)


@refuses(errors.NoCommonNetwork)
def types_of_two_networks(shop: Shop) -> None:
    event = shop.organizer.event(carts=True)
    shop.cart(*(shop.organizer.ticket(event, chain_id=each) for each in (CHAIN, 8453)))


@refuses(errors.NetworkUnavailable)
def network_that_cannot_be_used(shop: Shop) -> None:
    shop.order(shop.organizer.ticket(chain_ids=[8453, CHAIN]), chain_id=8453)


@refuses(errors.NotPayable)
def without_a_wallet(shop: Shop) -> None:
    poor = Shop(new_organizer(shop.organizer.app, "poor", xpub=None), shop.asks)
    poor.order(poor.organizer.ticket())


@refuses(errors.IntentNotCancelable)
def order_that_is_confirmed(shop: Shop) -> None:
    buyer = shop.organizer.buyer(shop.organizer.ticket(**FREE))
    buyer.purchase()
    shop.api(f"{buyer.path}/cancel", by=buyer.api)
    shop.form(f"{link(buyer)}/cancel")
    intent = buyer.intent
    shop.tool("cancel_order", intent_id=intent["id"], client_secret=intent["client_secret"])


@refuses(errors.IntentCanceled)
def order_that_is_canceled(shop: Shop) -> None:
    buyer = shop.organizer.buyer(shop.organizer.ticket(**FREE))
    buyer.cancel()
    # The page shows what became of the order, and the tool its status.
    shop.api(f"{buyer.path}/purchase", by=buyer.api)


@refuses(errors.NotTransferable)
def ticket_of_one_person(shop: Shop) -> None:
    ticket = shop.organizer.ticket(**FREE)
    held, offer = held_of(shop, ticket)
    shop.has(path_of(ticket), {"transferable": False}, "patch")
    held.name(name="Grace")  # this is possible once
    shop.pass_on(held, offer)
    shop.name(held)


@refuses(errors.TransfersClosed)
def ticket_after_the_time_for_transfers(shop: Shop) -> None:
    ticket = shop.organizer.ticket(**FREE)
    held, offer = held_of(shop, ticket)
    shop.has(f"events/{ticket['event_id']}", {"transfers_end_at": PAST}, "patch")
    shop.pass_on(held, offer)


@refuses(errors.AdmissionSuspended)
def ticket_whose_payment_is_missing(shop: Shop) -> None:
    held, offer = held_of(shop)
    write(held, status="suspended")
    shop.pass_on(held, offer)


@refuses(errors.PaymentNotFinal)
def ticket_whose_payment_is_not_final(shop: Shop) -> None:
    held, offer = held_of(shop)
    order = Admission.get_by_id(held.id).intent_id
    PaymentIntent.update(early=True).where(PaymentIntent.id == order).execute()
    shop.pass_on(held, offer)


@refuses(errors.AlreadyRedeemed)
def ticket_of_somebody_inside(shop: Shop) -> None:
    held, offer = held_of(shop)
    redeem(Admission.get_by_id(held.id))
    shop.pass_on(held, offer)
    for ask in (shop.name, shop.void, shop.reissue):
        ask(held)


@refuses(errors.AdmissionVoid)
def ticket_that_was_taken_back(shop: Shop) -> None:
    held, offer = held_of(shop)
    shop.has(f"admissions/{held.id}/void", {"reason": "Asked for.", "refund": False})
    shop.pass_on(held, offer)
    for ask in (shop.name, shop.void, shop.reissue):
        ask(held)


@refuses(errors.WasTransferred)
def ticket_that_was_passed_on(shop: Shop) -> None:
    shop.void(held_of(shop)[0].transferred(name="Grace"))


@refuses(errors.DoorsUnsynced)
def ticket_of_somebody_who_may_be_inside(shop: Shop) -> None:
    event = shop.organizer.event(doors_open_at=PAST, transfers_end_at=in_days(1))
    held, _ = held_of(shop, shop.organizer.ticket(event, **FREE))
    device = shop.has(f"events/{event['id']}/door-devices", {"name": "Phone"})["id"]
    DoorDevice.update(paired_at=clock.now(), unsynced=3).where(DoorDevice.id == device).execute()
    shop.void(held)


@refuses(errors.MailNotConfigured)
def link_by_mail_without_a_mail_server(shop: Shop) -> None:
    shop.reissue(held_of(shop)[0], email="ada@example.org")


@refuses(errors.SaleCanceled)
def guests_of_what_was_canceled(shop: Shop) -> None:
    one, other = shop.organizer.ticket(), shop.organizer.ticket()
    shop.has(f"{path_of(one)}/status", CANCELED)
    shop.has(f"events/{other['event_id']}/status", CANCELED)
    shop.add_guests(one, 1)
    shop.add_guests(other, 1)


@refuses(errors.CodeTaken)
def code_of_another_voucher(shop: Shop) -> None:
    path = f"events/{shop.organizer.event()['id']}/vouchers"
    shop.has(path, {"code": "EARLY"})
    shop.api(path, {"code": "early"})
    shop.form(f"{path}/new", code="early")


@refuses(errors.MaxUsagesTooLow)
def usages_that_are_used(shop: Shop) -> None:
    path = f"events/{shop.organizer.event()['id']}/vouchers"
    voucher = shop.has(path, {"max_usages": 5})["id"]
    Voucher.update(redeemed=3).where(Voucher.id == voucher).execute()
    path = f"{path}/{voucher}"
    shop.both(path, path, "PATCH", max_usages=2)


@refuses(errors.VoucherInvalid)
def code_that_nobody_made(shop: Shop) -> None:
    event = shop.organizer.event()["id"]
    path = f"{shop.organizer.checkout}/events/{event}/tickets"

    def ask(error: Error) -> None:
        answer = shop.public.get(path, query_string={"voucher": "GUESS"})
        assert (answer.status_code, answer.json["code"]) == (error.status, error.code)

    shop.asks.append(ask)


@refuses(errors.SlugTaken)
def slug_of_another_event(shop: Shop) -> None:
    slug = shop.organizer.event()["slug"]
    shop.api("events", {**event_body(), "slug": slug, "capacity": 7})
    path = f"events/{shop.organizer.event(status='draft')['id']}"
    shop.both(path, f"{path}/edit", "PATCH", slug=slug)


@refuses(errors.SlugFixed)
def slug_that_people_have(shop: Shop) -> None:
    path = f"events/{shop.organizer.event()['id']}"
    shop.both(path, f"{path}/edit", "PATCH", slug="another")


@refuses(errors.InvalidTransition)
def publishing_what_was_canceled(shop: Shop) -> None:
    ticket = shop.organizer.ticket()
    for path in (f"{path_of(ticket)}/status", f"events/{ticket['event_id']}/status"):
        shop.has(path, CANCELED)
        shop.both(path, path, status="published")


@refuses(errors.HasIntents)
def hiding_what_was_ordered(shop: Shop) -> None:
    ticket = shop.organizer.ticket(**FREE)
    shop.organizer.buyer(ticket).cancel()
    for path in (f"{path_of(ticket)}/status", f"events/{ticket['event_id']}/status"):
        shop.both(path, path, status="draft")


@refuses(errors.CapacityTooLow)
def capacity_below_what_is_held(shop: Shop) -> None:
    ticket = shop.organizer.ticket(**FREE)
    shop.organizer.buyer(ticket, quantity=3)
    for path in (path_of(ticket), f"events/{ticket['event_id']}"):
        shop.both(path, f"{path}/edit", "PATCH", capacity=2)


@refuses(errors.KeyNotActive)
def new_secret_of_a_revoked_key(shop: Shop) -> None:
    key_id = shop.has("apikeys", {"name": "shop", "role": "read"})["id"]
    shop.has(f"apikeys/{key_id}/revoke", None)
    shop.both(f"apikeys/{key_id}/rotate", f"keys/{key_id}/rotate", overlap_seconds=0)


@refuses(errors.MemberExists)
def second_member_of_one_address(shop: Shop) -> None:
    shop.both("members", "people", email=shop.console.email.upper(), role="read")


@refuses(errors.LastAdmin)
def last_administrator(shop: Shop) -> None:
    me = Member.get(Member.email == shop.console.email).id
    shop.both(f"members/{me}", f"people/{me}/role", "PATCH", role="write")
    shop.both(f"members/{me}/disable", f"people/{me}/disable")


@refuses(errors.InvitationEnded)
def invitation_that_was_used(shop: Shop) -> None:
    made = shop.has("members", {"email": "grace@example.org", "role": "read"})
    token = made["invitation_url"].rpartition("/")[2]
    accepting = {"invitation": token, "password": PASSWORD}
    assert shop.public.post("/v1/auth/invitation", accepting).status_code == 200
    shop.api("/v1/auth/invitation", accepting, shop.public)
    shop.form(f"/console/invitation/{token}", password=PASSWORD)


@refuses(errors.TooManyWebhooks)
def one_webhook_more(shop: Shop) -> None:
    url = "https://shop.example.org/hooks"
    for _ in range(MAX_WEBHOOKS):
        shop.has("webhooks", {"url": url, "types": ["*"]})
    shop.api("webhooks", {"url": url, "types": ["*"]})
    shop.form("webhooks", url=url, types="*")


@refuses(errors.HoldExtended)
def second_extension_of_a_hold(shop: Shop) -> None:
    buyer = shop.organizer.buyer(shop.organizer.ticket())
    assert buyer.api.post(f"{buyer.path}/hold").status_code == 200
    shop.api(f"{buyer.path}/hold", None, buyer.api)  # the page goes on to the steps


@refuses(errors.HoldNotExtendable)
def extension_of_the_hold_of_free_tickets(shop: Shop) -> None:
    buyer = shop.organizer.buyer(shop.organizer.ticket(**FREE))
    shop.api(f"{buyer.path}/hold", None, buyer.api)
    shop.form(f"{link(buyer)}/hold")


@refuses(errors.NothingReceived)
def address_for_the_refund_of_an_unpaid_order(shop: Shop) -> None:
    for ticket in (shop.organizer.ticket(), shop.organizer.ticket(**FREE)):
        buyer = shop.organizer.buyer(ticket)
        shop.api(f"{buyer.path}/refund-address", {"address": anvil.BUYER}, buyer.api)
        shop.form(f"{link(buyer)}/refund-address", address=anvil.BUYER)


@refuses(errors.BillingClosed)
def billing_long_after_the_event(shop: Shop) -> None:
    ticket = shop.organizer.ticket(**FREE)
    buyer = shop.organizer.buyer(ticket)
    times = {"start_at": in_days(-92), "end_at": in_days(-91), "force": True}
    shop.has(f"events/{ticket['event_id']}", times, "patch")
    shop.api(f"{buyer.path}/billing", {"name": "Ada"}, buyer.api)
    shop.form(f"{link(buyer)}/billing", name="Ada")


@refuses(errors.NoRefundDue)
def refund_of_a_free_order(shop: Shop) -> None:
    path = f"refunds/{given(shop.organizer, shop.organizer.ticket(**FREE)).intent['id']}/settle"
    shop.both(path, path, tx_hash="0x" + "12" * 32)


@refuses(errors.RefundListed, ON_CHAIN)
def mark_of_a_refund_on_a_list(shop: Shop, node: anvil.Anvil) -> None:
    buyer = overpay(shop.organizer, node)
    of_an_address(buyer)
    assert state(buyer, anvil.BUYER).status_code == 200
    shop.has("payouts", {"chain_id": CHAIN, "payer": anvil.BUYER})
    path = f"refunds/{buyer.intent['id']}/by-hand"
    shop.api(path, {"by_hand": True})
    shop.form(path, by_hand="on")


@refuses(errors.AmountChanged)
def waiver_of_another_amount(shop: Shop) -> None:
    path = f"refunds/{given(shop.organizer, shop.organizer.ticket(**FREE)).intent['id']}/waive"
    shop.both(path, path, amount=1, reason="Less than the fee.")


@refuses(errors.RefundNotSeen, ON_CHAIN)
def refund_by_an_unknown_transaction(shop: Shop, node: anvil.Anvil) -> None:
    path = f"refunds/{overpay(shop.organizer, node).intent['id']}/settle"
    shop.both(path, path, tx_hash="0x" + "12" * 32)


@refuses(errors.WalletInUse, ON_CHAIN)
def wallet_that_holds_tokens(shop: Shop, node: anvil.Anvil) -> None:
    xpub = new_xpub()
    anvil.mint(node.rpc, anvil.TOKEN_ADDRESS, derive_address(xpub, 2), 1)
    shop.both("wallet", "wallet", "PUT", xpub=xpub)
    shop.form("wallet/confirm", xpub=xpub)


@refuses(errors.QuestionAnswered)
def change_of_an_answered_question(shop: Shop) -> None:
    ticket = shop.organizer.ticket(**FREE)
    path = f"events/{ticket['event_id']}/questions"
    asked = {"question": "Why?", "type": "text", "ask": "order", "identifier": "why"}
    path = f"{path}/{shop.has(path, asked)['id']}"
    given(shop.organizer, ticket, answers={"why": "x"})
    shop.api(path, {"type": "number"}, method="PATCH")
    shop.form(f"{path}/edit", question="Why?", type="number", ask="order")


@refuses(errors.TooManyQuestions)
def one_question_too_many(shop: Shop) -> None:
    path = f"events/{shop.organizer.event()['id']}/questions"
    asked = {"question": "Why?", "type": "text", "ask": "order"}
    for _ in range(MAX_QUESTIONS):
        shop.has(path, asked)
    shop.both(path, f"{path}/new", **asked)


@refuses(errors.AnswersClosed)
def answer_after_the_doors_opened(shop: Shop) -> None:
    ticket = shop.organizer.ticket(**FREE)
    here = f"events/{ticket['event_id']}"
    shop.has(f"{here}/questions", {"question": "Why?", "type": "text"})
    held, _ = held_of(shop, ticket)
    shop.has(here, {"doors_open_at": in_days(-1)}, "patch")
    shop.api(held.path, {"answers": {}}, held.api, "PATCH")
    shop.form(f"/t/{held.code}/answers")
