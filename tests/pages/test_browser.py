"""The harness of page tests: what it lets through, and what it catches."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from tests.support.browser import axe, until, visits
from tests.support.databases import only_once
from tests.support.remote import eventually
from tools.headless import DESKTOP, PHONE

HEAD = '<!doctype html><html lang="en"><meta charset="utf-8"><title>A page</title>'
POLICY = "default-src 'self'"


@contextmanager
def site(files: dict[str, str], policy: str = POLICY) -> Iterator[str]:
    """Serve HTML at `/` and JavaScript at other paths. Yield its origin."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            text = files.get(self.path)
            self.send_response(404 if text is None else 200)
            self.send_header("Content-Security-Policy", policy)
            kind = "text/javascript" if self.path.endswith(".js") else "text/html"
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.end_headers()
            self.wfile.write((text or "").encode())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def assert_caught(chromium, html, finding, policy=POLICY, **options):
    """Check that a test that opens this page, and waits for the finding, fails with it."""
    with (
        site({"/": HEAD + html, "/favicon.ico": ""}, policy) as origin,
        pytest.raises(AssertionError, match=re.escape(finding)),
        visits(chromium) as visit,
    ):
        page = visit(origin, **options)
        page.goto("/")
        wait_for(page, visit, finding)


def wait_for(page, visit, finding):
    """Wait until the visitor has noted it; each question to the page lets events arrive."""
    eventually(lambda: page.evaluate("true") and finding in "\n".join(visit.findings))


@only_once
def test_the_page_of_the_api_opens_and_asks_only_its_own_server(visit, stack):
    page = visit(stack.url, **DESKTOP)
    page.goto("/docs")
    expect(page.get_by_role("heading", name="Ticketing")).to_be_visible()


def test_a_good_page_passes(visit):
    files = {"/": HEAD + "<p>Good</p>", "/favicon.ico": ""}
    with site(files) as origin:
        visit(origin).goto("/")
        visit(origin, java_script_enabled=False).goto("/")
        visit.end()


@pytest.mark.parametrize("options", [{}, {"java_script_enabled": False}], ids=["js", "no js"])
def test_an_inline_style_that_the_policy_forbids_is_caught(chromium, options):
    assert_caught(chromium, "<p style='color: red'>", "Content Security Policy", **options)


def test_a_violation_that_a_page_catches_is_caught(chromium):
    html = "<script>try { eval('1') } catch (error) {}</script>"
    assert_caught(chromium, html, "CSP: script-src forbids eval", "script-src 'unsafe-inline'")


@pytest.mark.parametrize("options", [{}, {"java_script_enabled": False}], ids=["js", "no js"])
@pytest.mark.parametrize("url", ["http://elsewhere.example/a", "http://127.0.0.1:9/a"])
def test_a_request_to_another_host_or_port_is_caught(chromium, url, options):
    finding = f"request to another host: {url}"
    assert_caught(chromium, f"<img src={url} alt=''>", finding, "default-src *", **options)


def test_a_socket_to_another_host_is_caught(chromium):
    html = "<script>new WebSocket('ws://elsewhere.example/a')</script>"
    finding = "request to another host: ws://elsewhere.example/a"
    assert_caught(chromium, html, finding, "default-src * 'unsafe-inline'")


@pytest.mark.parametrize(
    ("script", "finding"),
    [
        ("console.error('of ours')", "console: of ours"),
        ("throw new Error('of ours')", "error: of ours"),
        ("Promise.reject(new Error('of ours'))", "error: of ours"),
        ("fetch('/none')", "status of 404"),
    ],
    ids=["console", "error", "promise", "missing"],
)
def test_an_error_of_a_script_is_caught(chromium, script, finding):
    policy = "default-src 'self' 'unsafe-inline'"
    assert_caught(chromium, f"<script>{script}</script>", finding, policy)


def test_an_error_in_a_service_worker_is_caught(chromium):
    files = {
        "/": HEAD + "<script src=/page.js></script>",
        "/page.js": "navigator.serviceWorker.register('/worker.js')",
        "/worker.js": "console.error('of ours')",
        "/favicon.ico": "",
    }
    with (
        site(files) as origin,
        pytest.raises(AssertionError, match="console: of ours"),
        visits(chromium) as visit,
    ):
        page = visit(origin)
        page.goto("/")
        wait_for(page, visit, "console: of ours")


def test_an_expected_finding_passes_and_must_come(chromium):
    with site({"/": HEAD, "/favicon.ico": ""}) as origin:
        with visits(chromium) as visit:
            visit.expect("status of 404")
            page = visit(origin)
            assert page.goto("/none").status == 404
            wait_for(page, visit, "status of 404")
        never = pytest.raises(AssertionError, match="it never came: status of 404")
        with never, visits(chromium) as visit:
            visit.expect("status of 404")
            visit(origin).goto("/")


def test_waiting_goes_on_over_navigations(visit):
    files = {
        "/": HEAD + "<script src=/count.js></script>",
        "/count.js": "sessionStorage.n = Number(sessionStorage.n || 0) + 1;"
        "if (sessionStorage.n < 20) location.reload()",
        "/favicon.ico": "",
    }
    with site(files) as origin:
        page = visit(origin)
        page.goto("/")
        until(page, "sessionStorage.n == 20")


def test_a_visitor_has_the_options_that_were_asked_for(visit):
    media = "[innerWidth, devicePixelRatio, matchMedia('(prefers-color-scheme: dark)').matches,"
    media += "matchMedia('(prefers-reduced-motion: reduce)').matches, window.stub]"
    html = HEAD + '<meta name="viewport" content="width=device-width">'
    with site({"/": html, "/favicon.ico": ""}) as origin:
        page = visit(
            origin, script="stub = 7", **PHONE, color_scheme="dark", reduced_motion="reduce"
        )
        page.goto("/")
        assert page.evaluate(media) == [390, 2, True, True, 7]


def test_axe_finds_what_is_not_accessible(visit):
    good = HEAD + "<main><h1>Good</h1></main>"
    bad = good + '<style>p { color: #aaa }</style><p>Pale</p><img src="data:,">'
    policy = "default-src 'self' data:; style-src 'unsafe-inline'"
    with site({"/": good, "/bad": bad, "/favicon.ico": ""}, policy) as origin:
        page = visit(origin)
        page.goto("/")
        assert axe(page) == []
        page.goto("/bad")
        found = axe(page)
    assert [each.split(":")[0] for each in found] == ["color-contrast", "image-alt"]


def test_the_browser_can_do_what_the_door_needs(visit):
    files = {"/": HEAD + "<script type=module src=/page.js></script>", "/favicon.ico": ""}
    files["/page.js"] = """
        const key = await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"])
        const text = new Uint8Array(3)
        const signature = await crypto.subtle.sign("Ed25519", key.privateKey, text)
        const signed = await crypto.subtle.verify("Ed25519", key.publicKey, signature, text)
        const camera = await navigator.mediaDevices.getUserMedia({video: true})
        const opened = indexedDB.open("door")
        const stored = await new Promise(done => { opened.onsuccess = () => done(true) })
        await navigator.serviceWorker.register("/worker.js")
        await navigator.serviceWorker.ready
        window.done = [signed, camera.getVideoTracks().length, stored, isSecureContext]
    """
    files["/worker.js"] = """
        addEventListener("install", () => skipWaiting())
        addEventListener("activate", event => event.waitUntil(clients.claim()))
        addEventListener("fetch", event => event.respondWith(
            fetch(event.request).catch(() => new Response("from the worker"))))
    """
    with site(files) as origin:
        page = visit(origin)
        page.goto("/")
        until(page, "window.done && navigator.serviceWorker.controller")
        assert page.evaluate("done") == [True, 1, True, True]
        page.context.set_offline(True)
        page.reload()
        assert page.inner_text("body") == "from the worker"
