"""Send a ticket again, or reissue it: a new code for a link that leaked. The old one ends."""

from ticketing import credentials
from ticketing.config import Config
from ticketing.constants import AdmissionStatus
from ticketing.db.connection import write_transaction
from ticketing.errors import (
    AdmissionVoid,
    AlreadyRedeemed,
    MailNotConfigured,
    NoEmail,
    ReturnOffered,
)
from ticketing.models.admissions import Admission
from ticketing.notification_types import MailKind
from ticketing.services.notifications import facts, feed, mail_queue
from ticketing.services.orders import admissions


def reissue(tenant_id: str, admission_id: str, *, email: str | None, config: Config) -> Admission:
    """Start a new generation of an admission. Return it with its new code, to be shown once.

    With an `email`, the code is only sent there. NotFound, AdmissionVoid, AlreadyRedeemed,
    ReturnOffered.
    MailNotConfigured with an `email`: nothing can be sent, and the code must not be shown instead.
    """
    admissions.get(tenant_id, admission_id)
    if email is not None and config.smtp is None:
        raise MailNotConfigured
    with write_transaction():
        reissued: list[Admission] = list(
            Admission.update(
                generation=Admission.generation + 1,
                code=credentials.new_admission_code(),
                qr=None,
                change_number=None,
            )
            .where(
                Admission.id == admission_id,
                Admission.status != AdmissionStatus.VOID,
                Admission.redeemed_at.is_null(),
                Admission.returned_at.is_null(),
            )
            .returning(Admission)
            .execute()
        )
        if not reissued:
            now = admissions.get(tenant_id, admission_id)
            if now.status == AdmissionStatus.VOID:
                raise AdmissionVoid
            raise AlreadyRedeemed if now.redeemed_at is not None else ReturnOffered
        admissions.end_transfers(Admission.id == admission_id)
        (admission,) = reissued
        feed.record(tenant_id, *facts.admission_reissued(admission))
        admission.shown_code = admission.code if email is None else None
        if email is not None:
            columns = {"generation": admission.generation, "recipient": email}
            mail_queue.add([mail_queue.new(tenant_id, MailKind.TICKET, admission_id, **columns)])
        return admission


def send_again(tenant_id: str, admission_id: str, config: Config) -> Admission:
    """Mail a ticket to its holder once more, as it is: the same link, the same QR code.

    NotFound, AdmissionVoid; NoEmail if the holder has no address; MailNotConfigured.
    """
    admission = admissions.get(tenant_id, admission_id)
    if config.smtp is None:
        raise MailNotConfigured
    if admission.status == AdmissionStatus.VOID:
        raise AdmissionVoid
    if admission.holder_email is None:
        raise NoEmail
    generation = {"generation": admission.generation}
    row = mail_queue.new(tenant_id, MailKind.TICKET_AGAIN, admission_id, **generation)
    with write_transaction():
        mail_queue.replace(row)
    return admission
