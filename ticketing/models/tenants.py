"""Tenants, and the wallets that their payment addresses are derived from."""

from peewee import BigIntegerField, ForeignKeyField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField


class Wallet(BaseModel):
    """An extended public key and the index of its next unused address.

    Index 0 is the organizer's own address: it is never issued. The row belongs to the key, not to
    a tenant: the next use of the same key continues where it stopped, so no address is issued
    twice.
    """

    id = TextField(primary_key=True)
    xpub = TextField()
    public_key = TextField(unique=True)
    next_index = BigIntegerField(default=1)
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
