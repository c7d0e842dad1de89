"""Notifications: facts that were recorded, the feed of each tenant, and what delivers them."""

import json

from peewee import (
    BigAutoField,
    BigIntegerField,
    BooleanField,
    ForeignKeyField,
    IntegerField,
    TextField,
)

from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.tenants import Tenant
from ticketing.notification_types import DeliveryStatus, WebhookStatus


class Notification(BaseModel):
    """A fact. `data` is a JSON object of ids, statuses and amounts, without personal data.

    `position` is in the order of the inserts, which is not that of the commits. `sequence` is the
    place in the tenant's feed: NULL until it is numbered, after the commit. `intent_id` is the
    order in `data`, if it has one.
    """

    position = BigAutoField()
    id = TextField(unique=True)
    tenant = ForeignKeyField(Tenant)
    tenant_id: str
    sequence = BigIntegerField(null=True)
    type = TextField()
    created_at = UtcDateTimeField()
    data = TextField()
    intent_id = TextField(null=True)

    class Meta:
        table_name = "notifications"


class NotificationFeed(BaseModel):
    """How far the feed of a tenant is numbered, deleted, and turned into mails.

    All are sequences: the last that was given, the last that is deleted because it is old, the
    last whose mails are rows of `mails`, and the last before a restored backup skipped some.
    """

    tenant = ForeignKeyField(Tenant, primary_key=True)
    tenant_id: str
    last_sequence = BigIntegerField(default=0)
    forgotten_sequence = BigIntegerField(default=0)
    mailed_sequence = BigIntegerField(default=0)
    restored_sequence = BigIntegerField(null=True)

    class Meta:
        table_name = "notification_feeds"


class WebhookEndpoint(BaseModel):
    """A URL that gets a tenant's notifications.

    `types` is a JSON list of notification types, or `["*"]`. The secrets are encrypted under the
    SECRET_KEY with the id `secret_key_id`. `updated_at` changes with every change by a request.
    `sequence`: everything up to there was delivered, or set aside. `delivered` counts what passed.
    While it fails: `failing_since`, how many `attempts` failed in a row, how often the oldest
    waiting notification was refused with a 4xx (`refusals`), and when to try again.
    """

    id = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    tenant_id: str
    url = TextField()
    types = TextField()
    secret_key_id = TextField()
    secret = TextField()
    previous_secret = TextField(null=True)
    previous_expires_at = UtcDateTimeField(null=True)
    created_at = UtcDateTimeField()
    updated_at = UtcDateTimeField()
    sequence = BigIntegerField()
    delivered = BigIntegerField(default=0)
    attempts = IntegerField(default=0)
    refusals = IntegerField(default=0)
    failing_since = UtcDateTimeField(null=True)
    next_attempt_at = UtcDateTimeField(null=True)
    warned_at = UtcDateTimeField(null=True)
    disabled_at = UtcDateTimeField(null=True)
    disabled_reason = TextField(null=True)

    plaintext: str  # the secret, only on an instance for which it was just created

    class Meta:
        table_name = "webhook_endpoints"

    @property
    def type_names(self) -> list[str]:
        """The types of notifications that it gets, or `["*"]`."""
        names: list[str] = json.loads(self.types)
        return names

    @property
    def status(self) -> WebhookStatus:
        """Whether it is delivered to."""
        if self.disabled_at is not None:
            return WebhookStatus.DISABLED
        return WebhookStatus.ENABLED if self.failing_since is None else WebhookStatus.FAILING


class WebhookDelivery(BaseModel):
    """An attempt. Of those that passed by themselves, only the last ones are kept (PASSED).

    `is_manual`: somebody asked for it.

    A manual one waits until `attempted_at` is set. `is_set_aside`: the endpoint refused it several
    times and accepted the next one, so it is not tried again by itself.
    """

    id = TextField(primary_key=True)
    endpoint = ForeignKeyField(WebhookEndpoint)
    endpoint_id: str
    notification_id = TextField()
    sequence = BigIntegerField(null=True)
    type = TextField()
    is_manual = BooleanField()
    is_set_aside = BooleanField(default=False)
    created_at = UtcDateTimeField()
    attempted_at = UtcDateTimeField(null=True)
    status_code = IntegerField(null=True)
    error = TextField(null=True)
    duration_ms = IntegerField(null=True)
    answer = TextField(null=True)

    class Meta:
        table_name = "webhook_deliveries"

    @property
    def status(self) -> DeliveryStatus:
        """What became of it."""
        if self.attempted_at is None:
            return DeliveryStatus.WAITING
        is_accepted = self.error is None and 200 <= (self.status_code or 0) < 300
        return DeliveryStatus.DELIVERED if is_accepted else DeliveryStatus.FAILED


PASSED = (
    ~WebhookDelivery.is_manual
    & WebhookDelivery.error.is_null()
    & WebhookDelivery.status_code.between(200, 299)
)
"""Deliveries that the receiver accepted, without anybody asking for them."""


class Mail(BaseModel):
    """A mail to send. It is written from its subject's current state when it is sent.

    `subject` is the id of what it is about: an order, an admission or a transfer, whose buyer or
    holder gets it; or the member who gets it. `generation`: a ticket is sent only while its
    admission has this generation.

    `amount`: of a part of the price that has arrived, what the order had received then.

    `message_id`: the message of an organizer that it brings, or is about.

    `recipient` is set only if the subject does not have the address, and only until the mail ended.
    `recipient_digest` is a keyed digest of the address: who is told of an event is told once.
    `mailbox`, `client` and `client_site` are digests of the mailbox and of the client's networks.
    They are set when a mail that a stranger can cause is tried: see services.mail.budgets. Those of
    the client are set at once for a mail that anybody may ask for, and so is `request_digest`: of
    what was asked for, and of the address that was typed (services.mail.asked_mails).
    `next_attempt_at` is set while it waits, `ended_at` once it was sent or dropped.
    """

    id = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    tenant_id: str
    kind = TextField()
    subject = TextField()
    generation = IntegerField(null=True)
    notification_id = TextField(null=True)
    message_id = TextField(null=True)
    recipient = TextField(null=True)
    recipient_digest = TextField(null=True)
    amount = BigIntegerField(null=True)
    mailbox = TextField(null=True)
    client = TextField(null=True)
    client_site = TextField(null=True)
    request_digest = TextField(null=True)
    status = TextField()
    attempts = IntegerField(default=0)
    created_at = UtcDateTimeField()
    next_attempt_at = UtcDateTimeField(null=True)
    ended_at = UtcDateTimeField(null=True)
    error = TextField(null=True)

    class Meta:
        table_name = "mails"


class Lease(BaseModel):
    """Which worker process does a task that only one may do, and until when."""

    name = TextField(primary_key=True)
    holder = TextField(null=True)
    until = UtcDateTimeField(null=True)

    class Meta:
        table_name = "leases"
