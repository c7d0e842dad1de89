"""Pages and mails speak the language of the order, else of the event, else of the organizer."""

import json
import re
from datetime import UTC, datetime

import pytest

from tests.support.factories import worker_once
from tests.support.mail_server import MailServer
from tests.support.mails import SENDER, html_of, text_of
from tests.support.order_pages import key_in
from ticketing import formats, locales
from ticketing.models.payment_intents import PaymentIntent
from tools import headless, translations

PATH = "/acme/summer-concert"
BUYER = {"email": "ada@example.org"}


@pytest.fixture
def server():
    with MailServer() as running:
        yield running


@pytest.fixture
def environ(environ, server):
    """A configuration with mail, and without a chain: tickets cost nothing."""
    del environ["RPC_URL_31337"]
    mail = {"PUBLIC_URL": "http://localhost", "SMTP_URL": server.url, "MAIL_FROM": SENDER}
    return {**environ, **mail}


@pytest.fixture
def change(acme):
    def change(path, **fields):
        answer = acme.api().patch(acme.path + path, fields)
        assert answer.status_code == 200, answer.json

    return change


def language_of(page):
    return re.search(r'<html lang="(\w+)">', page.text)[1]


def test_a_page_speaks_what_was_chosen_else_the_events_else_the_organizers(
    acme, event, free, api, change
):
    assert language_of(api.get(PATH)) == "en"
    change("", locale="fr")
    assert language_of(api.get(PATH)) == language_of(api.get("/acme")) == "fr"
    change(f"/events/{event['id']}", locale="de")
    assert (language_of(api.get(PATH)), language_of(api.get("/acme"))) == ("de", "fr")
    assert language_of(api.get(f"{PATH}?lang=pl")) == "pl"
    assert language_of(api.get(f"{PATH}?x=1&lang=es&lang=it")) == "es"


def test_a_page_that_was_shown_in_one_language_has_only_texts_of_the_next(event, free, api):
    skip = re.compile(r'<a class="skip" href="#main">([^<]*)</a>')
    for _ in range(2):
        for locale in locales.LOCALES:
            with locales.speaking(locale):
                said = locales.gettext("Skip to the content")
            assert skip.findall(api.get(f"{PATH}?lang={locale}").text) == [said]


@pytest.mark.parametrize("query", ["lang=xx", "lang=", "lang=DE", "lang=de%00", "language=de"])
def test_an_unknown_language_is_ignored_and_not_sent_on(event, free, api, query):
    page = api.get(f"{PATH}?{query}")
    assert language_of(page) == "en"
    assert f'action="{PATH}/order"' in page.text and f'href="{PATH}?{query}"' not in page.text


def test_the_cache_knows_the_language_and_no_more_of_the_query(event, free, api):
    for _ in range(2):
        assert language_of(api.get(f"{PATH}?lang=de&campaign=1")) == "de"
        assert language_of(api.get(f"{PATH}?campaign=2")) == "en"
        assert language_of(api.get(f"{PATH}?lang=fr")) == "fr"
    assert "campaign" not in api.get(f"{PATH}?lang=de&campaign=1").text


def test_a_public_page_links_to_itself_in_each_language(event, free, api):
    page = api.get(f"{PATH}?lang=de").text
    for code, name in locales.LOCALES.items():
        link = rf'<a href="{PATH}\?lang={code}" hreflang="{code}" lang="{code}"[^>]*>{name}</a>'
        assert re.search(link, page), code
        alternate = f'<link rel="alternate" hreflang="{code}" href="http://localhost{PATH}?lang='
        assert alternate in page
    assert f'<link rel="canonical" href="http://localhost{PATH}?lang=de">' in page
    for kept in ("/acme?lang=de", "/_f/acme?lang=de", f"{PATH}/order?lang=de"):
        assert f'"{kept}"' in page, kept
    assert 'href="/acme/summer-concert?lang=de"' in api.get("/acme?lang=de").text


def test_an_order_keeps_the_language_of_its_form(acme, event, free, api, send, server):
    key = key_in(api.get(f"{PATH}?lang=de").text)
    form = {"idempotency_key": key, "ticket_id": free["id"], "quantity": "1", **BUYER}
    answer = send(f"{PATH}/order?lang=de", form)
    assert answer.status_code == 303, answer.text
    order = PaymentIntent.get()
    assert order.locale == "de"
    link = answer.headers["Location"]
    page = api.get(link)
    assert language_of(page) == "de" and "Ticket holen" in page.text
    assert '"/acme?lang=de"' in page.text
    assert send(f"{link}/purchase").status_code == 303
    worker_once(acme.app)
    mail = server.only()
    assert mail["Subject"] == "Ihr Ticket für Summer Concert"
    assert "1 Ticket für Summer Concert." in text_of(mail) and '<html lang="de">' in html_of(mail)
    ticket = re.search(r'href="(?:http://localhost)?(/t/[^"/]+)"', api.get(link).text)[1]
    assert language_of(api.get(ticket)) == "de"
    paper = api.get(f"{link}/print")
    assert language_of(paper) == "de" and "Ihr Ticket auf Papier" in paper.text


def test_a_refused_form_is_shown_in_its_language(event, free, send):
    refused = send(f"{PATH}/order?lang=fr", {"ticket_id": free["id"], "quantity": "99"})
    assert refused.status_code == 422 and language_of(refused) == "fr"
    assert "au plus" in refused.text and f'action="{PATH}/order?lang=fr"' in refused.text


def test_an_error_is_said_in_the_chosen_language(event, api):
    page = api.get("/acme/none?lang=de")
    assert page.status_code == 404 and language_of(page) == "de"
    assert "Zur Startseite" in page.text and "<h1>Dieses Event gibt es nicht.</h1>" in page.text
    for path in ("/o/pi_x.y", "/_p/pi_x.y", "/t/x", "/x/y", "/none/none/none"):
        shown = api.get(f"{path}?lang=de")
        assert shown.status_code == 404 and "does not exist" not in shown.text, path


def test_mails_of_an_order_without_a_language_are_the_events(acme, event, free, change, server):
    change(f"/events/{event['id']}", locale="es")
    acme.buyer(free, buyer=BUYER).purchase()
    worker_once(acme.app)
    assert server.only()["Subject"] == "Tu entrada para Summer Concert"


def test_the_api_takes_and_shows_languages(acme, event, free):
    order = acme.buyer(free, locale="nl", buyer=BUYER)
    assert order.api.get(order.path).json["locale"] == "nl"
    refused = acme.preflight(free, locale="xx")
    assert refused.status_code == 422 and list(refused.json["errors"]) == ["locale"]
    for path in ("", f"/events/{event['id']}"):
        wrong = acme.api().patch(acme.path + path, {"locale": "klingon"})
        assert wrong.status_code == 422, path


def test_dates_and_amounts_are_those_of_the_language():
    said = json.loads(translations.DATES.read_text())
    assert said.keys() == locales.LOCALES.keys()
    at = datetime(2027, 1, 5, 19, 30, tzinfo=UTC)
    expected = {
        "en": ("Tuesday, 5 January 2027", "5 Jan 2027, 20:30", "25.00"),
        "de": ("Dienstag, 5. Januar 2027", "5. Jan. 2027, 20:30", "25,00"),
        "fr": ("mardi 5 janvier 2027", "5 janv. 2027, 20:30", "25,00"),
        "pl": ("wtorek, 5 stycznia 2027", "5 sty 2027, 20:30", "25,00"),
    }
    for locale, words in expected.items():
        with locales.speaking(locale):
            zone = "Europe/Berlin"
            shown = formats.day(at, zone), formats.brief(at, zone), formats.number(25_000_000)
        assert shown == words
    assert formats.number(25_000_000) == "25.00" == formats.typed_number(25_000_000)


def test_the_scanner_speaks_the_language_that_was_chosen_on_its_device(api):
    assert language_of_scanner(api) == ("en", "en")
    chosen = api.get("/door/?lang=de")
    assert "Dieses Gerät koppeln" in chosen.text
    assert "Path=/door/" in chosen.headers["Set-Cookie"]
    assert language_of_scanner(api) == ("de", "de")
    assert api.get("/door/manifest.webmanifest").json["name"] == "Ticketscanner"
    api.client.set_cookie("door_language", "xx", path="/door/")
    assert language_of_scanner(api) == ("en", "en")


def language_of_scanner(api):
    """Return the language of the page, and that of what a service worker would keep."""
    page = api.get("/door/").text
    version = re.search(r'data-version="(\w+-(\w+))"', page)
    assert f'"version": "{version[1]}"' in api.get("/door/sw.js").text
    return re.search(r'<html lang="(\w+)"', page)[1], version[2]


@pytest.mark.long
def test_mails_of_each_language_fit_on_a_phone(acme, event, server):
    """Free tickets, and what becomes of them when the event is canceled."""
    free = acme.ticket(event, price_amount=0, chain_id=None, capacity=100)
    for locale in locales.LOCALES:
        buyer = {"email": f"{locale}@example.org", "name": "Ada Lovelace"}
        acme.buyer(free, quantity=3, locale=locale, buyer=buyer).purchase()
    worker_once(acme.app)
    path = f"{acme.path}/events/{event['id']}/status"
    assert acme.api().post(path, {"status": "canceled"}).status_code == 200
    worker_once(acme.app)
    mails = [html_of(each) for each in server.mails]
    assert len(mails) == 2 * len(locales.LOCALES)
    with headless.browser() as browser:
        page = browser.new_page()
        for width in (390, 360):
            page.set_viewport_size({"width": width, "height": 800})
            for mail in mails:
                page.set_content(mail)
                assert page.evaluate("document.documentElement.scrollWidth") <= width, mail[:200]
