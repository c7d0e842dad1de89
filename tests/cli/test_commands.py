"""Every command of an operator works, and refuses in one sentence."""

import json
import os
import re
from datetime import UTC, datetime

import pytest

from tests.conftest import SECRET_KEY
from tests.support.apps import new_app
from tests.support.databases import only_once
from tests.support.factories import Api, cli, new_organizer, run
from tests.support.payouts import OWNER_ADDRESS
from ticketing.application import configure
from ticketing.config import load
from ticketing.db import migrate
from ticketing.db.connection import database

FLASK = ("flask", "--app", "app")
EMAIL, PASSWORD = "ada@example.org", "correct horse battery staple"
YEAR = 31_536_000
MEMBER = ("members", "add", "acme", EMAIL, "--role", "admin", "--password-stdin")
NOT_UNICODE = b"caf\xe9"


def refused(app, *arguments, stdin=None, exit_code=1):
    """Run a command that must fail with one sentence. Return the sentence."""
    done = app.test_cli_runner().invoke(args=list(arguments), input=stdin)
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == exit_code, done.output
    *usage, sentence = done.output.strip().splitlines()
    assert sentence.startswith("Error: ")
    assert bool(usage) == (exit_code == 2)
    return sentence


def one_sentence(done):
    """Return the single line on standard error of a process."""
    assert done.returncode == 1 and done.stdout == "", done
    (line,) = done.stderr.strip().splitlines()
    return line


def exchanged(app, key):
    return Api(app.test_client()).post("/v1/auth/token", {"api_key": key}).json


def test_a_tenant_is_made_with_its_first_admin_key(app):
    made = json.loads(cli(app, "tenants", "create", "acme", "--name", "Acme Events", "--json"))
    assert made.keys() == {"id", "slug", "name", "key", "first_sign_in"}
    assert (made["slug"], made["name"]) == ("acme", "Acme Events")
    token = exchanged(app, made["key"])
    assert (token["role"], token["tenant"]) == ("admin", "acme")


def test_people_get_the_same_as_lines(app):
    told = cli(app, "tenants", "create", "acme", "--name", "Acme Events")
    lines = dict(line.split(maxsplit=1) for line in told.splitlines())
    assert lines.keys() == {"id", "slug", "name", "key", "first_sign_in"}
    assert lines["name"] == "Acme Events"
    assert exchanged(app, lines["key"])["role"] == "admin"


def test_a_tenant_may_be_made_with_its_wallet(app):
    acme = new_organizer(app, "acme", address=OWNER_ADDRESS)
    assert acme.api().get(f"{acme.path}/wallet").json["address"] == OWNER_ADDRESS


@pytest.mark.parametrize("slug", ["Acme", "a_b", "-a", "a--b", "", "a b", "a" * 81, "ä", "a\n"])
def test_a_bad_slug_is_refused(app, slug):
    assert "slug" in refused(app, "tenants", "create", "--name", "Acme", "--", slug)


@pytest.mark.parametrize("name", ["", "  ", "x" * 201])
def test_a_bad_name_is_refused(app, name):
    assert "name" in refused(app, "tenants", "create", "acme", "--name", name)


def test_a_taken_slug_is_refused_and_changes_nothing(app, acme):
    assert "slug is already in use" in refused(app, "tenants", "create", "acme", "--name", "Other")
    assert exchanged(app, acme.admin_key)["tenant"] == "acme"
    assert len(acme.api().get(f"{acme.path}/apikeys").json["data"]) == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--address", OWNER_ADDRESS[:-1], "--chains", "31337"), "40 hexadecimal digits"),
        (("--address", OWNER_ADDRESS), "networks"),
        (("--chains", "31337"), "address"),
        (("--exchange",), "address"),
    ],
)
def test_a_bad_wallet_is_refused_and_no_tenant_is_made(app, options, told):
    create = ("tenants", "create", "acme", "--name", "Acme")
    assert told in refused(app, *create, *options)
    cli(app, *create)


@pytest.mark.parametrize("role", ["read", "paywall", "write", "admin"])
def test_a_key_is_made_for_a_tenant_by_slug_or_id(app, acme, role):
    for tenant in (acme.slug, acme.id):
        arguments = ("keys", "create", tenant, "--name", "box office", "--role", role)
        made = json.loads(cli(app, *arguments, "--json"))
        assert made.keys() == {"id", "name", "role", "key"}
        assert exchanged(app, made["key"])["role"] == role
        assert f"key   {made['key'][:10]}" in cli(app, *arguments)


@pytest.mark.parametrize("ttl", [60, YEAR])
def test_a_key_takes_a_lifetime_within_the_bounds(app, acme, ttl):
    cli(app, "keys", "create", "acme", "--name", "x", "--role", "read", "--ttl", str(ttl))


@pytest.mark.parametrize("ttl", ["59", str(YEAR + 1), "1.5", "x", ""])
def test_a_key_with_another_lifetime_is_refused(app, acme, ttl):
    arguments = ("keys", "create", "acme", "--name", "x", "--role", "read", "--ttl", ttl)
    assert "--ttl" in refused(app, *arguments, exit_code=2)


@pytest.mark.parametrize("name", ["", "x" * 101])
def test_a_key_with_a_bad_name_is_refused(app, acme, name):
    assert "name" in refused(app, "keys", "create", "acme", "--name", name, "--role", "read")


def test_a_key_of_an_unknown_role_is_refused(app, acme):
    arguments = ("keys", "create", "acme", "--name", "x", "--role", "owner")
    assert "--role" in refused(app, *arguments, exit_code=2)


@pytest.mark.parametrize(
    "arguments",
    [
        ("keys", "create", "nobody-here", "--name", "x", "--role", "read"),
        ("keys", "create", "ten_" + "0" * 26, "--name", "x", "--role", "read"),
        ("members", "list", "nobody-here"),
        ("members", "disable", "nobody-here", EMAIL),
        ("members", "add", "nobody-here", EMAIL, "--role", "read", "--password-stdin"),
    ],
)
def test_an_unknown_tenant_is_refused(app, arguments):
    assert "tenant does not exist" in refused(app, *arguments, stdin=PASSWORD)


def test_members_are_added_listed_and_disabled(app, acme):
    assert EMAIL in cli(app, *MEMBER, stdin=f"{PASSWORD}\n")
    prompted = ("members", "add", "acme", "bob@example.org", "--role", "read")
    told = cli(app, *prompted, stdin=f"{PASSWORD}\n{PASSWORD}\n")
    assert PASSWORD not in told
    cli(app, "members", "disable", "acme", EMAIL.upper())
    cli(app, "members", "disable", "acme", EMAIL)
    first, *rows = [line.split() for line in cli(app, "members", "list", "acme").splitlines()]
    assert first[1:] == ["admin", "invited"]
    assert rows == [[EMAIL, "admin", "disabled"], ["bob@example.org", "read", "active"]]


@pytest.mark.parametrize("password", ["", "x" * 11, "x" * 129])
def test_a_password_of_another_length_is_refused(app, acme, password):
    assert "password: Must have 12 to 128" in refused(app, *MEMBER, stdin=f"{password}\n")
    assert EMAIL not in cli(app, "members", "list", "acme")


@pytest.mark.parametrize("password", ["x" * 12, "x" * 128, " passwords keep their spaces "])
def test_a_password_is_taken_as_it_is_up_to_the_end_of_its_line(app, acme, api, password):
    cli(app, *MEMBER, stdin=f"{password}\r\nnot this\n")
    body = {"tenant": "acme", "email": EMAIL, "password": password}
    assert api.post("/v1/auth/login", body).status_code == 200


def test_a_member_is_not_added_twice(app, acme):
    cli(app, *MEMBER, stdin=PASSWORD)
    assert "already" in refused(app, *MEMBER, stdin=PASSWORD)


@pytest.mark.parametrize("email", ["ada", "@example.org", "a b@example.org", "x" * 250 + "@a.io"])
def test_what_is_no_email_address_is_refused(app, acme, email):
    arguments = ("members", "add", "acme", email, "--role", "read", "--password-stdin")
    assert "email" in refused(app, *arguments, stdin=PASSWORD)


def test_an_unknown_member_cannot_be_disabled(app, acme):
    assert "member does not exist" in refused(app, "members", "disable", "acme", EMAIL)


@pytest.mark.parametrize(
    "arguments",
    [
        ("keys", "create", "acme", "--name", os.fsdecode(NOT_UNICODE), "--role", "read"),
        ("members", "add", "acme", os.fsdecode(NOT_UNICODE + b"@a.io"), *MEMBER[4:]),
    ],
    ids=ascii,
)
def test_arguments_that_are_not_unicode_are_refused_in_one_sentence(app, acme, arguments):
    refused(app, *arguments, stdin=PASSWORD)


@pytest.mark.long
@only_once
@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [(("tenants", "create", "other", "--name", NOT_UNICODE), b""), (MEMBER, NOT_UNICODE * 4)],
)
def test_a_process_refuses_text_that_is_not_unicode(
    environ, acme, arguments, stdin, starts_processes
):
    one_sentence(run(environ, *FLASK, *arguments, stdin=stdin))


@pytest.mark.long
@pytest.mark.parametrize(
    "arguments", [("db", "upgrade"), ("tenants", "create", "acme", "--name", "Acme")]
)
def test_an_unreachable_database_is_told_in_one_sentence_without_its_password(
    arguments, starts_processes
):
    url = "postgresql://ticketing:hunter2-is-secret@127.0.0.1:9/ticketing"
    done = run({"SECRET_KEY": SECRET_KEY, "DATABASE_URL": url}, *FLASK, *arguments)
    told = one_sentence(done)
    assert "DATABASE_URL" in told and "hunter2" not in told


@pytest.mark.long
@only_once
def test_a_chain_that_cannot_be_seen_is_named_without_its_url(environ, acme, starts_processes):
    environ["RPC_URL_31337"] = "http://someone:hunter2@127.0.0.1:9/v3/an-api-key"
    told = one_sentence(run(environ, *FLASK, "worker", "--once"))
    assert "chain 31337" in told
    assert not any(part in told for part in ("hunter2", "an-api-key", "http:", "127.0.0.1"))


@pytest.mark.long
@only_once
def test_the_log_tells_the_time_in_utc(environ, acme, node):
    before = datetime.now(UTC).replace(microsecond=0)
    done = run({**environ, "TZ": "Asia/Tokyo"}, *FLASK, "worker", "--once")
    time, _, what = done.stderr.partition(" ")
    assert what == "INFO ticketing.worker.watcher: watching chain 31337\n"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", time)
    assert before <= datetime.fromisoformat(time) <= datetime.now(UTC)


@only_once
def test_paying_by_hand_is_there_only_with_the_local_chain(app, environ):
    assert " dev " in cli(app, "--help")
    del environ["RPC_URL_31337"]
    configure(app, load(environ))
    assert " dev " not in cli(app, "--help")
    assert "No such command 'dev'" in refused(app, "dev", exit_code=2)


def test_a_refused_command_keeps_no_connection_open(app, acme):
    refused(app, "tenants", "create", "acme", "--name", "Other")
    assert not database.in_transaction()


def test_what_sqlite_writes_is_for_its_owner_alone(tmp_path):
    url = f"sqlite:///{tmp_path}/deeper/new.db"
    with new_app({"SECRET_KEY": SECRET_KEY, "DATABASE_URL": url}).app_context():
        migrate.upgrade()
        files = sorted((tmp_path / "deeper").iterdir())
        assert [path.name for path in files] == ["new.db", "new.db-shm", "new.db-wal"]
        assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    database.close()
