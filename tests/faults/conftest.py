"""Fixtures of the tests of faults: the programs of backups."""

import os
import subprocess

import pytest

from tools import installer
from tools.postgres import find_binaries


@pytest.fixture
def age(tmp_path, monkeypatch):
    """Put age on the PATH. Return a key pair: the public key, and the file of the secret one."""
    program = installer.from_debian("age")
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    made = subprocess.run(
        [program.with_name("age-keygen"), "-o", tmp_path / "key.txt"],
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stderr.rpartition(" ")[2].strip(), tmp_path / "key.txt"


@pytest.fixture
def postgres_on_path(monkeypatch):
    folder = find_binaries()[0]
    if folder is not None:
        monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
