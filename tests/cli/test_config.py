"""Configuration is read strictly. An error has the name of the variable, and no secret."""

import dataclasses
from datetime import timedelta

import pytest

from tests.conftest import SECRET_KEY
from tests.support.variables import ADDRESS, GOOD, MAX_CHAIN_ID, NOT_UNICODE, SECRET
from ticketing.chain.registry import REGISTRY
from ticketing.config import ConfigError, load
from ticketing.limits import CallClass

WRONG_CHECKSUM = ADDRESS.replace("fCD", "FCD")
NUMBERS = {
    "PORT": (1, 65_535),
    "WEB_CONCURRENCY": (1, 64),
    "HOLD_SECONDS": (60, 7200),
    "TOKEN_TTL_SECONDS": (1, 86_400),
    "CONFIRMATIONS_31337": (1, 10_000),
    "EARLY_CONFIRMATIONS_31337": (0, 10_000),
    "EARLY_MOST": (0, 2**53 - 1),
    "UNPAID_PER_ADDRESS": (0, 1_000_000),
    "ORDERS_PER_CLIENT": (0, 1_000_000),
    "FREE_PER_CLIENT": (0, 1_000_000),
    "MAILS_PER_TENANT": (0, 1_000_000),
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
        "",
        "x" * 31,
        f"{SECRET}-too-short",
        "é" * 15,
        NOT_UNICODE,
        SECRET_KEY,
    ),
    "DATABASE_URL": (
        f"mysql://ticketing:{SECRET}@127.0.0.1/ticketing",
        f"ticketing:{SECRET}@127.0.0.1/ticketing",
        f"postgresql://ticketing:{SECRET}@127.0.0.1",
        f"postgresql://ticketing:{SECRET}@127.0.0.1/",
        f"postgresql://ticketing:{SECRET}@127.0.0.1:99999/ticketing",
        f"postgresql://ticketing:{SECRET}@127.0.0.1:port/ticketing",
        f"postgresql://ticketing:{SECRET}@127.0.0.1:5432,127.0.0.1:port/ticketing",
        f"postgresql://ticketing:{SECRET}@[::1/ticketing",
        f"postgresql://ticketing:{SECRET}@127.0.0.1/{NOT_UNICODE}",
        "sqlite://",
        "sqlite:///",
        "sqlite://var/ticketing.db",
        "var/ticketing.db",
    ),
    "RPC_URL_31337": (
        "",
        "127.0.0.1:8545",
        "http://",
        "http:///v3",
        "file:///etc/passwd",
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
    "WEBHOOK_ALLOW": (
        "everything",
        "127.0.0.1",
        "127.0.0.1/8",
        "10.0.0.0/33",
        "::/129",
        "fe80::1%eth0/64",
        "10.0.0.0/8:",
        "10.0.0.0/8:0",
        "10.0.0.0/8:65536",
        "10.0.0.0/8:http",
        "/8",
        ":8080",
        "10.0.0.0/8;127.0.0.0/8",
        "[fd00::]/8:80",
        "010.0.0.0/8",
        "10.0.0.0/255.0.0.0",
    ),
    "SMTP_URL": (
        "",
        "mail.example.org",
        "smtp://",
        "http://mail.example.org",
        "smtp://mail.example.org/x",
        f"smtp://someone:{SECRET}@mail.example.org:99999",
        f"smtp://someone:{SECRET}@mail.example.org?starttls=no",
        "smtp://someone@mail.example.org",
        f"smtp://mail.example.org:587#{SECRET}",
    ),
    "RPC_URL_abc": ("http://127.0.0.1:9",),
    "RPC_URL_": ("http://127.0.0.1:9",),
    "RPC_URL_0": ("http://127.0.0.1:9",),
    "RPC_URL_01": ("http://127.0.0.1:9",),
    "RPC_URL_-1": ("http://127.0.0.1:9",),
    "RPC_URL_\u0661": ("http://127.0.0.1:9",),
    f"RPC_URL_{MAX_CHAIN_ID + 1}": ("http://127.0.0.1:9",),
    "TOKEN_ADDRESS_abc": (ADDRESS,),
    "CONFIRMATIONS_abc": ("1",),
    "EARLY_CONFIRMATIONS_abc": ("1",),
    **{
        name: (*NOT_WHOLE, str(low - 1), str(high + 1), "-1")
        for name, (low, high) in NUMBERS.items()
    },
}


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
            # Neither is early: never, and not before finality.
            "EARLY_CONFIRMATIONS_31337": config.chains[31337].early_confirmations or bound,
            "EARLY_MOST": config.early_most,
            "UNPAID_PER_ADDRESS": config.unpaid_per_address,
            "ORDERS_PER_CLIENT": config.orders_per_client,
            "FREE_PER_CLIENT": config.free_per_client,
            "MAILS_PER_TENANT": config.mails_per_tenant,
            **{f"RATE_LIMIT_{each.upper()}": config.rate_limits[each] for each in CallClass},
        }
        assert taken[name] == bound


@pytest.mark.parametrize(("text", "seconds"), [("0.05", 0.05), ("1", 1.0), ("3600", 3600.0)])
def test_poll_seconds_may_be_a_fraction(text, seconds):
    assert load({**GOOD, "POLL_SECONDS": text}).poll_seconds == seconds


def test_webhook_allow_has_networks_with_a_port_or_any():
    text = "127.0.0.0/8,10.1.0.0/16:8080 fd00::/8, ::1/128:65535"
    found = load({**GOOD, "WEBHOOK_ALLOW": text}).webhook_allow
    assert [(str(each.network), each.port) for each in found] == [
        ("127.0.0.0/8", None),
        ("10.1.0.0/16", 8080),
        ("fd00::/8", None),
        ("::1/128", 65_535),
    ]
    for nothing in ({}, {"WEBHOOK_ALLOW": ""}, {"WEBHOOK_ALLOW": " , "}):
        assert load({**GOOD, **nothing}).webhook_allow == ()


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///x.db",
        "sqlite:////tmp/x.db",
        "postgres://h/db",
        "postgresql://u:a,b@h:5432,i:5433/db?target_session_attrs=read-write",
        "postgresql://u@[::1]:5432,[::2],i/db",
    ],
)
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
