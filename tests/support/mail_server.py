"""A real SMTP server (aiosmtpd) in a thread. It keeps what it accepts, and refuses on request."""

import asyncio
from collections.abc import Callable
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from tools import START_SECONDS
from tools.stack import free_port

USER, PASSWORD = "tickets", "s3cret:/@"


class MailServer:
    """A context manager. `answers` has a reply, such as "550 No", for a recipient.

    `data_answers` has one for the recipient's message, `waits` the seconds before that. `hosts` has
    the name that each connection said. `before_answer` is called after a message was accepted.
    """

    def __init__(self, **options: Any) -> None:
        self.answers: dict[str, str] = {}
        self.data_answers: dict[str, str] = {}
        self.waits: dict[str, float] = {}
        self.raw: list[tuple[str, bytes]] = []
        self.hosts: list[str] = []
        self.sender_answer: str | None = None
        self.before_answer: Callable[[], object] | None = None
        self.sign_ins: list[tuple[bytes, bytes]] = []
        self.port = free_port()
        self._options = {"authenticator": self._sign_in, "auth_require_tls": False, **options}
        self._controller: Controller | None = None

    def __enter__(self) -> "MailServer":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"

    @property
    def mails(self) -> list[EmailMessage]:
        """What was accepted, the oldest first."""
        return [message_from_bytes(data, policy=policy.default) for _, data in self.raw]  # type: ignore[misc]

    @property
    def recipients(self) -> list[str]:
        """To whom the accepted mails went."""
        return [recipient for recipient, _ in self.raw]

    def start(self) -> None:
        self._controller = Controller(
            self,
            hostname="127.0.0.1",
            port=self.port,
            ready_timeout=START_SECONDS,
            **self._options,
        )
        self._controller.start()

    def stop(self) -> None:
        if self._controller is not None:
            self._controller.stop()
            self._controller = None

    def only(self) -> EmailMessage:
        """Return the only mail."""
        (mail,) = self.mails
        return mail

    async def handle_EHLO(
        self, server: Any, session: Any, envelope: Any, hostname: str, responses: list[str]
    ) -> list[str]:
        session.host_name = hostname
        self.hosts.append(hostname)
        return responses

    async def handle_MAIL(
        self, server: Any, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        if self.sender_answer is not None:
            return self.sender_answer
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(
        self, server: Any, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        if address in self.answers:
            return self.answers[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        (recipient,) = envelope.rcpt_tos
        await asyncio.sleep(self.waits.get(recipient, 0))
        if recipient in self.data_answers:
            return self.data_answers[recipient]
        self.raw.append((recipient, envelope.content))
        if self.before_answer is not None:
            self.before_answer()
        return "250 OK"

    def _sign_in(
        self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any
    ) -> AuthResult:
        self.sign_ins.append((data.login, data.password))
        is_right = data == (USER.encode(), PASSWORD.encode())
        return AuthResult(success=is_right, handled=is_right)
