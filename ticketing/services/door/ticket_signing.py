"""The QR text of an admission. A stub, until the signature is there."""

from ticketing.credentials import Keyring, keyed_digest
from ticketing.models.admissions import Admission


def qr_of(admission: Admission, keyring: Keyring) -> str:
    """Return the text of the admission's QR code. It is the same for one generation."""
    if admission.qr is None:
        text = f"{admission.id} {admission.generation}"
        qr = "T1:" + keyed_digest(keyring.current, "qr", text).upper()
        Admission.update(qr=qr).where(
            Admission.id == admission.id,
            Admission.generation == admission.generation,
            Admission.qr.is_null(),
        ).execute()
        admission.qr = qr
    return str(admission.qr)
