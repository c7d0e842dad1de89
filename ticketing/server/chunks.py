"""Parse request bodies with chunked transfer coding (RFC 9112, 7.1)."""

import re

from gunicorn.http.errors import ChunkMissingTerminator, InvalidChunkExtension, InvalidChunkSize

from ticketing.constants import MAX_BODY_BYTES

MAX_CHUNKS = 4096
"""Each chunk takes the loop some microseconds, even with one byte. No client needs so many."""
_MAX_LINE = 1024
_MAX_TRAILERS = 100
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[\t\x20-\xff]*)?")
_TRAILER = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\xff]*")


class Chunks:
    """The body from the chunks that were received so far."""

    def __init__(self, most: int = MAX_BODY_BYTES) -> None:
        """Prepare to read a body of `most` bytes or less."""
        self._most = most
        self.body = bytearray()
        self.length = 0
        """The length of the body: the sum of the announced chunk sizes."""
        self._left = 0
        """The number of missing bytes in the current chunk."""
        self._after_data = False
        self._chunks = 0
        self._trailers: int | None = None

    def take(self, received: bytearray) -> bool:
        """Move the body's bytes out of `received`. Return whether the body is complete.

        Reading stops beyond the limit. ParseException for an invalid chunk, and for more
        than MAX_CHUNKS.
        """
        while self.length <= self._most:
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
    """Remove one line from `received` and return it. None if the line is not complete."""
    end = received.find(b"\r\n")
    if end > _MAX_LINE or (end < 0 and len(received) > _MAX_LINE + 1):
        raise InvalidChunkSize(b"line too long")
    if end < 0:
        return None
    line = bytes(received[:end])
    del received[: end + 2]
    return line
