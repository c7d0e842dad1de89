"""Parsing hostile JSON, chunks and fields takes linear time."""

import importlib
import inspect
import pkgutil
from functools import partial

import pytest
from marshmallow import Schema, ValidationError, fields

import schemas
from schemas.base import BaseSchema, Text
from tests.support.linear_time import grown, is_linear, is_slow
from ticketing import nesting
from ticketing.server.chunks import Chunks

pytestmark = pytest.mark.exhaustive

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
    ("", "9", ""),
    ("2026-01-01T00:00:00.", "1", "Z"),
    ("", "a/", ""),
]
"""Texts that are tried on each text field of each request."""


@pytest.mark.parametrize(
    "text",
    [
        ("[", '"', ""),
        ('["', '\\"', ""),
        ('["', '\\"', '"]'),
        ("", "[", ""),
        ("", "[]", ""),
        ("", "{[", ""),
        ("", "]", ""),
        ('"', "[", ""),
        ("[", '"[",', '""]'),
        ('["', "\\", ""),
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

    slow = [text for text in TEXTS if is_slow(load, partial(grown, text))]
    assert not slow
