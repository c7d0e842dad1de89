"""What is kept of the answer to a webhook: the start of its text, and Retry-After."""

from datetime import UTC, datetime

import pytest

from tests.support.stopped_clock import StoppedClock
from tests.support.webhook_server import OK, one, says
from ticketing.services.notifications import http_client


def test_what_answers_from_an_allowed_network_is_not_returned(monkeypatch):
    assert one(says(OK)).answer is None


@pytest.fixture
def shown(monkeypatch):
    """Loopback counts as public, so that the answer is returned."""
    judged = http_client.webhook_urls.Judged(is_permitted=True, is_shown=True)
    monkeypatch.setattr(http_client.webhook_urls, "judge", lambda *_: judged)


@pytest.mark.usefixtures("shown")
@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"ok", "ok"),
        (b"", ""),
        (b"x" * 1000, "x" * 200),
        ("ü€😀".encode(), "ü€😀"),
        (b"\x1b[31mred\r\n\x00\x07end", " [31mred    end"),
        ("a\u202eb\u2066c\u200bd\ufeffe\u2028f".encode(), "a b c d e f"),
        (b"\xff\xfe\x00", "\ufffd\ufffd "),
        ("é".encode() * 600, "é" * 200),
    ],
)
def test_the_start_of_the_answer_is_returned_without_control_characters(body, text):
    answer = b"HTTP/1.1 500 X\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    assert one(says(answer)).answer == text


@pytest.mark.usefixtures("shown")
def test_an_answer_is_not_decompressed():
    packed = b"\x1f\x8b\x08\x00"
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n"
    assert one(says(head + packed)).answer == " \ufffd  "


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        ("7", 7),
        ("3600", 3600),
        ("3601", 3600),
        ("9" * 60, 3600),
        ("Sun, 06 Nov 2044 08:49:37 GMT", 37),
        ("Sun, 06 Nov 2044 08:50:37 +0000", 97),
        ("Sun, 06 Nov 2044 08:49:37", 37),
        ("Sunday, 06-Nov-44 08:49:37 GMT", 37),
        ("Sun Nov  6 08:49:37 2044", 37),
        ("Sun, 06 Nov 2044 08:00:00 GMT", 0),
        ("Sun, 06 Nov 2099 08:00:00 GMT", 3600),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("Sun, 99 Nov 2044 99:99:99 GMT", None),
        ("0" * 10_000, 0),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_an_hour_at_most(monkeypatch, value, seconds):
    StoppedClock(monkeypatch, datetime(2044, 11, 6, 8, 49, 0, tzinfo=UTC))
    head = f"HTTP/1.1 503 X\r\nRetry-After: {value}\r\nContent-Length: 0\r\n\r\n"
    assert one(says(head.encode())).retry_after == seconds
