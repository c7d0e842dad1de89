"""The architecture: which way imports go, and that no file is too large."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

LEAVES = {
    *("clock", "conflicts", "constants", "errors", "formats", "ids", "limits", "logs"),
    *("notification_types", "too_many"),
}
CONFIG = {"config_chains", "config_mail", "config_networks"}
ALLOWED = {
    "clock": set(),
    "conflicts": {"errors", "notification_types"},
    "constants": set(),
    "contrast": set(),
    "errors": set(),
    "formats": {"constants"},
    "ids": set(),
    "limits": set(),
    "logs": set(),
    "notification_types": set(),
    "too_many": {"errors"},
    "credentials": {"ids"},
    "environment": set(),
    "db": {"constants"},
    "chain": {"constants", "nesting"},
    "nesting": set(),
    "config": CONFIG | {"chain", "credentials", "environment", "limits"},
    "config_chains": {"chain", "constants", "environment"},
    "config_mail": {"config_networks", "environment"},
    "config_networks": {"environment"},
    "models": LEAVES | {"credentials", "db"},
    "services": LEAVES | CONFIG | {"chain", "config", "credentials", "db", "models", "nesting"},
    "worker": LEAVES | CONFIG | {"chain", "config", "db", "models", "services"},
    "web": LEAVES
    | {
        "config",
        "config_networks",
        "credentials",
        "db",
        "models",
        "nesting",
        "schemas",
        "services",
    },
    "mcp": LEAVES | {"credentials", "models", "schemas", "services", "web"},
    "blueprints": LEAVES | {"config", "credentials", "mcp", "models", "schemas", "services", "web"},
    "pages": LEAVES | {"config", "credentials", "models", "schemas", "services", "web"},
    "cli": LEAVES | {"chain", "config", "db", "models", "services", "worker"},
    "schemas": {"clock", "constants", "contrast", "notification_types"},
    "server": LEAVES,
}
"""What each package may import besides itself."""


def sources():
    return sorted([*ROOT.glob("ticketing/**/*.py"), *ROOT.glob("schemas/*.py")])


def room_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts[0] == "schemas":
        return "schemas"
    return parts[1]


def imported(tree):
    """Yield the package of each of our imports, and whether it is inside a function."""
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
    errors = [ROOT / f"ticketing/{name}.py" for name in ("errors", "conflicts", "too_many")]
    for path in [*ROOT.glob("ticketing/chain/*.py"), *errors]:
        packages = {package for package, _, _ in imported(ast.parse(path.read_text()))}
        assert not packages & {"flask", "flask_smorest", "werkzeug", "peewee", "marshmallow"}, path


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_is_much_over_300_lines(path):
    assert len(path.read_text().splitlines()) <= 320


DOCUMENTED = {"_meta", "_replace", "_serialize", "_deserialize"}
"""A peewee model's metadata; methods of a named tuple; methods that marshmallow fields override."""


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_private_attribute_of_anything_else_is_used(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Attribute) or not node.attr.startswith("_"):
            continue
        is_own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        is_special = node.attr.startswith("__") and node.attr.endswith("__")
        if not (is_own or is_special or node.attr in DOCUMENTED):
            # The only exception: it is bound to the pinned gunicorn.
            assert room_of(path) == "server", f"{path}:{node.lineno} uses {node.attr}"


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
