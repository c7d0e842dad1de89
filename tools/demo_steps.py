"""For tools.demo: one step is a request that is printed, and a response that is checked."""

import json
import re
import time
from typing import Any

from tools.json_client import Answer, Client
from tools.stack import Stack

_LONG = 150
"""A string longer than this is a JWT."""


class NotAsSpecified(Exception):
    """The result of a step is not as specified."""


class Demo:
    """Runs the steps, prints each, and checks the responses."""

    def __init__(self, stack: Stack) -> None:
        self.client = Client(stack.url)

    def step(
        self,
        what: str,
        method: str,
        path: str,
        body: Any = None,
        *,
        credential: str | None = None,
        expect: int,
        show: tuple[str, ...],
        **fields: Any,
    ) -> Any:
        """Send one request, check the response, and return its JSON.

        If the status is as expected, only the fields in `show` are printed.
        """
        headers = {"Authorization": f"Bearer {credential}"} if credential else {}
        start = time.monotonic()
        answer = self.client.send(method, path, body, headers)
        seconds = time.monotonic() - start
        shown = show if answer.status == expect else None
        self.print_step(what, f"{method} {path}", body, answer, seconds, shown)
        require(answer.status == expect, f"{what}: {answer.status}, not {expect}")
        for name, value in fields.items():
            got = answer.json.get(name)
            require(got == value, f"{what}: {name} is {got!r}, not {value!r}")
        return answer.json

    def print_step(
        self,
        what: str,
        request: str,
        body: Any,
        answer: Answer,
        seconds: float,
        shown: tuple[str, ...] | None,
    ) -> None:
        """Print a request and the fields `shown` of its response. None: all fields."""
        print(f"\n{what}\n  > {request}")
        if body is not None:
            print(f"  > {_short(body)}")
        fields = _short(answer.json if shown is None else _picked(answer.json, shown))
        print(f"  < {answer.status} in {seconds * 1000:.0f} ms {fields}", flush=True)


def require(holds: bool, otherwise: str) -> None:
    """Raise NotAsSpecified if `holds` is false."""
    if not holds:
        raise NotAsSpecified(otherwise)


def _picked(answer: Any, names: tuple[str, ...]) -> Any:
    """Return these fields of a resource, or of each item of a list."""
    if "data" in answer:
        return {"data": [_picked(each, names) for each in answer["data"]]}
    return {name: answer.get(name) for name in names}


def _short(body: Any) -> str:
    return re.sub(rf'"([^"]{{40}})[^"]{{{_LONG - 40},}}"', r'"\1..."', json.dumps(body))
