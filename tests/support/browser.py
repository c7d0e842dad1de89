"""A visitor with a real Chromium, who notes what no page of the service may do.

    def test_something(visit, stack):
        page = visit(stack.url, color_scheme="dark")
        page.goto("/docs")

Options are those of Playwright's `new_context`; `PHONE` and `DESKTOP` of tools/headless.py are
sizes. `page.context.new_page()` opens another tab. These fail the test: a console error, a CSP
violation, an uncaught error, a request to another origin than the one that was visited.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    Request,
    WebSocket,
    Worker,
)

from tests.support.remote import PATIENCE_SECONDS, eventually
from tools import chromium

WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"]

REPORT_VIOLATIONS = """
addEventListener("securitypolicyviolation", event => reportViolation(
    `${event.effectiveDirective} forbids ${event.blockedURI} on ${event.documentURI}`), true);
"""


class Visits:
    """Opens pages, each in a new context of one browser. `findings` has what they did wrong."""

    def __init__(self, browser: Browser) -> None:
        self.findings: list[str] = []
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self._expected: list[str] = []

    def __call__(self, origin: str, *, script: str = "", **options: Any) -> Page:
        """Open an empty tab. Its paths are relative to `origin`; `script` runs before each page."""
        context = self._browser.new_context(base_url=origin, **options)
        self._contexts.append(context)
        context.set_default_timeout(PATIENCE_SECONDS * 1000)
        context.expose_binding("reportViolation", self._on_violation)
        context.add_init_script(REPORT_VIOLATIONS + script)
        context.on("console", self._on_console)
        context.on("weberror", lambda error: self._note(f"error: {error.error}"))
        context.on("serviceworker", self._on_worker)
        context.on("request", lambda request: self._on_request(origin, request))
        context.on("page", lambda page: self._on_page(origin, page))
        return context.new_page()

    def expect(self, text: str) -> None:
        """Let the test pass with findings that contain `text`; at least one must be there."""
        self._expected.append(text)

    def close(self) -> None:
        """Close all tabs. What they did wrong until then is in `findings`."""
        for context in self._contexts:
            context.close()
        self._contexts.clear()

    def end(self) -> None:
        """Close all tabs. AssertionError for what was found, or expected and not found."""
        self.close()
        unexpected = [
            found for found in self.findings if not any(text in found for text in self._expected)
        ]
        assert not unexpected, "\n".join(unexpected)
        for text in self._expected:
            assert any(text in found for found in self.findings), f"it never came: {text}"

    def _note(self, finding: str) -> None:
        self.findings.append(finding)

    def _on_violation(self, _: object, said: str) -> None:
        self._note(f"CSP: {said}")

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._note(f"console: {message.text} ({message.location['url']})")

    def _on_worker(self, worker: Worker) -> None:
        worker.on("console", self._on_console)

    def _on_page(self, origin: str, page: Page) -> None:
        page.on("worker", self._on_worker)
        page.on("websocket", lambda socket: self._on_request(origin, socket))

    def _on_request(self, origin: str, request: Request | WebSocket) -> None:
        asked, own = urlsplit(request.url), urlsplit(origin)
        if asked.netloc not in ("", own.netloc):  # data: and blob: have none
            self._note(f"request to another host: {request.url}")


@contextmanager
def visits(browser: Browser) -> Iterator[Visits]:
    """Let a test visit pages. AssertionError at the end if one did what it may not."""
    visit = Visits(browser)
    try:
        yield visit
    finally:
        visit.end()


def until(page: Page, expression: str) -> None:
    """Wait until a JavaScript expression is true, over navigations too. AssertionError.

    Playwright's `wait_for_function` hangs under our CSP.
    """
    eventually(lambda: _holds(page, expression))


def _holds(page: Page, expression: str) -> bool:
    try:
        return bool(page.evaluate(f"Boolean({expression})"))
    except Error as error:
        if "context was destroyed" in error.message:
            return False
        raise


def stop_clock(page: Page) -> None:
    """From now on, only `page.clock.run_for` moves a tab's clock, also that of pages it opens.

    The clock goes forward by two minutes first.
    """
    page.clock.install()
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + PATIENCE_SECONDS)


def axe(page: Page) -> list[str]:
    """Return what axe-core finds against WCAG 2.2 AA: one line for each element.

    It never returns on a page that was opened with `java_script_enabled=False`.
    """
    page.evaluate(chromium.axe_source())
    only = {"runOnly": {"type": "tag", "values": WCAG}}
    found = page.evaluate("only => axe.run(document, only)", only)
    return [
        f"{rule['id']}: {' '.join(map(str, node['target']))}: {rule['help']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
