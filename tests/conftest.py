"""Fixtures of all tests. They run each test on SQLite and on Postgres."""

import gc
import math
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from tests.support import lock_order
from tests.support.apps import give_back
from tests.support.bad_node import BadNode
from tests.support.databases import Databases, template
from tests.support.factories import Api, Organizer, new_organizer
from tests.support.nodes import Nodes
from tests.support.signed_up import SignedUp
from ticketing.application import build, configure
from ticketing.config import load
from ticketing.db import migrate
from ticketing.db.connection import database, open_database
from ticketing.limits import CallClass
from ticketing.services import node_slots
from ticketing.services.access import blocked_networks
from tools.anvil import SECOND_CHAIN_ID, Anvil
from tools.postgres import Postgres

pytest_plugins = ["tests.support.processes"]

SECRET_KEY = "for-tests-only-0123456789abcdefghijklmnopqrstuvwxyz"
UNREACHABLE_RPC = "http://127.0.0.1:9"
# All requests of a test come from one address.
NO_LIMITS = {
    **{f"RATE_LIMIT_{each.upper()}": "0" for each in CallClass},
    **dict.fromkeys(("UNPAID_PER_ADDRESS", "ORDERS_PER_CLIENT", "FREE_PER_CLIENT"), "0"),
}
ENVIRON = {"SECRET_KEY": SECRET_KEY, "RPC_URL_31337": UNREACHABLE_RPC, **NO_LIMITS}
# Processes that tests start inherit them.
os.environ.update(NO_LIMITS)
# Tests pay between two purchases. tests/payments/test_looks.py has the pause that processes have.
node_slots.LOOK_SECONDS = 0.0


def pytest_collection() -> None:
    """Collect no garbage meanwhile: all modules and tests stay."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Keep them out of later collections, too: these took a quarter of a test's CPU."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def postgres(starts_processes: None) -> Iterator[Postgres]:
    with Postgres() as server:
        yield server


@pytest.fixture(scope="session")
def process_name() -> str:
    """The name of this process among those that run tests: databases have it in their names."""
    return os.environ.get("PYTEST_XDIST_WORKER", "main")


@pytest.fixture(scope="session")
def postgres_template(postgres: Postgres) -> str:
    """The name of a migrated, empty database. Tests get copies of it."""
    return template(postgres, os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid())))


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated, empty database file. Tests get copies of it."""
    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    open_database(f"sqlite:///{path}")
    migrate.upgrade()
    database.execute_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    return path


@pytest.fixture(scope="session")
def databases(postgres: Postgres, postgres_template: str, process_name: str) -> Iterator[Databases]:
    """The databases on Postgres that tests use one after another."""
    with Databases(postgres, postgres_template, f"test_{process_name}") as databases:
        yield databases


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a migrated, empty database: each test runs on both kinds."""
    if request.param == "sqlite":
        path = tmp_path / "ticketing.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite:///{path}"
    else:
        databases: Databases = request.getfixturevalue("databases")
        yield databases.take()
        databases.give_back()


@pytest.fixture
def environ(database_url: str) -> dict[str, str]:
    """The service's configuration. The local chain is enabled, but has no node."""
    return {**ENVIRON, "DATABASE_URL": database_url}


@pytest.fixture(scope="session")
def nodes(starts_processes: None) -> Iterator[Nodes]:
    """The nodes that tests use one after another."""
    nodes = Nodes()
    yield nodes
    nodes.stop()


@pytest.fixture
def node(environ: dict[str, str], nodes: Nodes) -> Anvil:
    """A new chain for this test, with the token and a funded buyer. The app uses it."""
    chain = nodes.take()
    environ["RPC_URL_31337"] = chain.url
    return chain


@pytest.fixture(scope="session")
def second_nodes(starts_processes: None) -> Iterator[Nodes]:
    """The nodes of the second local chain that tests use one after another."""
    nodes = Nodes(SECOND_CHAIN_ID)
    yield nodes
    nodes.stop()


@pytest.fixture
def second_node(environ: dict[str, str], second_nodes: Nodes) -> Anvil:
    """A new second chain for this test, as `node`. Name it before `app` and what uses it."""
    chain = second_nodes.take()
    environ[f"RPC_URL_{SECOND_CHAIN_ID}"] = chain.url
    return chain


@pytest.fixture
def bad_node(environ: dict[str, str], node: Anvil) -> Iterator[BadNode]:
    """A proxy that the app asks instead of the node: it counts, and misbehaves on request."""
    with BadNode(node.url) as proxy:
        environ["RPC_URL_31337"] = proxy.url
        yield proxy


@pytest.fixture
def three_deep(environ: dict[str, str]) -> None:
    """On the local chain a payment is final after three blocks."""
    environ["CONFIRMATIONS_31337"] = "3"
    environ["EARLY_CONFIRMATIONS_31337"] = "0"


@pytest.fixture(scope="session")
def built_app() -> Flask:
    """The application, not configured yet."""
    return build()


@pytest.fixture(autouse=True)
def other_apps() -> Iterator[None]:
    """Further applications, of `new_app`, are the test's until it ends."""
    yield
    give_back()


@pytest.fixture(autouse=True)
def reads_blocked_networks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An application reads them at its first request only: tests count the statements of others."""
    monkeypatch.setattr(blocked_networks, "READ_SECONDS", math.inf)


@pytest.fixture
def app(environ: dict[str, str], request: pytest.FixtureRequest) -> Iterator:
    """The application. It uses `node` and `second_node` if the test names these fixtures."""
    for name in ("node", "second_node"):
        if name in request.fixturenames:
            request.getfixturevalue(name)
    built: Flask = request.getfixturevalue("built_app")
    configure(built, load(environ))
    with lock_order.checked():
        yield built
    database.close()


@pytest.fixture
def api(app) -> Api:
    """A client without a credential."""
    return Api(app.test_client())


@pytest.fixture(scope="session", autouse=True)
def signed_up(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> SignedUp:
    """The organizers `acme` and `neighbour`, as the CLI creates them.

    Before any test: this connects to databases of its own.
    """
    signed_up, app = SignedUp(), build()
    for slug in ("acme", "neighbour"):
        path = tmp_path_factory.mktemp("signed_up") / "ticketing.db"
        shutil.copy(sqlite_template, path)
        configure(app, load({**ENVIRON, "DATABASE_URL": f"sqlite:///{path}"}))
        signed_up.create(app, slug)
        database.close()
    return signed_up


def sign_up(request: pytest.FixtureRequest, app: Flask, slug: str) -> Organizer:
    """Return a tenant with a wallet. A test with a clock or a key of its own gets a new one."""
    environ = request.getfixturevalue("environ")
    if "time" in request.fixturenames or environ["SECRET_KEY"] != SECRET_KEY:
        return new_organizer(app, slug)
    signed_up: SignedUp = request.getfixturevalue("signed_up")
    return signed_up.copy(app, slug)


@pytest.fixture
def acme(app: Flask, signed_up: SignedUp, request: pytest.FixtureRequest) -> Organizer:
    """A tenant with a wallet."""
    return sign_up(request, app, "acme")


@pytest.fixture
def admin(acme: Organizer) -> Api:
    """A client with a JWT of acme's role admin."""
    return acme.api()


@pytest.fixture
def neighbour(app: Flask, signed_up: SignedUp, request: pytest.FixtureRequest) -> Organizer:
    """Another tenant. Its credentials must not open anything of acme."""
    return sign_up(request, app, "neighbour")
