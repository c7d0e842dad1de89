"""Reading hostile text takes linear time.

Times are compared with each other, not with a fixed time: text of 16 times the length may take 16
times as long. Quadratic work takes 256 times as long.
"""

import ast
import importlib
import inspect
import pkgutil
import re
import time
from pathlib import Path

import pytest
from marshmallow import Schema, ValidationError, fields

import schemas
from schemas.base import RFC3339, SLUG, BaseSchema, Text
from ticketing import nesting
from ticketing.server.chunks import Chunks
from ticketing.web.idempotency import PATTERN as IDEMPOTENCY_KEY

ROOT = Path(__file__).parent.parent
SHORT, LONG = 4_000, 64_000
METHODS = {"match", "fullmatch", "search", "sub", "split", "findall", "finditer"}
MOST = 4 * LONG // SHORT
"""How many times longer the long text may take: four times the factor of linear work."""
TRIES = 7

SPACES = ("", " ", "\0")
SLUGS = [("", "a", "!"), ("", "a-", "!"), ("a", "-", "a")]

HOSTILE = {
    "ticketing/chain/address.py: 0x[0-9a-fA-F]{40}": [("0x", "a", "!")],
    "ticketing/chain/answers.py: 0x[0-9a-fA-F]{1,64}": [("0x", "a", "!")],
    "ticketing/chain/answers.py: 0x[0-9a-fA-F]{64}": [("0x", "a", "!")],
    "ticketing/config.py: (RPC_URL|TOKEN_ADDRESS|CONFIRMATIONS)_(.*)": [
        ("RPC_URL_", "a", "\n"),
        ("", "RPC_URL_", "\n"),
    ],
    "ticketing/config.py: -?[0-9]+(\\.[0-9]+)?": [("", "1", "!"), ("1.", "1", "!")],
    "ticketing/config.py: SECRET_KEY(_PREVIOUS)?|DATABASE_URL|PUBLIC_URL"
    "|(RPC_URL|TOKEN_ADDRESS|CONFIRMATIONS)_.*": [("RPC_URL_", "a", "\n")],
    "ticketing/config.py: [1-9][0-9]{0,15}": [("", "1", "!")],
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
    "ticketing/credentials.py: to_([0123456789abcdefghjkmnpqrstvwxyz]{26})_[0-9a-f]{40}": [
        ("to_", "0", ""),
    ],
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
    "ticketing/services/access/members.py: [^@\\s\\0]+@[^@\\s\\0.]+(?:\\.[^@\\s\\0.]+)+": [
        ("a@", ".", "@"),
        ("a@", "a.", "@"),
        ("a@", "a", "@"),
        ("", "a", ""),
        ("", "@", ""),
    ],
    "ticketing/services/access/tenants.py: [a-z0-9]+(-[a-z0-9]+)*": SLUGS,
    "ticketing/services/catalog/events.py: [^a-z0-9]+": [("", "!", ""), ("", "a!", ""), SPACES],
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
    "schemas/base.py: ^[A-Za-z0-9_-]+$": [("", "a", "!")],
    "schemas/events.py: ^[Hh][Tt][Tt][Pp][Ss]?://[^\\s\\u001c-\\u001f\\u0085\\u180e\\ufeff]+$": [
        ("http://", "a", " "),
        ("", "http://", " "),
    ],
    f"schemas/events.py: {SLUG}": SLUGS,
    "schemas/manifest.py: ^[A-Za-z0-9_-]+$": [("", "a", "!")],
    "schemas/scans.py: ^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$": [
        ("", "0", ""),
        ("", "0000-", ""),
    ],
    "schemas/refunds.py: ^0x[0-9a-f]{64}$": [("0x", "a", "")],
    "schemas/refunds.py: ^0x[0-9a-fA-F]{40}$": [("0x", "a", "")],
}
"""Of each regular expression: what its worst text begins with, repeats and ends with."""
for where in ("admissions", "events", "refunds", "ticket_types"):
    blank = "\\s\\u001c-\\u001f\\u0085\\u180e\\ufeff"
    pattern = f"^[{blank}]*[^\\u0000{blank}][^\\u0000]*$"
    HOSTILE[f"schemas/{where}.py: {pattern}"] = [("", "a", "\0"), SPACES, ("", " a", "\0")]

TEXTS = [
    ("", "a", ""),
    ("", "a", "!"),
    ("", " ", ""),
    ("", "a ", ""),
    ("", ".", "@"),
    ("", "a@", ""),
    ("a@", "a.", ""),
    ("a@", "a-", "."),
    ("a@", "a", ""),
    ('"', "\\", '"@a.a'),
    ('"', "a", ""),
    ("http://", "a.", "!"),
    ("http://", "a-", "!"),
    ("http://", "a", " "),
    ("http://", "a:", "@"),
    ("http://a:", "1", ""),
    ("http://a/", "%", " "),
    ("http://[", ":", ""),
    ("xpub", "1", ""),
    ("", "9", ""),
    ("2026-01-01T00:00:00.", "1", "Z"),
    ("", "a/", ""),
]
"""Texts that are tried on each text field of each request."""


def grown(text, size):
    """Return a hostile text of about this size."""
    start, middle, end = text
    return start + middle * (size // len(middle)) + end


def seconds(work, made):
    """Return the shortest time of `work`, with a new argument each time."""
    taken = []
    for _ in range(TRIES):
        given = made()
        start = time.perf_counter()
        work(given)
        taken.append(time.perf_counter() - start)
    return min(taken)


def is_linear(work, make):
    """Check that `work` takes at most MOST times as long for the longer text.

    Other programs may slow down all tries of one of the two, so there are three rounds.
    """
    ratios = []
    for _ in range(3):
        long, short = (seconds(work, lambda size=size: make(size)) for size in (LONG, SHORT))
        # Less than 20 us cannot be measured well, and harms nobody.
        ratios.append(long / max(short, 2e-5))
        if ratios[-1] < MOST:
            return
    raise AssertionError(f"{LONG // SHORT} times the text takes {ratios} times as long")


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


FOUND = {key: (compiled, methods) for key, compiled, methods in expressions()}


def test_every_regular_expression_has_its_hostile_text():
    assert FOUND.keys() == HOSTILE.keys()


@pytest.mark.parametrize("key", HOSTILE)
def test_a_regular_expression_takes_linear_time(key):
    compiled, methods = FOUND[key]
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


@pytest.mark.parametrize(
    "text",
    [
        *(("[", '"', ""), ('["', '\\"', ""), ('["', '\\"', '"]'), ("", "[", ""), ("", "[]", "")),
        *(("", "{[", ""), ("", "]", ""), ('"', "[", ""), ("[", '"[",', '""]'), ('["', "\\", "")),
    ],
)
def test_the_depth_of_json_takes_linear_time(text):
    is_linear(nesting.is_too_deep, lambda size: grown(text, size).encode())


@pytest.mark.parametrize(
    "text",
    [
        ("", "1\r\na\r\n", "0\r\n\r\n"),
        ("", "f\r\n" + "a" * 15 + "\r\n", "0\r\n\r\n"),
        ("", "1;" + "a" * 900 + "\r\na\r\n", "0\r\n\r\n"),
    ],
)
def test_chunks_take_linear_time(text):
    def take(received):
        try:
            Chunks().take(received)
        except Exception:
            return

    is_linear(take, lambda size: bytearray(grown(text, size).encode()))


def requests():
    """Yield each text field of each request schema, in a schema with only that field."""
    modules = [
        importlib.import_module(f"schemas.{each.name}")
        for each in pkgutil.iter_modules(schemas.__path__)
    ]
    for module in modules:
        for name, schema in inspect.getmembers(module, inspect.isclass):
            if not issubclass(schema, BaseSchema) or schema.__module__ != module.__name__:
                continue
            for field_name, field in schema().fields.items():
                if isinstance(field, Text | fields.DateTime) and not field.dump_only:
                    yield pytest.param(field, id=f"{name}.{field_name}")


@pytest.mark.parametrize("field", list(requests()))
def test_a_text_field_takes_linear_time(field):
    schema = Schema.from_dict({"field": field})()

    def load(text):
        try:
            schema.load({"field": text})
        except ValidationError:
            return

    for text in TEXTS:
        is_linear(load, lambda size, text=text: grown(text, size))
