"""The card of an event in a frame of another website."""

import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from playwright.sync_api import expect

from tests.support.console import sign_in
from ticketing.pages.assets import FOLDER

PATH = "/_e/acme/summer-concert"
MOST_BYTES = 8 * 1024


def test_it_says_what_and_when_and_links_to_the_page_once(event, seat, api):
    for _ in range(2):  # the second answer is the cached one
        page = api.get(PATH)
        assert page.status_code == 200
        for shown in ("Summer Concert", "(Europe/Berlin)", "Main Hall", "Seat", "5.00 <span"):
            assert shown in page.text, shown
        (link,) = re.findall(r"<a [^>]*>", page.text)
        assert 'href="http://localhost/acme/summer-concert"' in link and '"_blank"' in link
        for tag in ("<form", "<script", "<input", "<button", "<iframe"):
            assert tag not in page.text


def test_any_site_may_show_it_and_it_can_do_nothing_there(event, seat, api):
    for _ in range(2):
        headers = api.get(PATH).headers
        policy = headers["Content-Security-Policy"]
        assert "frame-ancestors *" in policy and "form-action 'none'" in policy
        assert "script-src" not in policy and "default-src 'none'" in policy
        assert "Set-Cookie" not in headers and "X-Frame-Options" not in headers
        assert headers["X-Robots-Tag"] == "noindex"
    assert (
        "frame-ancestors 'none'"
        in api.get("/acme/summer-concert").headers["Content-Security-Policy"]
    )


def test_it_is_small_whatever_organizers_write(acme, api):
    event = acme.event(title="&" * 200, venue="&" * 500, slug="long", status="published")
    for number in range(7):
        acme.ticket(event, name=f"{number}{'&' * 199}", status="published")
    page = api.get("/_e/acme/long")
    assert len(re.findall(r"<li\b", page.text)) == 6 and "And more" in page.text
    assert len(page.data) + len((FOLDER / "embed.css").read_bytes()) <= MOST_BYTES


def test_it_follows_the_state_of_the_event(acme, event, seat, api):
    hidden = {"hide_without_voucher": True, "require_voucher": True}
    acme.ticket(event, name="Friends", status="published", **hidden)
    assert "Friends" not in api.get(PATH).text
    path = f"{acme.path}/events/{event['id']}"
    assert acme.api().patch(path, {"visibility": "unlisted"}).status_code == 200
    assert api.get(PATH).status_code == 200
    assert acme.api().post(f"{path}/status", {"status": "canceled"}).status_code == 200
    assert "This event is canceled." in api.get(PATH).text
    draft = acme.event(slug="draft", status="draft")
    for gone in (f"/_e/acme/{draft['slug']}", "/_e/acme/none", "/_e/nobody/none"):
        assert api.get(gone).status_code == 404


def test_the_console_shows_the_lines_to_copy(acme):
    event = acme.event(title='"><script>alert(1)</script>', slug="odd", status="published")
    page = sign_in(acme).get(f"/console/events/{event['id']}").text
    assert "&lt;iframe src=&#34;http://localhost/_e/acme/odd&#34;" in page
    assert "&lt;a href=&#34;http://localhost/acme/odd&#34; target=&#34;_blank&#34;" in page
    # Escaped in the line, and the line once more.
    assert "&amp;#34;&amp;gt;&amp;lt;script" in page and "<script>alert" not in page


@pytest.fixture
def other_site(starts_processes):
    """A website of somebody else, at another port: its only page is what the test writes there."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(self.server.page.encode())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.page = ""
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.long
def test_it_is_seen_in_a_frame_and_its_link_opens_a_tab(other_site, stack, remote, visit):
    ticket = remote.ticket(name="Front row")
    of = remote.send("GET", f"{remote.path}/events/{ticket['event_id']}").json
    tenant = remote.path.rsplit("/", 1)[1]
    card_url = f"{stack.url}/_e/{tenant}/{of['slug']}"
    other_site.page = (
        f'<iframe src="{card_url}" title="Card"></iframe><link rel="icon" href="data:,">'
    )
    page = visit(f"http://127.0.0.1:{other_site.server_port}")
    visit.expect(stack.url)  # another origin than that of the page
    page.goto("/")
    card = page.frame_locator("iframe")
    expect(card.get_by_text("Front row")).to_be_visible(timeout=20_000)
    with page.context.expect_page() as opened:
        card.get_by_role("link").click()
    expect(opened.value.get_by_role("heading", level=1)).to_have_text(of["title"])
