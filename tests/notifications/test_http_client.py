"""One POST of a webhook: its connection, its deadline, and answers that are wrong."""

import asyncio

import pytest

from tests.support.webhook_server import OK, Names, one, run, says
from ticketing.notification_types import DeliveryError
from ticketing.services.notifications import http_client


@pytest.fixture
def impatient(monkeypatch):
    """The deadline is short, because the test waits for it."""
    monkeypatch.setattr(http_client, "DEADLINE_SECONDS", 0.5)


def test_it_sends_a_post_and_returns_status_and_text():
    (outcome,), server = run(says(OK), url="http://{}:{}/hook?x=1")
    assert (outcome.status_code, outcome.error, outcome.is_delivered) == (200, None, True)
    ((head, body),) = server.requests
    assert head.startswith(b"POST /hook?x=1 HTTP/1.1\r\n") and body == b"{}"
    lines = {
        line.split(b": ")[0].lower(): line.split(b": ")[1] for line in head.split(b"\r\n")[1:-2]
    }
    assert lines[b"host"] == f"127.0.0.1:{server.port}".encode()
    assert lines[b"content-type"] == b"application/json" and lines[b"webhook-id"] == b"ntf_1"
    assert lines[b"accept-encoding"] == b"identity"


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_every_2xx_is_delivered(status):
    answer = b"HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n" % status
    assert one(says(answer)).is_delivered


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308, 400, 404, 410, 500, 503])
def test_nothing_else_is_and_a_redirect_is_not_followed(status):
    other = b"Location: http://127.0.0.1:1/\r\n"
    answer = b"HTTP/1.1 %d X\r\n%sContent-Length: 0\r\n\r\n" % (status, other)
    (outcome,), server = run(says(answer))
    assert (outcome.status_code, outcome.is_delivered) == (status, False)
    assert server.connections == 1


def test_one_connection_is_used_again_until_it_is_old(monkeypatch):
    outcomes, server = run(says(OK, OK, OK), times=3)
    assert [each.status_code for each in outcomes] == [200] * 3
    assert (server.connections, len(server.requests)) == (1, 3)
    monkeypatch.setattr(http_client, "KEEP_SECONDS", 0)
    names = Names(["127.0.0.1"])
    _, server = run(says(OK, OK, OK), times=3, names=names, url="http://name:{1}/")
    assert (server.connections, names.asked) == (3, 3)


def test_a_kept_connection_that_the_server_closed_is_no_failure():
    async def serve(server, reader, writer):
        await server.request(reader)
        writer.write(OK)
        await writer.drain()

    outcomes, server = run(serve, times=5)
    assert [each.status_code for each in outcomes] == [200] * 5
    assert server.connections == 5


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        OK + b"HTTP/1.1 500 Not asked\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + b"x" * 5000,
    ],
)
def test_a_connection_with_something_left_is_not_used_again(answer):
    outcomes, server = run(says(answer), times=2)
    assert [each.status_code for each in outcomes] == [200, 200]
    assert server.connections == 2


def test_of_a_huge_answer_little_is_read():
    sent = 0

    async def serve(server, reader, writer):
        nonlocal sent
        await server.request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
        while sent < 2**30:
            writer.write(b"x" * 65536)
            sent += 65536
            await writer.drain()

    outcome = one(serve)
    assert outcome.status_code == 200
    # What the buffers of both kernels hold, and not more.
    assert sent < 2**25


async def hangs(server, reader, writer):
    await server.request(reader)
    await asyncio.sleep(3600)


def drips(start, drop):
    async def serve(server, reader, writer):
        await server.request(reader)
        writer.write(start)
        while True:
            writer.write(drop)
            await writer.drain()
            await asyncio.sleep(0.01)

    return serve


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "serve",
    [
        hangs,
        drips(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
        drips(b"HTTP/1.1 200 OK\r\nX: ", b"y"),
        drips(b"", b"H"),
        drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        drips(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"x"),
        drips(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        drips(b"HTTP/1.0 200 OK\r\n\r\n", b""),
    ],
)
@pytest.mark.long
def test_one_deadline_ends_what_hangs_or_drips(serve):
    outcome = one(serve)
    assert (outcome.error, outcome.status_code) == (DeliveryError.TIMEOUT, None)


@pytest.mark.usefixtures("impatient")
def test_the_deadline_covers_the_name_the_connection_and_tls():
    async def never(host, port):
        await asyncio.sleep(3600)

    assert one(says(OK), names=never, url="http://name:{1}/").error is DeliveryError.TIMEOUT

    async def silent(server, reader, writer):
        await reader.read()

    url = "https://{}:{}/"
    assert one(silent, url=url).error is DeliveryError.TIMEOUT


@pytest.mark.parametrize(
    "answer",
    [
        b"\x00\x01\x02\x03" * 100,
        b"SSH-2.0-OpenSSH_9.0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 5_000,
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"x" * 70_000 + b"\r\n",
        b"HTTP/1.1 99999 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA B: c\r\n\r\n",
    ],
    ids=range(12),
)
def test_what_is_not_http_or_too_large_is_an_invalid_response(answer):
    outcome = one(says(answer))
    assert (outcome.error, outcome.status_code) == (DeliveryError.INVALID_RESPONSE, None)


def cut(answer):
    async def serve(server, reader, writer):
        await server.request(reader)
        writer.write(answer)
        await writer.drain()
        writer.close()

    return serve


def test_an_answer_that_is_cut_off_is_a_failure():
    part = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nok"
    assert one(cut(part)).error is DeliveryError.INVALID_RESPONSE
    assert one(cut(b"HTTP/1.1 20")).error is DeliveryError.INVALID_RESPONSE
    assert one(cut(b"")).error is DeliveryError.CONNECTION_CLOSED


def test_nobody_listens():
    async def serve(server, reader, writer):
        raise AssertionError

    assert one(serve, url="http://127.0.0.1:9/").error is DeliveryError.CONNECTION_REFUSED
