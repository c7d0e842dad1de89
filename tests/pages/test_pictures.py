"""Pictures and logos on pages, and that nothing moves when they arrive."""

import json
import re

import pytest
import urllib3
from playwright.sync_api import expect

from tests.support.browser import axe
from tests.support.photos import phone_photo, photo
from tools.headless import DESKTOP, PHONE

EMAIL, PASSWORD = "ada@example.org", "correct horse battery"
SHIFTS = """
window.shifts = [];
new PerformanceObserver(list => {
    for (const each of list.getEntries()) window.shifts.push(each.value);
}).observe({ type: "layout-shift", buffered: true });
"""

NOTE_SIZE = """
const submit = HTMLFormElement.prototype.submit;
HTMLFormElement.prototype.submit = function () {
    sessionStorage.sent = this.elements.image.files[0].size;
    submit.call(this);
};
"""


@pytest.fixture
def put(acme):
    """Set an image, and return the answer."""

    def put(of, content):
        api = acme.api("write")
        headers = {"Content-Type": "image/jpeg", **api.headers}
        return api.client.put(f"{acme.path}/{of}", data=content, headers=headers).json

    return put


def test_an_event_with_a_picture_shows_it_and_tells_other_sites(acme, event, seat, put, api):
    page = api.get("/acme/summer-concert").text
    assert "<img" not in page and "og:image" not in page and '"image"' not in page
    path = put(f"events/{event['id']}/image", photo(1200, 800))["image_url"]
    page = api.get("/acme/summer-concert").text
    (picture,) = re.findall(r"<img [^>]*>", page)
    assert f'srcset="{path} 1200w, {path}/960 960w, {path}/480 480w"' in picture
    assert 'width="1200" height="800" alt="Picture of Summer Concert"' in picture
    assert f'<meta property="og:image" content="http://localhost{path}/share">' in page
    data = re.search(r'<script type="application/ld\+json">(.*?)</script>', page)[1]
    assert json.loads(data)["image"] == [f"http://localhost{path}"]
    assert len(page) < 16_000


def test_the_organizers_page_has_the_pictures_of_its_events(acme, event, seat, put, api):
    acme.event(title="Without")
    assert "<img" not in api.get("/acme").text
    path = put(f"events/{event['id']}/image", photo(700, 500))["image_url"]
    page = api.get("/acme").text
    assert page.count("<img") == 1 and f'src="{path}/480"' in page and 'loading="lazy"' in page


def test_the_logo_is_on_each_page_with_its_size(acme, event, seat, put, api):
    path = put("logo", photo(800, 100))["logo_url"]
    for page in ("/acme", "/acme/summer-concert"):
        assert (
            f'<img class="logo" src="{path}" width="144" height="18" alt="">' in api.get(page).text
        )


def upload(stack, remote, of, content):
    headers = {**remote.headers, "Content-Type": "image/jpeg"}
    url = f"{stack.url}{remote.path}/{of}"
    answer = urllib3.request("PUT", url, body=content, headers=headers, timeout=60)
    assert answer.status == 200, answer.data
    return answer.json()


@pytest.mark.long
@pytest.mark.parametrize("look", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_nothing_moves_when_pictures_arrive(visit, stack, remote, look):
    seat = remote.ticket()
    event = remote.send("GET", f"{remote.path}/events/{seat['event_id']}").json
    upload(stack, remote, f"events/{event['id']}/image", photo(2000, 2600))
    upload(stack, remote, "logo", photo(800, 200))
    slug = remote.public.rsplit("/", 1)[1]
    page = visit(stack.url, script=SHIFTS, **look)
    for path in (f"/{slug}/{event['slug']}", f"/{slug}"):
        page.goto(path)
        page.wait_for_load_state("networkidle")
        loaded = "[...document.images].map(each => each.naturalWidth)"
        assert len(page.evaluate(loaded)) == 2 and all(page.evaluate(loaded))
        assert page.evaluate("window.shifts") == []
        assert axe(page) == []


def signed_in_page(visit, stack, remote, **options):
    """Return a tab in which a member of `remote` has signed in."""
    slug = remote.public.rsplit("/", 1)[1]
    member = ("members", "add", slug, EMAIL, "--role", "write", "--password-stdin")
    stack.flask(*member, stdin=PASSWORD + "\n")
    page = visit(stack.url, **options)
    page.goto("/console/sign-in?next=/console/account")
    page.get_by_label("Email").fill(EMAIL)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button").click()
    page.wait_for_url("**/console/account")
    return page


@pytest.mark.long
def test_a_browser_sends_a_smaller_picture(visit, stack, remote, tmp_path):
    seat = remote.ticket()
    page = signed_in_page(visit, stack, remote, script=NOTE_SIZE)
    path = f"/console/events/{seat['event_id']}"
    content = photo(4000, 2500)
    (tmp_path / "wide.jpg").write_bytes(content)
    page.goto(path)
    page.set_input_files("#image", tmp_path / "wide.jpg")
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**#saved")
    expect(page.get_by_alt_text("The picture of this event")).to_be_visible()
    assert int(page.evaluate("sessionStorage.sent")) < len(content) / 2
    page.get_by_role("button", name="Remove the picture").click()
    page.wait_for_load_state()
    expect(page.get_by_role("button", name="Upload")).to_be_visible()


@pytest.mark.long
def test_without_javascript_the_file_is_sent_as_it_is(visit, stack, remote, tmp_path):
    seat = remote.ticket()
    page = signed_in_page(visit, stack, remote, java_script_enabled=False)
    path = f"/console/events/{seat['event_id']}"
    (tmp_path / "phone.jpg").write_bytes(phone_photo())
    page.goto(path)
    page.set_input_files("#image", tmp_path / "phone.jpg")
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_alt_text("The picture of this event")).to_be_visible()


@pytest.mark.long
def test_a_description_is_shown_while_one_types(visit, stack, remote):
    seat = remote.ticket()
    page = signed_in_page(visit, stack, remote)
    page.goto(f"/console/events/{seat['event_id']}/edit")
    page.locator("#description").fill("A **bold** evening")
    expect(page.locator("#preview strong")).to_have_text("bold")
    page.locator("#description").fill("Quiet")
    expect(page.locator("#preview")).to_have_text("Quiet")
    assert axe(page) == []
