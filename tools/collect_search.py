"""For tools.collect: find the orders that hold something, with nothing but a recovery file."""

from __future__ import annotations

import json
import os
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from ticketing.chain import receivers
from tools.collect_files import OwnerWallet, Refused, read_json
from tools.collect_moving import LOOKED_UP_AT_ONCE, receiver

PROGRESS = 50_000
"""After so many addresses the progress is shown, and stored."""

_KIND = "ticketing-collect-state"

Held = Callable[[str, Sequence[str]], list[int]]
"""What addresses hold of a token, in atomic units: (token, addresses)."""


@dataclass
class Progress:
    """How far the search for one token has come. `found`: the indexes that held something."""

    next_index: int = 1
    found: array[int] = field(default_factory=lambda: array("Q"))

    @property
    def last_found(self) -> int:
        """The highest index that held something, else 0."""
        return self.found[-1] if self.found else 0


class State:
    """The progress of searches, in a file if there is a path. It has no secret."""

    def __init__(self, path: Path | None) -> None:
        """Continue the file, if it exists. Refused if it is another file."""
        self._path = path
        self._began = datetime.now(UTC).isoformat(timespec="seconds")
        self._searches: dict[str, Progress] = {}
        if path is not None and path.exists():
            stored = read_json(path)
            try:
                self._read(stored)
            except (ValueError, TypeError, KeyError, OverflowError):
                raise Refused(f"{path} is not the state of a search") from None
            print(f"{path}: the search of {self._began} goes on. Delete the file to begin again.")

    def progress(self, chain_id: int, wallet: OwnerWallet, token_address: str) -> Progress:
        """Return how far a search has come. `search` changes it as it goes on."""
        first = receiver(wallet, receivers.order_salt(wallet.secret or b"", 1))
        name = f"{chain_id} {first} {token_address}"
        return self._searches.setdefault(name, Progress())

    def save(self) -> None:
        """Write the file, so that it is always a whole one. Refused if it cannot be written."""
        if self._path is None:
            return
        searches = {
            name: {"next_index": each.next_index, "found": list(each.found)}
            for name, each in self._searches.items()
        }
        text = json.dumps({"kind": _KIND, "began": self._began, "searches": searches})
        new = self._path.with_name(f"{self._path.name}.new")
        try:
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._path)
        except OSError as error:
            raise Refused(f"cannot write {self._path}: {error.strerror}") from None

    def forget(self) -> None:
        """Delete the file: nothing is left to continue."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _read(self, stored: Any) -> None:
        if stored["kind"] != _KIND:
            raise ValueError("of another kind")
        self._began = datetime.fromisoformat(stored["began"]).isoformat(timespec="seconds")
        for name, each in stored["searches"].items():
            next_index, found = each["next_index"], array("Q", each["found"])
            if type(next_index) is not int or not 0 < next_index <= receivers.MOST_INDEX + 1:
                raise ValueError("a next_index is out of range")
            if any(one >= other for one, other in pairwise(found)):
                raise ValueError("indexes are not in their order")
            self._searches[name] = Progress(next_index, found)


def search(
    wallet: OwnerWallet, progress: Mapping[str, Progress], held: Held, gap: int, state: State
) -> None:
    """Look at a wallet's addresses until `gap` of them in a row hold none of the tokens.

    `progress` is by token, and is continued: only indexes are kept, not what they hold. The first
    `next_index` - 1 addresses of the wallet are looked at in any case. RpcError.

    Example: with a gap of 100, orders 80 and 160 hold money, and the file knows 5. The search ends
    after 260.
    """
    secret = wallet.secret or b""
    last = max(wallet.next_index - 1, *(each.last_found for each in progress.values()))

    def told() -> str:
        number = len(set().union(*(each.found for each in progress.values())))
        looked_at = min(each.next_index for each in progress.values()) - 1
        return f"{wallet.owner}: {looked_at} addresses, {number} hold something"

    try:
        while True:
            index = min(each.next_index for each in progress.values())
            end = min(last + gap, receivers.MOST_INDEX)
            if index > end:
                break
            # Another token may have been searched further, by a run before this one.
            ahead = [each.next_index for each in progress.values() if each.next_index > index]
            some = range(index, min(index + LOOKED_UP_AT_ONCE, end + 1, *ahead))
            addresses = [receiver(wallet, receivers.order_salt(secret, each)) for each in some]
            for token, each in progress.items():
                if each.next_index == index:
                    amounts = zip(some, held(token, addresses), strict=True)
                    each.found.extend(place for place, amount in amounts if amount)
                    last = max(last, each.last_found)
                    each.next_index = some.stop
            if (some.stop - 1) // PROGRESS > (index - 1) // PROGRESS:
                print(told(), flush=True)
                state.save()
    finally:
        state.save()
    print(told(), flush=True)


def windows(found: Iterable[Iterable[int]], wallet: OwnerWallet, gap: int) -> Iterator[range]:
    """Yield ranges of indexes, the highest first, in whose order the orders can be collected.

    If the program is stopped in any of them, a search finds what is left in it: the next lower
    order still holds something, or the file knows an index that is near enough.

    Example: with a gap of 100, orders 80 and 160 hold money, and the file knows 5. If 80 were
    collected first and the program then stopped, the next search would end after 104, and not find
    160. So the windows are 81 to 160, and 1 to 80.
    """
    indexes = sorted(set().union(*found))
    while indexes:
        nearest = max(indexes[-1] - gap, 0)
        if nearest <= wallet.next_index - 1:
            yield range(1, indexes[-1] + 1)
            return
        floor = min(bisect_left(indexes, nearest), len(indexes) - 2)
        below = indexes[floor] if floor >= 0 else 0
        yield range(below + 1, indexes[-1] + 1)
        del indexes[floor + 1 :]


def salts(wallet: OwnerWallet, found: array[int], window: range) -> Iterator[tuple[str, bytes]]:
    """Yield the names and salts of the orders of a window, the last one first."""
    first, end = bisect_left(found, window.start), bisect_right(found, window.stop - 1)
    for index in reversed(found[first:end]):
        yield f"order {index}", receivers.order_salt(wallet.secret or b"", index)
