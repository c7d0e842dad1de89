"""A language in which every message is marked, to find text that cannot be translated."""

import re
from gettext import NullTranslations

from babel.messages.catalog import Catalog
from flask import Flask
from jinja2 import Environment

_OF_PEOPLE = re.compile(
    r'<(bdi|time|code|script|title|svg)\b.*?</\1>|<option [^>]*translate="no".*?</option>'
    r"|<a [^>]*hreflang=.*?</a>|<!.*?>",
    re.DOTALL,
)
_NOT_SHOWN = re.compile(r"<(style|script|title|svg)\b.*?</\1>|<!.*?>", re.DOTALL)
_BODY = re.compile(r"<body\b[^>]*>")
_TAG = re.compile(r"<[^>]*>")
_SAID = re.compile(r"\b(?:aria-label|alt|placeholder|title|data-say-[a-z-]+)=\"([^\"]*)\"")
_MARKED = re.compile(r"⟦[^⟦⟧]*⟧")
_AMOUNT = re.compile(r"[\d.]+\s+USDC")
_WORD = re.compile(r"[A-Za-z]{2,}")


class Marking(NullTranslations):
    """Puts each message between ⟦ and ⟧. With a catalog, only those that are in it."""

    def __init__(self, catalog: Catalog | None = None):
        super().__init__()
        self.catalog = catalog

    def gettext(self, message):
        is_known = self.catalog is None or message in self.catalog
        return f"⟦{message}⟧" if is_known else message

    def ngettext(self, one, many, n):
        is_known = self.catalog is None or (one, many) in self.catalog
        message = one if n == 1 else many
        return f"⟦{message}⟧" if is_known else message


def mark(app: Flask, catalog: Catalog | None = None):
    """Let an application's pages speak that language."""
    app.jinja_env.install_gettext_translations(Marking(catalog), newstyle=True)


def not_marked(template: str, environment: Environment) -> list[str]:
    """Return the words of a template that are in no `{% trans %}` and in no expression."""
    found, is_message, words_before = [], False, ""
    for _, kind, value in environment.lex(template):
        if kind == "name" and words_before == "block_begin":
            is_message = value == "trans" or (is_message and value != "endtrans")
        if kind == "data" and not is_message:
            found.append(value)
        if kind != "whitespace":
            words_before = kind
    text = _NOT_SHOWN.sub(" ", "\0".join(found))
    return _WORD.findall(_TAG.sub(" ", text))


def not_translated(page: str) -> list[str]:
    """Return the words of a page that are no message, and that no person wrote.

    People's text is in <bdi>, or in <option translate="no">, times are in <time>, addresses and
    hashes in <code>. A link with `hreflang` has a language's own name.
    """
    body = _BODY.split(page, maxsplit=1)[1]
    said = " ".join(_SAID.findall(body))
    text = _TAG.sub(" ", _OF_PEOPLE.sub(" ", body)) + said
    while _MARKED.search(text):
        text = _MARKED.sub(" ", text)
    return _WORD.findall(_AMOUNT.sub(" ", text))
