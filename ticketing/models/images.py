"""Pictures of events, and logos of tenants."""

from peewee import BlobField, ForeignKeyField, IntegerField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.tenants import Tenant

SHARE_TYPE = "image/jpeg"
"""The type of the file that other sites show."""

WIDTHS = (1600, 960, 480)
"""The widths of the files of a picture, in pixels. It has those that are not wider than itself."""


class Image(BaseModel):
    """The files of one upload of a tenant. Events that are copies of each other share it.

    `digest` is the SHA-256 of the tenant's id and of `bytes`. `type` is the media type of `bytes`,
    `bytes_960` and `bytes_480`; `width` and `height` are those of `bytes`. `bytes_share` is the
    JPEG that other sites show beside a link. A logo has `bytes` only.
    """

    digest = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    tenant_id: str
    type = TextField()
    width = IntegerField()
    height = IntegerField()
    bytes = BlobField()
    bytes_960 = BlobField(null=True)
    bytes_480 = BlobField(null=True)
    bytes_share = BlobField(null=True)
    created_at = UtcDateTimeField()

    class Meta:
        table_name = "images"
