"""Passkeys (WebAuthn): a key in a phone, a computer or a stick, instead of a password or after it.

The browser signs a challenge of ours, for this site only (challenges.py). Each use asks the person
for a finger, a face or a PIN, so a passkey alone is two factors.

Few processes need webauthn, and it loads 100 modules: so each function loads it that uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from peewee import IntegrityError

from ticketing import clock, ids
from ticketing.credentials import Keyring
from ticketing.db.connection import write_transaction
from ticketing.errors import FieldMessage, Invalid, NotFound, WrongPasskey
from ticketing.models.members import Member
from ticketing.models.second_factors import Passkey
from ticketing.models.tenants import Tenant
from ticketing.services.access import challenges

if TYPE_CHECKING:
    from webauthn.helpers import structs

MOST = 10
"""Passkeys of one member."""

_SIGN_IN = "sign-in"
_MALFORMED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What the library raises besides its own errors, for bytes that no browser sends."""


@dataclass(frozen=True)
class Site:
    """The site to which passkeys belong: its host, its origin, and the name that browsers show."""

    host: str
    origin: str
    name: str


def creation_options(member: Member, site: Site, keyring: Keyring) -> str:
    """Return the options, in JSON, with which a browser makes a passkey for a member."""
    import webauthn
    from webauthn.helpers import structs

    options = webauthn.generate_registration_options(
        rp_id=site.host,
        rp_name=site.name,
        user_id=member.id.encode(),
        user_name=member.email or member.id,
        challenge=challenges.new(f"create {member.id}", keyring),
        authenticator_selection=structs.AuthenticatorSelectionCriteria(
            resident_key=structs.ResidentKeyRequirement.REQUIRED,
            user_verification=structs.UserVerificationRequirement.REQUIRED,
        ),
        exclude_credentials=_descriptors(list_of(member.id)),
    )
    return webauthn.options_to_json(options)


def request_options(site: Site, keyring: Keyring, member_id: str | None = None) -> str:
    """Return the options, in JSON, with which a browser proves a passkey.

    `member_id`: who has proved the password. None: anybody with a passkey of this site.
    """
    import webauthn
    from webauthn.helpers import structs

    of_member = [] if member_id is None else list_of(member_id)
    options = webauthn.generate_authentication_options(
        rp_id=site.host,
        challenge=challenges.new(member_id or _SIGN_IN, keyring),
        allow_credentials=_descriptors(of_member),
        user_verification=structs.UserVerificationRequirement.REQUIRED,
    )
    return webauthn.options_to_json(options)


def add(member: Member, credential: str, name: str, site: Site, keyring: Keyring) -> Passkey:
    """Store the passkey that a browser made. Invalid.

    The caller runs it in `members.changing`.
    """
    import webauthn
    from webauthn import helpers

    try:
        sent = helpers.parse_registration_credential_json(credential)
        challenge = helpers.parse_client_data_json(sent.response.client_data_json).challenge
        challenges.use_up(challenge, f"create {member.id}", keyring)
        made = webauthn.verify_registration_response(
            credential=sent,
            expected_challenge=challenge,
            expected_rp_id=site.host,
            expected_origin=site.origin,
            require_user_verification=True,
        )
    except (*_MALFORMED, helpers.exceptions.WebAuthnException, WrongPasskey):
        raise _refused("passkey", "The browser made no passkey that can be used.") from None
    if len(list_of(member.id)) >= MOST:
        raise _refused("too_many_passkeys", "There are ten passkeys already. Remove one first.")
    try:
        return Passkey.create(
            id=ids.new(ids.PASSKEY),
            member=member.id,
            credential_id=helpers.bytes_to_base64url(made.credential_id),
            public_key=helpers.bytes_to_base64url(made.credential_public_key),
            sign_count=made.sign_count,
            name=name,
            created_at=clock.now(),
        )
    except IntegrityError:
        raise _refused("passkey_in_use", "This passkey is in use already.") from None


def prove(credential: str, site: Site, keyring: Keyring, member_id: str | None = None) -> Member:
    """Return the member whose passkey has signed, with the tenant. WrongPasskey.

    `member_id`: who has proved the password; then it must be theirs.
    """
    import webauthn
    from webauthn import helpers

    try:
        sent = helpers.parse_authentication_credential_json(credential)
        challenge = helpers.parse_client_data_json(sent.response.client_data_json).challenge
        passkey = _with_credential(helpers.bytes_to_base64url(sent.raw_id))
        if passkey is None or member_id not in (None, passkey.member_id):
            raise WrongPasskey
        proved = webauthn.verify_authentication_response(
            credential=sent,
            expected_challenge=challenge,
            expected_rp_id=site.host,
            expected_origin=site.origin,
            credential_public_key=helpers.base64url_to_bytes(passkey.public_key),
            credential_current_sign_count=passkey.sign_count,
            require_user_verification=True,
        )
    except (*_MALFORMED, helpers.exceptions.WebAuthnException):
        raise WrongPasskey from None
    with write_transaction():
        challenges.use_up(challenge, member_id or _SIGN_IN, keyring)
        columns = {"sign_count": proved.new_sign_count, "last_used_at": clock.now()}
        Passkey.update(columns).where(Passkey.id == passkey.id).execute()
    member: Member = passkey.member
    return member


def list_of(member_id: str) -> Sequence[Passkey]:
    """Return the passkeys of a member, the oldest first."""
    return list(Passkey.select().where(Passkey.member == member_id).order_by(Passkey.id))


def get(member_id: str, passkey_id: str) -> Passkey:
    """Return one passkey of a member. NotFound."""
    found: Passkey | None = Passkey.get_or_none(
        Passkey.member == member_id, Passkey.id == passkey_id
    )
    if found is None:
        raise NotFound("This passkey does not exist.")
    return found


def remove(member_id: str, passkey_id: str) -> None:
    """Remove one passkey of a member. NotFound."""
    get(member_id, passkey_id)
    Passkey.delete().where(Passkey.member == member_id, Passkey.id == passkey_id).execute()


def _with_credential(credential_id: str) -> Passkey | None:
    found: Passkey | None = (
        Passkey.select(Passkey, Member, Tenant)
        .join(Member)
        .join(Tenant)
        .where(
            Passkey.credential_id == credential_id,
            Member.disabled_at.is_null(),
            Member.password_hash.is_null(False),
        )
        .first()
    )
    return found


def _descriptors(found: Sequence[Passkey]) -> list[structs.PublicKeyCredentialDescriptor]:
    from webauthn.helpers import base64url_to_bytes, structs

    ids = (base64url_to_bytes(each.credential_id) for each in found)
    return [structs.PublicKeyCredentialDescriptor(id=each) for each in ids]


def _refused(code: str, text: str) -> Invalid:
    return Invalid({"credential": [FieldMessage(code, text)]})
