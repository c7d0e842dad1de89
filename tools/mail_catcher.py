"""A mail server that delivers nothing: it prints each mail, and saves it as a file.

python -m tools.mail_catcher --port 8025 --folder var/mails
"""

import argparse
import asyncio
import email
import itertools
import re
import signal
from collections.abc import Callable
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller

from tools import Running, printable

_LINK = re.compile(r"https?://[^\s<>\"]+")


class MailCatcher(Running):
    """A mail server on 127.0.0.1, in threads of this process.

    Each mail is a new file in `folder`, and is passed to `say` as some lines for people.
    """

    def __init__(self, port: int, folder: Path, say: Callable[[str], None]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._say = folder, say
        # A mail that is larger is refused by the server.
        self._server = Controller(self, hostname="127.0.0.1", port=port, data_size_limit=2**24)
        self._server.start()

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        """Accept a mail. A handler of aiosmtpd."""
        message = email.message_from_bytes(envelope.original_content, policy=default)
        assert isinstance(message, EmailMessage)
        file = await asyncio.to_thread(self._save, envelope.original_content)
        lines = [
            f"mail from {envelope.mail_from} to {', '.join(envelope.rcpt_tos)}",
            f"  subject: {message['Subject'] or ''}",
            *(f"  link: {link}" for link in _links(message)),
            f"  file: {file}",
        ]
        self._say(printable("\n".join(lines)))
        return "250 Message accepted"

    def stop(self) -> None:
        """Stop it."""
        self._server.stop()

    def _save(self, content: bytes) -> Path:
        for number in itertools.count(len(list(self._folder.iterdir())) + 1):
            file = self._folder / f"{number:04}.eml"
            try:
                with file.open("xb") as new:
                    new.write(content)
            except FileExistsError:
                continue
            return file
        raise AssertionError("unreachable")


def _links(message: EmailMessage) -> list[str]:
    """Return the links in the text of a mail, each once."""
    text = message.get_body(("plain", "html"))
    return list(dict.fromkeys(_LINK.findall(text.get_content()))) if text else []


def main() -> None:
    """Catch mails until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m tools.mail_catcher", description=__doc__)
    parser.add_argument("--port", type=int, default=8025)
    parser.add_argument("--folder", type=Path, default=Path("var/mails"))
    arguments = parser.parse_args()
    stops = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    with MailCatcher(arguments.port, arguments.folder, lambda text: print(text, flush=True)):
        print(f"SMTP_URL=smtp://127.0.0.1:{arguments.port}", flush=True)
        signal.sigwait(stops)


if __name__ == "__main__":
    main()
