"""Kill -9 of a migration at any statement: `python -m tests.support.killed_migrations URL`.

A kill must not change the schema: a migration is applied completely or not at all.
"""

import os
import signal
import sys
from itertools import count

from ticketing.db import migrate
from ticketing.db.connection import database, open_database

EVERY = 8
"""A kill is tried at every so many statements. Each time the upgrade begins again."""


def run(url: str, number: int, what: int) -> None:
    """Migrate in this process, and send it a signal after `number` statements."""
    open_database(url)
    seen = count(1)

    def hook(_: object) -> None:
        if next(seen) == number:
            os.kill(os.getpid(), what)

    database.obj.query_hooks.append(hook)
    migrate.upgrade()


def killed(url: str, number: int) -> bool:
    """Kill a migrating process at this statement. Return False if it ended before."""
    pid = os.fork()
    if pid == 0:
        run(url, number, signal.SIGKILL)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert status in (0, signal.SIGKILL), status
    return status != 0


def schema(url: str) -> list[str]:
    """Return what the database consists of, and the pending migrations."""
    open_database(url)
    try:
        if url.startswith("sqlite"):
            found = database.execute_sql("SELECT sql FROM sqlite_master ORDER BY name")
        else:
            found = database.execute_sql(
                "SELECT table_name || '.' || column_name || ' ' || data_type"
                " FROM information_schema.columns WHERE table_schema = 'public'"
                " UNION SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1"
            )
        return [str(row) for row in found.fetchall()] + migrate.pending()
    finally:
        database.close()


def main(url: str) -> None:
    """Kill an upgrade at any statement. Print the number of kills."""
    kills, before = 0, schema(url)
    for number in count(1, EVERY):
        if not killed(url, number):
            break
        assert schema(url) == before, f"statement {number}"
        kills += 1
    assert schema(url) != before
    sys.stdout.write(str(kills))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        run(sys.argv[1], int(sys.argv[2]), signal.SIGSTOP)
    else:
        main(sys.argv[1])
