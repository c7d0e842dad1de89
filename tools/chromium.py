"""A real Chromium on this machine, for tests/pages and screenshots, with fonts and axe-core."""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from tools import ToolMissing, installer
from tools.stack import ROOT

PINS = ROOT / "tools" / "browser"
INSTEAD = "install Chromium and set CHROMIUM to its path"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def binary() -> Path:
    """Return this machine's Chromium, else one from npm. The first call installs it. ToolMissing.

    The environment variable CHROMIUM, the path of an executable, has priority.
    """
    if "CHROMIUM" in os.environ:
        return Path(os.environ["CHROMIUM"])
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found:
        return Path(found)
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise ToolMissing(f"npm has no Chromium for this machine: {INSTEAD}.")
    return _packages() / "unpacked" / "chromium"


def environ(program: Path) -> dict[str, str]:
    """Return the environment in which a Chromium finds its libraries and our fonts. ToolMissing."""
    packages = _packages()
    variables = {
        **os.environ,
        "FONTCONFIG_FILE": str(PINS / "fonts.conf"),
        "XDG_DATA_HOME": str(packages),
        "XDG_CACHE_HOME": str(packages / "cache"),
    }
    if program.is_relative_to(packages):
        variables["LD_LIBRARY_PATH"] = str(packages / "unpacked" / "al2023" / "lib")
    return variables


def version(program: Path) -> str:
    """Return the version of a Chromium. ToolMissing."""
    said = subprocess.run(
        [program, "--version"], env=environ(program), capture_output=True, text=True, check=True
    )
    number = re.search(r"[0-9]+(\.[0-9]+)+", said.stdout)
    return number[0] if number else "of an unknown version"


def axe_source() -> str:
    """Return the JavaScript of axe-core, which checks whether a page is accessible. ToolMissing."""
    return (_packages() / "node_modules" / "axe-core" / "axe.min.js").read_text()


def _packages() -> Path:
    """Return the folder with what tools/browser/package.json pins. ToolMissing."""
    return installer.from_npm(PINS, "browser", INSTEAD)
