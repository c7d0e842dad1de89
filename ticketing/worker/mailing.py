"""Send mails: plan them from the feed, then send what is due over one connection.

Trouble with the server lets all mails wait, and counts for none of them. A mail in whose middle the
connection breaks waits by itself, so that it cannot hold up the others.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta

from ticketing.backoff import Backoff
from ticketing.config import Config, Smtp
from ticketing.db.connection import UNAVAILABLE
from ticketing.models.notifications import Mail
from ticketing.services.leases import LeaseHolder
from ticketing.services.mail import budgets, daily_bound, planning, recipients, texts
from ticketing.services.mail.budgets import Budget
from ticketing.services.mail.daily_bound import Today
from ticketing.services.mail.plain_text import plain
from ticketing.services.notifications import mail_queue
from ticketing.worker.smtp import Connection, Interrupted, Refused, Unusable

LEASE = "mails"

_BACKOFF = Backoff((timedelta(seconds=5), timedelta(seconds=15), timedelta(seconds=60)))
"""How long to wait after the server was unusable."""

_MOST_ERROR = 200
_INTERRUPTIONS = 2
"""After so many mails in a row, the trouble is the server's."""

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
            while not self._is_stopped() and self._lease.keep() and self._round(smtp):
                pass
        except Unusable as error:
            self._rest(error)
            return f"the mail server is unusable: {error}"
        finally:
            self._disconnect()
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
        if self._waits_for_tenant(mail):
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
            self._drop(mail, "nothing left to say")
            return None
        digest = recipients.digest(secret_key, address)
        return _Letter(mail, recipient, digest, budget, message)

    def _waits_for_tenant(self, mail: Mail) -> bool:
        """Let a mail wait if its tenant has used its daily bound, unless the order was paid."""
        if mail.tenant_id not in self._today:
            self._today[mail.tenant_id] = daily_bound.today(mail.tenant_id, self._config)
        today = self._today[mail.tenant_id]
        order = budgets.order_of(mail) if today.is_reached else None
        if not today.is_reached or (order is not None and budgets.is_paid(order)):
            return False
        mail_queue.postpone(mail, today.free_at)
        log.info("mail %s (%s) waits: its tenant had enough today", mail.id, mail.kind)
        return True

    def _send(self, letter: _Letter, smtp: Smtp) -> None:
        mail, connection = letter.mail, self._connect(smtp)
        counted = {} if letter.budget is None else asdict(letter.budget)
        if not mail_queue.claim(mail, letter.digest, **counted):
            return
        self._today[mail.tenant_id].tried += 1
        try:
            connection.send(letter.recipient, letter.message)
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

    def _drop(self, mail: Mail, error: str) -> None:
        mail_queue.drop(mail, error)
        code = error.split()[0] if error[:1].isdigit() else error
        log.info("mail %s (%s) dropped: %s", mail.id, mail.kind, code)

    def _connect(self, smtp: Smtp) -> Connection:
        if self._connection is None or not self._connection.is_open:
            self._connection = Connection(smtp, texts.host_of(self._config))
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _rest(self, error: Unusable) -> None:
        self._failures += 1
        pause = _BACKOFF.pause(self._failures).total_seconds()
        self._rests_until = time.monotonic() + pause
        log.warning("the mail server is unusable: %s; next try in %.0f s", error, pause)
