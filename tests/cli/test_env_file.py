"""Which commands read the file .env, and their message without it."""

import subprocess
import sys

import pytest

from tests.conftest import SECRET_KEY
from tools.stack import ROOT

pytestmark = pytest.mark.long


@pytest.fixture
def elsewhere(tmp_path, starts_processes):
    """Return a function that runs Python in a folder with only .env, and only these variables."""
    (tmp_path / ".env").write_text(f"SECRET_KEY={SECRET_KEY}\nDATABASE_URL=sqlite:///x.db\n")

    def start(*arguments, **variables):
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), **variables},
            capture_output=True,
            text=True,
            check=False,
        )

    return start


FLASK_HELP = ("-m", "flask", "--app", "app", "--help")


def test_help_reads_the_env_file_as_every_command_does(elsewhere):
    done = elsewhere(*FLASK_HELP)
    assert (done.returncode, done.stderr) == (0, "")
    assert " tenants " in done.stdout


def test_help_without_a_configuration_is_one_line(elsewhere, tmp_path):
    skipped = elsewhere(*FLASK_HELP, FLASK_SKIP_DOTENV="1")
    (tmp_path / ".env").unlink()
    for done in (skipped, elsewhere(*FLASK_HELP)):
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("ticketing: SECRET_KEY") and done.stderr.count("\n") == 1


def test_what_is_no_command_reads_no_env_file(elsewhere):
    done = elsewhere("-c", "import app; app.create_app()")
    assert done.returncode == 1 and "SECRET_KEY" in done.stderr
