"""Every regular expression reads hostile text in linear time."""

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

from schemas.base import RFC3339
from schemas.checks import HTTP_URL, NOT_BLANK
from schemas.tenants import COLOR
from tests.support.linear_time import grown, is_linear
from ticketing.services.catalog import calendars
from ticketing.services.exports import safe_cells
from ticketing.web.idempotency import PATTERN as IDEMPOTENCY_KEY
from ticketing.web.order_polls import PATH as ORDER_PATH

pytestmark = pytest.mark.exhaustive

ROOT = Path(__file__).parent.parent
METHODS = {"match", "fullmatch", "search", "sub", "split", "findall", "finditer"}

SPACES = ("", " ", "\0")
SLUGS = [("", "a", "!"), ("", "a-", "!"), ("a", "-", "a")]

HOSTILE = {
    f"ticketing/web/order_polls.py: {ORDER_PATH.pattern}": [
        ("/v1/checkout/tenants/", "a", "/"),
        ("/v1/checkout/tenants/a/intents/pi_", "a", "!"),
    ],
    "ticketing/chain/address.py: 0x[0-9a-fA-F]{40}": [("0x", "a", "!")],
    "ticketing/chain/answers.py: 0x[0-9a-fA-F]{1,64}": [("0x", "a", "!")],
    "ticketing/chain/answers.py: 0x[0-9a-fA-F]{64}": [("0x", "a", "!")],
    "ticketing/chain/facilitator.py: [a-z0-9_]{1,64}": [("", "a", "!")],
    "ticketing/chain/facilitator.py: 0x[0-9a-fA-F]{64}": [("0x", "a", "!")],
    "ticketing/services/x402/payment_header.py: [0-9]{1,78}": [("", "1", "!")],
    "ticketing/services/x402/payment_header.py: 0x[0-9a-fA-F]{64}": [("0x", "a", "!")],
    "ticketing/services/x402/payment_header.py: 0x(?:[0-9a-fA-F]{2}){1,2048}": [
        ("0x", "a", "!"),
    ],
    "ticketing/config_chains.py: (RPC_URL|TOKEN_ADDRESS|CONFIRMATIONS|X402_FACILITATOR_URL"
    "|X402_FACILITATOR_TOKEN)_(.*)": [("RPC_URL_", "a", "\n"), ("", "RPC_URL_", "\n")],
    "ticketing/config_chains.py: [A-Za-z0-9._~+/-]+=*": [("", "a", "!"), ("a", "=", "!")],
    "ticketing/environment.py: -?[0-9]+(\\.[0-9]+)?": [("", "1", "!"), ("1.", "1", "!")],
    "ticketing/config.py: SECRET_KEY(_PREVIOUS)?|DATABASE_URL|PUBLIC_URL|SMTP_URL|MAIL_FROM"
    "|WEBHOOK_ALLOW|(RPC_URL|TOKEN_ADDRESS|CONFIRMATIONS|X402_FACILITATOR_URL"
    "|X402_FACILITATOR_TOKEN)_.*": [("RPC_URL_", "a", "\n")],
    "ticketing/config_networks.py: ([0-9A-Fa-f.:]{2,39}/[0-9]{1,3})(?::([0-9]{1,5}))?": [
        ("", ":", "!"),
        ("", "1", "/1"),
        ("1/1:", "1", ""),
    ],
    "ticketing/config_mail.py: [A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,190}": [
        ("", "a", "@"),
        ("a@", "a.", "!"),
    ],
    "ticketing/config_chains.py: [1-9][0-9]{0,15}": [("", "1", "!")],
    "ticketing/config.py: [A-Za-z0-9._~+/=-]{16,}": [("", "a", "!")],
    "ticketing/constants.py: /v1/door/tenants/[^/]+/events/[^/]+/scans": [
        ("/v1/door/tenants/", "a", ""),
        ("/v1/door/tenants/", "a/events/", "!"),
    ],
    "ticketing/credentials.py: ([a-z]+_)([0123456789abcdefghjkmnpqrstvwxyz]{26})"
    "_([0123456789abcdefghjkmnpqrstvwxyz]{41})": [
        ("ticketing_", "0", ""),
        ("", "ticketing_", ""),
        ("", "a", ""),
    ],
    "ticketing/ids.py: [0123456789abcdefghjkmnpqrstvwxyz]{26}": [("", "0", "!")],
    "ticketing/logs.py: [A-Za-z0-9._:/<>-]+": [("", "a", "!")],
    'ticketing/nesting.py: "[^"\\\\]*+(?:\\\\.[^"\\\\]*+)*+"?': [
        ('["', '\\"', ""),
        ('["', "a", ""),
        ("[", '"', ""),
        ("[", '"a"', "\\"),
        ("[", '"\\', ""),
        ('["', "\\", ""),
    ],
    "ticketing/credentials.py: [0123456789abcdefghjkmnpqrstvwxyz]{20}": [("", "0", "")],
    "ticketing/pages/render.py: \\r?\\n\\r?\\n": [("", "\r\n", ""), ("", "\r", "")],
    'ticketing/pages/render.py: (https?://[^\\s<>\\"]{1,2000})': [
        ("", "https://", ""),
        ("", "https://a ", ""),
        ("", "http", ""),
        ("https://", "a", ""),
    ],
    "ticketing/pages/typed_forms.py: [0-9]{1,19}": [("", "1", "")],
    "ticketing/pages/typed_forms.py: ([0-9]{1,12})(?:[.,]([0-9]{1,6}))?": [
        ("", "1", ""),
        ("1.", "1", ""),
    ],
    "ticketing/pages/console/sign_in.py: /(?![/\\\\])[!-~]{0,2000}": [("/", "a", " ")],
    "ticketing/services/orders/order_search.py: 0x[0-9a-fA-F]{40}": [("0x", "a", "")],
    "ticketing/services/orders/order_search.py: 0x[0-9a-fA-F]{64}": [("0x", "a", "")],
    "ticketing/credentials.py: to_([0123456789abcdefghjkmnpqrstvwxyz]{26})_[0-9a-f]{40}": [
        ("to_", "0", ""),
    ],
    "ticketing/credentials.py: in_([0123456789abcdefghjkmnpqrstvwxyz]{26})_[0-9a-f]{40}": [
        ("in_", "0", ""),
    ],
    "ticketing/credentials.py: [0123456789abcdefghjkmnpqrstvwxyz]{34}": [("", "0", "")],
    "ticketing/server/chunks.py: ([0-9A-Fa-f]{1,16})[ \\t]*(?:;[\\t\\x20-\\xff]*)?": [
        ("1", " ", "\n"),
        ("1;", " ", "\n"),
        ("", "1", ""),
    ],
    "ticketing/server/chunks.py: [!#$%&'*+\\-.^_`|~0-9A-Za-z]+:[\\t\\x20-\\xff]*": [
        ("", "a", ""),
        ("a:", ":", "\n"),
    ],
    "ticketing/server/connection.py: (?<!\\r)\\n": [("", "\r", ""), ("", "\r\n", "")],
    "ticketing/services/mail/recipients.py: [A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
    "(?:\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*": [("", "a", "@"), ("", "a.", "@"), ("a", ".a", "@")],
    "ticketing/services/mail/recipients.py: [A-Za-z0-9-]+(?:\\.[A-Za-z0-9-]+)*": [
        ("", "a", "@"),
        ("", "a.", "@"),
        ("a", ".a", "@"),
    ],
    "ticketing/services/access/members.py: [^@\\s\\0]+@[^@\\s\\0.]+(?:\\.[^@\\s\\0.]+)+": [
        ("a@", ".", "@"),
        ("a@", "a.", "@"),
        ("a@", "a", "@"),
        ("", "a", ""),
        ("", "@", ""),
    ],
    "ticketing/services/access/tenants.py: [a-z0-9]+(-[a-z0-9]+)*": SLUGS,
    "ticketing/services/catalog/events.py: [^a-z0-9]+": [("", "!", ""), ("", "a!", ""), SPACES],
    f"ticketing/services/exports/safe_cells.py: [{safe_cells.STARTERS}\\t\\r\\n]": [
        ("", "=", ""),
        ("", "a", ""),
    ],
    f"ticketing/services/exports/safe_cells.py: {safe_cells.RUN}": [
        ("", "\t", ""),
        ("", "\t=", ""),
        ("", "= ;", ""),
        ("", '";', "="),
        ("", "=", ""),
    ],
    "ticketing/services/notifications/webhook_urls.py: [\\x21-\\x7e]+": [("", "a", " ")],
    "ticketing/services/notifications/webhook_urls.py:"
    " (?=.{1,253}\\Z)[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?": [
        ("", "a", "!"),
        ("", "a-", ""),
        ("a", ".", ""),
    ],
    "ticketing/services/notifications/webhook_urls.py: (?!-)[a-z0-9_-]{1,63}(?<!-)": [
        ("", "a", "-"),
        ("a", "-", ""),
    ],
    "ticketing/services/notifications/webhook_urls.py: [0-9]+|0x[0-9a-f]*": [
        ("", "0", "x"),
        ("0x", "a", "!"),
    ],
    f"ticketing/services/catalog/calendars.py: {calendars.LINE_BREAK}": [
        ("", "\r", ""),
        ("", "\r\n", ""),
    ],
    f"ticketing/services/catalog/calendars.py: {calendars.NOT_IN_TEXT}": [("", "\7", "")],
    "ticketing/web/client_ip.py: (?:([0-9.]+)|\\[([0-9A-Fa-f:.]+)\\]):[0-9]+": [
        ("", "1", ""),
        ("1:", "1", "!"),
        ("[", ":", ""),
    ],
    "ticketing/web/context.py: [A-Za-z0-9._-]{1,128}": [("", "a", "")],
    f"ticketing/web/idempotency.py: {IDEMPOTENCY_KEY}": [
        ('"', "a", '"'),
        ('"', " ", '"'),
        ("", " ", ""),
        ("", '"', ""),
        ("a", " ", "\n"),
    ],
    "ticketing/web/problems.py: [^a-z]+": [("", "!", ""), ("", "a!", "")],
    "schemas/base.py: -?[0-9]{1,19}": [("", "1", "")],
    f"schemas/base.py: {RFC3339}": [("2026-01-01T00:00:00.", "1", "Z"), ("", "2026-", "")],
    "schemas/checks.py: ^[A-Za-z0-9_-]+$": [("", "a", "!")],
    "schemas/checks.py: ^[!-~]+$": [("", "a", " ")],
    "schemas/checks.py: ^[a-z0-9]+(-[a-z0-9]+)*$": SLUGS,
    "schemas/checks.py: ^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$": [
        ("", "0", ""),
        ("", "0000-", ""),
    ],
    "schemas/checks.py: ^0x[0-9a-f]{64}$": [("0x", "a", "")],
    "schemas/checks.py: ^0x[0-9a-fA-F]{40}$": [("0x", "a", "")],
    f"schemas/checks.py: {HTTP_URL.regex.pattern}": [("http://", "a", " "), ("", "http://", " ")],
    f"schemas/checks.py: {NOT_BLANK.regex.pattern}": [("", "a", "\0"), SPACES, ("", " a", "\0")],
    f"schemas/tenants.py: {COLOR}": [("#", "a", ""), ("", "#", "")],
}
"""Of each regular expression: what its worst text begins with, repeats and ends with."""


def sources():
    return [path for folder in ("ticketing", "schemas") for path in (ROOT / folder).rglob("*.py")]


def expressions():
    """Yield each regular expression of the product, with its file and the methods that use it."""
    trees = {path: ast.parse(path.read_text()) for path in sources()}
    used = {}
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
                name = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
                used.setdefault(name, set()).add(node.attr)
    for path, tree in trees.items():
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            method = called.removeprefix("re.")
            is_validator = called in ("Written", "validate.Regexp")
            if not is_validator and (method == called or not method.isidentifier()):
                continue
            names = vars(importlib.import_module(module.removesuffix(".__init__")))
            compiled = re.compile(eval(ast.unparse(node.args[0]), names))
            methods = {"fullmatch" if is_validator else method}
            if method == "compile":
                flags = [eval(ast.unparse(each), names) for each in node.args[1:]]
                compiled = re.compile(compiled.pattern, *flags)
                (name,) = (
                    each.targets[0].id
                    for each in tree.body
                    if isinstance(each, ast.Assign) and each.value is node
                )
                methods = used[name] & METHODS
            text = compiled.pattern
            text = text.decode("latin-1") if isinstance(text, bytes) else text
            yield f"{path.relative_to(ROOT)}: {text}", compiled, methods


@cache
def found():
    return {key: (compiled, methods) for key, compiled, methods in expressions()}


def test_every_regular_expression_has_its_hostile_text():
    assert found().keys() == HOSTILE.keys()


@pytest.mark.parametrize("key", HOSTILE)
def test_a_regular_expression_takes_linear_time(key):
    compiled, methods = found()[key]
    for text in HOSTILE[key]:
        for method in methods:
            apply = getattr(compiled, method)
            blank = compiled.pattern[:0]
            run = (
                (lambda given, apply=apply, blank=blank: apply(blank, given))
                if (method in ("sub", "subn"))
                else apply
            )

            def make(size, text=text, blank=blank):
                made = grown(text, size)
                return made if isinstance(blank, str) else made.encode("latin-1")

            is_linear(run, make)
