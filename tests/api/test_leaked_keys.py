"""docs/operations.md tells secret scanners how credentials look. Real ones look so."""

import re
import textwrap
import tomllib

import pytest

from schemas.api_keys import NewApiKeySchema
from tests.support.factories import Api
from tests.support.webhook_endpoints import new_webhook
from tools.stack import ROOT

PAGE = (ROOT / "docs" / "operations.md").read_text()
KINDS = (
    "ticketing-api-key",
    "ticketing-client-secret",
    "ticketing-jwt",
    "ticketing-webhook-secret",
)
AROUND = ("{}", '"{}"', "KEY={}\n", "X-API-Key: {}", "Bearer {} ", "https://x.example/?key={}&a=b")


def block_from(line):
    """Return the indented block of the page that begins with this line."""
    block = PAGE[PAGE.index(f"    {line}") :]
    return textwrap.dedent(re.split(r"\n(?=\S)", block)[0])


@pytest.fixture
def rules():
    """The documented patterns, by id."""
    found = tomllib.loads(block_from("[[rules]]"))["rules"]
    assert tuple(rule["id"] for rule in found) == KINDS
    return {rule["id"]: rule for rule in found}


@pytest.fixture
def is_api_key():
    names = {}
    exec(block_from("import zlib"), names)
    return names["is_api_key"]


@pytest.fixture
def handed_out(acme):
    """Real secrets of each kind."""
    ticket = acme.ticket(capacity=None)
    keys = [acme.key(role) for role in ("admin", *["read"] * 5)]
    exchange = Api(acme.app.test_client()).post
    tokens = [exchange("/v1/auth/token", {"api_key": key}).json["access_token"] for key in keys]
    secrets = [acme.buyer(ticket).intent["client_secret"] for _ in range(5)]
    webhooks = [new_webhook(acme).created["secret"] for _ in range(5)]
    return dict(zip(KINDS, (keys, secrets, tokens, webhooks), strict=True))


def test_each_pattern_finds_what_it_is_for_wherever_it_stands_and_nothing_else(rules, handed_out):
    for kind, found in handed_out.items():
        for secret, around in ((secret, around) for secret in found for around in AROUND):
            text = around.format(secret)
            for each, rule in rules.items():
                expected = [secret] if each == kind else []
                assert re.findall(rule["regex"], text) == expected, (each, kind)
            assert any(keyword in text for keyword in rules[kind]["keywords"])


def test_a_pattern_finds_no_id_and_no_prefix(rules, acme):
    shown = acme.api().get(f"{acme.path}/apikeys").text
    assert not any(re.search(rule["regex"], shown) for rule in rules.values())


def test_the_checksum_tells_a_key_from_a_typo_and_from_the_documents_example(
    rules, is_api_key, handed_out
):
    for key in handed_out["ticketing-api-key"]:
        assert is_api_key(key)
        for place in range(len("ticketing_"), len(key)):
            wrong = key[:place] + ("0" if key[place] != "0" else "1") + key[place + 1 :]
            assert not is_api_key(wrong)
    example = NewApiKeySchema().example()["key"]
    assert re.fullmatch(rules["ticketing-api-key"]["regex"], example) and not is_api_key(example)
