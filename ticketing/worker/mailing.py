"""Send mails: plan them from the feed, then send what is due over one connection.

Trouble with the server lets all mails wait, and counts for none of them. A mail in whose middle the
connection breaks waits by itself, so that it cannot hold up the others.

smtplib limits single operations. A server that sends one byte every nine seconds stays within that
limit, so here all answers to a mail have a deadline together.

SmtpError
├── Refused        the server has answered about this mail: the others may go on
├── Interrupted    the connection broke in the middle of this mail
└── Unusable       the server cannot be used for any mail
"""

from __future__ import annotations

import io
import logging
import smtplib
import socket
import ssl
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import timedelta

from ticketing.backoff import Backoff
from ticketing.config import Config, Smtp
from ticketing.db.connection import UNAVAILABLE
from ticketing.models.notifications import Mail
from ticketing.notification_types import ASKED_BY_ANYBODY, MailKind
from ticketing.services.leases import LeaseHolder
from ticketing.services.mail import (
    budgets,
    daily_bound,
    messages,
    parts,
    planning,
    recipients,
    reminders,
    sale_mails,
    texts,
)
from ticketing.services.mail.budgets import Budget
from ticketing.services.mail.daily_bound import Today
from ticketing.services.mail.plain_text import plain
from ticketing.services.notifications import mail_queue
from ticketing.services.orders import accounts

LEASE = "mails"

_BACKOFF = Backoff((timedelta(seconds=5), timedelta(seconds=15), timedelta(seconds=60)))
"""How long to wait after the server was unusable."""

_WHILE_UNPAID = (
    MailKind.ORDER_PLACED,
    MailKind.PART_ARRIVED,
    MailKind.WAITING_LIST_OFFER,
    MailKind.WAITING_LIST_REMINDER,
)
_MOST_ERROR = 200
_INTERRUPTIONS = 2
"""After so many mails in a row, the trouble is the server's."""

OPERATION_SECONDS = 10.0
"""The time limit for one operation of the socket."""

MAIL_SECONDS = 30.0
"""The time limit for a complete mail, for connecting, and for signing in.

After a minute another worker could begin the same mail.
"""

_MOST_BYTES = 64 * 1024
"""How much the server may answer within MAIL_SECONDS."""

_TOO_LARGE, _CLOSING = 552, 421
_NOT_SIGNED_IN = {530, 534, 535, 538}

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Letter:
    """A mail that is ready to be sent."""

    mail: Mail
    recipient: str
    digest: str
    budget: Budget | None
    message: bytes


class Mailer:
    """Sends mails while this process has the lease. Each `run` may be interrupted at any point."""

    def __init__(self, config: Config, *, is_stopped: Callable[[], bool] = lambda: False) -> None:
        """`is_stopped` is asked before each mail."""
        self._config = config
        self._is_stopped = is_stopped
        self._lease = LeaseHolder(LEASE)
        self._connection: Connection | None = None
        self._failures = 0
        self._interruptions = 0
        self._last_tenant = ""
        self._today: dict[str, Today] = {}
        self._rests_until = time.monotonic()

    def run(self) -> str | None:
        """Plan and send until nothing is due. Return why the server is unusable, if it is."""
        smtp = self._config.smtp
        if smtp is None or time.monotonic() < self._rests_until:
            return None
        try:
            mail_queue.drop_old()
            reminders.plan()
            parts.plan()
            sale_mails.plan_days()
            messages.plan(self._config.keyring)
            while not self._is_stopped() and self._lease.keep() and self._round(smtp):
                pass
            messages.end()
        except Unusable as error:
            self._rest(error)
            return f"the mail server is unusable: {error}"
        finally:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
        return None

    def leave(self) -> None:
        """Release the lease, so that another worker can continue at once."""
        self._lease.give_back()

    def _round(self, smtp: Smtp) -> bool:
        """Plan some mails and send some. Return whether there was anything to do."""
        was_planned = planning.plan(self._config.keyring)
        due = mail_queue.due(self._last_tenant)
        self._today.clear()
        for mail in due:
            self._last_tenant = mail.tenant_id
            if self._is_stopped() or not self._lease.keep():
                return False
            letter = self._letter(mail, smtp)
            if letter is not None:
                self._send(letter, smtp)
        return was_planned or bool(due)

    def _letter(self, mail: Mail, smtp: Smtp) -> _Letter | None:
        """Write a mail. None if it is dropped, or has to wait."""
        address = recipients.address_of(mail)
        recipient = None if address is None else recipients.deliverable(address)
        if address is None or recipient is None:
            self._drop(mail, "no address" if address is None else "not a deliverable address")
            return None
        secret_key = self._config.keyring.current
        budget = budgets.of(mail, recipient, secret_key)
        until = None if budget is None else budgets.free_at(mail, budget)
        if until is not None:
            mail_queue.postpone(mail, until)
            log.info("mail %s (%s) waits: strangers caused enough today", mail.id, mail.kind)
            return None
        if self._waits_for_tenant(mail, by_stranger=budget is not None):
            return None
        try:
            message = texts.write(mail, recipient, smtp, self._config)
        except UNAVAILABLE:
            raise
        except Exception as error:
            # One mail that cannot be written must not stop all others. The error's message may
            # contain what people wrote, so only its place is logged.
            place = "".join(traceback.format_tb(error.__traceback__))
            name = type(error).__name__
            log.error("mail %s (%s) cannot be written: %s\n%s", mail.id, mail.kind, name, place)
            self._drop(mail, "it could not be written")
            return None
        if message is None:
            self._end_unsaid(mail)
            return None
        digest = recipients.digest(secret_key, address)
        return _Letter(mail, recipient, digest, budget, message)

    def _waits_for_tenant(self, mail: Mail, *, by_stranger: bool) -> bool:
        """Let a mail wait if its tenant has used its daily bound, unless the order was paid.

        A mail that somebody asked for does not wait: it was within its part when it was planned.
        """
        if mail.tenant_id not in self._today:
            self._today[mail.tenant_id] = daily_bound.today(mail.tenant_id, self._config)
        if mail.kind in ASKED_BY_ANYBODY:
            return False
        today = self._today[mail.tenant_id]
        is_reached = today.is_reached if by_stranger else today.is_reached_by_tenant
        order = budgets.order_of(mail) if is_reached else None
        if not is_reached or (order is not None and accounts.has_money(order)):
            return False
        mail_queue.postpone(mail, today.free_at)
        log.info("mail %s (%s) waits: its tenant had enough today", mail.id, mail.kind)
        return True

    def _send(self, letter: _Letter, smtp: Smtp) -> None:
        if self._connection is None or not self._connection.is_open:
            self._connection = Connection(smtp, texts.host_of(self._config))
        mail = letter.mail
        counted = {} if letter.budget is None else asdict(letter.budget)
        if not mail_queue.claim(mail, letter.digest, **counted):
            return
        self._today[mail.tenant_id].add(
            by_stranger=letter.budget is not None, is_asked=mail.kind in ASKED_BY_ANYBODY
        )
        try:
            self._connection.send(letter.recipient, letter.message)
        except Refused as refusal:
            self._refused(letter, refusal)
        except Interrupted as error:
            self._interrupted(mail, error)
            return
        except Unusable:
            mail_queue.give_back(mail)
            raise
        else:
            mail_queue.sent(mail)
            log.info("mail %s (%s) sent", mail.id, mail.kind)
        self._failures = self._interruptions = 0

    def _refused(self, letter: _Letter, refusal: Refused) -> None:
        mail = letter.mail
        # Servers repeat the address. It must not stay here after the mail has ended.
        address, words = letter.recipient.lower(), refusal.text.split()
        said = " ".join("<recipient>" if address in each.lower() else each for each in words)
        error = f"{refusal.code} {plain(said, _MOST_ERROR)}"
        if refusal.code >= 500:
            self._drop(mail, error)
        else:
            mail_queue.failed(mail, error)
            log.info("mail %s (%s) waits: %s", mail.id, mail.kind, refusal.code)

    def _interrupted(self, mail: Mail, error: Interrupted) -> None:
        self._interruptions += 1
        if self._interruptions >= _INTERRUPTIONS:
            self._interruptions = 0
            mail_queue.give_back(mail)
            raise Unusable(str(error))
        mail_queue.failed(mail, f"the connection broke: {error}")
        log.info("mail %s (%s) waits: %s", mail.id, mail.kind, error)

    def _end_unsaid(self, mail: Mail) -> None:
        """End a mail with nothing left to say. That an order was paid is no trouble to report."""
        if mail.kind in _WHILE_UNPAID:
            mail_queue.withdraw(mail)
        else:
            self._drop(mail, "nothing left to say")

    def _drop(self, mail: Mail, error: str) -> None:
        mail_queue.drop(mail, error)
        code = error.split()[0] if error[:1].isdigit() else error
        log.info("mail %s (%s) dropped: %s", mail.id, mail.kind, code)

    def _rest(self, error: Unusable) -> None:
        self._failures += 1
        pause = _BACKOFF.pause(self._failures).total_seconds()
        self._rests_until = time.monotonic() + pause
        log.warning("the mail server is unusable: %s; next try in %.0f s", error, pause)


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
        self._sender = server.sender
        try:
            self._client = _connected(server, hostname)
        except (OSError, ValueError) as error:
            raise Unusable(_name(error)) from None

    @property
    def is_open(self) -> bool:
        """Whether another mail can be sent."""
        return self._client.sock is not None

    def send(self, recipient: str, message: bytes) -> None:
        """Send one mail. Refused, Interrupted, Unusable.

        After Interrupted and Unusable, the connection is closed.
        """
        self._client.file = None  # the answers to this mail are counted from here
        try:
            self._send(recipient, message)
        except (Interrupted, Unusable):
            self.close()
            raise

    def close(self) -> None:
        """Say goodbye and close, without waiting for an answer."""
        with suppress(OSError):  # it is closed already
            self._client.putcmd("quit")
        self._client.close()

    def _send(self, recipient: str, message: bytes) -> None:
        text: bytes | str
        try:
            self._client.sendmail(self._sender, [recipient], message)
            return
        except smtplib.SMTPRecipientsRefused as error:
            ((code, text),) = error.recipients.values()
        except smtplib.SMTPResponseException as error:
            code, text = error.smtp_code, error.smtp_error
            if isinstance(error, smtplib.SMTPSenderRefused) and code != _TOO_LARGE:
                raise Unusable(f"MAIL FROM: {code}") from None
        except (OSError, ValueError) as error:
            raise Interrupted(_name(error)) from None
        if code in _NOT_SIGNED_IN:
            raise Unusable(str(code))
        if code == _CLOSING or not 400 <= code < 600:
            raise Interrupted(str(code))
        with suppress(OSError):  # then the next mail gets a new connection
            self._client.rset()
        raise Refused(code, text if isinstance(text, str) else text.decode(errors="replace"))


class _Client(smtplib.SMTP):
    """smtplib's client. What it reads from the server is limited."""

    def getreply(self) -> tuple[int, bytes]:
        """Read one answer."""
        if self.file is None and self.sock is not None:
            self.file = io.BufferedReader(_Answers(self.sock))
        return super().getreply()


class _Answers(io.RawIOBase):
    """What the server says, for MAIL_SECONDS and _MOST_BYTES from now on."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._ends = time.monotonic() + MAIL_SECONDS
        self._left = _MOST_BYTES

    def readable(self) -> bool:
        """Whether it can be read: io.BufferedReader asks."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # it always is one
        """Read the next bytes. OSError."""
        if self._left <= 0 or time.monotonic() > self._ends:
            raise TimeoutError("the server answers too much, or for too long")
        count = self._connection.recv_into(buffer)
        self._left -= count
        return count


class _TlsClient(_Client, smtplib.SMTP_SSL):
    """It has TLS from the first byte."""


def _connected(server: Smtp, hostname: str) -> _Client:
    where, seconds = (server.host, server.port, hostname), OPERATION_SECONDS
    context = ssl.create_default_context()
    if server.is_tls:
        client: _Client = _TlsClient(*where, timeout=seconds, context=context)
    else:
        client = _Client(*where, timeout=seconds)
    try:
        client.ehlo_or_helo_if_needed()
        if not (server.is_tls or server.is_loopback):
            if not client.has_extn("starttls"):
                raise Unusable("the server has no STARTTLS")
            client.starttls(context=context)
        if server.user is not None and server.password is not None:
            client.login(server.user, server.password)
    except BaseException:
        client.close()
        raise
    return client


def _name(error: BaseException) -> str:
    """Return what failed, without what the server has said: that may name people."""
    if isinstance(error, smtplib.SMTPResponseException):
        return str(error.smtp_code)
    return type(error).__name__
