"""A file that a response sends from the disk. It is not read into memory."""

import os
import socket

AT_ONCE_BYTES = 1024 * 1024
"""After so many bytes of a file, the loop continues with other clients."""
DISK_BYTES = 32
"""So many bytes on the disk count as one in memory."""
MOST_COUNTED = 8 * 1024 * 1024
"""One file must not count so much that all other connections are closed for it."""


class FilePart:
    """A part of an open file, which stays open until it is sent or dropped."""

    def __init__(self, descriptor: int, offset: int, left: int) -> None:
        self._descriptor = os.dup(descriptor)
        self._offset = offset
        self.left = left

    def __len__(self) -> int:
        """Return how much it counts against the memory limit: files on the disk are limited too."""
        return min(self.left // DISK_BYTES, MOST_COUNTED)

    def __del__(self) -> None:
        os.close(self._descriptor)

    def send(self, sock: socket.socket) -> None:
        """Send what the socket accepts without waiting. BlockingIOError, OSError."""
        count = min(self.left, AT_ONCE_BYTES)
        sent = os.sendfile(sock.fileno(), self._descriptor, self._offset, count)
        if not sent:
            raise OSError("the file has become shorter")
        self._offset += sent
        self.left -= sent
