"""The models match the migrated database."""

import pytest

from ticketing.db.connection import database
from ticketing.models.admissions import Admission, Transfer
from ticketing.models.api_keys import ApiKey
from ticketing.models.app_descriptions import AppDescription
from ticketing.models.audit_log import AuditLogEntry, AuditLogPeople
from ticketing.models.billing import Billing
from ticketing.models.blocked_networks import BlockedNetwork
from ticketing.models.chains import ChainBlock, ChainState
from ticketing.models.collections import Collection
from ticketing.models.connected_apps import ConnectedApp
from ticketing.models.counters import CounterEntry
from ticketing.models.daily_amounts import DailyAmount
from ticketing.models.door import DoorDevice, EventDoor, Scan, TicketKey
from ticketing.models.events import Event
from ticketing.models.exchange_rates import ExchangeRate
from ticketing.models.idempotency import IdempotencyKey
from ticketing.models.images import Image
from ticketing.models.items import IntentItem
from ticketing.models.last_backup import LastBackup
from ticketing.models.members import Invitation, Member, Session
from ticketing.models.messages import Message
from ticketing.models.notifications import (
    Lease,
    Mail,
    Notification,
    NotificationFeed,
    WebhookDelivery,
    WebhookEndpoint,
)
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.order_emails import OrderEmail
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payment_reports import PaymentReport
from ticketing.models.payments import Payment
from ticketing.models.payouts import PassedId, Payout, PayoutCursor, PayoutEvent
from ticketing.models.questions import Answer, Question, QuestionOption
from ticketing.models.rate_counts import RateCount
from ticketing.models.refunds import Refund, RefundAddress, Waiver
from ticketing.models.second_factors import Passkey, RecoveryCode, Totp, UsedChallenge
from ticketing.models.series import Series
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import EventStock, TicketType
from ticketing.models.unassigned_money import SkippedIndexes, UnassignedMoney
from ticketing.models.vouchers import Voucher
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.models.waiting_rooms import (
    WaitingRoom,
    WaitingRoomArrivals,
    WaitingRoomNetwork,
    WaitingRoomProcess,
    WaitingRoomTurn,
)
from ticketing.models.wallets import PendingWallet, Wallet
from ticketing.models.x402 import X402Settlement

MODELS = (
    WaitingListEntry,
    WaitingRoom,
    WaitingRoomArrivals,
    WaitingRoomNetwork,
    WaitingRoomProcess,
    WaitingRoomTurn,
    Totp,
    RecoveryCode,
    Passkey,
    UsedChallenge,
    ConnectedApp,
    LastBackup,
    Admission,
    SkippedIndexes,
    UnassignedMoney,
    ApiKey,
    AppDescription,
    ChainState,
    Event,
    ExchangeRate,
    IdempotencyKey,
    OrderAccount,
    Answer,
    Image,
    IntentItem,
    Question,
    QuestionOption,
    Voucher,
    Member,
    Payment,
    PaymentReport,
    PaymentIntent,
    ChainBlock,
    RateCount,
    Refund,
    CounterEntry,
    DailyAmount,
    Tenant,
    TicketType,
    AuditLogEntry,
    Wallet,
    PendingWallet,
    Collection,
    Payout,
    PayoutCursor,
    PayoutEvent,
    PassedId,
    AuditLogPeople,
    DoorDevice,
    EventDoor,
    EventStock,
    RefundAddress,
    Scan,
    TicketKey,
    Transfer,
    Waiver,
    Billing,
    BlockedNetwork,
    OrderEmail,
    Invitation,
    Session,
    X402Settlement,
    Lease,
    Mail,
    Message,
    Series,
    Notification,
    NotificationFeed,
    WebhookDelivery,
    WebhookEndpoint,
)


@pytest.mark.parametrize("model", MODELS)
def test_every_column_is_in_both_with_the_same_nullability(app, model):
    columns = {column.name: column.null for column in database.get_columns(model._meta.table_name)}
    # SQLite allows NULL in a text primary key, so its answer about one means nothing.
    columns |= dict.fromkeys(database.get_primary_keys(model._meta.table_name), False)
    fields = {field.column_name: field.null for field in model._meta.sorted_fields}
    assert columns == fields


def test_every_table_has_a_model(app):
    tables = set(database.get_tables()) - {"schema_migrations"}
    assert tables == {model._meta.table_name for model in MODELS}


def test_a_moment_is_the_same_on_both_databases(acme):
    event = acme.event(start_at="2030-06-01T12:00:00.123456+02:00")
    assert event["start_at"] == "2030-06-01T10:00:00.123456Z"
