"""The architecture: which way imports go, and that no file is too large."""

import ast
import re
import subprocess
import sys
from pathlib import Path

from ticketing import errors

ROOT = Path(__file__).parents[1]

LEAVES = {
    "accents",
    "backoff",
    "bodies",
    "clock",
    "constants",
    "errors",
    "formats",
    "ids",
    "limits",
    "loading",
    "locales",
    "logs",
    "markdown",
    "places",
    "qr_codes",
    "roles",
    "scanning",
    "refund_reports",
    "notification_types",
    "waiting_list",
    "waiting_room",
    "deposits",
    "response_times",
    "version",
}
ALLOWED = {
    "application": {
        "blueprints",
        "cli",
        "config",
        "constants",
        "pages",
        "response_times",
        "services",
        "web",
    },
    "accents": set(),
    "backoff": set(),
    "bodies": {"constants", "scanning"},
    "clock": set(),
    "constants": set(),
    "errors": {"notification_types"},
    "formats": {"constants", "locales"},
    "ids": set(),
    "limits": set(),
    "loading": set(),
    "links": {"credentials"},
    "locales": set(),
    "logs": set(),
    "markdown": {"limits"},
    "places": set(),
    "qr_codes": set(),
    "roles": set(),
    "scanning": set(),
    "refund_reports": set(),
    "notification_types": set(),
    "waiting_list": set(),
    "waiting_room": set(),
    "deposits": set(),
    "response_times": {"clock"},
    "version": set(),
    "credentials": {"ids"},
    "encryption": {"credentials"},
    "db": {"constants"},
    "chain": set(),
    "nesting": {"chain"},
    "config": {"chain", "constants", "credentials", "limits"},
    "models": LEAVES | {"credentials", "db"},
    "services": LEAVES
    | {"chain", "config", "credentials", "db", "encryption", "links", "models", "nesting"},
    "worker": LEAVES | {"chain", "config", "db", "encryption", "models", "services"},
    "web": LEAVES
    | {
        "config",
        "credentials",
        "db",
        "links",
        "models",
        "nesting",
        "schemas",
        "services",
    },
    "mcp": LEAVES | {"credentials", "models", "schemas", "services", "web"},
    "blueprints": LEAVES | {"config", "credentials", "mcp", "models", "schemas", "services", "web"},
    "pages": LEAVES | {"config", "credentials", "links", "models", "schemas", "services", "web"},
    "cli": LEAVES | {"chain", "config", "db", "models", "services", "worker"},
    "schemas": {
        "clock",
        "constants",
        "deposits",
        "errors",
        "locales",
        "notification_types",
        "refund_reports",
        "roles",
        "scanning",
        "waiting_list",
        "waiting_room",
    },
    "server": LEAVES,
}
"""What each package may import besides itself."""

LOADED_WHEN_USED = (
    "icalendar",
    "webauthn",
    "zxingcpp",
    "ticketing.services.image_files",
    "ticketing.services.oauth.server",
)
"""What few processes need, because of its weight. Functions import it, and nothing else."""

SERVICES = (
    ("client_networks",),
    ("box_office", "x402", "waiting_list"),
    ("checkout", "mail"),
    ("admission_views", "order_requests", "order_terms"),
    ("channels",),
    ("door", "exports"),
    ("catalog", "money"),
    ("payments",),
    ("images",),
    ("image_files",),
    ("oauth",),
    ("access", "erasure"),
    ("health", "metrics", "orders", "wallets"),
    ("account_use", "backups", "chains", "notifications", "waiting_room"),
    ("node_slots",),
    (
        "catalog_version",
        "counters",
        "daily_counts",
        "event_locks",
        "exchange_rates",
        "idempotency",
        "leases",
        "outside_slots",
        "pagination",
        "sequencing",
        "stated_addresses",
    ),
)
"""The packages and modules of `services`. Each may import those of the rows below it."""


def sources():
    """Yield the path, relative to the project, and the text of each file of the service."""
    for path in sorted([*ROOT.glob("ticketing/**/*.py"), *ROOT.glob("schemas/*.py")]):
        yield path.relative_to(ROOT), path.read_text()


def room_of(path):
    parts = path.with_suffix("").parts
    if parts[0] == "schemas":
        return "schemas"
    return parts[1]


def imported(tree):
    """Yield the parts of each imported name, and whether the import is inside a function."""
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
            yield name.split("."), id(node) in inside


def is_loaded_when_used(name):
    return any(f"{name}.".startswith(f"{each}.") for each in LOADED_WHEN_USED)


def test_imports_run_one_way():
    faults = []
    for path, text in sources():
        room = room_of(path)
        for (package, *rest), inside in imported(ast.parse(text)):
            target = rest[0] if package == "ticketing" and rest else package
            is_ours = package in ("ticketing", "schemas") and target != room
            if inside and not is_loaded_when_used(".".join((package, *rest))):
                faults.append(f"{path} imports {target} inside a function")
            if package in ("app", "tests", "tools") or (is_ours and target not in ALLOWED[room]):
                faults.append(f"{path} must not know {target}")
    assert not faults


def test_imports_of_services_run_down_the_list():
    rows = {name: row for row, names in enumerate(SERVICES) for name in names}
    faults = []
    for path in ROOT.glob("ticketing/services/**/[!_]*.py"):
        own = path.relative_to(ROOT).with_suffix("").parts[2]
        for parts, _ in imported(ast.parse(path.read_text())):
            target = parts[2] if parts[:2] == ["ticketing", "services"] else own
            if target != own and rows[target] <= rows[own]:
                faults.append(f"{path} must not know {target}")
    assert not faults


def test_chain_code_and_errors_know_no_web_framework_and_no_database():
    for path in [*ROOT.glob("ticketing/chain/*.py"), *ROOT.glob("ticketing/errors/*.py")]:
        packages = {parts[0] for parts, _ in imported(ast.parse(path.read_text()))}
        assert not packages & {"flask", "flask_smorest", "werkzeug", "peewee", "marshmallow"}, path


def test_every_error_is_in_the_tree_with_its_code():
    lines = [line.split("── ")[1].split() for line in errors.__doc__.splitlines() if "── " in line]
    drawn = {name: code for name, *_, code in lines}
    abstract = {name for name, code in drawn.items() if code.isdigit()}
    raised = {
        name: each.code
        for name, each in vars(errors).items()
        if isinstance(each, type) and issubclass(each, errors.TicketingError)
        if each is not errors.TicketingError and name not in abstract
    }
    assert drawn.keys() - abstract == raised.keys() and len(lines) == len(drawn)
    assert {name: drawn[name] for name in raised} == raised


def packages():
    """Yield the folder of each package whose docstring lists its files."""
    for folder in ("ticketing", "schemas", "tools", "bench", "tests/support"):
        for path in sorted((ROOT / folder).glob("**/__init__.py")):
            yield path.parent


def files_named_in(path):
    docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
    return set(re.findall(r"[\w/.]*\w\.(?:py|js|md|html)\b", docstring))


def test_each_package_names_its_files():
    faults = []
    for folder in packages():
        files = {path.name for path in folder.glob("*.py") if not path.name[0].isdigit()}
        unnamed = files - {"__init__.py"} - files_named_in(folder / "__init__.py")
        faults += [f"{folder.relative_to(ROOT)} does not name {name}" for name in sorted(unnamed)]
    scripts = {path.name for path in ROOT.glob("ticketing/static/door/*.js")}
    faults += sorted(scripts - files_named_in(ROOT / "ticketing" / "pages" / "door.py"))
    assert not faults


def test_each_file_that_a_package_names_exists():
    assert [
        f"{folder.relative_to(ROOT)} names {name}"
        for folder in packages()
        for name in sorted(files_named_in(folder / "__init__.py"))
        if not any((place / name).is_file() for place in (folder, ROOT, ROOT / "ticketing"))
    ] == []


def test_no_file_is_over_500_lines():
    sizes = {str(path): len(text.splitlines()) for path, text in sources()}
    assert {path: lines for path, lines in sizes.items() if lines > 500} == {}


DOCUMENTED = {"_meta", "_replace", "_serialize", "_deserialize"}
"""A peewee model's metadata; methods of a named tuple; methods that marshmallow fields override."""


def private_attributes(tree):
    """Yield the line and name of each private attribute of something else."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not node.attr.startswith("_"):
            continue
        is_own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        is_special = node.attr.startswith("__") and node.attr.endswith("__")
        if not (is_own or is_special or node.attr in DOCUMENTED):
            yield node.lineno, node.attr


def test_no_private_attribute_of_anything_else_is_used():
    assert [
        f"{path}:{line} uses {name}"
        for path, text in sources()
        if room_of(path) != "server"  # the only exception: it is bound to the pinned gunicorn
        for line, name in private_attributes(ast.parse(text))
    ] == []


def loaded_after(code):
    """Return the names of the modules that a process has loaded after some code."""
    environ = {"SECRET_KEY": "x" * 32, "DATABASE_URL": "sqlite:////dev/null", "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"import sys\n{code}\nprint(*sys.modules)"],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


HEAVY = {"web3", "eth_account", "eth_utils", "httpx", "pydantic", "PIL", "authlib", "h11"}
"""Libraries that no start may load, besides those of LOADED_WHEN_USED."""

AS_FLASK_LOOKS_FOR_IT = """
import click, app
with click.Context(click.Group("flask")) as context:
    app.create_app().cli.get_command(context, "worker")
"""


def test_a_start_of_the_web_loads_only_what_most_processes_need(starts_processes):
    loaded = loaded_after("import app; app.create_app()")
    assert {"ticketing.blueprints.public", "ticketing.pages.events", "markdown_it"} <= {*loaded}
    faults = {name for name in loaded if name in HEAVY or is_loaded_when_used(name)}
    assert faults | {name for name in loaded if "ticketing.worker" in name} == set()


def test_the_worker_loads_nothing_that_answers_requests(starts_processes):
    loaded = loaded_after(AS_FLASK_LOOKS_FOR_IT)
    assert "ticketing.worker.loop" in loaded
    rooms = ("ticketing.blueprints", "ticketing.pages", "ticketing.mcp", "ticketing.web", "schemas")
    assert [name for name in loaded if name.startswith(rooms) or name in HEAVY - {"h11"}] == []
    assert [name for name in loaded if is_loaded_when_used(name)] == []
