"""What is sought in the titles of events means itself, on both databases."""

import re

import psycopg
import pytest

from tests.support.apps import new_app
from tests.support.factories import new_organizer
from ticketing.db import migrate
from ticketing.db.connection import database

pytestmark = pytest.mark.sql

TITLES = (
    "100%",
    "100 percent",
    "a_b",
    "axb",
    "a\\b",
    "a/b",
    "🎟 x",
    "\u200f\u05e9\u05dc\u05d5",
    "Über",
    "ÜBER",
    "u\u0308ber",
    "İstanbul",
    "\u0131s\u0131",
    "STRASSE",
    "Straße",
    "\u03a3\u0391\u03a3",
    "\u03c3\u03b1\u03c2",
    "ǅ",
)
SOUGHT = (
    "%",
    "%%",
    "_",
    "\\",
    "\\\\",
    "\\%",
    "a_",
    "A_B",
    "🎟",
    "\u200f",
    "\u05dc",
    "x",
    "[a-z]",
    "*",
    "K",
    "ü",
    "Ü",
    "über",
    "u",
    "i",
    "I",
    "İ",
    "\u0131",
    "ss",
    "ß",
    "ǆ",
    "ǅ",
    "\u212a",
    "\u03c3",
    "\u03a3",
    "\u03c2",
)


def fold(text):
    """Return the text with ASCII letters in lower case: both databases can do that."""
    return re.sub("[A-Z]+", lambda match: match[0].lower(), text)


def check_search(organizer):
    for title in TITLES:
        organizer.event(title=title)
    admin = organizer.api()
    for sought in SOUGHT:
        query = {"q": sought, "limit": 100}
        page = admin.get(f"{organizer.path}/events", query_string=query)
        found = {event["title"] for event in page.json["data"]}
        assert found == {title for title in TITLES if fold(sought) in fold(title)}, sought


def test_what_is_sought_in_titles_means_itself(acme):
    check_search(acme)


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_what_is_sought_means_the_same_in_whatever_locale_postgres_is(environ, database_url):
    base, _, name = database_url.rpartition("/")
    with psycopg.connect(f"{base}/postgres", autocommit=True) as server:
        known = {row[0] for row in server.execute("SELECT collname FROM pg_collation")}
        locale = next((each for each in ("C.utf8", "en_US.utf8") if each in known), "C")
        server.execute(
            f"CREATE DATABASE {name}_folding TEMPLATE template0 ENCODING 'UTF8' LOCALE '{locale}'"
        )
    app = new_app({**environ, "DATABASE_URL": f"{database_url}_folding"})
    migrate.upgrade()
    check_search(new_organizer(app, "acme"))
    database.close()
