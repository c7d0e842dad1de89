"""The same raw bytes through a real nginx, configured as docs/operations.md says."""

import shutil

import pytest

from tests.server.test_huge_requests import AMBIGUOUS, CHUNKED, OTHERS, WHOLE
from tests.support.nginx import nginx_before
from tests.support.raw_http import GOOD, POST, RawServer, answers, read_all
from tests.support.remote import eventually

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("starts_processes")]

NEVER_ENDS = {"trailers that never end"}
"""nginx waits for the rest: that is not the service's concern."""

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


@pytest.fixture(scope="module")
def server(sqlite_template, tmp_path_factory):
    folder = tmp_path_factory.mktemp("web")
    shutil.copy(sqlite_template, folder / "ticketing.db")
    url = f"sqlite:///{folder / 'ticketing.db'}"
    with RawServer(url, folder / "log", {}, TRUSTED_PROXIES="127.0.0.1") as running:
        yield running


@pytest.fixture(scope="module")
def nginx(server):
    with nginx_before(server.port) as running:
        yield running


@pytest.fixture
def web(server, nginx):
    server.entry = server.port if nginx is None else nginx.port
    return server


def requests_of(web):
    """Return how many requests the service has answered or refused."""
    log = web.log_path.read_text()
    return log.count("ticketing.requests: request ") + log.count("rejected a request of")


@pytest.mark.parametrize("shape", sorted({*AMBIGUOUS, *OTHERS} - NEVER_ENDS))
def test_no_request_is_smuggled_to_the_service(shape, web):
    request = AMBIGUOUS.get(shape) or OTHERS[shape][0]
    before = requests_of(web)
    with web.connect(request + SMUGGLED) as sock:
        try:
            found = answers(read_all(sock))
        except ConnectionError:  # nginx does not read what it refuses
            found = []
    # The service saw as many requests as the client got answers from it. nginx repairs a few
    # shapes, and answers HTTP/0.9 without a head.
    ours = sum("x-request-id" in answer.headers for answer in found)
    eventually(lambda: requests_of(web) - before >= ours)
    assert requests_of(web) - before <= max(ours, 1)
    assert web.one(GOOD).status == 200


@pytest.mark.parametrize("request_", [WHOLE, CHUNKED + b'f\r\n{"api_key":"x"}\r\n0\r\n\r\n'])
def test_what_is_well_formed_arrives(request_, web):
    with web.connect(request_ + GOOD) as sock:  # nginx does not serve clients that close their half
        (answer, after) = answers(read_all(sock))
    answer.problem(401, "invalid_credentials")
    assert after.status == 200


def test_the_address_that_a_client_makes_up_is_not_believed(web):
    forged = GOOD.replace(b"Host: x", b"Host: x\r\nX-Forwarded-For: 192.0.2.77")
    with web.connect(forged, source="127.0.0.9") as sock:
        assert answers(read_all(sock))[0].status == 200
    eventually(lambda: "address=127.0.0.9" in web.log_path.read_text())
    assert "192.0.2.77" not in web.log_path.read_text()


def test_a_body_that_drips_waits_in_the_proxy(web, nginx):
    before = requests_of(web)
    with web.connect(POST + b"Content-Length: 60000\r\n\r\n{"):
        assert [web.one(GOOD).status for _ in range(5)] == [200] * 5
        eventually(lambda: requests_of(web) >= before + 5)
        assert nginx is None or requests_of(web) == before + 5


def test_the_proxy_does_not_log_the_links_of_buyers(web, nginx):
    if nginx is None:
        return
    secret = ("/o/", "/t/", "/x/", "/_p/", "/%6F/", "//o/", "/console/invitation/")
    for path in (*(f"{each}SECRET" for each in secret), "/none"):
        head = f"GET {path} HTTP/1.1\r\nHost: x\r\nReferer: http://x/o/SECRET\r\n"
        head += "Connection: close\r\n\r\n"
        assert web.one(head.encode()).status in (404, 421)
    eventually(lambda: "/none" in nginx.logged)
    assert "SECRET" not in nginx.logged
