"""Schemas of where the mails of an order go."""

from schemas.base import BaseSchema, Bool, an_email


class EmailChangeSchema(BaseSchema):
    """Where the mails of an order go."""

    email = an_email("ada@example.org", required=True)


class EmailCorrectionSchema(EmailChangeSchema):
    """Where the mails of an order go, as its organizer says."""

    end_old_links = Bool(
        description="End all links of the order that were sent or shown before. The new one goes"
        " to `email` only. Once the order has received money, this needs `finance` or `admin`.",
        load_default=False,
    )
