"""Kill -9 of migrations at any statement: `python -m tests.support.killed_migrations URL`.

A kill must not change the schema: a migration is applied completely or not at all.
"""

import os
import signal
import sys
from collections.abc import Callable
from itertools import count

from ticketing.db import migrate
from ticketing.db.connection import database, open_database

EVERY_OF_UPGRADE, EVERY_OF_DOWNGRADE = 11, 3
"""At which statements a kill is tried. An upgrade applies all, and begins again each time."""


def run(url: str, step: Callable[[], list[str]], number: int, what: int) -> None:
    """Migrate in this process, and send it a signal after `number` statements."""
    open_database(url)
    seen = count(1)

    def hook(_: object) -> None:
        if next(seen) == number:
            os.kill(os.getpid(), what)

    database.obj.query_hooks.append(hook)
    step()


def killed(url: str, step: Callable[[], list[str]], number: int) -> bool:
    """Kill a migrating process at this statement. Return False if it ended before."""
    pid = os.fork()
    if pid == 0:
        run(url, step, number, signal.SIGKILL)
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
    """Kill upgrades and downgrades at any statement. Print the number of kills."""
    kills = 0
    steps = [migrate.upgrade, *[migrate.downgrade] * len(list(migrate.DIRECTORY.glob("0*")))]
    for step in steps:
        before = schema(url)
        every = EVERY_OF_UPGRADE if step == migrate.upgrade else EVERY_OF_DOWNGRADE
        for number in count(1, every):
            if not killed(url, step, number):
                break
            assert schema(url) == before, f"{step.__name__}, statement {number}"
            kills += 1
        assert schema(url) != before
    sys.stdout.write(str(kills))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        run(sys.argv[1], migrate.upgrade, int(sys.argv[2]), signal.SIGSTOP)
    else:
        main(sys.argv[1])
