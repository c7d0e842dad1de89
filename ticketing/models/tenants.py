"""Tenants and their wallets."""

from peewee import BigIntegerField, ForeignKeyField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField


class Wallet(BaseModel):
    """An extended public key and the index of its next unused address.

    Index 0 is the organizer's own address. It is never issued. The row belongs to the key, not to
    a tenant: if the same key is set again, it continues after the last index. So no address is
    issued twice.
    """

    id = TextField(primary_key=True)
    xpub = TextField()
    public_key = TextField(unique=True)
    next_index = BigIntegerField(default=1)
    created_at = UtcDateTimeField()

    class Meta:
        table_name = "wallets"


class Tenant(BaseModel):
    """An organizer's account. `revision` counts the changes of its public data.

    The settings from `contact_email` to `accent_color` are for pages. None: not shown. Answers to
    mails go to `contact_email`.
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
    created_at = UtcDateTimeField()

    class Meta:
        table_name = "tenants"
