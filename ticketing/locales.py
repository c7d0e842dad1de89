"""The languages of buyers' pages and of mails, and the one that is written at the moment."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from functools import cache
from gettext import GNUTranslations, NullTranslations
from pathlib import Path
from urllib.parse import parse_qsl


class Locale(StrEnum):
    """The codes of the languages (ISO 639-1)."""

    EN = "en"
    DE = "de"
    FR = "fr"
    ES = "es"
    IT = "it"
    NL = "nl"
    PT = "pt"
    PL = "pl"


LOCALES = {
    Locale.EN: "English",
    Locale.DE: "Deutsch",
    Locale.FR: "Français",
    Locale.ES: "Español",
    Locale.IT: "Italiano",
    Locale.NL: "Nederlands",
    Locale.PT: "Português",
    Locale.PL: "Polski",
}
"""Each language's own name for itself. Messages are written in the first."""

DEFAULT = next(iter(LOCALES))
FOLDER = Path(__file__).parent / "translations"
PARAMETER = "lang"
"""The parameter of a page's query with which a reader chooses a language."""

_current: ContextVar[str] = ContextVar("locale", default=DEFAULT)


def N_(text: str) -> str:
    """Mark a text for the catalogs where it is defined. It is translated where it is shown."""
    return text


def catalog(locale: str) -> Path:
    """Return where the translations of a language are. There is no file until all are done."""
    return FOLDER / locale / "LC_MESSAGES" / "messages.mo"


@cache
def offered() -> dict[Locale, str]:
    """Return the languages that pages speak: English, and each whose catalog is complete."""
    return {
        code: name for code, name in LOCALES.items() if code == DEFAULT or catalog(code).exists()
    }


def first(*wanted: str | None) -> str:
    """Return the first language that pages speak. English if there is none."""
    return next((each for each in wanted if each in offered()), DEFAULT)


def chosen(query: str) -> str | None:
    """Return the language that the query of a URL names. None if pages do not speak it."""
    if PARAMETER not in query:
        return None
    names = (value for name, value in parse_qsl(query) if name == PARAMETER)
    return next((each for each in names if each in offered()), None)


def current() -> str:
    """Return the language that is written at the moment: English outside of `speaking`."""
    return _current.get()


@contextmanager
def speaking(locale: str) -> Iterator[None]:
    """Let templates, times and amounts speak a language inside of a `with`, in this thread."""
    token = _current.set(locale)
    try:
        yield
    finally:
        _current.reset(token)


def gettext(message: str) -> str:
    """Return a message in the current language."""
    return _translations(current()).gettext(message)


def ngettext(one: str, many: str, n: int) -> str:
    """Return a message in the current language, in its form for `n` things."""
    return _translations(current()).ngettext(one, many, n)


@cache
def _translations(locale: str) -> NullTranslations:
    if locale == DEFAULT:
        return NullTranslations()
    with catalog(locale).open("rb") as file:
        return GNUTranslations(file)
