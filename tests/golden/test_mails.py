"""Each kind of mail in each language: the text as a golden file, and the HTML compressed."""

import re
from email import message_from_bytes, policy
from itertools import count

import pytest

from tests.golden.comparing import HERE, compare
from tests.golden.mail_stories import NOW, STORIES, Shop, speak
from tests.support.mails import PUBLIC_URL, SENDER, START, html_of, text_of
from tests.support.stopped_clock import StoppedClock
from ticketing import ids, locales
from ticketing.models.notifications import Mail
from ticketing.models.tenants import Tenant
from ticketing.notification_types import MailKind
from ticketing.services.mail import texts
from ticketing.services.notifications import mail_queue

pytestmark = pytest.mark.one_database

CODE = re.compile(r"(?<=/t/)\w+")
"""The code of a ticket, in its link."""


@pytest.fixture
def environ(environ):
    mail = {"SMTP_URL": "smtp://127.0.0.1:9", "MAIL_FROM": SENDER}
    return {**environ, **mail, "PUBLIC_URL": PUBLIC_URL}


@pytest.fixture
def time(monkeypatch):
    return StoppedClock(monkeypatch, NOW)


@pytest.fixture
def shop(time, acme, monkeypatch):
    """A shop whose ids are the same each time."""
    made = dict[str, count]()

    def new(prefix):
        return f"{prefix}{next(made.setdefault(prefix, count(1))):026}"

    monkeypatch.setattr(ids, "new", new)
    columns = {"contact_email": "hello@acme.example", "legal_address": "Acme\n1 Main Street"}
    Tenant.update(columns).execute()
    meet = {"type": "hybrid", "online_join_url": "https://meet.example.org/secret"}
    return Shop(acme, acme.ticket(acme.event(start_at=START.isoformat(), **meet), capacity=100))


def written(shop, kind, subject, columns):
    """Return a mail as it is sent now."""
    config = shop.acme.app.extensions["ticketing"]
    mail = Mail(**mail_queue.new(shop.acme.id, kind, subject, **columns))
    mail.id = f"mal_{0:026}"
    content = texts.write(mail, "somebody@example.org", config.smtp, config)
    assert content is not None, "there is nothing to say"
    return message_from_bytes(content, policy=policy.default)


def shown(mail):
    """Return the headers of a mail that its reader sees, its text, and the names of its files."""
    heads = [f"{name}: {mail[name]}" for name in ("From", "Reply-To", "Subject") if mail[name]]
    files = [
        f"{part.get_content_type()}: {part.get_filename()}"
        for part in mail.walk()
        if part.get_filename()
    ]
    return "\n".join([*heads, "", text_of(mail).replace("\r\n", "\n"), *files, ""])


def without_codes(text):
    """Return a text with a number instead of each ticket's code, which is random."""
    for number, code in enumerate(dict.fromkeys(CODE.findall(text)), 1):
        text = text.replace(code, f"<code-{number}>")
    return text


def block(title, by_locale):
    """Return the texts of all languages. Languages with the same one share it."""
    spoken = dict[str, list[str]]()
    for locale, text in by_locale.items():
        spoken.setdefault(text, []).append(locale)
    return "".join(f"=== {title}: {' '.join(each)}\n{text}" for text, each in spoken.items())


@pytest.mark.parametrize("kind", MailKind)
def test_each_mail_in_each_language(kind, shop):
    assert kind in STORIES, "write a story for this kind in mail_stories.py"
    text, html = "", ""
    for what, subject, columns in STORIES[kind](shop):
        mails = {}
        for locale in locales.LOCALES:
            speak(locale)
            mails[locale] = written(shop, kind, subject, columns)
        text += block(what, {locale: shown(mail) for locale, mail in mails.items()})
        html += block(what, {locale: html_of(mail) for locale, mail in mails.items()})
    compare(f"mails/{kind}.txt", without_codes(text))
    compare(f"mails/{kind}.html.xz", without_codes(html).replace("\r\n", "\n"))


def test_no_file_is_left_over():
    kept = {path.name.partition(".")[0] for path in (HERE / "mails").iterdir()}
    assert kept == {str(kind) for kind in MailKind}
