"""Schemas of pictures of events, and of logos."""

from marshmallow import fields

from schemas.base import BaseSchema, String, an_id

_DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


def image_url() -> fields.String:
    """Return the field for the URL of a picture."""
    return String(
        f"https://tickets.example.org/acme/_image/{_DIGEST}",
        "The picture as WebP, 1,600 pixels wide or less. The image at a URL never changes. Null:"
        " there is none. A path if the service has no PUBLIC_URL.",
        nullable=True,
    )


class EventImageSchema(BaseSchema):
    """The picture of an event."""

    id = an_id("evt_")
    image_digest = String(
        _DIGEST, "It changes with the image, and is a part of its URL.", nullable=True
    )
    image_url = image_url()


class LogoSchema(BaseSchema):
    """The logo of a tenant: a PNG of at most 400 x 400 pixels."""

    id = an_id("ten_")
    logo_digest = String(
        _DIGEST, "It changes with the logo, and is a part of its URL.", nullable=True
    )
    logo_url = String(
        f"https://tickets.example.org/acme/_image/{_DIGEST}",
        "Null: there is none. A path if the service has no PUBLIC_URL.",
        nullable=True,
    )
