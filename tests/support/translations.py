"""A language in which every message is marked, to find text that cannot be translated."""

import re
from gettext import NullTranslations

from flask import Flask

_OF_PEOPLE = re.compile(
    r'<(bdi|time|code|script|title|svg)\b.*?</\1>|<option [^>]*translate="no".*?</option>|<!.*?>',
    re.DOTALL,
)
_BODY = re.compile(r"<body\b[^>]*>")
_TAG = re.compile(r"<[^>]*>")
_SAID = re.compile(r"\b(?:aria-label|alt|placeholder|title|data-say-[a-z-]+)=\"([^\"]*)\"")
_MARKED = re.compile(r"⟦[^⟦⟧]*⟧")
_AMOUNT = re.compile(r"[\d.]+ USDC")
_WORD = re.compile(r"[A-Za-z]{2,}")


class Marking(NullTranslations):
    """Puts each message between ⟦ and ⟧."""

    def gettext(self, message):
        return f"⟦{message}⟧"

    def ngettext(self, one, many, n):
        return f"⟦{one if n == 1 else many}⟧"


def mark(app: Flask):
    """Let an application's pages speak that language."""
    app.jinja_env.install_gettext_translations(Marking(), newstyle=True)


def not_translated(page: str) -> list[str]:
    """Return the words of a page that are no message, and that no person wrote.

    People's text is in <bdi>, or in <option translate="no">, times are in <time>, addresses and
    hashes in <code>.
    """
    body = _BODY.split(page, maxsplit=1)[1]
    said = " ".join(_SAID.findall(body))
    text = _TAG.sub(" ", _OF_PEOPLE.sub(" ", body)) + said
    while _MARKED.search(text):
        text = _MARKED.sub(" ", text)
    return _WORD.findall(_AMOUNT.sub(" ", text))
