"""A shop, and all surfaces that are asked for the same: the API, the pages, MCP and x402."""

from collections.abc import Callable
from dataclasses import dataclass, field
from html import unescape
from typing import Any

from werkzeug.test import TestResponse

from tests.support import mcp
from tests.support.admissions import FREE
from tests.support.console import SAME_ORIGIN, sign_in
from tests.support.factories import CHAIN, Api, Buyer, Organizer
from tests.support.holders import Held, bought
from tests.support.order_pages import link
from ticketing.errors import TicketingError
from ticketing.pages.reasons import reason
from ticketing.web import operation

X402 = {
    "PUBLIC_URL": "http://localhost",
    f"X402_FACILITATOR_URL_{CHAIN}": "http://127.0.0.1:9",
    f"X402_FACILITATOR_TOKEN_{CHAIN}": "facilitator-token-0123456789",
}
"""Variables for a shop that sells to x402 clients. An order is refused before they are used."""
NO_SENTENCE = "For programmers."
PAST = "2020-01-01T00:00:00Z"
CANCELED = {"status": "canceled"}

Error = type[TicketingError]
Situation = Callable[..., None]
Table = dict[Error, Situation]
"""The situation in which each error is raised. It gets a shop, and on a chain a node."""


def refuses(error: Error, table: Table) -> Callable[..., Situation]:
    """Add a situation to a table."""
    return lambda situation: table.setdefault(error, situation)


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

    def buyers(self, buyer: Buyer, what: str, **fields: Any) -> None:
        """Ask the API and the page of an order for the same, as its buyer."""
        self.api(f"{buyer.path}/{what}", fields or None, buyer.api)
        self.form(f"{link(buyer)}/{what}", **fields)

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
