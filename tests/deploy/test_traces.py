"""Traces of OpenTelemetry: they arrive, with routes and statements, and without secrets."""

import gzip
import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import peewee
import pytest
import urllib3

from tests.support.processes import variables_of
from tests.support.remote import eventually
from tools import ToolMissing, installer
from tools.stack import ROOT, Stack

SETTINGS = ROOT / "deploy" / "opentelemetry.env"
SECRET_PARTS = {"link", "code", "offer", "invitation", "reset"}


def settings():
    lines = SETTINGS.read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def test_no_path_with_a_secret_is_traced(app):
    excluded = settings()["OTEL_PYTHON_FLASK_EXCLUDED_URLS"].split(",")
    pages = [rule for rule in app.url_map.iter_rules() if rule.arguments & SECRET_PARTS]
    assert len(pages) > 10
    for rule in pages:
        assert any(re.search(each, rule.rule) for each in excluded), rule.rule


class Collector:
    """A receiver of OTLP over HTTP. `received` has what came. A context manager."""

    def __init__(self):
        received = self.received = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                is_packed = self.headers.get("Content-Encoding") == "gzip"
                received.append(gzip.decompress(body) if is_packed else body)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.mark.long
def test_traces_arrive_without_secrets(database_url, tmp_path, starts_processes):
    try:
        home = installer.from_pypi(ROOT / "deploy" / "opentelemetry.txt", "opentelemetry")
    except ToolMissing as missing:
        pytest.skip(str(missing))
    python = str(home / "bin" / "python")
    run = "from opentelemetry.instrumentation.auto_instrumentation import run; run()"
    variables = variables_of(database_url)
    with Collector() as collector, Stack(variables) as stack:
        environ = {
            **stack.environ,
            **settings(),
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            "OTEL_BSP_SCHEDULE_DELAY": "200",
            # The service's packages; a self-hoster installs both into one environment.
            "PYTHONPATH": str(Path(peewee.__file__).parent),
        }
        bind = f"--bind=127.0.0.1:{stack.port}"
        command = [python, "-c", run, python, "-m", "gunicorn", bind, "app:create_app()"]
        with (tmp_path / "log").open("w") as log:
            server = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=log, stderr=log)
        try:
            eventually(lambda: is_ready(stack.url))
            secret = f"pi_{'0' * 26}.cs_{'5ecre7' * 10}"
            for path in ("/v1/chains", f"/o/{secret}", "/console/invitation/in_5ecre7"):
                urllib3.request("GET", stack.url + path, retries=False)
            eventually(lambda: b"/v1/chains" in b"".join(collector.received))
        finally:
            server.terminate()
            server.wait()
    told = b"".join(collector.received)
    assert b"5ecre7" not in told
    assert "Traceback" not in (tmp_path / "log").read_text()
    if database_url.startswith("postgres"):
        assert b"SELECT" in told


def is_ready(url):
    try:
        return urllib3.request("GET", f"{url}/readyz", retries=False).status == 200
    except urllib3.exceptions.HTTPError:
        return False
