"""A wrong configuration stops the start: one line names it and has no secret.

tests/cli/test_config.py has the wrong values of each variable.
"""

import pytest

from app import create_app
from tests.conftest import SECRET_KEY
from tests.support.factories import run
from tests.support.variables import GOOD, NOT_UNICODE, SECRET

pytestmark = pytest.mark.long

COMMANDS = {
    "web": ("gunicorn", "app:create_app()"),
    "worker": ("flask", "--app", "app", "worker"),
    "upgrade": ("flask", "--app", "app", "db", "upgrade"),
}
NO_FOLDER = "sqlite:////dev/null/ticketing.db"


@pytest.mark.parametrize(
    ("command", "name", "value"),
    [
        # gunicorn.conf.py loads the configuration, and a command loads it with the application.
        ("web", "DATABASE_URL", f"mysql://ticketing:{SECRET}@127.0.0.1/ticketing"),
        ("worker", "SECRET_KEY", f"{SECRET}-too-short"),
        ("upgrade", "RPC_URL_31337", f"https://127.0.0.1/{NOT_UNICODE}"),
        # gunicorn reads it before us, and refuses text with its own message.
        ("web", "WEB_CONCURRENCY", "0"),
        # The folder is created later, with the application.
        ("web", "DATABASE_URL", NO_FOLDER),
        ("upgrade", "DATABASE_URL", NO_FOLDER),
    ],
    ids=ascii,
)
def test_a_wrong_variable_stops_the_start_in_one_line(command, name, value, starts_processes):
    done = run({**GOOD, name: value}, *COMMANDS[command])
    assert done.returncode != 0 and done.stdout == ""
    *before, line = done.stderr.strip().splitlines()
    # With a configuration that can be read, the web server writes its version first.
    assert len(before) == ((command, value) == ("web", NO_FOLDER))
    assert line.startswith("ticketing: ") and name in line
    assert SECRET not in line and SECRET_KEY not in line


def test_without_any_variable_the_start_says_how_to_make_a_secret_key(monkeypatch):
    monkeypatch.setattr("os.environ", {})
    with pytest.raises(SystemExit) as end:
        create_app()
    assert end.value.code.startswith("ticketing: SECRET_KEY")
    assert "secrets.token_urlsafe" in end.value.code and "\n" not in end.value.code
