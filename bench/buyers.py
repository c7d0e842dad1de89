"""Buyers as scripts: each does what a browser does on the pages of an event and of an order.

One more script pays for their orders from an unlocked account of anvil, in JSON-RPC batches.
"""

import heapq
import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from bench.goods import Goods
from bench.loop import Answer, Ask, Loop, Pool, Script
from tools.anvil import BUYER, TOKEN_ADDRESS, transfer_data

TENANT = "bench"
POLL_SECONDS = 3.0
READ_SECONDS = (1.0, 3.0)
PAY_SECONDS = (3.0, 10.0)
"""After how long a buyer sends the form, and then pays."""
_TRIES = 4
_SHOWN_AGAIN_AFTER = 60.0
_LONGEST_PAUSE = 60.0

PAYMENTS = "payments, a batch at anvil"
"""The step of the requests to anvil."""
_BATCH = 50
_BATCH_SECONDS = 0.25
_GAS = hex(100_000)
"""With it, the node estimates nothing."""

WAITS = b' id="waiting"'
"""What only the page of the waiting room has."""
SOLD_OUT = b"Sold out"
ALL_HELD = b"are ordering the last tickets"
_FORM_KEY = re.compile(rb'name="idempotency_key" value="([^"]+)"')
_MARKER = re.compile(rb'data-marker="([^"]*)"')
_PAYMENT = re.compile(rb"@(\d+)/transfer\?address=(0x[0-9a-fA-F]{40})&(?:amp;)?uint256=(\d+)")
_TICKET = re.compile(rb'href="(/t/[^"#]+)"')
_BROWSER = (
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n"
    "Accept-Language: en-US,en;q=0.5\r\nSec-Fetch-Site: same-origin\r\n"
)


class _GaveUp(Exception):
    """A buyer got a wrong answer too often."""


class _NothingLeft(Exception):
    """A buyer read that nothing can be bought."""


class Payer:
    """Sends the payments of all buyers on one chain, each at its time."""

    def __init__(self, port: int, nonce: int) -> None:
        """Pay through anvil's port. `nonce`: the number of the account's next transaction.

        Anvil carries out the calls of a batch at the same time. If it chose the numbers, two calls
        could get the same one.
        """
        self._nonce = nonce
        self._pool = Pool(port, most=1)
        self._due: list[tuple[float, str, int]] = []
        self.refused: Counter[str] = Counter()
        """How often anvil refused a payment, by its message."""
        self.is_done = False

    def pay(self, address: str, atomic_amount: int, at: float) -> None:
        """Plan a payment at a time of `time.perf_counter`."""
        heapq.heappush(self._due, (at, address, atomic_amount))

    def script(self) -> Script:
        """Send what is due until `is_done`."""
        while not self.is_done:
            yield _BATCH_SECONDS
            while batch := self._batch():
                answer = yield Ask(PAYMENTS, batch, ("200",), self._pool)
                if answer is not None and answer.status == "200":
                    messages = [each.get("error") for each in json.loads(answer.body)]
                    self.refused.update(each["message"] for each in messages if each)

    def _batch(self) -> bytes:
        calls: list[dict[str, object]] = []
        while self._due and self._due[0][0] <= time.perf_counter() and len(calls) < _BATCH:
            _, address, amount = heapq.heappop(self._due)
            data = transfer_data(address, amount)
            sent = {"from": BUYER, "to": TOKEN_ADDRESS, "data": data, "gas": _GAS}
            sent["nonce"] = hex(self._nonce)
            call = {"jsonrpc": "2.0", "id": self._nonce, "method": "eth_sendTransaction"}
            calls.append({**call, "params": [sent]})
            self._nonce += 1
        if not calls:
            return b""
        body = json.dumps(calls).encode()
        head = f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{self._pool.port}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body


@dataclass
class Crowd:
    """The buyers of one job, and what they know of the shop."""

    loop: Loop
    port: int
    goods: Goods
    network: str
    """The first two numbers of their addresses."""
    is_impatient: bool = False
    """Whether they send a form that says sold out, and go away when unpaid orders hold the rest."""
    finished_at: list[float] = field(default_factory=list)
    orders: list[str] = field(default_factory=list)
    """The paths of the orders' pages."""
    tickets: list[tuple[str, str]] = field(default_factory=list)
    """The paths of an order's page and of its ticket."""
    places: dict[int, str] = field(default_factory=dict)
    """The cookies of those who wait in the waiting room, by number."""
    ordered: int = 0
    gave_up: int = 0
    left: int = 0
    """Who went away, because nothing could be bought any more."""

    def __post_init__(self) -> None:
        self.pool = Pool(self.port)

    def journey(self, number: int, payers: Mapping[int, Payer]) -> Script:
        """Order, pay on the order's chain, wait for the ticket, and open it."""
        try:
            order = yield from self._order(number, "")
            if not order.startswith("/o/"):
                raise _NothingLeft
            page = yield from self._get(number, "order page", order)
            found = _PAYMENT.search(page)
            if found is None:
                raise _GaveUp
            at = time.perf_counter() + random.uniform(*PAY_SECONDS)
            payers[int(found[1])].pay(found[2].decode(), int(found[3]), at)
            page = yield from self._wait_for_ticket(number, order, page)
            ticket = _TICKET.search(page)
            if ticket is None:
                raise _GaveUp
            yield from self._get(number, "ticket page", ticket[1].decode())
            self.finished_at.append(time.perf_counter())
            self.tickets.append((order, ticket[1].decode()))
        except _GaveUp:
            self.gave_up += 1
        except _NothingLeft:
            self.left += 1

    def rush(self, number: int) -> Script:
        """Order what may be sold out. All send the form: their pages can be older than that."""
        try:
            then = yield from self._order(number, "the crowd's ")
            if then == f"{self.goods.page}#sold-out":
                yield from self._get(number, "the crowd's event page, again", self.goods.page)
        except _GaveUp:
            self.gave_up += 1
        except _NothingLeft:
            pass
        self.finished_at.append(time.perf_counter())

    def order_only(self, numbers: Iterable[int]) -> Script:
        """Order by the API, one buyer after another."""
        body = json.dumps(self.goods.body()).encode()
        path = f"/v1/checkout/tenants/{TENANT}/preflight"
        lines = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        for number in numbers:
            data = self._request(number, "POST", path, lines, body)
            answer = yield Ask("order, the API", data, ("201",), self.pool)
            if answer is not None and answer.status == "201":
                made = json.loads(answer.body)
                self.orders.append(f"/o/{made['id']}.{made['client_secret']}")

    def wait(self, number: int, order: str, until: float) -> Script:
        """Poll a page that is open, and nothing changes."""
        etag = None
        while True:
            answer = yield self._poll(number, order, etag, "poll, waiting")
            etag = _etag(answer, etag)
            if time.perf_counter() + POLL_SECONDS >= until:
                return
            yield POLL_SECONDS

    def hold(self, number: int, order: str, ticket: str, phase: Callable[[], str | None]) -> Script:
        """Poll, and open the ticket, in turn, while `phase` returns a name for the steps."""
        etag = None
        while name := phase():
            answer = yield self._poll(number, order, etag, f"holders' poll, {name}")
            etag = _etag(answer, etag)
            yield POLL_SECONDS / 2
            if name := phase():
                data = self._request(number, "GET", ticket)
                yield Ask(f"holders' ticket page, {name}", data, ("200",), self.pool)
                yield POLL_SECONDS / 2

    def _order(self, number: int, who: str) -> Generator[Ask | float, Answer | None, str]:
        """Open the page, read it, and send its form. Return the path that it leads to."""
        goods = self.goods
        page = yield from self._enter(number, f"{who}event page", goods.page)
        if goods.code:
            yield random.uniform(*READ_SECONDS)
            with_code = goods.page_with_code
            page = yield from self._enter(number, "event page with the code", with_code)
        found = _FORM_KEY.search(page)
        if found is None or (SOLD_OUT in page and not self.is_impatient):
            raise _NothingLeft
        yield random.uniform(*READ_SECONDS)
        chosen = random.choice(goods.chain_ids) if goods.chain_ids else None
        body = urlencode(goods.form(found[1].decode(), chosen)).encode()
        lines = "Content-Type: application/x-www-form-urlencoded\r\n"
        lines += f"Content-Length: {len(body)}\r\n"
        answer = yield from self._send_form(number, f"{who}order, the form", lines, body)
        then = answer.header(b"Location") or ""
        self.ordered += then.startswith("/o/")
        return then

    def _enter(
        self, number: int, step: str, path: str
    ) -> Generator[Ask | float, Answer | None, bytes]:
        """Open the page of the event, and wait there for one's turn. Return the page then."""
        while True:
            data = self._request(number, "GET", path)
            answer = yield from _insist(Ask(step, data, ("200", "303"), self.pool))
            self._keep_place(number, answer)
            if answer.status == "200" and WAITS not in answer.received:
                return answer.body
            if answer.status == "200":
                if self.is_impatient and ALL_HELD in answer.received:
                    raise _NothingLeft
                step = "waiting page"
                yield float(answer.header(b"Retry-After") or 1)

    def _send_form(
        self, number: int, step: str, lines: str, body: bytes
    ) -> Generator[Ask | float, Answer | None, Answer]:
        """Send the form of the event, again later if others came first."""
        while True:
            data = self._request(number, "POST", f"{self.goods.page}/order", lines, body)
            answer = yield from _insist(Ask(step, data, ("303", "429"), self.pool))
            if answer.status == "303":
                return answer
            self._keep_place(number, answer)
            yield float(answer.header(b"Retry-After") or 1)

    def _keep_place(self, number: int, answer: Answer) -> None:
        cookie = answer.header(b"Set-Cookie")
        if cookie is not None:
            self.places[number] = cookie.partition(";")[0]

    def _wait_for_ticket(
        self, number: int, order: str, page: bytes
    ) -> Generator[Ask | float, Answer | None, bytes]:
        """Do what static/pages/order.js does. Return the page with the tickets."""
        marker, shown_at = marker_of_page(page), time.perf_counter()
        etag, pause = None, POLL_SECONDS
        while not _TICKET.search(page):
            yield pause
            answer = yield self._poll(number, order, etag, "poll")
            if answer is None or answer.status not in ("200", "304"):
                pause = min(_LONGEST_PAUSE, 2 * max(pause, POLL_SECONDS))
                continue
            pause = POLL_SECONDS
            changed = answer.status == "200" and marker_of_poll(answer.body) != marker
            if not changed:
                etag = _etag(answer, etag)
            if changed or time.perf_counter() - shown_at > _SHOWN_AGAIN_AFTER:
                page = yield from self._get(number, "order page, again", order)
                marker, shown_at = marker_of_page(page), time.perf_counter()
        return page

    def _poll(self, number: int, order: str, etag: str | None, step: str) -> Ask:
        intent_id, _, secret = order.removeprefix("/o/").partition(".")
        lines = f"Authorization: Bearer {secret}\r\n"
        if etag is not None:
            lines += f"If-None-Match: {etag}\r\n"
        path = f"/v1/checkout/tenants/{TENANT}/intents/{intent_id}"
        data = self._request(number, "GET", path, lines)
        return Ask(step, data, ("200", "304"), self.pool)

    def _get(
        self, number: int, step: str, path: str
    ) -> Generator[Ask | float, Answer | None, bytes]:
        data = self._request(number, "GET", path)
        answer = yield from _insist(Ask(step, data, ("200",), self.pool))
        return answer.body

    def _request(
        self, number: int, method: str, path: str, lines: str = "", body: bytes = b""
    ) -> bytes:
        address = f"{self.network}.{number // 250}.{number % 250 + 1}"
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n{_BROWSER}"
        if number in self.places and path.startswith(self.goods.page):
            lines += f"Cookie: {self.places[number]}\r\n"
        return f"{head}X-Forwarded-For: {address}\r\n{lines}\r\n".encode() + body


def _insist(ask: Ask) -> Generator[Ask | float, Answer | None, Answer]:
    """Send a request, and again after a wrong answer, as people do. _GaveUp."""
    for attempt in range(1, _TRIES + 1):
        answer = yield ask
        if answer is not None and answer.status in ask.expected:
            return answer
        yield 2.0 * attempt
    raise _GaveUp


def _etag(answer: Answer | None, before: str | None) -> str | None:
    return (answer and answer.header(b"ETag")) or before


def marker_of_page(page: bytes) -> str:
    """Return what the page of an order says of its state."""
    found = _MARKER.search(page)
    return found[1].decode() if found else ""


def marker_of_poll(body: bytes) -> str:
    """Return what static/pages/order.js compares, of an order without money on other networks."""
    it = json.loads(body)
    parts = (
        it["status"],
        it["amount_received"],
        it["amount_due"],
        it["confirmations"],
        it["refund_due"],
        it["refund_pending"],
        len(it["refunds"]),
        it["refund_address"] or "",
        it["payee"]["waiting_address"] or "",
        it["expires_at"],
        it["chain_id"] or "",
    )
    return " ".join(map(str, parts))
