"""The release is named where operators look, and a bare host listens on itself only."""

import json
import os
import subprocess
import sys

import pytest

from tests.support.processes import variables_of
from tests.support.remote import eventually
from ticketing.version import VERSION
from tools.stack import ROOT, Stack

pytestmark = [pytest.mark.one_database, pytest.mark.long]


@pytest.fixture
def variables(database_url):
    return variables_of(database_url, METRICS_TOKEN="t" * 16, LOG_FORMAT="json")


def test_each_process_and_answer_names_the_release(variables, tmp_path, starts_processes):
    log = tmp_path / "log"
    with Stack(variables, log=log) as stack:
        assert stack.flask("version") == f"{VERSION}\n"
        stack.start_web()
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        assert lines[0]["message"] == f"ticketing {VERSION}"
        assert any(each["logger"] == "gunicorn.error" for each in lines)
        stack.start_worker()
        eventually(lambda: log.read_text().count(f"ticketing {VERSION}") == 2)
    assert all(json.loads(line) for line in log.read_text().splitlines())


def test_every_surface_names_the_release(app, api):
    assert api.get("/readyz").json["version"] == VERSION
    assert api.get("/openapi.json").json["info"]["version"] == VERSION


@pytest.mark.parametrize(("port", "bind"), [(None, "127.0.0.1:8000"), ("8123", "0.0.0.0:8123")])
def test_without_a_port_of_a_platform_gunicorn_listens_on_this_machine(variables, port, bind):
    environ = {**os.environ, **variables}
    del environ["PORT"]
    if port is not None:
        environ["PORT"] = port
    command = [sys.executable, "-m", "gunicorn", "--print-config", "app:create_app()"]
    done = subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, check=True
    )
    (line,) = (each for each in done.stdout.splitlines() if each.startswith("bind "))
    assert bind in line
