"""Applications for tests. They are built once, because that takes a tenth of a second."""

from collections.abc import Mapping

from flask import Flask

from ticketing.application import build, configure
from ticketing.config import load

_built: list[Flask] = []
_in_use: list[Flask] = []


def new_app(environ: Mapping[str, str]) -> Flask:
    """Return an application that knows nothing of others, as in another process.

    It is this test's until its end. Tests that change more than its configuration build their own.
    """
    app = _built.pop() if _built else build()
    _in_use.append(app)
    configure(app, load(environ))
    return app


def give_back() -> None:
    """Let the next test use the applications of this one."""
    _built.extend(_in_use)
    _in_use.clear()
