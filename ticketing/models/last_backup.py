"""The last good backup: one row at most."""

from peewee import BigIntegerField, IntegerField

from ticketing.models.base import BaseModel, UtcDateTimeField


class LastBackup(BaseModel):
    """When the last good backup was finished, and how large its file is."""

    id = IntegerField(primary_key=True, default=1)
    finished_at = UtcDateTimeField()
    bytes = BigIntegerField()

    class Meta:
        table_name = "last_backup"
