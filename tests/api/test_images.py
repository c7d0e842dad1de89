"""Pictures of events and logos: upload, what is stored, and how it is served."""

import json
from io import BytesIO

import pytest
from PIL import Image as Pixels

from tests.support.photos import bomb, phone_photo, photo
from ticketing import clock
from ticketing.models.events import Event
from ticketing.models.images import Image
from ticketing.services import image_files, images

JPEG = {"Content-Type": "image/jpeg"}


@pytest.fixture
def event(acme):
    return acme.event()


@pytest.fixture
def upload(acme, event):
    """Send a file as the picture of the event, or as the logo."""

    def upload(content, of=f"events/{event['id']}/image", role="write", **headers):
        headers = JPEG | {name.replace("_", "-"): value for name, value in headers.items()}
        return acme.api(role).client.put(
            f"{acme.path}/{of}", data=content, headers=headers | (acme.api(role).headers or {})
        )

    return upload


def shown(api, url):
    """Return the file at a URL."""
    answer = api.get(url)
    assert answer.status_code == 200, url
    return Pixels.open(BytesIO(answer.data))


def color(pixels, x, y):
    """Return the main color around a place, as parts of width and height. One pixel is noise."""
    left, top = (int(size * part) for size, part in ((pixels.width, x), (pixels.height, y)))
    around = pixels.convert("RGB").crop((left, top, left + 40, top + 40))
    red, _, blue = around.resize((1, 1)).getpixel((0, 0))
    return "red" if red > blue else "blue"


@pytest.mark.long
def test_a_phone_photo_just_works_and_tells_nothing_of_where_it_was_taken(upload, api, acme):
    content = phone_photo()
    assert 11_000_000 < len(content) <= 12 * 1024 * 1024
    answer = upload(content)
    assert answer.status_code == 200, answer.json
    url = answer.json["image_url"]
    expected = {"": (1600, 2133), "/960": (960, 1280), "/480": (480, 640), "/share": (1200, 630)}
    for name, size in expected.items():
        pixels = shown(api, url + name)
        assert pixels.size == size, name
        assert not pixels.getexif() and not pixels.info.get("comment"), name
        raw = api.get(url + name).data
        assert b"Exif" not in raw and b"Phone of Ada" not in raw and b"at home" not in raw, name
        assert len(raw) < 1_500_000, (name, len(raw))  # it is noise, the worst case
    # The camera was turned: its left edge is the top.
    assert color(shown(api, url), 0.9, 0.03) == "red"
    assert color(shown(api, url), 0.03, 0.9) == "blue"


def test_the_event_has_the_url_and_so_does_its_public_side(upload, acme, event, api):
    assert event["image_url"] is None
    assert api.get(f"{acme.public}/events/{event['id']}").json["image_url"] is None
    url = upload(photo()).json["image_url"]
    assert url.startswith("/acme/_image/")
    assert acme.api("read").get(f"{acme.path}/events/{event['id']}").json["image_url"] == url
    (listed,) = acme.api("read").get(f"{acme.path}/events").json["data"]
    assert listed["image_url"] == url
    assert api.get(f"{acme.public}/events/{event['id']}").json["image_url"] == url
    (listed,) = api.get(f"{acme.public}/events").json["data"]
    assert listed["image_url"] == url


def test_a_file_is_served_for_a_year_and_can_run_nothing(upload, api):
    url = upload(photo()).json["image_url"]
    answer = api.get(url)
    assert answer.headers["Content-Type"] == "image/webp"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert "Set-Cookie" not in answer.headers
    assert api.get(f"{url}/share").headers["Content-Type"] == "image/jpeg"


def test_a_small_picture_has_no_larger_file(upload, api):
    url = upload(photo(700, 400, "PNG"), Content_Type="image/png").json["image_url"]
    assert shown(api, url).size == (700, 400)
    assert shown(api, f"{url}/480").size == (480, 274)
    assert shown(api, f"{url}/share").size == (1200, 630)
    for name in ("960", "1600", "other", "bytes_480"):
        assert api.get(f"{url}/{name}").status_code == 404, name


def test_an_image_is_found_at_its_own_tenant_only(upload, api, neighbour):
    url = upload(photo()).json["image_url"]
    assert api.get(url.replace("/acme/", f"/{neighbour.slug}/")).status_code == 404
    assert api.get(url[:-1]).status_code == 404
    assert api.get(f"{url}%00").status_code == 404


def test_a_polyglot_is_written_again(upload, api):
    html = b"<script>alert(document.cookie)</script>"
    content = photo(format="JPEG", comment=html) + b"\n" + html
    url = upload(content).json["image_url"]
    for name in ("", "/480", "/share"):
        assert html not in api.get(url + name).data


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        photo()[:-200],
        photo()[:30],
        photo(format="PNG")[:-1000],
        photo(format="GIF"),
        photo(format="BMP"),
        photo(format="TIFF"),
        photo(599),
        photo(9000, 600),
        b"\xff\xd8\xff\xe0" + b"\0" * 1000,
    ],
    ids=lambda content: f"{len(content)} bytes of {content[:4]!r}",
)
def test_what_is_no_usable_image_is_refused(upload, content):
    answer = upload(content)
    assert (answer.status_code, answer.json["code"]) == (422, "image_invalid")
    assert Image.select().count() == 0


def test_a_bomb_is_refused_before_it_is_decoded(upload, monkeypatch):
    def decode(self, *args):
        raise AssertionError("decoded")

    content = bomb()
    assert len(content) < 100_000
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", decode)
    answer = upload(content, Content_Type="image/png")
    assert (answer.status_code, answer.json["code"]) == (422, "image_invalid")
    assert "megapixels" in answer.json["detail"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Content_Type": "image/svg+xml"},
        {"Content_Type": "image/gif"},
        {"Content_Type": "application/json"},
        {"Content_Type": ""},
        {"Content_Encoding": "gzip"},
    ],
    ids=str,
)
def test_other_media_types_are_refused(upload, headers):
    answer = upload(photo(), **headers)
    assert (answer.status_code, answer.json["code"]) == (415, "unsupported_media_type")


def test_a_body_of_more_than_12_mib_is_refused(upload):
    answer = upload(b"\xff" * (12 * 1024 * 1024 + 1))
    assert (answer.status_code, answer.json["code"]) == (413, "body_too_large")
    assert "12288 KiB" in answer.json["detail"]


@pytest.mark.parametrize("of", ["events/{}/image", "logo"])
def test_only_those_who_may_write_may_upload(upload, event, of):
    for role in ("read", "paywall"):
        assert upload(photo(), of.format(event["id"]), role).status_code == 403
    assert upload(photo(), of.format(event["id"]), "write").status_code == 200


def test_an_event_of_somebody_else_gets_no_picture(upload, neighbour):
    theirs = neighbour.event()
    assert upload(photo(), f"events/{theirs['id']}/image").status_code == 404


def test_a_picture_is_removed_and_both_are_recorded(upload, acme, event):
    digest = upload(photo()).json["image_digest"]
    path = f"{acme.path}/events/{event['id']}"
    assert acme.api("write").delete(f"{path}/image").status_code == 204
    assert acme.api("write").delete(f"{path}/image").status_code == 404
    assert acme.api("read").get(path).json["image_url"] is None
    entries = acme.api().get(f"{acme.path}/audit-log?subject={event['id']}").json["data"]
    removed, put, _ = ((each["action"], each["after"]) for each in entries)
    assert removed == ("images_delete_event_image", {"image_digest": None})
    assert put == ("images_put_event_image", {"image_digest": digest})


def test_a_change_of_the_event_records_nothing_of_its_picture(upload, acme, event):
    upload(photo())
    path = f"{acme.path}/events/{event['id']}"
    changed = acme.api("write").patch(path, {"title": "Another"})
    assert changed.json["image_url"] is not None
    latest = acme.api().get(f"{acme.path}/audit-log?subject={event['id']}").json["data"][0]
    assert latest["after"] == {"title": "Another"}


def test_a_cached_listing_shows_a_new_picture_at_once(upload, acme, api):
    listing = f"{acme.public}/events"
    assert api.get(listing).json["data"][0]["image_url"] is None
    first = upload(photo()).json["image_url"]
    assert api.get(listing).json["data"][0]["image_url"] == first
    second = upload(photo(900)).json["image_url"]
    assert api.get(listing).json["data"][0]["image_url"] == second != first


def test_a_logo_is_a_small_png_and_keeps_its_transparency(upload, acme, api):
    content = BytesIO()
    Pixels.new("RGBA", (2000, 1000), (200, 0, 0, 100)).save(content, "PNG")
    answer = upload(content.getvalue(), "logo", Content_Type="image/png")
    assert answer.status_code == 200, answer.json
    assert acme.api("read").get(f"{acme.path}/logo").json == answer.json
    pixels = shown(api, answer.json["logo_url"])
    assert (pixels.format, pixels.size, pixels.mode) == ("PNG", (400, 200), "RGBA")
    assert upload(photo(63, 63), "logo").json["code"] == "image_invalid"
    assert upload(photo(64, 64), "logo").status_code == 200
    assert acme.api("write").delete(f"{acme.path}/logo").status_code == 204
    assert acme.api("write").delete(f"{acme.path}/logo").status_code == 404
    assert acme.api("read").get(f"{acme.path}/logo").json["logo_url"] is None


def test_wide_colors_become_those_of_the_web(upload, api):
    profile = image_files.ImageCms.ImageCmsProfile(image_files.ImageCms.createProfile("sRGB"))
    content = photo(icc_profile=profile.tobytes())
    pixels = shown(api, upload(content).json["image_url"])
    assert "icc_profile" not in pixels.info
    assert color(pixels, 0.1, 0.5) == "red"


def test_unused_images_are_deleted_a_day_later(upload, acme, event, monkeypatch):
    unused = upload(photo()).json["image_digest"]
    used = upload(photo(900)).json["image_digest"]
    logo = upload(photo(64, 64), "logo").json["logo_digest"]
    stored = {unused, used, logo}
    images.forget_unused()
    assert {each.digest for each in Image.select(Image.digest)} == stored
    later = clock.now() + images.KEPT_UNUSED * 2
    monkeypatch.setattr(clock, "now", lambda: later)
    images.forget_unused()
    assert {each.digest for each in Image.select(Image.digest)} == {used, logo}


def test_a_picture_that_was_unused_for_long_stays_if_it_is_sent_again(upload, monkeypatch):
    first = upload(photo()).json["image_digest"]
    upload(photo(900))
    later = clock.now() + images.KEPT_UNUSED * 2
    monkeypatch.setattr(clock, "now", lambda: later)
    assert upload(photo()).json["image_digest"] == first
    Event.update(image_digest=None).execute()
    images.forget_unused()
    assert [each.digest for each in Image.select(Image.digest)] == [first]


@pytest.mark.sql
def test_a_copy_of_an_event_shares_the_picture_and_keeps_it(upload, acme, event, monkeypatch):
    digest = upload(photo()).json["image_digest"]
    copy = acme.event()
    Event.update(image_digest=digest).where(Event.id == copy["id"]).execute()
    acme.api("write").delete(f"{acme.path}/events/{event['id']}/image")
    later = clock.now() + images.KEPT_UNUSED * 2
    monkeypatch.setattr(clock, "now", lambda: later)
    images.forget_unused()
    assert Image.select().count() == 1


def test_the_same_file_of_two_tenants_is_stored_for_each(upload, acme, neighbour):
    ours = upload(photo(64, 64), "logo").json["logo_digest"]
    api = neighbour.api("write")
    answer = api.client.put(
        f"{neighbour.path}/logo", data=photo(64, 64), headers={**JPEG, **api.headers}
    )
    assert answer.json["logo_digest"] != ours
    assert Image.select().count() == 2


def test_the_document_says_which_files_may_be_sent(api):
    operation = json.loads(api.get("/openapi.json").data)["paths"][
        "/v1/admin/tenants/{tenant}/events/{event_id}/image"
    ]["put"]
    assert list(operation["requestBody"]["content"]) == ["image/jpeg", "image/png", "image/webp"]
    assert {"413", "415", "422", "429"} <= operation["responses"].keys()
