"""The bench itself: each step of a sale gets its expected status."""

import os
import re
import subprocess
import sys

import pytest

from tools import ToolMissing
from tools.namespaces import RIGHTS, Network
from tools.stack import ROOT

FEW = ("--buyers", "5", "--seconds", "1", "--waiting", "3", "--waiting-seconds", "1")
SHORT = ("--rounds", "1", "--seconds", "0.5", "--pretix-seconds", "1")
NO_ROUNDS = ("--database", "sqlite", "--rounds", "0")
SHORT = ("--database", "postgres", "--rounds", "1", "--slice", "0.1")


@pytest.mark.long
@pytest.mark.usefixtures("starts_processes")
def test_buyers_of_the_on_sale_minute_get_their_tickets():
    done = subprocess.run(
        [sys.executable, "-m", "bench.onsale", *FEW, *NO_ROUNDS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for phase in ("the minute", "the minute, full orders", "sold out"):
        assert re.search(rf"^{phase} +SQLite +5 buyers ", done.stdout, re.MULTILINE)


@pytest.mark.long
@pytest.mark.usefixtures("starts_processes")
def test_steps_journeys_and_the_hot_ticket_type_are_compared_on_postgres():
    done = subprocess.run(
        [sys.executable, "-m", "bench.onsale", *FEW, *SHORT],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for line in (
        r"^full: order, the page's form +Flask .* 0$",
        r"^plain order +Flask .* 1\.00 ",
        r"^full order +Flask .* 1\.00 ",
        r"^the service +\d+ ",
        r"^plain SQL +\d+ .* <= 3 x +(yes|NO)$",
    ):
        assert re.search(line, done.stdout, re.MULTILINE), done.stdout


@pytest.mark.long
@pytest.mark.usefixtures("starts_processes")
def test_each_row_of_the_bench_gets_its_expected_status():
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "bench",
            "--database",
            "sqlite",
            "--rounds",
            "1",
            "--seconds",
            "0.1",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^scan .* 0$", done.stdout, re.MULTILINE)


@pytest.fixture
def rights():
    try:
        Network().stop()
    except ToolMissing as missing:
        pytest.skip(str(missing))


@pytest.mark.long
@pytest.mark.usefixtures("starts_processes", "rights")
def test_two_hosts_in_namespaces_sell_directly_and_through_pgbouncer():
    done = subprocess.run(
        [sys.executable, "-m", "bench.scale", "--rounds", "1", "--seconds", "0.2"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    costs = done.stdout.partition("Cores in use")[0]
    for through in ("direct", "PgBouncer"):
        assert re.search(rf"^order, 8 tenants +{through} +2 .* 0$", costs, re.MULTILINE)


@pytest.mark.usefixtures("starts_processes")
def test_without_the_rights_for_namespaces_the_bench_of_two_hosts_says_which():
    drop = ["setpriv", "--bounding-set=-sys_admin,-net_admin"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*drop, sys.executable, "-m", "bench.scale"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"bench: {RIGHTS}\n"


@pytest.mark.long
@pytest.mark.usefixtures("starts_processes")
def test_a_shop_with_many_orders_answers_as_an_empty_one():
    few = ("--orders", "2000", "--rounds", "1", "--seconds", "0.1")
    done = subprocess.run(
        [sys.executable, "-m", "bench.growth", "--database", "sqlite", *few],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for what in ("scan", "/console/money", "a round of the worker", "10. "):
        assert re.search(rf"^{re.escape(what)}", done.stdout, re.MULTILINE), what
