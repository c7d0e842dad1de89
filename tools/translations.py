"""Write the catalogs of buyers' pages and mails: extract the messages, update, compile.

Also the words of dates, which are Babel's. The service itself needs no Babel.

python -m tools.translations
"""

import json
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from babel import Locale
from babel.dates import parse_pattern
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from ticketing.locales import FOLDER, LOCALES, catalog

SERVICE = FOLDER.parent
DATES = FOLDER / "dates.json"
TEMPLATE = FOLDER / "messages.pot"
SHIPPED = list(LOCALES)[1:]
"""The languages with a catalog. Messages are written in the first of all, English."""

_OF_ORGANIZERS = (
    "member_",
    "message_written",
    "password_",
    "refunds_",
    "sale",
    "wallet_",
    "webhook_",
)
_JINJA = "jinja2.ext.babel_extract"
# The console stays English, and so do mails to people who work for the organizer.
_METHODS = [
    ("pages/console/**.py", "ignore"),
    ("pages/**.py", "python"),
    ("services/mail/**.py", "python"),
    ("templates/pages/**.*", _JINJA),
    *((f"templates/mail/{each}*", "ignore") for each in _OF_ORGANIZERS),
    ("templates/mail/**.*", _JINJA),
]
_OF_JINJA = {"trimmed": "true", "newstyle_gettext": "true", "silent": "false"}
_OPTIONS = {pattern: _OF_JINJA for pattern, method in _METHODS if method == _JINJA}
_ENGLISH_DATES = {"day": "EEEE, d MMMM y", "date": "d MMM y"}
"""English as most of Europe writes it. Babel's is that of the United States."""

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
    path = _po(locale)
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
    """Return a catalog as a file for translators, sorted by message.

    It has no locations, so moving a file changes no catalog.
    """
    file = BytesIO()
    write_po(file, catalog, width=100, sort_output=True, no_location=True)
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
        found = updated(locale, messages)
        made[_po(locale)] = written(found)
        if not missing(found):
            made[catalog(locale)] = compiled(found)
    made[DATES] = dates()
    return made


def dates() -> bytes:
    """Return how each language writes a date, as JSON."""
    words = {code: _dates(Locale.parse(code)) for code in LOCALES}
    return (json.dumps(words, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def _dates(of: Locale) -> dict[str, Any]:
    full, medium = of.date_formats["full"], of.datetime_skeletons["yMMMd"]
    patterns = {"day": full.pattern, "date": medium.pattern}
    if of.language == "en":
        patterns = _ENGLISH_DATES
    months, sheet = of.months["format"], of.months["stand-alone"]["abbreviated"]
    return {
        **{name: parse_pattern(pattern).format for name, pattern in patterns.items()},
        "weekdays": [of.days["format"]["wide"][day] for day in range(7)],
        "months": [months["wide"][month] for month in range(1, 13)],
        "short_months": [months["abbreviated"][month] for month in range(1, 13)],
        "sheet": [sheet[month].rstrip(".") for month in range(1, 13)],
        "decimal": of.number_symbols["latn"]["decimal"],
    }


def _po(locale: str) -> Path:
    return catalog(locale).with_suffix(".po")


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
    made = files()
    for path in FOLDER.rglob("*.mo"):
        if path not in made:
            path.unlink()
    for path, content in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    messages = template()
    for locale in SHIPPED:
        print(f"{locale}: {len(missing(updated(locale, messages)))} of {len(messages)} are missing")


if __name__ == "__main__":
    main()
