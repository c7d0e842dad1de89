"""One client's connection, with buffers for the incoming request and the outgoing response.

The body of an upload is too large for a buffer. So the application is asked by the head alone
whether it accepts the body, and then the body goes to a file.
"""

import re
import socket
import tempfile
import time
from functools import partial
from typing import IO, Any

from gunicorn.http.body import Body, ChunkedReader, LengthReader
from gunicorn.http.errors import (
    InvalidHeader,
    LimitRequestHeaders,
    LimitRequestLine,
    UnsupportedTransferCoding,
)
from gunicorn.http.message import Request
from gunicorn.http.unreader import IterUnreader

from ticketing.bodies import is_upload, max_body_bytes
from ticketing.constants import MAX_BODY_BYTES
from ticketing.server.chunks import Chunks
from ticketing.server.files import FilePart

MAX_HEAD_BYTES = 32 * 1024
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_HEAD_END = b"\r\n\r\n"
_BARE_LF = re.compile(rb"(?<!\r)\n")
_FRAMING = ("TRANSFER-ENCODING", "TRAILER")
_PIECES = 64
_FILE_PIECE_BYTES = 64 * 1024


class Outbox:
    """A buffer that gunicorn uses as the socket when it writes a response."""

    def __init__(self) -> None:
        self.pieces: list[bytes | FilePart] = []
        self.is_head = False
        """Whether the application gets the head of an upload only, to accept its body or not."""
        self.accepts_body = False
        self.uploader = ""
        """Who sends the upload whose body is accepted."""
        self.waited = 0.0
        """For how many seconds the request waited for a thread."""

    def accept_body(self, uploader: str) -> None:
        """Accept the body of an upload. What the application answers is not sent."""
        self.accepts_body, self.uploader = True, uploader

    def sendall(self, data: bytes) -> None:
        """Add data to the buffer."""
        if data:
            self.pieces.append(data)

    def sendfile(self, file: IO[bytes], offset: int, count: int) -> None:
        """Add a part of a file. gunicorn closes `file` before it is sent."""
        self.pieces.append(FilePart(file.fileno(), offset, count))

    def shutdown(self, how: int) -> None:
        """Raise an error: the loop closes the connection, not gunicorn."""
        raise OSError

    def close(self) -> None:
        """Do nothing: the loop closes the connection."""


class Connection:
    """A non-blocking socket, with the request that is being read from it.

    `sock`, `client` and `server` are gunicorn's names.
    """

    def __init__(self, sock: socket.socket, client: Any, server: Any) -> None:
        self.socket = sock
        self.sock = Outbox()
        self.client = client
        self.server = server
        self.deadline = 0.0
        self.queued_at = 0.0
        """When its request started to wait for a thread (time.monotonic)."""
        self.size = 0
        """Its number of bytes in memory at the last count."""
        self.keep = True
        """Whether another request may follow."""
        self.kept = False
        """Whether it has received a response and has been silent since."""
        self.lingering = False
        """Whether our half is closed, while the client may still be sending."""
        self.is_closed = False
        self.unsent: list[bytes | memoryview | FilePart] = []
        self.received = bytearray()
        self._file: IO[bytes] | None = None
        self._upload_began_at = 0.0
        self.begin()

    def begin(self) -> None:
        """Prepare for the next request. Bytes of it that have arrived stay in the buffer."""
        self.request: Any = None
        self.forget_file()
        self.sock.is_head = self.sock.accepts_body = False
        self._expects_continue = False
        self._searched = 0
        self._chunks: Chunks | None = None
        self._length = 0
        self._most = MAX_BODY_BYTES

    @property
    def is_idle(self) -> bool:
        """Whether no byte of a request has arrived."""
        return self.request is None and not self.received

    @property
    def held(self) -> int:
        """Its number of bytes in memory."""
        body = len(self._chunks.body) if self._chunks else 0
        return len(self.received) + body + sum(map(len, self.unsent))

    @property
    def file_bytes(self) -> int:
        """How many bytes of files are left to send."""
        return sum(piece.left for piece in self.unsent if isinstance(piece, FilePart))

    def peer_is_gone(self) -> bool:
        """Whether the client has closed the connection, or its half of it."""
        try:
            return self.socket.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def is_slower_than(self, least_bytes: float, seconds: float, now: float) -> bool:
        """Whether an upload that began `seconds` ago has come with fewer bytes a second."""
        passed = now - self._upload_began_at
        come = 0 if self._file is None else self._file.tell()
        return passed > seconds and come < least_bytes * passed

    def begin_file(self) -> None:
        """Read the body of an upload into a file, now that the application accepts it. OSError."""
        self.sock.pieces.clear()
        self.sock.is_head = self.sock.accepts_body = False
        self._upload_began_at = time.monotonic()
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (`forget_file` closes it)
        if self._expects_continue and not self.received:
            self.unsent.append(_CONTINUE)

    def forget_file(self) -> None:
        """Delete the file with the body of an upload."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def is_whole(self, cfg: Any) -> bool:
        """Parse the received bytes. Return whether `request` is complete, with its body.

        The head of an upload is complete without its body: `sock.is_head`. ParseException or
        NoMoreData for invalid HTTP. OSError if the file cannot be written.
        """
        if self.request is None:
            head = self._head()
            if head is None:
                return False
            self.request = Request(cfg, IterUnreader([head]), self.client)
            self._expect_body()
            if self.sock.is_head:
                self.request.body = Body(LengthReader(IterUnreader([]), 0))
                self.request.force_close()  # most of the body may never be read
                return True
        if self._file is not None:
            return self._is_file_whole(self._file)
        if self._chunks is not None:
            if not self._chunks.take(self.received):
                return False
            self._end_chunks(self._chunks)
            body = bytes(self._chunks.body)
        elif self._length > self._most:
            body = b""
        elif len(self.received) < self._length:
            return False
        else:
            body = bytes(self.received[: self._length])
            del self.received[: self._length]
        if self._length > self._most:
            self.request.force_close()  # the application rejects it because of its length
        self.request.body = Body(LengthReader(IterUnreader([body]), len(body)))
        return True

    def _is_file_whole(self, file: IO[bytes]) -> bool:
        """Move the received bytes of the body to the file. Return whether that is all of it."""
        if self._chunks is not None:
            is_whole = self._chunks.take(self.received)
            file.write(self._chunks.body)
            self._chunks.body.clear()
            if is_whole:
                self._end_chunks(self._chunks)
        else:
            piece = self.received[: self._length - file.tell()]
            del self.received[: len(piece)]
            file.write(piece)
            is_whole = file.tell() == self._length
        if is_whole:
            length = file.tell()
            file.seek(0)
            pieces = iter(partial(file.read, _FILE_PIECE_BYTES), b"")
            self.request.body = Body(LengthReader(IterUnreader(pieces), length))
        return is_whole

    def _end_chunks(self, chunks: Chunks) -> None:
        """Handle the request like any other: the length of its body is known now."""
        self._length = chunks.length
        kept = [(name, value) for name, value in self.request.headers if name not in _FRAMING]
        self.request.headers = [*kept, ("CONTENT-LENGTH", str(self._length))]

    def flush(self) -> bool:
        """Send what the socket accepts without waiting. Return whether all is sent. OSError."""
        while self.unsent:
            first = self.unsent[0]
            try:
                if isinstance(first, FilePart):
                    first.send(self.socket)
                    if first.left:
                        return False
                    self.unsent.pop(0)
                else:
                    self._flush_memory()
            except BlockingIOError:
                return False
        return True

    def _flush_memory(self) -> None:
        """Send pieces up to the next part of a file."""
        pieces: list[bytes | memoryview] = []
        for piece in self.unsent[:_PIECES]:
            if isinstance(piece, FilePart):
                break
            pieces.append(piece)
        sent = self.socket.sendmsg(pieces)
        for part in pieces:
            if sent < len(part):
                self.unsent[0] = memoryview(part)[sent:]
                break
            sent -= len(self.unsent.pop(0))

    def _head(self) -> bytes | None:
        """Remove the head from the received bytes and return it. None if it is not complete."""
        end = self.received.find(_HEAD_END, max(0, self._searched - len(_HEAD_END)))
        if end < 0:
            if len(self.received) > MAX_HEAD_BYTES:
                raise _too_long(self.received)
            # A bare LF: the head never ends with CRLF CRLF. Let the parser reject it now.
            end = len(self.received) if _BARE_LF.search(self.received, self._searched) else -1
            self._searched = len(self.received)
        elif end > MAX_HEAD_BYTES:
            raise _too_long(self.received)
        if end < 0:
            return None
        head = bytes(self.received[: end + len(_HEAD_END)])
        del self.received[: end + len(_HEAD_END)]
        return head

    def _expect_body(self) -> None:
        request = self.request
        self._most = max_body_bytes(request.path or "")
        if request.version >= (1, 1) and not any(name == "HOST" for name, _ in request.headers):
            raise InvalidHeader("HOST")  # RFC 9112, 3.2
        if isinstance(request.body.reader, ChunkedReader):
            codings = [value for name, value in request.headers if name == "TRANSFER-ENCODING"]
            if [coding.lower() for coding in codings] != ["chunked"]:
                raise UnsupportedTransferCoding(codings)
            self._chunks = Chunks(self._most)
        else:
            self._length = request.body.reader.length
        has_body = self._chunks is not None or 0 < self._length <= self._most
        self.sock.is_head = has_body and is_upload(request.path or "")
        self._expects_continue = request._expected_100_continue
        request._expected_100_continue = False  # gunicorn would send it after the body
        if self._expects_continue and has_body and not self.received and not self.sock.is_head:
            self.unsent.append(_CONTINUE)


def _too_long(received: bytearray) -> Exception:
    if received.find(b"\r\n", 0, MAX_HEAD_BYTES) < 0:
        return LimitRequestLine(len(received), MAX_HEAD_BYTES)
    return LimitRequestHeaders("head")
