"""What the server sends of the scanner: the page, its files, the service worker."""

import re

from tests.support.databases import only_once
from ticketing.pages import door
from ticketing.pages.blueprint import CONTENT_SECURITY_POLICY

pytestmark = only_once


def test_the_page_may_use_the_camera_and_workers_of_its_own(api):
    page = api.get("/door/")
    policy = page.headers["Content-Security-Policy"]
    more = "; worker-src 'self'; manifest-src 'self'; media-src 'self'"
    assert policy == CONTENT_SECURITY_POLICY + more
    assert page.headers["Permissions-Policy"] == "camera=(self)"
    assert page.headers["Cache-Control"] == "no-cache"
    assert not re.search(r"<script[^>]*>\s*[^<\s]|\son\w+=|\sstyle=|https?://", page.text)


def test_other_pages_may_not(acme, api):
    headers = api.get("/acme").headers
    assert headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    assert "Permissions-Policy" not in headers


def test_the_address_without_a_slash_leads_to_it(api):
    moved = api.get("/door")
    assert (moved.status_code, moved.headers["Location"]) == (308, "/door/")


def test_the_service_worker_has_a_policy_of_its_own_and_names_every_file(api):
    worker = api.get("/door/sw.js")
    assert worker.mimetype == "text/javascript"
    assert worker.headers["Content-Security-Policy"] == "default-src 'none'; connect-src 'self'"
    assert worker.headers["Cache-Control"] == "no-cache"
    listed = set(re.findall(rf'"(/door/{door.VERSION}/[^"]+)"', worker.text))
    assert f'"version": "{door.VERSION}-en"' in worker.text
    assert {door.url("app.js"), door.url("door.css"), door.url("jsqr/jsQR.js")} <= listed
    for path in listed:
        with api.get(path) as answer:
            assert answer.status_code == 200, path
            assert "immutable" in answer.headers["Cache-Control"]
            if path.endswith(".js"):
                for other in re.findall(r'from "\./([^"]+)"', answer.text):
                    assert door.url(other) in listed, other
    page = api.get("/door/").text
    for path in re.findall(r'(?:src|href)="(/door/[^"?]+)"', page):
        assert path in listed | {"/door/manifest.webmanifest"}, path


def test_files_of_another_version_do_not_exist(api):
    for path in ("/door/0123456789ab/app.js", door.url("sw.js"), door.url("jsqr/README.md")):
        assert api.get(path).status_code == 404, path
    for wrong in ("none.js", "..%2F..%2Fdocs.js", "%00", "jsqr/../app.js"):
        assert api.get(door.url(wrong)).status_code == 404, wrong


def test_it_can_be_installed(api):
    answer = api.get("/door/manifest.webmanifest")
    assert answer.mimetype == "application/manifest+json"
    manifest = answer.json
    assert manifest["start_url"] == manifest["scope"] == "/door/"
    assert {each["sizes"] for each in manifest["icons"]} == {"192x192", "512x512"}
    for icon in manifest["icons"]:
        with api.get(icon["src"]) as picture:
            width, height = (int.from_bytes(picture.data[i : i + 4], "big") for i in (16, 20))
            assert f"{width}x{height}" == icon["sizes"]
