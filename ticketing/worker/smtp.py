"""A connection to the mail server, with bounds on time and size.

smtplib limits single operations. A server that sends one byte every nine seconds stays within that
limit, so here all operations of a mail have a deadline together.

SmtpError
├── Refused        the server has answered about this mail: the others may go on
├── Interrupted    the connection broke in the middle of this mail
└── Unusable       the server cannot be used for any mail
"""

from __future__ import annotations

import smtplib
import socket
import ssl
import time
from typing import Any

from ticketing.config import Smtp

OPERATION_SECONDS = 10.0
"""The time limit for one operation of the socket."""

MAIL_SECONDS = 30.0
"""The time limit for a complete mail, and for connecting and signing in."""

_MOST_BYTES = 64 * 1024
"""How much the server may answer within MAIL_SECONDS."""

_CHUNK = 4096
_TOO_LARGE, _CLOSING = 552, 421
_NOT_SIGNED_IN = {530, 534, 535, 538}


class SmtpError(Exception):
    """A mail could not be sent."""


class Refused(SmtpError):
    """The server refuses the recipient or the message. `code` 4xx: for now, 5xx: for ever."""

    def __init__(self, code: int, text: str) -> None:
        self.code = code
        self.text = text
        super().__init__(str(code))


class Interrupted(SmtpError):
    """The connection broke while a mail was being sent. The server may have accepted the mail."""


class Unusable(SmtpError):
    """No connection, no TLS, no sign-in, or the sender is refused."""


class Connection:
    """A connection that is ready for mails."""

    def __init__(self, server: Smtp, hostname: str) -> None:
        """Connect, start TLS and sign in. `hostname` is ours, for EHLO. Unusable."""
        self._server = server
        self._client: _Client | None = None
        try:
            self._client = _Client(server, hostname)
            self._prepare(self._client)
        except (OSError, ValueError) as error:
            self.close()
            raise Unusable(_name(error)) from None
        except Unusable:
            self.close()
            raise

    @property
    def is_open(self) -> bool:
        """Whether another mail can be sent."""
        return self._client is not None

    def send(self, recipient: str, message: bytes) -> None:
        """Send one mail. Refused, Interrupted, Unusable.

        After Interrupted and Unusable, the connection is closed.
        """
        try:
            self._send(recipient, message)
        except (Interrupted, Unusable):
            self.close()
            raise

    def close(self) -> None:
        """End the connection, without waiting for an answer."""
        if self._client is not None:
            self._client.leave()
            self._client = None

    def _prepare(self, client: _Client) -> None:
        server = self._server
        client.ehlo_or_helo_if_needed()
        if not (server.is_tls or server.is_loopback):
            if not client.has_extn("starttls"):
                raise Unusable("the server has no STARTTLS")
            client.starttls(context=ssl.create_default_context())
        if server.user is not None and server.password is not None:
            client.login(server.user, server.password)

    def _send(self, recipient: str, message: bytes) -> None:
        if self._client is None:
            raise Unusable("not connected")
        self._client.begin()
        try:
            code, text = self._answer(self._client, recipient, message)
        except (OSError, ValueError) as error:
            raise Interrupted(_name(error)) from None
        if code is None:
            return
        if code in _NOT_SIGNED_IN:
            raise Unusable(str(code))
        if code == _CLOSING or not 400 <= code < 600:
            raise Interrupted(str(code))
        self._forget_mail()
        raise Refused(code, text.decode(errors="replace"))

    def _forget_mail(self) -> None:
        """Prepare the connection for the next mail, or close it if that fails."""
        try:
            if self._client is not None:
                self._client.rset()
        except (OSError, ValueError):
            self.close()

    def _answer(self, client: _Client, recipient: str, message: bytes) -> tuple[int | None, bytes]:
        """Send a mail. Return the server's refusal, or None as its code."""
        try:
            client.sendmail(self._server.sender, [recipient], message)
        except smtplib.SMTPSenderRefused as error:
            if error.smtp_code == _TOO_LARGE:
                return error.smtp_code, _bytes(error.smtp_error)
            raise Unusable(f"MAIL FROM: {error.smtp_code}") from None
        except smtplib.SMTPRecipientsRefused as error:
            ((code, text),) = error.recipients.values()
            return code, text
        except smtplib.SMTPDataError as error:
            return error.smtp_code, _bytes(error.smtp_error)
        return None, b""


class _Client(smtplib.SMTP):
    """smtplib's client. All operations since `begin` have one deadline."""

    def __init__(self, server: Smtp, hostname: str) -> None:
        self._is_tls = server.is_tls
        self.begin()
        super().__init__(server.host, server.port, hostname, OPERATION_SECONDS)

    def begin(self) -> None:
        """Begin a new mail: the time and the size of answers are counted from here."""
        self._deadline = time.monotonic() + MAIL_SECONDS
        self._bytes = 0

    def connect(self, host: str = "", port: int = 0, source_address: Any = None) -> Any:
        """Connect, with TLS from the first byte if the server has smtps. Return its greeting."""
        self.sock = socket.create_connection((host, port), OPERATION_SECONDS)
        if self._is_tls:
            context = ssl.create_default_context()
            self.sock = context.wrap_socket(self.sock, server_hostname=host)
        return self.getreply()

    def getreply(self) -> tuple[int, bytes]:
        """Read one answer."""
        if self.file is None:
            self.file = _Lines(self)
        return super().getreply()

    def send(self, s: Any) -> None:
        """Send a command or a message."""
        if self.sock is not None:
            self.sock.settimeout(self._seconds_left())
        super().send(s)

    def receive(self) -> bytes:
        """Return the next bytes of the server. Empty at the end. TimeoutError, OSError."""
        if self.sock is None:
            return b""
        self.sock.settimeout(self._seconds_left())
        data = self.sock.recv(_CHUNK)
        self._bytes += len(data)
        if self._bytes > _MOST_BYTES:
            raise OSError("the server's answers are too large")
        return data

    def leave(self) -> None:
        """Say goodbye and close, without waiting for an answer."""
        try:
            if self.sock is not None:
                self.putcmd("quit")
        except OSError:
            pass  # it is closed already
        finally:
            self.close()

    def _seconds_left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the mail took too long")
        return min(left, OPERATION_SECONDS)


class _Lines:
    """The file of answers that smtplib reads, line by line."""

    def __init__(self, client: _Client) -> None:
        self._client = client
        self._rest = b""

    def readline(self, limit: int) -> bytes:
        """Return a line of at most `limit` bytes. Empty at the end of the connection."""
        while b"\n" not in self._rest and len(self._rest) < limit:
            data = self._client.receive()
            if not data:
                break
            self._rest += data
        end = self._rest.find(b"\n") + 1 or len(self._rest)
        line, self._rest = self._rest[: min(end, limit)], self._rest[min(end, limit) :]
        return line

    def close(self) -> None:
        """Forget what was read."""
        self._rest = b""


def _bytes(text: bytes | str) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _name(error: BaseException) -> str:
    """Return what failed, without what the server has said: that may name people."""
    if isinstance(error, smtplib.SMTPResponseException):
        return str(error.smtp_code)
    return type(error).__name__
