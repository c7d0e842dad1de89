"""The bench itself: every case gets its expected status on both databases."""

import os
import re
import subprocess
import sys

import pytest

from bench.cases import CASES
from bench.databases import POSTGRES, SQLITE
from tools.stack import ROOT

ROUNDS = ("--rounds", "1", "--seconds", "0.1")
FEW = ("--buyers", "5", "--seconds", "1", "--waiting", "3", "--waiting-seconds", "1")


@pytest.mark.long
@pytest.mark.usefixtures("starts_processes")
def test_the_bench_runs_every_case_on_both_databases():
    # It reads /proc of the Postgres server, so it needs one on this machine.
    variables = {name: os.environ[name] for name in os.environ if name != "TEST_DATABASE_URL"}
    done = subprocess.run(
        [sys.executable, "-m", "bench", *ROUNDS],
        cwd=ROOT,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for name in (SQLITE, POSTGRES):
        assert done.stdout.count(f" {name} ") >= len(CASES)


@pytest.mark.long
@pytest.mark.usefixtures("starts_processes")
def test_buyers_of_the_on_sale_minute_get_their_tickets():
    done = subprocess.run(
        [sys.executable, "-m", "bench.onsale", *FEW, "--database", "sqlite", "--rounds", "0"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for phase in ("the minute", "sold out"):
        assert re.search(rf"^{phase} +{SQLITE} +5 buyers ", done.stdout, re.MULTILINE)
