"""The house: which way the arrows run, and that no room grows too large."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

LEAVES = {"clock", "conflicts", "constants", "errors", "ids", "logs"}
ALLOWED = {
    None: {"driver"},
    "absent": set(),
    "clock": set(),
    "conflicts": {"errors"},
    "constants": set(),
    "errors": set(),
    "ids": set(),
    "logs": set(),
    "credentials": {"ids"},
    "db": {"driver"},
    "driver": {"absent"},
    "chain": {"absent", "constants", "nesting"},
    "nesting": set(),
    "config": {"chain", "constants", "credentials"},
    "models": LEAVES | {"credentials", "db"},
    "services": LEAVES | {"chain", "config", "credentials", "db", "models"},
    "worker": LEAVES | {"chain", "config", "db", "models", "services"},
    "web": LEAVES | {"config", "credentials", "db", "nesting", "schemas", "services"},
    "blueprints": LEAVES | {"config", "credentials", "models", "schemas", "services", "web"},
    "cli": LEAVES | {"chain", "config", "db", "models", "services", "worker"},
    "schemas": {"constants"},
    "server": LEAVES,
}
"""What each room may know besides itself."""


def sources():
    return sorted([*ROOT.glob("ticketing/**/*.py"), *ROOT.glob("schemas/*.py")])


def room_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts[0] == "schemas":
        return "schemas"
    return None if parts == ("ticketing", "__init__") else parts[1]


def imported(tree):
    """Yield the room of each import of ours, and whether it stands inside a function."""
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            first, *rest = name.split(".")
            room = rest[0] if first == "ticketing" and rest else first
            yield first, room, id(node) in inside


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_run_one_way(path):
    room = room_of(path)
    for package, target, inside in imported(ast.parse(path.read_text())):
        assert not inside, f"{path} imports {target} inside a function"
        assert package not in ("app", "tests", "tools"), f"{path} imports {package}"
        if package in ("ticketing", "schemas") and target != room:
            assert target in ALLOWED[room], f"{room} must not know {target}"


def test_chain_code_and_errors_know_no_web_framework_and_no_database():
    for path in [*ROOT.glob("ticketing/chain/*.py"), ROOT / "ticketing/errors.py"]:
        packages = {package for package, _, _ in imported(ast.parse(path.read_text()))}
        assert not packages & {"flask", "flask_smorest", "werkzeug", "peewee", "marshmallow"}, path


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_is_much_over_300_lines(path):
    assert len(path.read_text().splitlines()) <= 320


def test_the_service_imports_nothing_heavy(starts_processes):
    code = (
        "import sys, app; app.create_app();"
        "print(*{'web3', 'eth_account', 'eth_utils', 'httpx', 'pydantic'} & set(sys.modules))"
    )
    environ = {"SECRET_KEY": "x" * 32, "DATABASE_URL": "sqlite:////dev/null", "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


@pytest.mark.parametrize(("url", "loaded"), [("sqlite:///x.db", False), ("postgres://h/d", True)])
def test_the_driver_of_postgres_is_loaded_where_there_is_a_postgres(
    url, loaded, tmp_path, starts_processes
):
    code = f"import sys, app; app.open_database({url!r}); print('psycopg' in sys.modules)"
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, check=True)
    assert done.stdout.decode().strip() == str(loaded)
