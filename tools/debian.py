"""Programs of Debian packages for tests. They are unpacked under .tools, not installed."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tools import ToolMissing

TOOLS = Path(__file__).parent.parent / ".tools"


def executable(name: str, package: str) -> Path:
    """Return this machine's program, else the program of the Debian package. ToolMissing.

    `name` is the display name. The program has the same name as its package.
    """
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin"])
    found = shutil.which(package, path=path)
    if found:
        return Path(found)
    TOOLS.mkdir(exist_ok=True)
    with (TOOLS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        home = TOOLS / package
        try:
            if not home.exists():
                _fetch(package, home)
        except _CannotFetch as error:
            raise ToolMissing(
                f"{name} is missing, and its Debian package cannot be downloaded ({error}):"
                f" install it ('apt-get install {package}')."
            ) from None
        return home / "usr" / "sbin" / package


def environ(program: Path) -> dict[str, str]:
    """Return an environment in which the program finds its unpacked libraries."""
    libraries = [str(path) for path in (program.parent.parent / "lib").glob("*-linux-*")]
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(libraries)}


class _CannotFetch(Exception):
    """The download failed. The message has the reason."""


def _fetch(package: str, home: Path) -> None:
    """Unpack the Debian package and its missing libraries into `home`."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise _CannotFetch("apt-get is missing")
    with tempfile.TemporaryDirectory(dir=TOOLS) as name:
        folder = Path(name)
        _download(folder, [package])
        _download(folder, _missing_libraries(next(folder.glob("*.deb"))))
        for file in folder.glob("*.deb"):
            _run(["dpkg-deb", "-x", str(file), "root"], folder)
        (folder / "root").chmod(0o755)
        (folder / "root").rename(home)


def _download(folder: Path, packages: list[str]) -> None:
    if not packages:
        return
    command = ["apt-get", "download", "-qq", *packages]
    try:
        _run(command, folder)
    except _CannotFetch:
        # The package lists may be missing or out of date.
        if os.geteuid() != 0:
            raise
        _run(["apt-get", "update", "-qq"], folder)
        _run(command, folder)


def _missing_libraries(package: Path) -> list[str]:
    """Return the libraries of a package that are missing on this machine."""
    depends = _run(["dpkg-deb", "-f", str(package), "Depends"], package.parent)
    first = (each.split("|")[0].split("(")[0].strip() for each in depends.split(","))
    libraries = [each for each in first if each.startswith("lib")]
    return [each for each in libraries if not _is_installed(each)]


def _is_installed(package: str) -> bool:
    done = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Status}", package],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.endswith("ok installed")


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise _CannotFetch((done.stderr.strip() or f"{command[0]} failed").splitlines()[-1])
    return done.stdout
