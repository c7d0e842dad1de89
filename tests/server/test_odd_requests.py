"""Requests with difficult bytes, sent to a real server as they are."""

import json
import socket

import pytest

from tests.conftest import NO_LIMITS, SECRET_KEY
from tests.support.databases import only_once
from tests.support.factories import event_body
from tests.support.raw_http import answers, read_all
from tests.support.remote import PATIENCE_SECONDS, RemoteOrganizer
from tools.stack import Stack, free_port

pytestmark = pytest.mark.long


@only_once
def test_a_real_server_answers_raw_bytes_as_problems_and_lives(
    database_url, tmp_path, starts_processes
):
    variables = {"DATABASE_URL": database_url, "SECRET_KEY": SECRET_KEY, **NO_LIMITS}
    variables |= {"PORT": str(free_port()), "WEB_CONCURRENCY": "1"}
    with Stack(variables, log=tmp_path / "log") as stack:
        stack.start_web()
        acme = RemoteOrganizer(stack, "acme")
        key = acme.headers["X-API-Key"].encode()
        events = acme.path.encode() + b"/events"
        body = json.dumps(event_body()).encode()
        sized = b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(body)
        for line, headers, sent, expected in (
            (b"GET " + events + b"?q=\xff", b"", b"", 400),
            (b"GET " + events + b"?q=%ff", b"", b"", 422),
            (b"GET " + events + b"?q=%c3%a9", b"", b"", 200),
            (b"GET " + events + b"/\xff", b"", b"", 400),
            (b"GET " + events + b"/%ff", b"", b"", 404),
            (b"GET " + events + b"/%00", b"", b"", 404),
            (b"GET " + events, b"Authorization: Basic \xff\r\n", b"", 200),
            (b"GET " + events, b"Authorization: Bearer \xff\r\n", b"", 401),
            (b"GET " + events, b"X-Request-ID: \xff\xfe\r\n", b"", 200),
            (b"GET /v1/public/tenants/acme/events", b'If-None-Match: "\xff"\r\n', b"", 200),
            (b"POST " + events, sized + b"Idempotency-Key: \xff\xff\r\n", body, 422),
            (b"POST " + events, sized, body, 201),
            (b"POST " + events, sized, body.replace(b"Launch", b"La\xffnch")[: len(body)], 400),
        ):
            head = line + b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-API-Key: " + key
            with socket.create_connection(("127.0.0.1", stack.port), PATIENCE_SECONDS) as sock:
                sock.sendall(head + b"\r\n" + headers + b"\r\n" + sent)
                (answer,) = answers(read_all(sock))
            said = json.loads(answer.body)
            assert answer.status == expected, (line, headers, said)
            assert expected < 400 or (said["status"] == expected and said["code"]), line
