"""The mail catcher and the receiver of `make run`, each as a program."""

import signal
import smtplib
import subprocess
import sys
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from uuid import uuid4

import pytest
import urllib3
from standardwebhooks import Webhook

from tests.support.remote import PATIENCE_SECONDS, eventually
from tools import printable
from tools.stack import ROOT, free_port, is_free

SECRET = "whsec_" + "c2VjcmV0" * 5
BODY = '{"type":"intent.confirmed","timestamp":"2026-01-01T00:00:00Z","data":{"sequence":3}}'


@contextmanager
def program(module, *arguments):
    """Run a tool until the end of the block. Yield a function that returns its next line."""
    command = [sys.executable, "-m", f"tools.{module}", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_SECONDS) == 0
        finally:
            process.kill()


def webhook_headers(secret=SECRET, body=BODY, at=None):
    at, identifier = at or datetime.now(UTC), f"ntf_{uuid4().hex}"
    signature = Webhook(secret).sign(identifier, at, body)
    return {
        "webhook-id": identifier,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": signature,
    }


def test_the_catcher_prints_each_mail_and_saves_it(starts_processes, tmp_path):
    port = free_port()
    mail = EmailMessage()
    mail["From"], mail["To"] = "tickets@example.org", "ada@example.org"
    mail["Subject"] = "Your tickets \u2013 Launch Night"
    mail.set_content("See https://a.example.org/o/1 and https://a.example.org/t/2\n" * 2)
    mail.add_alternative("<a href='https://a.example.org/html'>", subtype="html")
    with program("mail_catcher", "--port", str(port), "--folder", str(tmp_path / "m")) as line:
        assert line() == f"SMTP_URL=smtp://127.0.0.1:{port}\n"
        for _ in range(2):
            with smtplib.SMTP("127.0.0.1", port) as smtp:
                smtp.send_message(mail)
        printed = [line().strip() for _ in range(10)]
    assert printed[:4] == [
        "mail from tickets@example.org to ada@example.org",
        "subject: Your tickets \u2013 Launch Night",
        "link: https://a.example.org/o/1",
        "link: https://a.example.org/t/2",
    ]
    files = sorted((tmp_path / "m").iterdir())
    assert [file.name for file in files] == ["0001.eml", "0002.eml"]
    assert printed[4] == f"file: {files[0]}"
    assert b"a.example.org/html" in files[0].read_bytes()


def test_the_receiver_prints_what_it_verified_and_refuses_the_rest(starts_processes):
    port = free_port()
    old = datetime.now(UTC) - timedelta(hours=1)
    with program("receiver", "--port", str(port), "--secret", SECRET) as line:
        assert line() == f"receiving webhooks at http://127.0.0.1:{port}/\n"
        for headers, status, printed in (
            (webhook_headers(), 204, 'webhook verified: intent.confirmed {"sequence": 3}'),
            (webhook_headers("whsec_" + "b3RoZXI="), 400, "webhook refused: No matching"),
            (webhook_headers(body="{}"), 400, "webhook refused: No matching"),
            (webhook_headers(at=old), 400, "webhook refused: Message timestamp too old"),
            ({}, 400, "webhook refused: Missing required headers"),
        ):
            url = f"http://127.0.0.1:{port}/"
            answer = urllib3.request(
                "POST", url, body=BODY, headers=headers, retries=False, timeout=60
            )
            assert answer.status == status
            assert line().startswith(printed)
    eventually(lambda: is_free(port))


@pytest.mark.parametrize("module", ["mail_catcher", "receiver"])
def test_a_tool_explains_itself(module, starts_processes):
    command = [sys.executable, "-m", f"tools.{module}", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert f"python -m tools.{module}" in done.stdout and "--port" in done.stdout


def test_nobody_elses_text_controls_the_terminal():
    assert printable("a\x1b[31mb\u202ec\nd\r\u2013") == "a?[31mb?c\nd?\u2013"
