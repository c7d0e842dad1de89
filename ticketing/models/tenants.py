"""Tenants, and the wallets that their payment addresses are derived from."""

from peewee import BigIntegerField, ForeignKeyField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField


class Wallet(BaseModel):
    """An extended public key and the index of its next unused address.

    The row belongs to the key, not to a tenant: whoever uses the same key again goes on where
    it stopped, so no address is ever issued twice.
    """

    id = TextField(primary_key=True)
    xpub = TextField()
    public_key = TextField(unique=True)
    next_index = BigIntegerField(default=0)
    created_at = UtcDateTimeField()

    class Meta:
        table_name = "wallets"


class Tenant(BaseModel):
    """An organizer's account. `revision` counts the changes of what the public may see of it."""

    id = TextField(primary_key=True)
    slug = TextField(unique=True)
    name = TextField()
    wallet = ForeignKeyField(Wallet, null=True)
    wallet_id: str | None
    revision = BigIntegerField(default=0)
    created_at = UtcDateTimeField()

    class Meta:
        table_name = "tenants"
