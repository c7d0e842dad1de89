"""Transfers: the holder offers an admission, somebody else accepts it.

An offer is a secret that is derived from the transfer's id. The person who accepts it gets a new
code. The old code and QR code end in the same transaction. Each call locks the admission first. So
of an acceptance, a scan, a void and a cancelation, only the first one counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from peewee import JOIN, ModelSelect

from ticketing import clock, credentials, ids, links
from ticketing.config import Config
from ticketing.constants import OFFER_LIVES, TRANSFERS_PER_DAY, AdmissionStatus
from ticketing.credentials import Keyring
from ticketing.db.connection import write_transaction
from ticketing.errors import (
    AdmissionSuspended,
    AdmissionVoid,
    AlreadyRedeemed,
    Conflict,
    NotFound,
    NotTransferable,
    OfferEnded,
    PaymentNotFinal,
    ReturnOffered,
    TooManyTransfers,
    TransfersClosed,
)
from ticketing.models.admissions import Admission, Transfer
from ticketing.models.events import Event
from ticketing.models.items import IntentItem, is_of_seat
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.services import daily_counts
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import admissions, answers, finality, holders
from ticketing.services.orders.holders import Holder


@dataclass(frozen=True)
class Offer:
    """An offer as its sender sees it. `url` opens a page that accepts it."""

    id: str
    offer: str
    url: str | None
    expires_at: datetime


def offer(
    tenant_reference: str, admission_id: str, code: str | None, to: Holder, config: Config
) -> Offer:
    """Offer an admission to somebody else. An earlier offer ends.

    `to`: the person whom the sender names. `code` as in holders.get. NotFound, AdmissionVoid,
    AlreadyRedeemed, AdmissionSuspended, ReturnOffered, NotTransferable, TransfersClosed,
    PaymentNotFinal, TooManyTransfers.
    """
    with write_transaction():
        admission = holders.lock(tenant_reference, admission_id, code)
        _refuse_unless_transferable(admission)
        offered = Transfer.select().where(Transfer.admission == admission.id)
        daily_counts.check(offered, Transfer.created_at, TRANSFERS_PER_DAY, TooManyTransfers)
        _end_offers(admission)
        now = clock.now()
        transfer = Transfer.create(
            id=ids.new(ids.TRANSFER),
            admission=admission,
            generation=admission.generation,
            holder_name=to.get("name"),
            holder_email=to.get("email"),
            created_at=now,
            expires_at=now + OFFER_LIVES,
        )
        feed.record(admission.tenant_id, *facts.transfer_offered(admission, transfer))
    return _shown(transfer, config)


def offer_again(transfer_id: str, config: Config) -> Offer | None:
    """Return an offer that was made before. None if it has ended."""
    transfer = Transfer.get_or_none(Transfer.id == transfer_id)
    return _shown(transfer, config) if transfer is not None and _is_open(transfer) else None


def cancel(tenant_reference: str, admission_id: str, code: str | None) -> Admission:
    """Take an offer back. Without an open offer, nothing changes. NotFound."""
    with write_transaction():
        admission = holders.lock(tenant_reference, admission_id, code)
        _end_offers(admission)
        return admission


def accept(tenant: Tenant, offer: str, holder: Holder, keyring: Keyring) -> Admission:
    """Give an offered admission to a new holder, with a new code. The old code and QR code end.

    Of the old holder nothing is kept. NotFound for a wrong offer. OfferEnded for one that was
    used, replaced or canceled, or is too old. AdmissionVoid, AlreadyRedeemed, AdmissionSuspended,
    NotTransferable, TransfersClosed, PaymentNotFinal.
    """
    transfer_id = credentials.offered_transfer(keyring, offer)
    if transfer_id is None:
        raise _unknown()
    with write_transaction():
        transfer = Transfer.get_or_none(Transfer.id == transfer_id)
        if transfer is None:
            raise OfferEnded
        try:
            admission = holders.lock(tenant.id, transfer.admission_id, None)
        except NotFound:
            raise _unknown() from None
        # All changes of a transfer are made under the lock of its admission.
        transfer = Transfer.get_by_id(transfer_id)
        _refuse_unless_open(transfer, admission)
        _refuse_unless_transferable(admission)
        _hand_over(admission, holder)
        now = clock.now()
        Transfer.update(accepted_at=now, ended_at=now).where(Transfer.id == transfer_id).execute()
        feed.record(tenant.id, *facts.admission_transferred(admission))
        return admission


def find(offer: str, keyring: Keyring) -> Transfer:
    """Return the transfer that an offer accepts, if it can be accepted now.

    It has its admission, event, ticket type and tenant. NotFound for a wrong offer. The other
    errors are those of `accept`.
    """
    transfer_id = credentials.offered_transfer(keyring, offer)
    if transfer_id is None:
        raise _unknown()
    transfer: Transfer | None = _with_its_admission(transfer_id).first()
    if transfer is None:
        raise OfferEnded
    _refuse_unless_open(transfer, transfer.admission)
    _refuse_unless_transferable(transfer.admission)
    return transfer


def pending(admission: Admission) -> Transfer | None:
    """Return the open offer of an admission. None if there is none."""
    transfer: Transfer | None = _last.first(admission_id=admission.id)
    is_current = transfer is not None and transfer.generation == admission.generation
    return transfer if is_current and transfer is not None and _is_open(transfer) else None


def obstacle(admission: Admission) -> Conflict | None:
    """Return why an admission cannot be transferred now. None if it can."""
    if admission.status == AdmissionStatus.VOID:
        return AdmissionVoid()
    if admission.redeemed_at is not None:
        return AlreadyRedeemed()
    if admission.status == AdmissionStatus.SUSPENDED:
        return AdmissionSuspended()
    if admission.returned_at is not None:
        return ReturnOffered()
    if not admission.ticket_type.transferable:
        return NotTransferable()
    if clock.now() >= admission.event.transfers_end:
        return TransfersClosed()
    if admission.is_final or admission.intent is None:
        return None
    # Its new holder may have paid for it, and would lose it if the payment left the chain.
    return PaymentNotFinal(retry_after=finality.seconds_left(admission.intent))


def _with_its_admission(transfer_id: str) -> ModelSelect[Transfer]:
    return (
        Transfer.select(
            *(Transfer, Admission, Event, TicketType, Tenant), *holders.OF_ORDER, *holders.OF_ITEM
        )
        .join(Admission)
        .join(Event)
        .join_from(Admission, TicketType)
        .join_from(Admission, Tenant)
        .join_from(Admission, PaymentIntent, JOIN.LEFT_OUTER)
        .join_from(Admission, IntentItem, JOIN.LEFT_OUTER, on=is_of_seat(), attr="item")
        .where(Transfer.id == transfer_id)
    )


def _hand_over(admission: Admission, holder: Holder) -> None:
    admissions.change(
        admission,
        generation=admission.generation + 1,
        code=credentials.new_admission_code(),
        qr=None,
        holder_name=holder.get("name"),
        holder_email=holder.get("email"),
        named_at=None,
        transferred_at=clock.now(),
    )
    answers.clear(admission.id)


def _refuse_unless_open(transfer: Transfer, admission: Admission) -> None:
    is_current = transfer.generation == admission.generation
    if is_current and _ended_by_void(transfer, admission):
        raise AdmissionVoid
    # An offer that ended in another way says nothing about the admission: its sender may ask too.
    if not is_current or not _is_open(transfer):
        raise OfferEnded


def _ended_by_void(transfer: Transfer, admission: Admission) -> bool:
    ended_at, voided_at = transfer.ended_at, admission.voided_at
    return ended_at is not None and voided_at is not None and ended_at >= voided_at


def _refuse_unless_transferable(admission: Admission) -> None:
    conflict = obstacle(admission)
    if conflict is not None:
        raise conflict


def _end_offers(admission: Admission) -> None:
    is_open = (Transfer.admission == admission) & Transfer.ended_at.is_null()
    Transfer.update(ended_at=clock.now()).where(is_open).execute()


@Prepared
def _last(admission_id: Any) -> ModelSelect[Transfer]:
    of_admission = Transfer.select().where(Transfer.admission == admission_id)
    return of_admission.order_by(Transfer.id.desc()).limit(1)


def _is_open(transfer: Transfer) -> bool:
    return transfer.ended_at is None and clock.now() < transfer.expires_at


def _shown(transfer: Transfer, config: Config) -> Offer:
    offer = credentials.transfer_offer(config.keyring.current, transfer.id)
    url = None if config.public_url is None else config.public_url + links.transfer(offer)
    return Offer(transfer.id, offer, url, transfer.expires_at)


def _unknown() -> NotFound:
    return NotFound("This offer does not exist.")
