"""The service on another gunicorn, for which our worker was not written: gunicorn's own threads.

The test takes a release from PyPI that is not pinned. Releases before 27 are not tried: some of
them wait 30 s for connections that have ended when they stop.
"""

import re
import subprocess
import sys

import pytest
import urllib3

from tests.support.databases import only_once
from tests.support.processes import variables_of
from tests.support.remote import PATIENCE_SECONDS, eventually
from ticketing.server.supported import KNOWN

pytestmark = pytest.mark.long

METRICS_TOKEN = "scrape-me-0123456789"
WARNING = re.compile(
    r"\[WARNING\] gunicorn (\S+) is not (\S+): .*a slow client holds one\. Put a proxy in front"
)


@pytest.fixture
def folder(tmp_path):
    """A folder with the newest gunicorn that is not the pinned one."""
    folder = tmp_path / "gunicorn"
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    options = ["--only-binary", ":all:", "--target", str(folder)]
    subprocess.run([*pip, *options, f"gunicorn!={KNOWN}"], check=True)
    return folder


@pytest.fixture
def version(folder):
    (info,) = folder.glob("gunicorn-*.dist-info")
    return info.name.removeprefix("gunicorn-").removesuffix(".dist-info")


@pytest.fixture
def variables(database_url, folder):
    return variables_of(database_url, PYTHONPATH=str(folder), METRICS_TOKEN=METRICS_TOKEN)


@only_once
def test_the_service_runs_on_another_gunicorn_with_one_warning(stack, remote, seat, version):
    assert version != KNOWN
    assert remote.ready()["database"] is True
    assert remote.preflight(seat).status == 201
    # Every process writes its counts to the folder of the master.
    eventually(lambda: 'route="/v1/checkout/tenants/<tenant>/preflight"' in metrics(stack))
    assert stack.terminate()(PATIENCE_SECONDS) == 0
    said = stack.log_path.read_text()
    assert said.count("Worker exiting") == 2  # gunicorn would kill those that do not stop
    assert WARNING.findall(said) == [(version, KNOWN)]
    assert said.count("[WARNING]") == 1
    assert "[ERROR]" not in said


def metrics(stack):
    headers = {"Authorization": f"Bearer {METRICS_TOKEN}", "Connection": "close"}
    return urllib3.request("GET", f"{stack.url}/metrics", headers=headers, timeout=60).data.decode()
