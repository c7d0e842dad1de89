"""Signs members in: counts the attempt, then checks the password."""

from ticketing import credentials
from ticketing.errors import InvalidCredentials
from ticketing.limits import CallClass
from ticketing.models.members import Member
from ticketing.services.access import members
from ticketing.web import rate_limit
from ticketing.web.context import config


def password(tenant: str, email: str, password: str) -> Member:
    """Return the member with this password, with the tenant. `tenant` is a slug or an id.

    InvalidCredentials, without a reason and in constant time. TooManyRequests.
    """
    # An attacker can guess one member's password from many addresses, so requests also count per
    # member. The count stores a digest, because an email address is personal data.
    attempted = f"{tenant}\n{email.lower()}"
    secret_key = config().keyring.current
    counted_for = credentials.keyed_digest(secret_key, "sign-in", attempted)
    rate_limit.count_also(CallClass.LOGIN, counted_for)
    member = members.sign_in(tenant, email, password)
    if member is None:
        raise InvalidCredentials
    return member
