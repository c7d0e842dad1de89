"""Every regular expression reads hostile text in linear time.

The expressions are found in the code, and their hostile texts are made from them
(`tests/support/hostile.py`): a new expression needs nothing here.
"""

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

from tests.support.hostile import hostile_texts
from tests.support.linear_time import grown, is_slow

pytestmark = pytest.mark.exhaustive

ROOT = Path(__file__).parent.parent
METHODS = {"match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}
VALIDATORS = ("Written", "validate.Regexp")

SLOW = [
    (r"(a+)+$", "match"),
    (r"^(a|a)*$", "match"),
    (r"^(a|aa)+$", "match"),
    (r"([a-z]+)*@", "fullmatch"),
    (r"\s+$", "search"),
    (r"(x+x+)+y", "search"),
    (r"^(\d+)+,", "match"),
    (r"^-?[0-9]*[0-9]*[.]", "match"),
    (r"<[^>]*>", "findall"),
    (r"\s*,\s*", "split"),
    (r"/tenants/([a-z]+-?)+/events", "fullmatch"),
    (r"https?://([^/]+/?)+#", "match"),
    (r'"(?:\\.|[^"])*"', "search"),
    (r'"(?:[^"\\]+|\\.)*"', "fullmatch"),
    (r"(?i)^x(ab|AB)*$", "match"),
    (r"(?=(a+)+b)a", "match"),
    (r"(?P<first>\w+\s?)*\Z", "match"),
    (r"^[a-z0-9]+([-a-z0-9]+)*$", "fullmatch"),
    (r"^([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}[a-z]{2,3}$", "match"),
    (rb"[\x21-\x7e]+:[\x20-\xff]*\n", "search"),
]
"""Expressions that are known to be slow, with a method with which they are."""

QUICK = [
    (r"(?>a+)+$", "match"),
    (r"(a++)++$", "match"),
    (r"^[a-z0-9]+(-[a-z0-9]+)*$", "fullmatch"),
    (r"\s{1,100}$", "search"),
    (r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', "sub"),
]


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
            assert not (isinstance(node, ast.ImportFrom) and node.module == "re"), "import re"
    for path, tree in trees.items():
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            method = called.removeprefix("re.")
            is_validator = called in VALIDATORS
            if not is_validator and (method == called or not method.isidentifier()):
                continue
            names = vars(importlib.import_module(module))
            compiled = re.compile(eval(ast.unparse(node.args[0]), names))
            methods = {"fullmatch" if is_validator else method}
            if method == "compile":
                assert not node.keywords, "give the flags by position"
                flags = [eval(ast.unparse(each), names) for each in node.args[1:]]
                compiled = re.compile(compiled.pattern, *flags)
                (name,) = (
                    each.targets[0].id
                    for each in tree.body
                    if isinstance(each, ast.Assign) and each.value is node
                )
                methods = used[name] & METHODS
            assert methods, f"{path}: no method uses {compiled.pattern!r}"
            yield path.relative_to(ROOT), compiled, methods


@cache
def found():
    """Return the files and methods of each regular expression."""
    places = {}
    for path, compiled, methods in expressions():
        files, all_methods = places.setdefault(compiled, (set(), set()))
        files.add(str(path))
        all_methods.update(methods)
    return places


def slow_text(compiled, method):
    """Return a text that the method takes more than linear time to read, or None."""
    apply = getattr(compiled, method)
    in_bytes = isinstance(compiled.pattern, bytes)

    def work(given):
        if method in ("sub", "subn"):
            return apply(given[:0], given)
        return list(apply(given)) if method == "finditer" else apply(given)

    for text in hostile_texts(compiled):

        def make(size, text=text):
            made = grown(text, size)
            return made.encode("latin-1", "replace") if in_bytes else made

        if is_slow(work, make):
            return text
    return None


def test_the_expressions_of_the_product_are_found():
    files = {file for files, _ in found().values() for file in files}
    assert {"schemas/base.py", "ticketing/ids.py", "ticketing/markdown.py"} <= files


def test_every_regular_expression_takes_linear_time():
    slow = {
        (*sorted(files), compiled.pattern, method): text
        for compiled, (files, methods) in found().items()
        for method in methods
        if (text := slow_text(compiled, method))
    }
    assert not slow


@pytest.mark.parametrize(("pattern", "method"), SLOW)
def test_a_slow_expression_is_noticed(pattern, method):
    assert slow_text(re.compile(pattern), method)


@pytest.mark.parametrize(("pattern", "method"), QUICK)
def test_a_quick_expression_is_not_taken_for_a_slow_one(pattern, method):
    assert slow_text(re.compile(pattern), method) is None
