"""The rules of a reconciliation for admissions and their orders."""

from __future__ import annotations

from typing import Any

from peewee import JOIN, Case, fn

from ticketing.constants import SOLD, AdmissionStatus, IntentStatus
from ticketing.models.admissions import Admission
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.payments.reconciled_rows import Found, Scope, first

_CONFIRMED = PaymentIntent.status == IntentStatus.CONFIRMED

_SEATS_DUE = Case(None, [(PaymentIntent.confirmed_at.is_null(), 0)], PaymentIntent.quantity)
_UNMARKED = PaymentIntent.status.in_(SOLD) & PaymentIntent.confirmed_at.is_null()
_ADMISSION_STATUS = Case(None, [(_CONFIRMED, AdmissionStatus.VALID)], AdmissionStatus.SUSPENDED)
_FITS = (Admission.status == _ADMISSION_STATUS) | (Admission.status == AdmissionStatus.VOID)


def is_doubtful() -> Any:
    """Return the SQL condition that finds intents that may violate a rule."""
    strange = fn.SUM(Case(None, [(_FITS, 0)], 1))
    # Count a status instead of an id: it is in the index, so no table row is read.
    seats = Case(None, [(strange > 0, -1)], fn.COUNT(Admission.status))
    of_it = Admission.intent == PaymentIntent.id
    return (
        _UNMARKED
        | (Admission.select(seats).where(of_it) != _SEATS_DUE)
        | (_voided_with_refund() != PaymentIntent.seats_refunded)
    )


def admissions_match(scope: Scope) -> Found:
    """An intent has as many admissions as its quantity, once it was confirmed."""
    issued = fn.COUNT(Admission.id)
    query = (
        PaymentIntent.select(PaymentIntent.id, PaymentIntent.status, issued, _SEATS_DUE)
        .join(Admission, JOIN.LEFT_OUTER, on=(Admission.intent == PaymentIntent.id))
        .group_by(PaymentIntent.id)
        .having((issued != _SEATS_DUE) | _UNMARKED)
    )
    for intent, status, count, due in first(query, PaymentIntent, scope):
        yield [intent], f"a {status} intent has {count} admissions, {due} by its confirmed_at"


def admissions_valid_while_confirmed(scope: Scope) -> Found:
    """Admissions are valid while their intent is confirmed, else suspended; or they are void."""
    query = (
        Admission.select(Admission.id, Admission.status, PaymentIntent.id, PaymentIntent.status)
        .join(PaymentIntent)
        .where(~_FITS)
    )
    for admission, status, intent, of in first(query, PaymentIntent, scope):
        yield [admission, intent], f"the admission is {status}, its intent {of}"


def refunded_seats_are_void(scope: Scope) -> Found:
    """An intent's refunded seats are its admissions that were voided with a refund."""
    voided = _voided_with_refund()
    query = PaymentIntent.select(PaymentIntent.id, PaymentIntent.seats_refunded, voided).where(
        PaymentIntent.seats_refunded != voided
    )
    for intent, seats, count in first(query, PaymentIntent, scope):
        yield [intent], f"seats_refunded is {seats}, but {count} were voided with a refund"


def _voided_with_refund() -> Any:
    """Return the SQL count of an intent's admissions that were voided with a refund."""
    return Admission.select(fn.COUNT(Admission.id)).where(
        Admission.intent == PaymentIntent.id,
        Admission.void_refund,
    )
