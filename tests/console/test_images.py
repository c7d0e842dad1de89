"""The console's forms of pictures and of the logo, without JavaScript."""

import re
from io import BytesIO

import pytest

from tests.support.console import SAME_ORIGIN
from tests.support.photos import photo
from ticketing.models.images import Image

MAX_BYTES = 12 * 1024 * 1024 + 64 * 1024
PICTURE = '<img class="picture"'


@pytest.fixture
def event(acme):
    return acme.event()


@pytest.fixture
def page(event):
    return f"/console/events/{event['id']}"


def send(console, page, content, headers=None, token=True):
    """Choose a file in the form of a page, and send it as a browser does."""
    (action,) = re.findall(
        r'action="([^"]*)" enctype="multipart/form-data"', console.get(page).text
    )
    action = action if token else action.partition("?")[0]
    data = {"image": (BytesIO(content), "photo.jpg")} if content is not None else {}
    return console.client.post(
        action, data=data, content_type="multipart/form-data", headers=headers or SAME_ORIGIN
    )


def test_a_picture_is_set_seen_and_removed(writer, page, event, api):
    assert PICTURE not in writer.get(page).text
    answer = send(writer, page, photo())
    assert (answer.status_code, answer.location) == (303, f"{page}#saved")
    assert PICTURE in writer.get(page).text
    answer = writer.send(f"{page}/image/delete")
    assert (answer.status_code, answer.location) == (303, f"{page}#saved")
    assert PICTURE not in writer.get(page).text


def test_a_logo_is_set_seen_and_removed(console, api):
    assert send(console, "/console/settings", photo(64, 64)).location == "/console/settings#saved"
    assert 'class="logo"' in console.get("/console/settings").text
    assert 'class="logo"' in api.get("/acme").text
    assert console.send("/console/settings/logo/delete").status_code == 303
    assert 'class="logo"' not in api.get("/acme").text


@pytest.mark.parametrize("content", [b"GIF89a", photo(100), None, b""])
def test_what_cannot_be_used_is_said_on_the_page(writer, page, content):
    answer = send(writer, page, content)
    assert answer.status_code == 422
    assert "This file cannot be used." in answer.text
    assert Image.select().count() == 0


def test_a_form_of_another_site_or_session_is_refused(writer, page):
    assert send(writer, page, photo(), {"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert send(writer, page, photo(), token=False).status_code == 403
    assert Image.select().count() == 0


def test_a_reader_sees_the_picture_and_no_form(writer, reader, page):
    send(writer, page, photo())
    shown = reader.get(page).text
    assert PICTURE in shown and "multipart" not in shown
    token = re.search(r'name="csrf_token" value="([^"]+)"', shown)[1]
    answer = reader.client.post(f"{page}/image?csrf_token={token}", headers=SAME_ORIGIN)
    assert answer.status_code == 403


def test_without_a_session_an_upload_leads_to_the_sign_in(acme, page, api):
    answer = api.client.post(f"{page}/image", data=photo(), headers=SAME_ORIGIN)
    assert answer.status_code == 303 and answer.location.startswith("/console/sign-in")


def test_a_file_of_more_than_12_mib_is_refused(writer, page):
    answer = writer.client.post(f"{page}/image", data=b"x" * MAX_BYTES, headers=SAME_ORIGIN)
    assert answer.status_code == 413


def test_the_log_says_in_words_what_was_done(console, page):
    send(console, page, photo())
    send(console, "/console/settings", photo(64, 64))
    shown = console.get("/console/audit-log").text
    assert "Picture of an event set" in shown and "Logo set" in shown
