"""Tenants: the accounts of organizers."""

from peewee import BigIntegerField, BooleanField, ForeignKeyField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.wallets import Wallet


class Tenant(BaseModel):
    """An organizer's account. `revision` counts the changes of its public data.

    The settings from `contact_email` to `accent_color` are for pages. None: not shown. Answers to
    mails go to `contact_email`. `early_confirmation`: small orders of events that are not soon are
    confirmed before their payment is final.
    """

    id = TextField(primary_key=True)
    slug = TextField(unique=True)
    name = TextField()
    wallet = ForeignKeyField(Wallet, null=True)
    wallet_id: str | None
    revision = BigIntegerField(default=0)
    contact_email = TextField(null=True)
    website = TextField(null=True)
    terms_url = TextField(null=True)
    privacy_url = TextField(null=True)
    legal_address = TextField(null=True)
    accent_color = TextField(null=True)
    early_confirmation = BooleanField(default=False)
    created_at = UtcDateTimeField()

    class Meta:
        table_name = "tenants"
