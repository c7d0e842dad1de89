"""The files of a release: the source, its SBOM, and checksums that a key has signed."""

import json
import os
import re
import subprocess
import sys

import pytest

from ticketing.version import VERSION
from tools import ToolMissing, installer
from tools.stack import ROOT

pytestmark = pytest.mark.long


@pytest.fixture
def supply(starts_processes):
    try:
        return installer.from_pypi(ROOT / "tools" / "supply.txt", "supply-of-tests") / "bin"
    except ToolMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture
def clone(tmp_path):
    folder = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def release(clone, supply, **variables):
    environ = {**os.environ, "SUPPLY": str(supply), **variables}
    command, known = ["sh", "tools/release.sh"], {"capture_output": True, "text": True}
    return subprocess.run(command, cwd=clone, env=environ, check=False, **known)


def test_a_release_is_signed_and_lists_what_it_is_made_of(clone, supply, tmp_path):
    key = tmp_path / "key"
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "releases", "-f", key]
    subprocess.run(make, check=True)
    # Nobody could check a signature of a key that is not published.
    unknown = release(clone, supply, KEY=str(key))
    assert (
        unknown.returncode == 1
        and "SECURITY.md has no line: releases ssh-ed25519" in unknown.stdout
    )
    public = " ".join((tmp_path / "key.pub").read_text().split()[:2])
    with (clone / "SECURITY.md").open("a") as file:
        file.write(f"\n    releases {public}\n")
    who = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", *who, "commit", "-qam", "The key"], cwd=clone, check=True)
    done = release(clone, supply, KEY=str(key))
    assert done.returncode == 0, done.stdout + done.stderr
    dist = clone / "dist"
    name = f"ticketing-{VERSION}"
    assert {each.name for each in dist.iterdir()} == {
        f"{name}.tar.gz",
        f"{name}.cdx.json",
        "SHA256SUMS",
        "SHA256SUMS.sig",
    }
    text = (ROOT / "docs" / "releasing.md").read_text()
    checks = re.findall(r"^    (grep .*|ssh-keygen .*|sha256sum .*)$", text, re.MULTILINE)
    assert len(checks) == 3
    (dist / "SECURITY.md").write_text((clone / "SECURITY.md").read_text())
    command = ["sh", "-ec", "\n".join(checks)]
    subprocess.run(command, cwd=dist, check=True, capture_output=True)

    sbom = json.loads((dist / f"{name}.cdx.json").read_text())
    assert sbom["bomFormat"] == "CycloneDX"
    found = {each["name"]: each["version"] for each in sbom["components"]}
    pins = re.findall(r"^(\S+?)(?:\[\S+\])?==(\S+)", (ROOT / "requirements.txt").read_text(), re.M)
    assert found == dict(pins) and len(found) > 30

    # The same commit makes the same files.
    before = (dist / "SHA256SUMS").read_text()
    assert release(clone, supply).returncode == 0
    assert (dist / "SHA256SUMS").read_text() == before


def test_what_is_not_ready_is_not_released(clone, supply):
    (clone / "README.md").write_text("changed")
    done = release(clone, supply)
    assert done.returncode == 1 and "not committed" in done.stdout
    (clone / "CHANGELOG.md").write_text("# Changelog\n")
    done = release(clone, supply)
    assert done.returncode == 1 and f"no section for {VERSION}" in done.stdout
