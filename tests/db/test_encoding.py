"""A database that stores bytes instead of text is refused before anything is in it."""

import psycopg
import pytest

from tests.support.processes import variables_of
from tools.stack import Stack, StackFailed

pytestmark = pytest.mark.long

_MAKE = "CREATE DATABASE bytes TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'"


def test_a_database_without_an_encoding_is_refused(postgres):
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS bytes")
        connection.execute(_MAKE)
    url = f"{postgres.url.rsplit('/', 1)[0]}/bytes"
    with pytest.raises(StackFailed, match="the encoding SQL_ASCII: create it with UTF8"):
        Stack(variables_of(url)).flask("db", "upgrade")
