"""The bench itself: each step of a sale gets its expected status."""

import re
import subprocess
import sys

import pytest

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


@pytest.mark.long
@pytest.mark.usefixtures("starts_processes")
def test_orders_succeed_here_and_in_pretix():
    done = subprocess.run(
        [sys.executable, "-m", "bench.peers", *SHORT],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for system in ("ours", "pretix"):
        assert len(re.findall(rf" {system} .* [1-9][0-9]* +0$", done.stdout, re.MULTILINE)) == 2
