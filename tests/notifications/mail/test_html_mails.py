"""The HTML of mails: pictures inside the mail, nothing from a server, codes that scanners read."""

import re
from io import BytesIO

import pytest
import zxingcpp
from PIL import Image

from tests.support.admissions import FREE, admissions_of, given
from tests.support.mails import ADA, confirm, confirmed, html_of, order_link, send, tell, text_of
from tests.support.photos import phone_photo, photo
from ticketing.models.tenants import Tenant
from ticketing.services import admission_views, image_files, images

MOST_PICTURES = 100_000


@pytest.fixture
def with_pictures(acme, ticket):
    """The organizer has a logo, and the event a picture, which is as hard to compress as can be."""
    config = acme.app.extensions["ticketing"]
    tenant = Tenant.get_by_id(acme.id)
    logo = image_files.of_logo(photo(400, 400, "PNG"))
    images.set_logo(acme.id, logo, config)
    picture = image_files.of_picture(phone_photo())
    images.set_picture(tenant, ticket["event_id"], picture, config)


def parts_of(mail):
    """Return the pictures of a mail by their Content-IDs."""
    related = [each for each in mail.walk() if each.get_content_type() == "multipart/related"]
    parts = [part for each in related for part in each.iter_parts()][1:]
    return {part["Content-ID"].strip("<>"): part for part in parts}


def codes_in(mail):
    """Return what a scanner reads in the pictures of a mail."""
    found = []
    for part in parts_of(mail).values():
        with Image.open(BytesIO(part.get_content())) as picture:
            found += [each.text for each in zxingcpp.read_barcodes(picture.convert("L"))]
    return found


def qrs_of(buyer, app):
    config = app.extensions["ticketing"]
    views = (
        admission_views.for_holder(each, config.keyring, shows_code=True)
        for each in admissions_of(buyer)
    )
    return [each.shown_qr for each in views]


def test_each_ticket_has_a_code_that_a_scanner_reads(acme, server, ticket):
    buyer = confirmed(acme, ticket, quantity=3)
    tell(acme.id, confirm(buyer))
    send(acme.app)
    mail = server.only()
    assert codes_in(mail) == qrs_of(buyer, acme.app)
    for part in parts_of(mail).values():
        assert len(part.get_content()) < 600 and part.get_content_disposition() == "inline"
        with Image.open(BytesIO(part.get_content())) as picture:
            margin = picture.crop((0, 0, picture.width, 16)).getextrema()
            assert margin == (255, 255), "four modules of white"


@pytest.mark.long
def test_the_parts_are_what_mail_programs_expect(acme, server, with_pictures, buyer):
    tell(acme.id, confirm(buyer))
    send(acme.app)
    mail = server.only()
    shape = [part.get_content_type() for part in mail.walk()]
    assert shape == [
        "multipart/mixed",
        "multipart/alternative",
        "text/plain",
        "multipart/related",
        "text/html",
        "image/png",
        "image/jpeg",
        "image/png",
        "image/png",
        "text/calendar",
    ]
    named = re.findall(r'src="cid:([^"]+)"', html_of(mail))
    assert named == list(parts_of(mail))
    assert len(set(named)) == 4 and all(each.endswith("@tickets.example.org") for each in named)


@pytest.mark.long
def test_the_pictures_are_small(acme, server, with_pictures, ticket):
    buyer = confirmed(acme, ticket, quantity=3)
    tell(acme.id, confirm(buyer))
    send(acme.app)
    sizes = {name: len(part.get_content()) for name, part in parts_of(server.only()).items()}
    assert sum(sizes.values()) < MOST_PICTURES, sizes
    assert len(html_of(server.only())) < 20_000, "Gmail cuts mails of 102 KB"


@pytest.mark.long
def test_nothing_is_loaded_from_a_server(acme, server, with_pictures, buyer):
    tell(acme.id, confirm(buyer))
    send(acme.app)
    page = html_of(server.only())
    assert re.findall(r"src=\"(?!cid:)", page) == []
    for word in ("<script", "<link", "url(", "@import", "background=", "flex", "<form"):
        assert word not in page, word


def test_without_pictures_the_link_of_each_ticket_stands_in_its_place(acme, server, buyer):
    tell(acme.id, confirm(buyer))
    send(acme.app)
    page = html_of(server.only())
    alternatives = re.findall(r'<img[^>]* alt="([^"]*)"', page)
    links = re.findall(r"https://\S*/t/\S+", text_of(server.only()))
    assert alternatives == links and len(links) == 2
    # Beside that, no secret is written out where somebody could copy it.
    shown = re.sub(r"<[^>]*>", "", page)
    assert "/t/" not in shown and order_link(buyer) not in shown


def test_a_paid_mail_says_the_holders_and_a_free_one_does_not(acme, server, ticket):
    paid = confirmed(acme, ticket, buyer=ADA)
    tell(acme.id, confirm(paid))
    send(acme.app)
    assert html_of(server.mails[0]).count("Ada Lovelace") == 2
    free = given(acme, acme.ticket(**FREE), buyer=ADA)
    tell(acme.id, confirm(free))
    send(acme.app)
    assert "Ada Lovelace" not in html_of(server.mails[1])


@pytest.mark.parametrize("color", ["#ffd500", "#ffffff", None])
def test_the_button_can_be_read_in_each_color(acme, server, buyer, color):
    Tenant.update(accent_color=color).where(Tenant.id == acme.id).execute()
    tell(acme.id, confirm(buyer))
    send(acme.app)
    (ground, ink) = re.search(
        r'bgcolor="(#\w+)"[^>]*>\s*<a class="on-button"[^>]*color:(#\w+);text',
        html_of(server.only()),
    ).groups()
    assert (ground, ink) == (color or "#17181b", "#ffffff" if color is None else "#000000")
