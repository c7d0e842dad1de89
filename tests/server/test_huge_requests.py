"""Requests that are too large, too many at once, or ambiguous: over a real socket."""

import gzip
import itertools
import json
import shutil
import time

import pytest

from tests.server.test_wire import JSON, LIMIT, problem
from tests.support.raw_http import GOOD, POST, RawServer, answers, read_all, read_one
from ticketing.constants import MAX_UNKNOWN_NAMED
from ticketing.server.chunks import MAX_CHUNKS

pytestmark = pytest.mark.exhaustive

GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
BODY = b'{"api_key":"x"}'
WHOLE = POST + b"Content-Length: 15\r\n\r\n" + BODY
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
AMBIGUOUS = {
    "a length and chunks": POST
    + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunked twice": POST + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n0\r\n\r\n",
    "bare line feeds": b"GET /healthz HTTP/1.1\nHost: x\n\n",
    "one bare line feed": b"GET /healthz HTTP/1.1\r\nHost: x\nA: b\r\n\r\n",
    "a header without a colon": GET + b"A\r\n\r\n",
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "a chunk of a negative size": CHUNKED + b"-1\r\n",
    "a chunk of a Python size": CHUNKED + b"0xf\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a chunk size with an underscore": CHUNKED + b"0_f\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a chunk size before a line feed": CHUNKED + b"f\n" + BODY + b"\r\n0\r\n\r\n",
    "a chunk that is longer than it says": CHUNKED + b"e\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a chunk without a size": CHUNKED + b"\r\n\r\n",
    "a chunk size that never ends": CHUNKED + b"0" * 2000,
    "more chunks than anybody needs": CHUNKED + b"1\r\n \r\n" * 5000 + b"0\r\n\r\n",
    "trailers that never end": CHUNKED + b"0\r\n" + b"a: b\r\n" * 200,
    "a trailer that is none": CHUNKED + b"0\r\nGET /healthz HTTP/1.1\r\n\r\n",
}
OTHERS = {
    "a request line of 5 KB": (b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\n\r\n", 414, "uri_too_long"),
    "a query of 100 KB": (b"GET /healthz?" + b"a" * 100_000, 414, "uri_too_long"),
    "101 headers": (GET + b"A: b\r\n" * 100 + b"\r\n", 431, "request_header_fields_too_large"),
    "7000 headers": (GET + b"A: b\r\n" * 7000, 431, "request_header_fields_too_large"),
    "headers of 40 KB": (
        GET + (b"A: " + b"b" * 8000 + b"\r\n") * 5 + b"\r\n",
        431,
        "request_header_fields_too_large",
    ),
    "a transfer coding": (
        POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        501,
        "not_implemented",
    ),
    "an expectation": (GET + b"Expect: 200-ok\r\n\r\n", 417, "expectation_failed"),
    "a length of 30 digits": (
        POST + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n",
        413,
        "body_too_large",
    ),
}


@pytest.fixture(scope="module")
def web(sqlite_template, tmp_path_factory, starts_processes):
    """The server with its normal settings."""
    folder = tmp_path_factory.mktemp("web")
    shutil.copy(sqlite_template, folder / "ticketing.db")
    with RawServer(f"sqlite:///{folder / 'ticketing.db'}", folder / "log", {}) as running:
        yield running


def cpu_seconds(ask):
    """Return the CPU time of a request, the least of three, and its response."""
    costs = []
    for _ in range(3):
        start = time.process_time()
        answer = ask()
        costs.append(time.process_time() - start)
    return min(costs), answer


@pytest.fixture
def usual(admin, acme):
    """The CPU time of an ordinary request on this machine: of a rejected event."""
    return cpu_seconds(lambda: admin.post(f"{acme.path}/events", {}))[0]


@pytest.mark.parametrize("shape", AMBIGUOUS)
def test_it_refuses_what_could_be_read_in_two_ways(shape, web):
    # What follows would be the smuggled request: it gets no response.
    web.one(AMBIGUOUS[shape] + GOOD).problem(400, "bad_request")


@pytest.mark.parametrize("shape", OTHERS)
def test_it_refuses_what_is_too_much_with_the_right_status(shape, web):
    request, status, code = OTHERS[shape]
    web.one(request).problem(status, code)


def test_a_refusal_repeats_nothing_of_the_request_in_the_log(web):
    web.one(b"GET /?secret HTTP/1.1\r\nHost: x\r\nAuthorization: secret\0\r\n\r\n")
    web.one(b"GET /?secret\r\n\r\n")
    log = web.log_path.read_text()
    assert "rejected a request of 127.0.0.1: InvalidHeader" in log and "secret" not in log


@pytest.mark.parametrize("head", [POST, POST + b"Expect: 100-continue\r\n"])
def test_a_body_over_64_kib_is_refused_before_it_is_sent(head, web):
    web.one(head + b"Content-Length: 65537\r\n\r\n").problem(413, "body_too_large")
    web.one(head + b"Transfer-Encoding: chunked\r\n\r\n10001\r\n").problem(413, "body_too_large")


def test_who_sends_a_body_over_64_kib_nevertheless_can_read_the_refusal(web):
    body = b" " * 500_000
    web.one(POST + b"Content-Length: 500000\r\n\r\n" + body).problem(413, "body_too_large")


@pytest.mark.parametrize("piece", [LIMIT // MAX_CHUNKS + 1, 100, 8192, LIMIT])
def test_chunks_have_the_same_limit(piece, web):
    def chunked(size):
        sizes = itertools.chain([piece] * (size // piece), [size % piece] if size % piece else [])
        return CHUNKED + b"".join(b"%x\r\n%s\r\n" % (n, b" " * n) for n in sizes) + b"0\r\n\r\n"

    with web.connect(chunked(LIMIT) + GET + b"\r\n") as sock:
        sock.shutdown(1)
        first, second = answers(read_all(sock))
        first.problem(400, "malformed_json")  # it was read completely
        assert second.status == 200
    web.one(chunked(LIMIT + 1)).problem(413, "body_too_large")


def test_a_body_that_is_shorter_than_it_says_is_not_acted_upon(web):
    assert web.ask(POST + b"Content-Length: 16\r\n\r\n" + BODY) == []
    assert web.ask(CHUNKED + b"f\r\n" + BODY + b"\r\n") == []


def test_a_body_that_is_longer_than_it_says_is_cut_and_the_rest_is_no_request(web):
    first, second = web.ask(POST + b"Content-Length: 13\r\n\r\n" + BODY + b"\r\n\r\n")
    first.problem(400, "malformed_json")
    second.problem(400, "bad_request")


def test_requests_that_come_at_once_are_answered_in_order(web):
    (*found,) = web.ask(WHOLE + GET + b"\r\n" + CHUNKED + b"f\r\n" + BODY + b"\r\n0\r\n\r\n" + GOOD)
    assert [answer.status for answer in found] == [401, 200, 401, 200]
    assert [answer.headers["connection"] for answer in found] == ["keep-alive"] * 3 + ["close"]


def test_it_goes_on_when_it_is_asked_whether_to(web):
    with web.connect(POST + b"Content-Length: 15\r\nExpect: 100-continue\r\n\r\n") as sock:
        assert sock.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(BODY)
        read_one(sock).problem(401, "invalid_credentials")
        # A client that did not wait gets no 100.
        sock.sendall(POST + b"Content-Length: 15\r\nExpect: 100-continue\r\n\r\n" + BODY)
        read_one(sock).problem(401, "invalid_credentials")


def test_it_speaks_http_1_0(web):
    old = b"GET /healthz HTTP/1.0\r\n"
    answer = web.one(old + b"\r\n")
    assert (answer.status, answer.headers["connection"]) == (200, "close")
    kept, last = web.ask(old + b"Connection: keep-alive\r\n\r\n" + old + b"\r\n")
    assert (kept.headers["connection"], last.headers["connection"]) == ("keep-alive", "close")


def test_ranges_and_unknown_upgrades_change_nothing(web):
    for more in (b"Range: bytes=0-1,3-4\r\n", b"Connection: Upgrade\r\nUpgrade: h2c\r\n"):
        (answer,) = web.ask(GET + more + b"\r\n")
        assert (answer.status, answer.body) == (200, b'{"status":"ok"}\n')


def test_a_compressed_body_is_not_unpacked(admin, acme):
    bomb = gzip.compress(b" " * 30_000_000)
    assert len(bomb) < LIMIT
    for coding in ("gzip", "deflate", "br", "gzip, identity"):
        headers = {**JSON, "Content-Encoding": coding}
        answer = admin.post(f"{acme.path}/events", data=bomb, headers=headers)
        problem(answer, 415, "unsupported_media_type")
    plain = {**JSON, "Content-Encoding": "identity"}
    answer = admin.post(f"{acme.path}/events", data=b"{}", headers=plain)
    problem(answer, 422, "invalid_request")


def test_forms_are_never_read(admin, acme, usual):
    form = b"".join(
        b"--x\r\nContent-Disposition: form-data; name=a%d\r\n\r\n\r\n" % n for n in range(900)
    )
    for kind in ("multipart/form-data; boundary=x", "application/x-www-form-urlencoded"):
        headers = {"Content-Type": kind}
        cost, answer = cpu_seconds(
            lambda headers=headers: admin.post(f"{acme.path}/events", data=form, headers=headers)
        )
        problem(answer, 415, "unsupported_media_type")
        assert cost < 10 * usual


def test_a_thousand_parameters_are_refused_at_little_cost(acme, api, usual):
    query = "&".join(f"a{number}" for number in range(1000))
    cost, answer = cpu_seconds(lambda: api.get(f"{acme.public}/events?{query}"))
    assert len(problem(answer, 422, "invalid_request")["errors"]) == MAX_UNKNOWN_NAMED
    assert cost < 30 * usual


@pytest.mark.parametrize(
    "body",
    [
        "{" + ",".join(f'"{number:x}":0' for number in range(7000)) + "}",
        "[" + "0," * 32_000 + "0]",
        "[" + "[]," * 20_000 + "[]]",
        '{"title":[' + "{}," * 20_000 + "{}]}",
        '{"title":"' + "\\u0000" * 10_000 + '"}',
        '{"title":"' + '\\"' * 30_000 + '"}',
        '{"start_at":' + "9" * 4000 + "}",
        '{"start_at":1e' + "9" * 60_000 + "}",
        "[[" * 9 + "1," * 30_000 + "1" + "]]" * 9,
        " " * 65_000 + "{}",
    ],
    ids=lambda body: body[:12],
)
def test_64_kib_of_json_cost_little_whatever_they_hold(body, admin, acme, usual):
    assert len(body) <= LIMIT
    path = f"{acme.path}/events"
    cost, answer = cpu_seconds(lambda: admin.post(path, data=body, headers=JSON))
    assert cost < 100 * usual
    assert answer.status_code in (400, 422)
    assert len(json.dumps(answer.json)) < 6 * LIMIT


MEMBERS = "{" + ",".join(f'"{number:x}":0' for number in range(6500)) + "}"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/mcp", '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":%s}}'),
        ("/v1/auth/token", "%s"),
        ("/v1/checkout/tenants/acme/preflight", "%s"),
    ],
)
def test_an_object_of_thousands_of_members_is_refused_at_little_cost(path, body, api, acme, usual):
    text = (body % MEMBERS).replace('"params":{', '"params":{"name":"order_ticket",')
    assert len(text) <= LIMIT
    cost, answer = cpu_seconds(lambda: api.post(path, data=text, headers=JSON))
    assert answer.status_code == 400
    assert cost < 20 * usual


@pytest.mark.parametrize("name", ["scans", "holders", "types"])
def test_a_list_that_is_too_long_is_refused_before_its_items_are_read(name, admin, acme, usual):
    ticket = acme.ticket()
    event = f"events/{ticket['event_id']}"
    path, item, most, rest = {
        "scans": (f"/v1/door/tenants/acme/{event}/scans", "{}", 4 * LIMIT, '"sent_at":"x",'),
        "holders": (f"{acme.path}/{event}/tickets/{ticket['id']}/admissions", "{}", LIMIT, ""),
        "types": (f"{acme.path}/webhooks", '"x"', LIMIT, '"url":"x",'),
    }[name]
    body = f'{{{rest}"{name}":[{",".join([item] * (most // len(item + ",") - 20))}]}}'
    cost, answer = cpu_seconds(lambda: admin.post(path, data=body, headers=JSON))
    assert len(problem(answer, 422, "invalid_request")["errors"][name]) == 1
    assert cost < 100 * usual
