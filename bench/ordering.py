"""Orders through the pages, as browsers make them: of ours, and of pretix.

A browser here keeps cookies, follows redirects, and asks again while pretix's worker is busy. It
loads no styles, scripts or pictures.
"""

import itertools
import json
import re
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from html import unescape
from urllib.parse import urlencode, urlsplit

from bench.loop import Answer, Ask, Pool, Script

OURS, PRETIX = "ours", "pretix"
_REDIRECTS = ("302", "303")
_FORM_KEY = re.compile(rb'name="idempotency_key" value="([^"]+)"')
_TICKET = re.compile(rb'name="ticket_id"[^>]* value="([^"]+)"')
_CSRF = re.compile(rb'name="csrfmiddlewaretoken" value="([^"]+)"')
_CART = re.compile(rb'action="([^"]*/cart/add[^"]*)"')
_ITEM = re.compile(rb'name="(item_\d+)"')
_FIRST_LOOK_SECONDS, _LOOK_SECONDS = 0.1, 0.25
"""As asynctask.js of pretix: how soon a browser asks whether the worker is ready, and again."""

Asking = Generator[Ask | float, Answer | None, Answer]


class NoOrder(Exception):
    """An answer lacks what the next step needs."""


@dataclass
class Browser:
    """A buyer's browser. `asked` counts its requests."""

    pool: Pool
    address: str
    cookies: dict[str, str] = field(default_factory=dict)
    asked: int = 0

    def get(self, step: str, path: str) -> Asking:
        """Open a page, and follow redirects. NoOrder."""
        return self._follow(step, self._request("GET", path))

    def send(self, step: str, path: str, form: Mapping[str, str]) -> Asking:
        """Send a form, and follow redirects. NoOrder."""
        return self._follow(step, self._request("POST", path, urlencode(form)))

    def _follow(self, step: str, data: bytes) -> Asking:
        while True:
            self.asked += 1
            answer = yield Ask(step, data, ("200", *_REDIRECTS), self.pool)
            if answer is None or answer.status not in ("200", *_REDIRECTS):
                raise NoOrder
            self._keep_cookies(answer)
            if answer.status == "200":
                return answer
            data = self._request("GET", answer.header(b"Location") or "")

    def _request(self, method: str, url: str, body: str = "") -> bytes:
        place = urlsplit(url)
        lines = [
            f"{method} {place.path}{'?' if place.query else ''}{place.query} HTTP/1.1",
            f"Host: 127.0.0.1:{self.pool.port}",
            f"X-Forwarded-For: {self.address}",
            "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            "Accept-Language: en-US,en;q=0.5",
            "Sec-Fetch-Site: same-origin",
        ]
        if self.cookies:
            lines.append("Cookie: " + "; ".join(f"{k}={v}" for k, v in self.cookies.items()))
        if method == "POST":
            lines.append("Content-Type: application/x-www-form-urlencoded")
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join([*lines, "", body]).encode()

    def _keep_cookies(self, answer: Answer) -> None:
        for line in answer.received.partition(b"\r\n\r\n")[0].split(b"\r\n"):
            name, _, value = line.partition(b": ")
            if name.lower() == b"set-cookie":
                key, _, content = value.decode().partition(";")[0].partition("=")
                self.cookies[key] = content


def order_of_ours(browser: Browser, page: str) -> Asking:
    """Open the event's page, send its form, and open the order. NoOrder."""
    event = yield from browser.get("event page", page)
    form = {"idempotency_key": _found(_FORM_KEY, event), "ticket_id": _found(_TICKET, event)}
    form |= {"quantity": "1", "email": "", "name": ""}
    order = yield from browser.send("form, order page", f"{page}/order", form)
    if b'<div id="order"' not in order.body:
        raise NoOrder
    return order


def order_of_pretix(browser: Browser, page: str) -> Asking:
    """Fill the cart, go through the checkout, and open the order. NoOrder."""
    event = yield from browser.get("event page", page)
    form = {"csrfmiddlewaretoken": _found(_CSRF, event), "subevent": "", _found(_ITEM, event): "1"}
    yield from _task(browser, "cart", _found(_CART, event), form)
    asked = yield from browser.get("questions", f"{page}checkout/start")
    form = {"csrfmiddlewaretoken": _found(_CSRF, asked), "email": "ada@example.org"}
    asked = yield from browser.send("payment", f"{page}checkout/questions/", form)
    form = {"csrfmiddlewaretoken": _found(_CSRF, asked), "payment": "manual"}
    asked = yield from browser.send("confirmation", f"{page}checkout/payment/", form)
    form = {"csrfmiddlewaretoken": _found(_CSRF, asked)}
    order = yield from _task(browser, "order", f"{page}checkout/confirm/", form)
    if b"thank" not in order.body.lower():
        raise NoOrder
    return order


def _task(browser: Browser, step: str, path: str, form: Mapping[str, str]) -> Asking:
    """Send a form to pretix's worker, ask until it is done, and open the page that it names."""
    said = json.loads((yield from browser.send(step, path, {**form, "ajax": "1"})).body)
    pause, check = _FIRST_LOOK_SECONDS, str(said.get("check_url"))
    while "redirect" not in said:
        yield pause
        pause = _LOOK_SECONDS
        said = json.loads((yield from browser.get(f"{step}, poll", check)).body)
    if not said.get("success", True):
        raise NoOrder
    return (yield from browser.get(f"{step}, its page", said["redirect"]))


def _found(pattern: re.Pattern[bytes], answer: Answer) -> str:
    found = pattern.search(answer.body)
    if found is None:
        raise NoOrder
    return unescape(found[1].decode())


_WAYS: dict[str, Callable[[Browser, str], Asking]] = {
    OURS: order_of_ours,
    PRETIX: order_of_pretix,
}


@dataclass
class Orders:
    """What became of the orders of one job. Each is of another buyer with another address."""

    of: str
    page: str
    pool: Pool
    first: int
    done: int = 0
    failed: int = 0
    requests: int = 0

    def __post_init__(self) -> None:
        self._numbers = itertools.count(self.first)

    def until(self, end: float) -> Script:
        """Order, one order after another, until a time of `time.perf_counter`."""
        while time.perf_counter() < end:
            number = next(self._numbers) % 2**24
            address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
            browser = Browser(self.pool, address)
            try:
                yield from _WAYS[self.of](browser, self.page)
                self.done += 1
            except NoOrder:
                self.failed += 1
            self.requests += browser.asked
