"""Reissue an admission: a new code for a link that was lost or leaked. The old code and QR end."""

from ticketing import credentials
from ticketing.config import Config
from ticketing.constants import AdmissionStatus
from ticketing.db.connection import write_transaction
from ticketing.errors import AdmissionVoid, AlreadyRedeemed, MailNotConfigured
from ticketing.models.admissions import Admission
from ticketing.notification_types import MailKind
from ticketing.services.notifications import facts, feed, mail_queue
from ticketing.services.orders import admissions


def reissue(tenant_id: str, admission_id: str, *, email: str | None, config: Config) -> Admission:
    """Start a new generation of an admission. Return it with its new code, to be shown once.

    With an `email`, the code is only sent there. NotFound, AdmissionVoid, AlreadyRedeemed.
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
            )
            .returning(Admission)
            .execute()
        )
        if not reissued:
            now = admissions.get(tenant_id, admission_id)
            raise AdmissionVoid if now.status == AdmissionStatus.VOID else AlreadyRedeemed
        admissions.end_transfers(Admission.id == admission_id)
        (admission,) = reissued
        feed.record(tenant_id, *facts.admission_reissued(admission))
        admission.shown_code = admission.code if email is None else None
        if email is not None:
            columns = {"generation": admission.generation, "recipient": email}
            mail_queue.add([mail_queue.new(tenant_id, MailKind.TICKET, admission_id, **columns)])
        return admission
