"""What buyers and holders see of admissions: codes, QR codes, the event's join URL."""

from __future__ import annotations

from ticketing.constants import AdmissionStatus, IntentStatus, RefundRecipient
from ticketing.credentials import Keyring
from ticketing.models.admissions import Admission
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.door import ticket_signing
from ticketing.services.orders import admissions, answers, transfers


def add_to_order(intent: PaymentIntent, join_url: str | None, keyring: Keyring) -> None:
    """Set the admissions and the join URL that an order shows its buyer.

    `join_url` is the event's. It is shown for an admission that still shows its code, once the
    order's payment is final: it cannot be taken back.
    """
    found = admissions.of_intent(intent)
    is_confirmed = intent.status == IntentStatus.CONFIRMED
    shown = [each for each in found if is_confirmed and admissions.shown_to_buyer(each)]
    for each in found:
        each.shown_code = each.shown_qr = None
    for each, qr in zip(shown, ticket_signing.qrs_of(shown, keyring), strict=True):
        each.shown_code, each.shown_qr = each.code, qr
    intent.admissions = found
    intent.online_join_url = join_url if shown and intent.final else None


def for_holder(admission: Admission, keyring: Keyring, *, shows_code: bool) -> Admission:
    """Return an admission that was read with its event, with all that its holder sees.

    The code is only for a caller who has sent it or has just accepted the admission.
    """
    is_void = admission.status == AdmissionStatus.VOID
    is_valid = admission.status == AdmissionStatus.VALID
    admission.shown_code = admission.code if shows_code else None
    admission.shown_qr = None if is_void else ticket_signing.qrs_of([admission], keyring)[0]
    can_join = is_valid and admission.is_final
    admission.online_join_url = admission.event.online_join_url if can_join else None
    admission.transfer = transfers.pending(admission)
    admission.refund_recipient = RefundRecipient.ORDER_BUYER if admission.intent_id else None
    return answers.add_to(admission)
