"""Write a mail: its subject, text and HTML, from the templates, and its headers (RFC 5322)."""

from __future__ import annotations

import re
from email import policy
from email.headerregistry import Address
from email.message import EmailMessage, MIMEPart
from email.utils import format_datetime
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ticketing import clock, formats, locales
from ticketing.config import Config, Smtp
from ticketing.models.notifications import Mail
from ticketing.services.catalog import calendars, public_listing
from ticketing.services.mail import contents, pictures
from ticketing.services.mail.pictures import Inline
from ticketing.services.mail.plain_text import plain
from ticketing.services.mail.values import NAME, Facts

TEMPLATES = Path(__file__).parents[2] / "templates" / "mail"
_MOST_SUBJECT = 160


def environment(part: str) -> Environment:
    """Return the templates. `part`: the folder with what renders their parts, "text" or "html"."""
    made = Environment(
        loader=FileSystemLoader([TEMPLATES / part, TEMPLATES]),
        autoescape=part == "html",
        undefined=StrictUndefined,
        extensions=["jinja2.ext.i18n"],
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.policies["ext.i18n.trimmed"] = True
    made.filters.update(
        amount=formats.amount,
        number=formats.number,
        moment=formats.moment,
        end=formats.end,
        brief=formats.brief,
        date=formats.date_of,
        time_of_day=formats.time_of_day,
        month=formats.month,
        day_of_month=formats.day_of_month,
    )
    # The extension adds this method.
    made.install_gettext_callables(  # type: ignore[attr-defined]
        locales.gettext, locales.ngettext, newstyle=True
    )
    return made


_text, _html = environment("text"), environment("html")
_BLANK_LINES = re.compile(r"\n{3,}")
"""Each part of a text ends with an empty line, also the last one of a row."""


def write(mail: Mail, recipient: str, smtp: Smtp, config: Config) -> bytes | None:
    """Return a mail as it is sent. None if nothing is left to say.

    `recipient` is an ASCII address. At each try of a mail, its Message-ID is the same.
    """
    facts = contents.of(mail, config)
    if facts is None:
        return None
    facts["public_url"] = config.public_url
    with locales.speaking(facts["locale"]):
        return _written(mail, facts, recipient, smtp, config)


def _written(mail: Mail, facts: Facts, recipient: str, smtp: Smtp, config: Config) -> bytes:
    # The first line is the subject. Then there is an empty line.
    rendered = _text.get_template(f"{mail.kind}.j2").render(facts)
    subject, _, text = _BLANK_LINES.sub("\n\n", rendered).partition("\n\n")
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
    inline = _with_pictures(mail, facts)
    names = {each.name: f"{each.name}.{mail.id}@{host_of(config)}" for each in inline}
    html = MIMEPart(policy.SMTP)
    page = _html.get_template(f"{mail.kind}.j2").render(facts, subject=subject, cid=names)
    html.set_content(page, subtype="html", cte="quoted-printable")
    for each in inline:
        html.add_related(
            each.content,
            maintype="image",
            subtype=each.subtype,
            cid=f"<{names[each.name]}>",
            filename=f"{each.name}.{each.subtype}",
            disposition="inline",
        )
    message.make_alternative()
    message.attach(html)  # type: ignore[arg-type]  # a part has no headers of a mail
    event = facts["calendar_of"]
    if event is not None:
        message.add_attachment(
            calendars.ics([(event, public_listing.page_of(event, config))]).encode(),
            maintype="text",
            subtype="calendar",
            filename="event.ics",
            params={"charset": "utf-8", "method": "PUBLISH"},
        )
    return message.as_bytes()


def _with_pictures(mail: Mail, facts: Facts) -> list[Inline]:
    """Return the pictures that a mail shows. Say in its facts by which names.

    A ticket has `picture`, the name of its code. The mail has `logo` with its size, and `picture`.
    """
    tenant, found = mail.tenant, list[Inline]()
    logo, picture = pictures.logo(tenant), None
    facts["logo"] = None if logo is None else {"width": logo[1][0], "height": logo[1][1]}
    if "event" in facts:
        picture = pictures.of_event(tenant, facts["event"]["picture"])
    facts["picture"] = None if picture is None else picture.name
    if logo is not None:
        found.append(logo[0])
    if picture is not None:
        found.append(picture)
    for number, ticket in enumerate(facts["tickets"], 1):
        code = pictures.code(f"ticket-{number}", ticket["qr"])
        ticket["picture"] = code.name
        found.append(code)
    return found


def _header(text: str, most: int) -> str:
    """Return text for a header. Readers must not decode a part of it (RFC 2047)."""
    return plain(text, most).replace("=?", "= ?")


def host_of(config: Config) -> str:
    """Return the host of PUBLIC_URL, as it is written after @."""
    host = urlsplit(config.public_url or "").hostname or "localhost"
    return f"[IPv6:{host}]" if ":" in host else host
