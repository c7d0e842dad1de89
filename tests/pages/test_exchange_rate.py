"""With FX_URL, the page to pay says what an order is worth in euros."""

import ssl
import threading
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.support.apps import new_app
from tests.support.certificates import Authority
from tests.support.databases import only_once
from tests.support.factories import worker_once
from tests.support.linear_time import is_linear
from tests.support.order_pages import read
from tests.support.stopped_clock import StoppedClock
from ticketing import clock
from ticketing.config import ConfigError, load
from ticketing.models.exchange_rates import ExchangeRate
from ticketing.services import exchange_rates
from ticketing.services.notifications import http_client
from ticketing.worker import rate_reader

FILE = """<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" \
xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
<gesmes:subject>Reference rates</gesmes:subject>
<gesmes:Sender><gesmes:name>European Central Bank</gesmes:name></gesmes:Sender>
<Cube><Cube time='{day}'>
<Cube currency='USD' rate='{rate}'/>
<Cube currency='JPY' rate='169.31'/>
</Cube></Cube></gesmes:Envelope>
"""


def file(rate="1.0825", day=None):
    return FILE.format(rate=rate, day=day or f"{clock.now():%Y-%m-%d}").encode()


class Bank:
    """A server that gives its `answer`: a status and a file, a redirect, or silence."""

    def __init__(self, tls=None):
        bank = self
        self.body, self.status, self.headers, self.asked = file(), 200, {}, []
        self.silence = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                bank.asked.append(dict(self.headers))
                if bank.body is None:
                    bank.silence.wait(30)
                    return
                self.send_response(bank.status)
                for name, value in {"Content-Length": str(len(bank.body)), **bank.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(bank.body)

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls is not None:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        scheme = "http" if tls is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self.server.server_port}/eurofxref-daily.xml"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.silence.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def bank():
    bank = Bank()
    yield bank
    bank.close()


@pytest.fixture
def environ(environ, bank):
    return {**environ, "FX_URL": bank.url, "WEBHOOK_ALLOW": "127.0.0.0/8"}


@pytest.fixture
def look(app, environ):
    """A function that lets a worker that has just started look whether the rate is due."""
    return lambda: rate_reader.RateReader(load(environ)).run()


@pytest.fixture
def buyer(acme, node):
    return acme.buyer(acme.ticket(price_amount=25_000_000))


def test_the_worker_reads_the_rate_and_the_page_shows_it(acme, buyer, bank):
    assert "EUR" not in read(buyer)
    worker_once(acme.app)
    assert "about 23.09 EUR" in read(buyer)
    assert "EUR" not in str(buyer.now()) and buyer.now()["amount"] == 25_000_000
    (headers,) = bank.asked
    assert headers["Accept-Encoding"] == "identity" and "Authorization" not in headers


def test_it_is_read_once_a_day(look, bank, monkeypatch):
    time = StoppedClock(monkeypatch, clock.now())
    look()
    look()
    assert len(bank.asked) == 1
    time.forward(hours=25)
    bank.body = file("1.2500")
    look()
    assert len(bank.asked) == 2 and exchange_rates.euros(25_000_000) == "20.00"


def test_the_last_rate_stays_for_a_week(look, bank, monkeypatch):
    time = StoppedClock(monkeypatch, clock.now())
    look()
    bank.status = 503
    time.forward(days=5)
    look()
    assert exchange_rates.euros(1_000_000) == "0.92"
    time.forward(days=3)
    assert exchange_rates.euros(1_000_000) is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        file("0.0001"),
        file("9999"),
        file("-1"),
        file("1e3"),
        file("1.08256789"),
        file(day="2026-02-31"),
        file(day="2999-01-01"),
        file().replace(b"USD", b"usd"),
        file() + b" " * rate_reader.MOST_BYTES,
    ],
)
@pytest.mark.long
def test_a_wrong_file_changes_nothing(look, bank, body):
    look()
    before = ExchangeRate.get().micro_dollars
    ExchangeRate.update(read_at=clock.now() - timedelta(days=2)).execute()
    bank.body = body
    look()
    assert len(bank.asked) == 2
    assert ExchangeRate.get().micro_dollars == before


@pytest.mark.parametrize("status", [302, 404, 500])
@pytest.mark.long
def test_another_answer_is_no_file_and_a_redirect_is_not_followed(look, bank, status):
    bank.status, bank.headers = status, {"Location": bank.url}
    look()
    assert len(bank.asked) == 1 and not ExchangeRate.select().exists()


def test_a_silent_bank_stops_nobody(look, buyer, bank, monkeypatch):
    monkeypatch.setattr(http_client, "DEADLINE_SECONDS", 0.3)
    bank.body = None
    look()
    assert not ExchangeRate.select().exists() and "EUR" not in read(buyer)


def test_a_network_that_is_not_allowed_is_not_asked(environ, look, bank):
    del environ["WEBHOOK_ALLOW"]
    look()
    assert bank.asked == []


def test_after_trouble_it_waits(environ, bank, app):
    bank.status = 500
    reader = rate_reader.RateReader(load(environ))
    reader.run()
    reader.run()
    assert len(bank.asked) == 1


@pytest.mark.parametrize("is_trusted", [True, False])
@pytest.mark.long
def test_its_certificate_is_checked(environ, tmp_path, monkeypatch, app, is_trusted):
    authority = Authority(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*authority.certificate("127.0.0.1"))
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))
    safe = Bank(context)
    try:
        rate_reader.RateReader(load({**environ, "FX_URL": safe.url})).run()
    finally:
        safe.close()
    assert ExchangeRate.select().exists() is is_trusted


def test_without_it_nothing_is_asked_or_shown(environ, acme, bank, node):
    worker_once(acme.app)
    del environ["FX_URL"]
    acme.app = new_app(environ)
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    assert "EUR" not in read(buyer)
    assert len(bank.asked) == 1


@only_once
@pytest.mark.parametrize(
    "url", ["", "ftp://a.example/x", "https://", "https://u:p@a.example/", "https://a.example/ x"]
)
@pytest.mark.long
def test_a_wrong_url_stops_the_start(environ, url):
    with pytest.raises(ConfigError, match="FX_URL"):
        load({**environ, "FX_URL": url})


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "part", [b"<Cube time='", b"<Cube currency='USD' rate='1", b"9", b"<Cube "]
)
def test_parsing_it_takes_linear_time(part):
    def parse(text):
        with pytest.raises(exchange_rates.NotARate):
            exchange_rates.keep(text)

    is_linear(parse, lambda size: part * size)
