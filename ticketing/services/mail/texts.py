"""Write a mail: its subject, text and HTML, from the templates, and its headers (RFC 5322)."""

from __future__ import annotations

from email import policy
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime
from gettext import NullTranslations
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from ticketing import clock
from ticketing.config import Config, Smtp
from ticketing.models.notifications import Mail
from ticketing.services.catalog import calendars, public_listing
from ticketing.services.mail import contents
from ticketing.services.mail.plain_text import plain
from ticketing.services.mail.values import NAME

TEMPLATES = Path(__file__).parents[2] / "templates" / "mail"
_MOST_SUBJECT = 160


def environment(translations: NullTranslations) -> Environment:
    """Return the templates in the language of some translations."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        extensions=["jinja2.ext.i18n"],
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.policies["ext.i18n.trimmed"] = True
    # The extension adds this method.
    made.install_gettext_translations(translations, newstyle=True)  # type: ignore[attr-defined]
    return made


_english = environment(NullTranslations())


def write(mail: Mail, recipient: str, smtp: Smtp, config: Config) -> bytes | None:
    """Return a mail as it is sent. None if nothing is left to say.

    `recipient` is an ASCII address. At each try of a mail, its Message-ID is the same.
    """
    facts = contents.of(mail, config)
    if facts is None:
        return None
    facts["public_url"] = config.public_url
    # The first line is the subject. Then there is an empty line.
    subject, _, text = _english.get_template(f"{mail.kind}.txt").render(facts).partition("\n\n")
    message = EmailMessage(policy.SMTP)
    message["Message-ID"] = f"<{mail.id}@{host_of(config)}>"
    message["Date"] = format_datetime(clock.now())
    message["Auto-Submitted"] = "auto-generated"
    message["From"] = Address(_header(mail.tenant.name, NAME), addr_spec=smtp.sender)
    if facts["reply_to"] is not None:
        message["Reply-To"] = Address(addr_spec=facts["reply_to"])
    message["To"] = Address(addr_spec=recipient)
    message["Subject"] = _header(subject, _MOST_SUBJECT)
    # Not every server takes bytes above 127, nor lines of any length.
    message.set_content(text, cte="quoted-printable")
    html = _english.get_template(f"{mail.kind}.html").render(facts)
    message.add_alternative(html, subtype="html", cte="quoted-printable")
    event = facts["calendar_of"]
    if event is not None:
        message.add_attachment(
            calendars.ics(event, public_listing.page_of(event, config)).encode(),
            maintype="text",
            subtype="calendar",
            filename="event.ics",
            params={"charset": "utf-8", "method": "PUBLISH"},
        )
    return message.as_bytes()


def _header(text: str, most: int) -> str:
    """Return text for a header. Readers must not decode a part of it (RFC 2047)."""
    return plain(text, most).replace("=?", "= ?")


def host_of(config: Config) -> str:
    """Return the host of PUBLIC_URL, as it is written after @."""
    host = urlsplit(config.public_url or "").hostname or "localhost"
    return f"[IPv6:{host}]" if ":" in host else host
