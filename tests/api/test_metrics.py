"""Metrics for Prometheus: correct across processes, and only with the token."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import urllib3

from tests.conftest import SECRET_KEY
from tests.support.apps import new_app
from tests.support.factories import Buyer, cli, worker_once
from tests.support.remote import PATIENCE_SECONDS
from ticketing.models.counters import CounterEntry
from ticketing.services import counters
from tools.stack import Stack, free_port

TOKEN = "scrape-me-0123456789"


@pytest.fixture
def environ(environ):
    return {**environ, "METRICS_TOKEN": TOKEN}


def metrics_of(text):
    """Return the exposed values, by name and labels."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def read(api):
    answer = api.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    assert answer.content_type == "text/plain; version=0.0.4; charset=utf-8"
    return metrics_of(answer.text)


def test_nobody_reads_them_without_the_token(environ, api, acme):
    assert api.get("/metrics").status_code == 401
    for headers in ({"Authorization": "Bearer guess"}, {"X-API-Key": acme.admin_key}):
        assert api.get("/metrics", headers=headers).status_code == 401
    without = new_app({key: environ[key] for key in environ if key != "METRICS_TOKEN"})
    sent = {"Authorization": f"Bearer {TOKEN}"}
    assert without.test_client().get("/metrics", headers=sent).status_code == 404


def test_requests_are_counted_by_route_and_status(api, acme):
    route = '{method="GET",route="/v1/public/tenants/<tenant>/events"'
    before = read(api)
    for tenant in ("acme", "acme", "nobody"):
        api.get(f"/v1/public/tenants/{tenant}/events")
    api.get("/some/where/else")
    after = read(api)

    def more(name):
        return after[name] - before.get(name, 0)

    assert more(f'ticketing_requests_total{route},status="200"}}') == 2
    assert more(f'ticketing_requests_total{route},status="404"}}') == 1
    assert more('ticketing_requests_total{method="",route="",status="404"}') == 1
    assert more(f"ticketing_request_seconds_count{route}}}") == 3
    assert not [name for name in after if "acme" in name or "some" in name]


def test_the_figures_of_the_shop_follow_it(app, api, acme, node):
    ticket = acme.ticket()
    worker_once(app)
    paid, _, canceled = (acme.buyer(ticket) for _ in range(3))
    paid.pay(node, paid.intent["atomic_amount"] + 7)
    worker_once(app)
    assert canceled.cancel().status_code == 200
    worker_once(app)
    found = read(api)
    assert found['ticketing_intents{status="awaiting_payment"}'] == 1
    assert found['ticketing_intents_entered_total{status="confirmed"}'] == 1
    assert found['ticketing_intents_entered_total{status="canceled"}'] == 1
    assert found['ticketing_skipped_blocks_total{chain_id="31337"}'] == 0
    assert found["ticketing_refunds_owed"] == 1
    assert found["ticketing_refund_due_micro_units"] == 7
    assert abs(found['ticketing_cursor_lag_seconds{chain_id="31337"}']) < PATIENCE_SECONDS


def test_a_chain_that_is_not_seen_is_counted(app, api, acme, node):
    buyer = acme.buyer(acme.ticket())
    node.stop() if hasattr(node, "stop") else node.__exit__(None, None, None)
    assert Buyer(acme, buyer.intent).purchase().status_code == 503
    cli(app, "worker", "--once", exit_code=1)
    assert read(api)['ticketing_rpc_errors_total{chain_id="31337"}'] == 2


def test_many_rows_are_merged_and_nothing_is_lost(app, node):
    for _ in range(150):
        counters.add(counters.ENTERED, "confirmed")
        counters.add(counters.ENTERED, "expired", 2)
    worker_once(app)
    assert counters.read() == {counters.ENTERED: {"confirmed": 150, "expired": 300}}
    assert CounterEntry.select().count() == 2


@pytest.mark.long
def test_all_processes_of_a_host_are_counted_together(database_url, tmp_path, starts_processes):
    variables = {
        "DATABASE_URL": database_url,
        "SECRET_KEY": SECRET_KEY,
        "PORT": str(free_port()),
        "WEB_CONCURRENCY": "3",
        "METRICS_TOKEN": TOKEN,
        "TMPDIR": str(tmp_path),
    }
    http = urllib3.PoolManager(retries=False)
    # Each request has its own connection, so any process may answer it.
    close = {"Connection": "close"}

    def well(_):
        return http.request("GET", f"{stack.url}/healthz", headers=close).status

    with Stack(variables, log=tmp_path / "log") as stack, ThreadPoolExecutor(20) as pool:
        stack.start_web()
        asked = 0
        while len(list(tmp_path.glob("ticketing-metrics-*/counter_*.db"))) < 3:
            assert set(pool.map(well, range(60))) == {200}
            asked += 60
        sent = {"Authorization": f"Bearer {TOKEN}", **close}
        for _ in range(5):
            text = http.request("GET", f"{stack.url}/metrics", headers=sent).data.decode()
            route = '{method="GET",route="/healthz",status="200"}'
            assert metrics_of(text)[f"ticketing_requests_total{route}"] == asked
    assert not list(tmp_path.glob("ticketing-metrics-*"))
