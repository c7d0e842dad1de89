"""Marks, and not the names of folders, say on which databases a test runs."""

import subprocess
import sys

from tools.stack import ROOT

CONFTEST = """
import pytest

@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request):
    return request.param
"""
MARKS = "import pytest\npytestmark = pytest.mark.{}\n"
TEST = "def test_it(database_url): ...\n"
FOLDERS = {
    "api": ("", ""),
    "shown": (MARKS.format("one_database"), ""),
    "shown/below": ("", ""),
    "shown/stored": ("", MARKS.format("sql")),
    "shown/rows": (MARKS.format("sql"), ""),
    "shown/rows/texts": ("", MARKS.format("one_database")),
}
"""The folder's conftest.py, and the first lines of its test."""


def collected(folder, *arguments):
    """Return the tests that pytest finds in a folder."""
    options = ["-q", "--collect-only", "-c", folder / "pytest.ini", "-p", "tests.support.kinds"]
    command = [sys.executable, "-m", "pytest", *options, *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return {line for line in ended.stdout.splitlines() if "::" in line}


def test_the_nearest_mark_decides_on_which_databases_a_test_runs(tmp_path, starts_processes):
    names = ["one_database", "sql", "long", "quick", "exhaustive"]
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  " + "\n  ".join(names))
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for folder, (conftest, marks) in FOLDERS.items():
        (tmp_path / folder).mkdir()
        for each in ("__init__.py", "conftest.py"):
            (tmp_path / folder / each).write_text(conftest if each == "conftest.py" else "")
        (tmp_path / folder / "test_one.py").write_text(marks + TEST)
    sqlite = {f"{folder}/test_one.py::test_it[sqlite]" for folder in FOLDERS}
    both = {each.replace("sqlite", "postgres") for each in sqlite if "shown" not in each}
    both |= {f"shown/{each}/test_one.py::test_it[postgres]" for each in ("stored", "rows")}
    assert collected(tmp_path, tmp_path) == sqlite | both
    assert collected(tmp_path, tmp_path / "shown" / "below" / "test_one.py") == {
        "shown/below/test_one.py::test_it[sqlite]"
    }
    assert collected(tmp_path, "-m", "sql and not long", tmp_path) == {
        each for each in sqlite if "stored" in each or "rows/test" in each
    } | {"shown/rows/texts/test_one.py::test_it[sqlite]"}
