"""The pictures inside a mail: the organizer's logo, the event's picture, and the tickets' QR codes.

They are parts of the mail, and its HTML names them by Content-ID. So nothing is loaded from a
server when a mail is read, and nobody learns who reads it, or when.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ticketing import qr_codes
from ticketing.models.tenants import Tenant
from ticketing.services import images

if TYPE_CHECKING:
    from ticketing.services.image_files import Small

LOGO, PICTURE = "logo", "picture"
_KEPT = 16
_CODE_SCALE = 4
"""Pixels of a module. A mail program that makes a code smaller can still show it sharply."""


class Inline(NamedTuple):
    """A picture of a mail. `name` is the first part of its Content-ID."""

    name: str
    subtype: str
    content: bytes


def logo(tenant: Tenant) -> tuple[Inline, tuple[int, int]] | None:
    """Return the logo of a tenant, with the width and height at which it is shown."""
    if tenant.logo_digest is None:
        return None
    file = _logo(tenant.slug, tenant.logo_digest)
    return Inline(LOGO, "png", file.content), file.shown


def of_event(tenant: Tenant, digest: str | None) -> Inline | None:
    """Return the picture of an event, as JPEG: not every mail program shows WebP."""
    return None if digest is None else Inline(PICTURE, "jpeg", _picture(tenant.slug, digest))


def code(name: str, text: str) -> Inline:
    """Return a QR code, black on white, with the margin that scanners need."""
    return Inline(name, "png", qr_codes.png(text, _CODE_SCALE))


@lru_cache(_KEPT)
def _logo(slug: str, digest: str) -> Small:
    # Most mails have no picture: Pillow takes 3 MB.
    from ticketing.services import image_files

    return image_files.logo_for_mail(images.find(slug, digest, "")[1])


@lru_cache(_KEPT)
def _picture(slug: str, digest: str) -> bytes:
    # Most mails have no picture: Pillow takes 3 MB.
    from ticketing.services import image_files

    return image_files.picture_for_mail(images.find(slug, digest, images.SHARE)[1])
