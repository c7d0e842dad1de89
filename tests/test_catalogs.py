"""The catalogs of buyers' pages and mails: what `make translations` writes, and no other."""

import re

import pytest
from jinja2 import Environment

from tests.support.translations import not_marked
from tools import translations

_PLACEHOLDER = re.compile(r"%\((\w+)\)s|%%|%.?")


@pytest.fixture(scope="module")
def written():
    return translations.files()


def test_the_catalogs_are_what_make_translations_writes(written):
    found = {path for path in translations.FOLDER.rglob("messages.*") if path.is_file()}
    assert found | {translations.DATES} == written.keys()
    changed = [str(path) for path, content in written.items() if path.read_bytes() != content]
    assert changed == [], "run `make translations`"


def test_a_file_that_moves_changes_no_catalog():
    there, elsewhere = translations.template(), translations.template()
    messages = [each for each in elsewhere if each.id]
    for number, each in enumerate(messages):
        each.locations = [(f"moved/{len(messages) - number}.py", 0)]
    assert translations.written(elsewhere) == translations.written(there)


@pytest.mark.parametrize("locale", translations.SHIPPED)
@pytest.mark.long
def test_each_language_has_all_messages(locale):
    catalog = translations.updated(locale, translations.template())
    assert translations.missing(catalog) == []
    assert (translations.FOLDER / "glossary" / f"{locale}.md").is_file()


def test_sentences_of_python_and_mails_are_messages(written):
    messages = translations.template()
    for said in ("Please fill this in.", "Only %(n)s are left.", "This event is over."):
        assert said in messages
    assert any("templates/mail/" in path for each in messages for path, _ in each.locations)
    assert not any("console" in path for each in messages for path, _ in each.locations)


@pytest.mark.parametrize("locale", translations.SHIPPED)
@pytest.mark.long
def test_translations_have_the_placeholders_of_their_message(locale):
    wrong = []
    for each in translations.updated(locale, translations.template()):
        ids = [each.id] if isinstance(each.id, str) else each.id
        strings = [each.string] if isinstance(each.string, str) else each.string
        # The form for one thing may say "1" instead of the placeholder.
        most = {found for text in ids for found in _PLACEHOLDER.findall(text)}
        least = set.intersection(*({*_PLACEHOLDER.findall(text)} for text in ids))
        for text in filter(None, strings):
            if each.id and not least <= {*_PLACEHOLDER.findall(text)} <= most:
                wrong.append(text)
    assert wrong == []


ATTRIBUTES = {"ui.j2", "questions.html"}
"""Templates whose variables have parts of tags."""

NOT_WORDS = {"USDC", "wide", "paper", "quiet", "good", "warn", "note", "bad"}
"""The unit, and the classes of elements that a block or a variable names."""


@pytest.mark.parametrize("folder", ["mail", "pages"])
def test_templates_have_no_words_outside_messages(folder):
    environment = Environment(trim_blocks=True, lstrip_blocks=True)
    found = {}
    for path in sorted((translations.SERVICE / "templates" / folder).rglob("*.*")):
        words = set(not_marked(path.read_text(), environment)) - NOT_WORDS
        if words and path.name not in ATTRIBUTES:
            found[path.name] = words
    assert found == {}
