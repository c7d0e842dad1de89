"""The time of a key's last use is stored once a minute at most, and never fails a request."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.factories import Api
from ticketing.db.connection import database
from ticketing.models.api_keys import ApiKey

pytestmark = pytest.mark.sql


class Writes:
    """Counts the writes of the open database in a block."""

    def __enter__(self):
        self.count, self._db = 0, database.obj
        execute_sql = self._db.execute_sql

        def counting(sql, *rest):
            self.count += sql.startswith(("UPDATE", "INSERT", "DELETE")) and "api_keys" in sql
            return execute_sql(sql, *rest)

        self._db.execute_sql = counting
        return self

    def __exit__(self, *_):
        del self._db.execute_sql


def test_many_uses_in_a_minute_are_one_write(acme, key, opens):
    for _ in range(3):
        with Writes() as writes:
            assert all(opens(key["key"]) for _ in range(10))
        assert writes.count == 1
        past = datetime.now(UTC) - timedelta(seconds=61)
        ApiKey.update(last_used_at=past).where(ApiKey.id == key["id"]).execute()
    ApiKey.update(last_used_at=datetime.now(UTC) - timedelta(seconds=30)).execute()
    with Writes() as writes:
        assert all(opens(key["key"]) for _ in range(10))
    assert writes.count == 0


def test_uses_by_many_threads_in_one_moment_are_one_write(acme, key):
    def use(_):
        try:
            headers = {"X-API-Key": key["key"]}
            answer = Api(acme.app.test_client(), headers).get(f"{acme.path}/events")
            return answer.status_code, ApiKey.get_by_id(key["id"]).last_used_at
        finally:
            database.close()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(use, range(24)))
    assert {status for status, _ in answers} == {200}
    assert len({noted for _, noted in answers}) == 1


def test_a_key_is_good_while_nothing_can_be_written_and_is_noted_afterwards(acme, key, opens):
    sqlite = acme.app.extensions["ticketing"].database_url.startswith("sqlite")
    read_only = "PRAGMA query_only = {}" if sqlite else "SET default_transaction_read_only = {}"
    noted = lambda: ApiKey.get_by_id(key["id"]).last_used_at  # noqa: E731
    db = database.obj
    connect = db.connect

    def connecting(*arguments, **options):
        connected = connect(*arguments, **options)
        db.execute_sql(read_only.format("on"))
        return connected

    db.connect = connecting
    database.close()
    try:
        assert opens(key["key"])
        assert noted() is None
    finally:
        del db.connect
        database.close()
    assert opens(key["key"])
    assert noted() is not None
