"""Pictures and logos on pages, and that nothing moves when they arrive."""

import json
import re

import pytest
import urllib3

from tests.support.browser import axe
from tests.support.photos import photo
from tools.headless import DESKTOP, PHONE

SHIFTS = """
window.shifts = [];
new PerformanceObserver(list => {
    for (const each of list.getEntries()) window.shifts.push(each.value);
}).observe({ type: "layout-shift", buffered: true });
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
    answer = urllib3.request("PUT", f"{stack.url}{remote.path}/{of}", body=content, headers=headers)
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
