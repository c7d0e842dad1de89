"""Interrupts the service at any point: with a kill, a lost connection, or a race."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from peewee import OperationalError

from ticketing.db.connection import database


class Killed(BaseException):
    """The process was killed. The service's own handlers cannot catch it."""


class Tripwire:
    """Counts questions to the node and statements of the database, and interrupts at one of them.

    A kill happens anywhere, also before and after a COMMIT. After it, nothing of the killed code
    gets through. Other events happen between transactions.
    """

    def __init__(self) -> None:
        self._left = 0
        self._event: Callable[[], object] | None = None
        self._ends_in: type[BaseException] | None = None
        self.dead: BaseException | None = None
        self.points = 0

    def watch_database(self) -> None:
        """Count every statement of the open database."""
        db = database.obj
        execute_sql, commit = db.execute_sql, db.commit

        def passing(*arguments: Any) -> Any:
            self.passed()
            return execute_sql(*arguments)

        def committing() -> None:
            self.passed(between=False)
            commit()
            self.passed()

        db.execute_sql, db.commit = passing, committing

    @contextmanager
    def armed(
        self, point: int, event: Callable[[], object], ends_in: type[BaseException] | None
    ) -> Iterator[None]:
        """Interrupt at the point with this number, from 1: run `event`, or raise an error."""
        self._left, self._event, self._ends_in = point, event, ends_in
        try:
            yield
        except (Killed, OperationalError):
            if self.dead is None:
                raise
        finally:
            self._disarm()
            if self.dead is not None:
                self.dead = None
                database.close()

    def passed(self, *, between: bool = True) -> None:
        """Interrupt here, if this is the point. Only a kill does not wait for `between`."""
        self.points += 1
        if self.dead is not None:
            raise self.dead
        if self._left == 0:
            return
        self._left -= 1
        if self._left > 0:
            return
        event, ends_in = self._event, self._ends_in
        if ends_in is not None:
            self._disarm()
            self.dead = ends_in("in the middle")
            raise self.dead
        if database.in_transaction() or not between:
            self._left = 1
        else:
            assert event is not None
            self._disarm()
            event()

    def _disarm(self) -> None:
        self._left, self._event, self._ends_in = 0, None, None
