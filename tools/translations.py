"""Write the catalogs of buyers' pages and mails: extract the messages, update, compile.

python -m tools.translations
"""

from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from ticketing.locales import LOCALES

SERVICE = Path(__file__).parent.parent / "ticketing"
FOLDER = SERVICE / "translations"
TEMPLATE = FOLDER / "messages.pot"
SHIPPED = list(LOCALES)[1:]
"""The languages with a catalog. Messages are written in the first of all, English."""

_JINJA = "jinja2.ext.babel_extract"
# The console stays English, so it is in no catalog.
_METHODS = [
    ("pages/console/**.py", "ignore"),
    ("pages/**.py", "python"),
    ("services/mail/**.py", "python"),
    ("templates/pages/**.*", _JINJA),
    ("templates/mail/**.*", _JINJA),
]
_OF_JINJA = {"trimmed": "true", "newstyle_gettext": "true", "silent": "false"}
_OPTIONS = {pattern: _OF_JINJA for pattern, method in _METHODS if method == _JINJA}
_KEYWORDS = {"_": None, "gettext": None, "ngettext": (1, 2), "N_": None, "Sentence": (1,)}
_NO_DATE = datetime(1970, 1, 1, tzinfo=UTC)
"""A catalog changes with its messages only."""


def template() -> Catalog:
    """Return a catalog of all messages, without translations."""
    found = _catalog(None)
    messages = extract_from_dir(SERVICE, _METHODS, _OPTIONS, _KEYWORDS)
    for path, _, message, comments, context in messages:
        found.add(message, locations=[(path, 0)], auto_comments=comments, context=context)
    return found


def updated(locale: str, messages: Catalog) -> Catalog:
    """Return a language's catalog: the messages, with those translations that it has already."""
    made = _catalog(locale)
    path = _path(locale, "po")
    if path.exists():
        with path.open("rb") as file:
            for each in read_po(file, locale=locale):
                if each.id:
                    made[each.id] = each
    made.update(messages, no_fuzzy_matching=True, update_creation_date=False)
    made.obsolete.clear()
    return made


def missing(catalog: Catalog) -> list[str]:
    """Return the messages that a catalog does not translate, or not surely."""
    found = []
    for each in catalog:
        forms = each.string if isinstance(each.string, list | tuple) else [each.string]
        if each.id and (each.fuzzy or not all(forms)):
            found.append(str(each.id))
    return found


def written(catalog: Catalog) -> bytes:
    """Return a catalog as a file for translators, in the order of the files with the messages."""
    file = BytesIO()
    write_po(file, catalog, width=100, sort_by_file=True, include_lineno=False)
    return file.getvalue()


def compiled(catalog: Catalog) -> bytes:
    """Return a catalog as gettext reads it."""
    file = BytesIO()
    write_mo(file, catalog)
    return file.getvalue()


def files() -> dict[Path, bytes]:
    """Return what each file of the catalogs has to contain. Only complete ones are compiled."""
    messages = template()
    made = {TEMPLATE: written(messages)}
    for locale in SHIPPED:
        catalog = updated(locale, messages)
        made[_path(locale, "po")] = written(catalog)
        if not missing(catalog):
            made[_path(locale, "mo")] = compiled(catalog)
    return made


def _path(locale: str, kind: str) -> Path:
    return FOLDER / locale / "LC_MESSAGES" / f"messages.{kind}"


def _catalog(locale: str | None) -> Catalog:
    return Catalog(
        locale,
        header_comment="# The words of buyers' pages and mails. `make translations` updates this.",
        project="ticketing",
        version="1",
        msgid_bugs_address="",
        last_translator="",
        language_team="",
        creation_date=_NO_DATE,
        revision_date=_NO_DATE,
        fuzzy=False,
    )


def main() -> None:
    """Write the files, and say how much of each language is missing."""
    for path, content in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    messages = template()
    for locale in SHIPPED:
        print(f"{locale}: {len(missing(updated(locale, messages)))} of {len(messages)} are missing")


if __name__ == "__main__":
    main()
