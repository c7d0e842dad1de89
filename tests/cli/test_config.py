"""Configuration is read strictly. An error stops the start; it has the name, and no secret."""

import dataclasses
import itertools
from datetime import timedelta

import pytest
from eth_utils import to_checksum_address

from tests.conftest import SECRET_KEY
from tests.support.factories import run
from ticketing.chain.registry import REGISTRY
from ticketing.config import ConfigError, load
from ticketing.constants import CallClass

SECRET = "hunter2"
GOOD = {
    "SECRET_KEY": SECRET_KEY,
    "DATABASE_URL": f"postgresql://ticketing:{SECRET}@127.0.0.1:9/ticketing",
    "RPC_URL_31337": f"http://someone:{SECRET}@127.0.0.1:9/v3/{SECRET}",
}
ADDRESS = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
WRONG_CHECKSUM = ADDRESS.replace("fCD", "FCD")
MAX_CHAIN_ID = 2**53 - 1
NOT_UNICODE = "caf\udce9" * 10

NUMBERS = {
    "PORT": (1, 65_535),
    "WEB_CONCURRENCY": (1, 64),
    "HOLD_SECONDS": (60, 7200),
    "TOKEN_TTL_SECONDS": (1, 86_400),
    "CONFIRMATIONS_31337": (1, 10_000),
    "UNPAID_PER_ADDRESS": (0, 1_000_000),
    "ORDERS_PER_CLIENT": (0, 1_000_000),
    "FREE_PER_CLIENT": (0, 1_000_000),
    **{f"RATE_LIMIT_{each.upper()}": (0, 1_000_000) for each in CallClass},
}
NOT_WHOLE = (
    "",
    "x",
    "1.5",
    "1e3",
    "60.0",
    "0x50",
    " 80",
    "80 ",
    "8_0",
    "+80",
    "\u0668\u0660",
    "nan",
)
WRONG = {
    "SECRET_KEY": ("", "x" * 31, f"{SECRET}-too-short", "é" * 15, NOT_UNICODE),
    "SECRET_KEY_PREVIOUS": (
        *("", "x" * 31, f"{SECRET}-too-short", "é" * 15, NOT_UNICODE),
        SECRET_KEY,
    ),
    "DATABASE_URL": (
        f"mysql://ticketing:{SECRET}@127.0.0.1/ticketing",
        f"ticketing:{SECRET}@127.0.0.1/ticketing",
        f"postgresql://ticketing:{SECRET}@127.0.0.1",
        f"postgresql://ticketing:{SECRET}@127.0.0.1/",
        f"postgresql://ticketing:{SECRET}@127.0.0.1:99999/ticketing",
        f"postgresql://ticketing:{SECRET}@127.0.0.1:port/ticketing",
        f"postgresql://ticketing:{SECRET}@[::1/ticketing",
        f"postgresql://ticketing:{SECRET}@127.0.0.1/{NOT_UNICODE}",
        "sqlite://",
        "sqlite:///",
        "sqlite://var/ticketing.db",
        "var/ticketing.db",
    ),
    "RPC_URL_31337": (
        *("", "127.0.0.1:8545", "http://", "http:///v3", "file:///etc/passwd"),
        f"ftp://someone:{SECRET}@127.0.0.1/",
        f"https://someone:{SECRET}@127.0.0.1:99999/",
        f"https://someone:{SECRET}@[::1/",
        f"https://127.0.0.1/{NOT_UNICODE}",
    ),
    "TOKEN_ADDRESS_31337": ("", "0x", ADDRESS[:-1], ADDRESS + "0", ADDRESS[2:], WRONG_CHECKSUM),
    "POLL_SECONDS": ("", "x", "0", "0.04", "-1", "3601", "nan", "inf", " 1", "1_0"),
    "LOG_LEVEL": ("", "LOUD", "10"),
    "LOG_FORMAT": ("", "xml"),
    "RATE_LIMIT_ALL": ("10",),
    "METRICS_TOKEN": ("", "x" * 15, f"{SECRET} and a space"),
    "TRUSTED_PROXIES": ("nobody", "192.0.2.1/24", "192.0.2.0/33", "192.0.2.1;192.0.2.2"),
    "RPC_URL_abc": ("http://127.0.0.1:9",),
    "RPC_URL_": ("http://127.0.0.1:9",),
    "RPC_URL_0": ("http://127.0.0.1:9",),
    "RPC_URL_01": ("http://127.0.0.1:9",),
    "RPC_URL_-1": ("http://127.0.0.1:9",),
    "RPC_URL_\u0661": ("http://127.0.0.1:9",),
    f"RPC_URL_{MAX_CHAIN_ID + 1}": ("http://127.0.0.1:9",),
    "TOKEN_ADDRESS_abc": (ADDRESS,),
    "CONFIRMATIONS_abc": ("1",),
    **{
        name: (*NOT_WHOLE, str(low - 1), str(high + 1), "-1")
        for name, (low, high) in NUMBERS.items()
    },
}


def chain(chain_id=31337, **variables):
    return load({**GOOD, **variables}).chains[chain_id]


def test_little_is_needed_and_the_rest_has_its_default():
    config = load({"SECRET_KEY": SECRET_KEY})
    assert config.database_url == "sqlite:///var/ticketing.db"
    assert (config.port, config.web_concurrency, config.log_level) == (8000, 2, "INFO")
    assert (config.poll_seconds, config.hold) == (2.0, timedelta(seconds=900))
    assert config.token_ttl_seconds == 900
    assert config.chains == {}


@pytest.mark.parametrize("name", WRONG)
def test_it_refuses_a_wrong_variable_by_its_name_and_repeats_no_value(name):
    for value in WRONG[name]:
        with pytest.raises(ConfigError) as refusal:
            load({**GOOD, name: value})
        told = str(refusal.value)
        assert name in told, value
        assert SECRET not in told and len(told.splitlines()) == 1
        assert len(value) < 12 or value not in told, value


@pytest.mark.parametrize("name", NUMBERS)
def test_it_takes_numbers_within_their_bounds(name):
    for bound in NUMBERS[name]:
        config = load({**GOOD, name: str(bound)})
        taken = {
            "PORT": config.port,
            "WEB_CONCURRENCY": config.web_concurrency,
            "HOLD_SECONDS": config.hold.total_seconds(),
            "TOKEN_TTL_SECONDS": config.token_ttl_seconds,
            "CONFIRMATIONS_31337": config.chains[31337].confirmations,
            "UNPAID_PER_ADDRESS": config.unpaid_per_address,
            "ORDERS_PER_CLIENT": config.orders_per_client,
            "FREE_PER_CLIENT": config.free_per_client,
            **{f"RATE_LIMIT_{each.upper()}": config.rate_limits[each] for each in CallClass},
        }
        assert taken[name] == bound


@pytest.mark.parametrize(("text", "seconds"), [("0.05", 0.05), ("1", 1.0), ("3600", 3600.0)])
def test_poll_seconds_may_be_a_fraction(text, seconds):
    assert load({**GOOD, "POLL_SECONDS": text}).poll_seconds == seconds


@pytest.mark.parametrize("url", ["sqlite:///x.db", "sqlite:////tmp/x.db", "postgres://h/db"])
def test_it_takes_the_urls_of_both_databases(url):
    assert load({**GOOD, "DATABASE_URL": url}).database_url == url


def test_a_log_level_may_be_written_in_any_case():
    assert load({**GOOD, "LOG_LEVEL": "debug"}).log_level == "DEBUG"


def test_a_secret_key_of_32_bytes_is_enough_and_only_development_needs_none():
    assert load({"SECRET_KEY": "x" * 32}).keyring.current == "x" * 32
    assert load({"SECRET_KEY": "é" * 16}).keyring.current == "é" * 16
    assert load({"FLASK_DEBUG": "1"}).keyring.current
    for environ in ({}, {"FLASK_DEBUG": "0"}, {"FLASK_DEBUG": "1", "SECRET_KEY": "short"}):
        with pytest.raises(ConfigError, match="SECRET_KEY"):
            load(environ)


def test_an_rpc_url_enables_a_chain_of_the_registry():
    assert chain() == dataclasses.replace(REGISTRY[31337], rpc_urls=(GOOD["RPC_URL_31337"],))
    assert load({"SECRET_KEY": SECRET_KEY, "TOKEN_ADDRESS_1": ADDRESS}).chains == {}


def test_the_environment_overrides_what_the_registry_says():
    found = chain(TOKEN_ADDRESS_31337=ADDRESS, CONFIRMATIONS_31337="7")
    assert (found.token_address, found.confirmations) == (ADDRESS, 7)
    assert (found.decimals, found.name) == (REGISTRY[31337].decimals, REGISTRY[31337].name)
    assert REGISTRY[31337].confirmations == 1


@pytest.mark.parametrize("chain_id", [100, MAX_CHAIN_ID])
def test_a_chain_outside_the_registry_needs_its_tokens_address(chain_id):
    variables = {f"RPC_URL_{chain_id}": "http://127.0.0.1:9"}
    with pytest.raises(ConfigError, match=f"TOKEN_ADDRESS_{chain_id}"):
        load({**GOOD, **variables})
    found = chain(chain_id, **variables, **{f"TOKEN_ADDRESS_{chain_id}": ADDRESS})
    assert (found.token_address, found.decimals) == (ADDRESS, None)


def test_an_address_without_a_checksum_is_written_with_it():
    for text in (ADDRESS, ADDRESS.lower(), "0x" + ADDRESS[2:].upper()):
        assert chain(TOKEN_ADDRESS_31337=text).token_address == ADDRESS


def test_the_registry_has_the_chains_of_the_contract_with_valid_addresses():
    assert set(REGISTRY) == {1, 10, 137, 8453, 42161, 84532, 11155111, 31337}
    for chain_id, known in REGISTRY.items():
        assert known.chain_id == chain_id
        assert known.token_address == to_checksum_address(known.token_address)
        assert known.confirmations >= 1 and known.decimals == 6


def test_the_configuration_shows_no_secret_and_cannot_be_changed():
    previous = SECRET_KEY[::-1]
    config = load({**GOOD, "SECRET_KEY_PREVIOUS": previous})
    assert config.keyring.accepted == (SECRET_KEY, previous)
    for text in (repr(config), str(config), f"{config.chains}", f"{config.keyring}"):
        assert not any(secret in text for secret in (SECRET, SECRET_KEY, previous))
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.port = 1
    with pytest.raises(TypeError):
        config.chains[1] = REGISTRY[1]


COMMANDS = {
    "flask": ("flask", "--app", "app", "db", "upgrade"),
    "gunicorn": ("gunicorn", "app:create_app()"),
}
# Errors of the other variables are reported the same way (above).
WRONG_AT_THE_START = [
    ("SECRET_KEY", f"{SECRET}-too-short"),
    ("RPC_URL_31337", f"https://127.0.0.1/{NOT_UNICODE}"),
    ("DATABASE_URL", f"mysql://ticketing:{SECRET}@127.0.0.1/ticketing"),
    ("DATABASE_URL", "sqlite:////dev/null/ticketing.db"),
    ("LOG_LEVEL", "LOUD"),
]


def refusal(command, **variables):
    """Return the single line of a process that fails to start."""
    done = run(variables, *COMMANDS[command])
    assert done.returncode != 0 and done.stdout == ""
    (line,) = done.stderr.strip().splitlines()
    assert SECRET not in line and SECRET_KEY not in line
    return line


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("name", "value"), WRONG_AT_THE_START, ids=[ascii(case) for case in WRONG_AT_THE_START]
)
def test_a_wrong_variable_stops_the_start_in_one_line(command, name, value):
    assert name in refusal(command, **{**GOOD, name: value})


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize(
    ("command", "value"),
    # gunicorn reads it before us, and refuses text with its own message.
    [("flask", "many"), ("flask", "-1"), *itertools.product(COMMANDS, ["0", "65"])],
)
def test_a_wrong_web_concurrency_stops_the_start(command, value):
    assert "WEB_CONCURRENCY" in refusal(command, **GOOD, WEB_CONCURRENCY=value)


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize("command", COMMANDS)
def test_without_any_variable_the_start_says_how_to_make_a_secret_key(command):
    line = refusal(command)
    assert "SECRET_KEY" in line and "secrets.token_urlsafe" in line
