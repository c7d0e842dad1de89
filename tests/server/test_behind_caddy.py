"""The service behind a real Caddy with TLS, configured by deploy/caddy/Caddyfile."""

import ssl

import pytest
import urllib3

from tests.support.databases import only_once
from tests.support.remote import eventually
from tools import ToolMissing
from tools.daemons import Caddy

pytestmark = [pytest.mark.long, only_once]


@pytest.fixture
def variables(variables):
    return {**variables, "TRUSTED_PROXIES": "127.0.0.1", "RATE_LIMIT_PUBLIC": "0"}


@pytest.fixture
def caddy(stack):
    try:
        running = Caddy(stack.port)
    except ToolMissing as missing:
        pytest.skip(str(missing))
    with running:
        yield running


@pytest.fixture
def web(caddy):
    """A client that trusts Caddy's own authority."""
    eventually(caddy.authority.exists)
    context = ssl.create_default_context(cafile=str(caddy.authority))
    with urllib3.PoolManager(ssl_context=context, retries=False, timeout=30) as pool:
        url = f"https://localhost:{caddy.port}"
        eventually(lambda: answers(pool, url))
        yield lambda method, path, **more: pool.request(method, url + path, **more)


def answers(pool, url):
    try:
        return pool.request("GET", f"{url}/healthz").status == 200
    except urllib3.exceptions.HTTPError:
        return False


def test_it_passes_requests_on_over_tls(web, stack):
    assert web("GET", "/readyz").json()["status"] == "ready"
    forged = {"X-Forwarded-For": "192.0.2.77"}
    assert web("GET", "/v1/chains", headers=forged).status == 200
    eventually(lambda: "route=/v1/chains" in stack.log_path.read_text())
    assert "192.0.2.77" not in stack.log_path.read_text()


def test_it_bounds_bodies_and_lets_pictures_through(web):
    large = b"x" * (300 * 1024)
    assert web("POST", "/v1/auth/token", body=large).status in (413, 502)  # 502: Caddy 2.6
    path = "/v1/admin/tenants/acme/logo"
    picture = {"Content-Type": "image/png"}
    # The credential is missing; the body was not refused for its size.
    assert web("PUT", path, body=large, headers=picture).status == 401
