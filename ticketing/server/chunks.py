"""Bodies of unknown length, as they come in chunks (RFC 9112, 7.1)."""

import re

from gunicorn.http.errors import ChunkMissingTerminator, InvalidChunkExtension, InvalidChunkSize

from ticketing.constants import MAX_BODY_BYTES

MAX_CHUNKS = 4096
"""A chunk takes our loop some microseconds, even if it has one byte; nobody needs so many."""
_MAX_LINE = 1024
_MAX_TRAILERS = 100
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[\t\x20-\xff]*)?")
_TRAILER = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\xff]*")


class Chunks:
    """The body taken from what has been received so far."""

    def __init__(self) -> None:
        self.body = bytearray()
        self.length = 0
        """How long it is, as far as it has been announced."""
        self._left = 0
        """What is missing of the chunk that is being read."""
        self._after_data = False
        self._chunks = 0
        self._trailers: int | None = None

    def take(self, received: bytearray) -> bool:
        """Move what belongs to the body out of `received`; return whether the body ends there.

        What goes beyond MAX_BODY_BYTES is not waited for. ParseException for what is no chunk,
        and for more than MAX_CHUNKS.
        """
        while self.length <= MAX_BODY_BYTES:
            if self._left:
                piece = received[: self._left]
                del received[: len(piece)]
                self.body += piece
                self._left -= len(piece)
                if self._left:
                    return False
                self._after_data = True
            line = _line(received)
            if line is None:
                return False
            if self._after_data:
                if line:
                    raise ChunkMissingTerminator(line[:2])
                self._after_data = False
            elif self._trailers is not None:
                if not line:
                    return True
                self._trailers += 1
                if self._trailers > _MAX_TRAILERS or not _TRAILER.fullmatch(line):
                    raise InvalidChunkExtension("trailer")
            else:
                size = _SIZE.fullmatch(line)
                self._chunks += 1
                if not size or self._chunks > MAX_CHUNKS:
                    raise InvalidChunkSize(line[:20])
                self._left = int(size[1], 16)
                self.length += self._left
                if not self._left:
                    self._trailers = 0
        return True


def _line(received: bytearray) -> bytes | None:
    """Take one line out of what was received; None if its end is not here yet."""
    end = received.find(b"\r\n")
    if end > _MAX_LINE or (end < 0 and len(received) > _MAX_LINE + 1):
        raise InvalidChunkSize(b"line too long")
    if end < 0:
        return None
    line = bytes(received[:end])
    del received[: end + 2]
    return line
