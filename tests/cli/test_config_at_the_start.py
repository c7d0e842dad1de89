"""A wrong configuration stops the start: one line names it and has no secret."""

import itertools

import pytest

from tests.conftest import SECRET_KEY
from tests.support.factories import run
from tests.support.variables import GOOD, NOT_UNICODE, SECRET

COMMANDS = {
    "flask": ("flask", "--app", "app", "db", "upgrade"),
    "gunicorn": ("gunicorn", "app:create_app()"),
}
# Errors of the other variables are reported the same way (above).
WRONG_AT_THE_START = [
    ("SECRET_KEY", f"{SECRET}-too-short"),
    ("RPC_URL_31337", f"https://127.0.0.1/{NOT_UNICODE}"),
    ("DATABASE_URL", f"mysql://ticketing:{SECRET}@127.0.0.1/ticketing"),
    ("DATABASE_URL", "sqlite:////dev/null/ticketing.db"),
    ("LOG_LEVEL", "LOUD"),
]


def refusal(command, **variables):
    """Return the single line of a process that fails to start."""
    done = run(variables, *COMMANDS[command])
    assert done.returncode != 0 and done.stdout == ""
    (line,) = done.stderr.strip().splitlines()
    assert SECRET not in line and SECRET_KEY not in line
    return line


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("name", "value"), WRONG_AT_THE_START, ids=[ascii(case) for case in WRONG_AT_THE_START]
)
def test_a_wrong_variable_stops_the_start_in_one_line(command, name, value):
    assert name in refusal(command, **{**GOOD, name: value})


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize(
    ("command", "value"),
    # gunicorn reads it before us, and refuses text with its own message.
    [("flask", "many"), ("flask", "-1"), *itertools.product(COMMANDS, ["0", "65"])],
)
def test_a_wrong_web_concurrency_stops_the_start(command, value):
    assert "WEB_CONCURRENCY" in refusal(command, **GOOD, WEB_CONCURRENCY=value)


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize("command", COMMANDS)
def test_without_any_variable_the_start_says_how_to_make_a_secret_key(command):
    line = refusal(command)
    assert "SECRET_KEY" in line and "secrets.token_urlsafe" in line
