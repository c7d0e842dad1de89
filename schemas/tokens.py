"""Schemas of tokens."""

from schemas.base import BaseSchema, Choice, Number, String, Text
from schemas.checks import Length
from ticketing.roles import Role


class KeyExchangeSchema(BaseSchema):
    """The request to exchange an API key for a JWT."""

    api_key = Text(
        "ticketing_01hq3v5m8r2t6w9y1a4c7e0g3j_3kq8n5v0x2z7b4d9f6h1j3m8p5r0t2w7y47c1e9g2",
        required=True,
        validate=Length(1, 200),
    )


def a_code() -> Text:
    """Return the field for the code of a second factor."""
    return Text(
        "492039",
        "Of an app, or a recovery code. Required for who has a second factor.",
        load_default=None,
        load_only=True,
        validate=Length(1, 40),
    )


class LoginSchema(BaseSchema):
    """The request of a member to sign in."""

    tenant = Text("acme", required=True, validate=Length(1, 100))
    email = Text("ada@example.org", required=True, validate=Length(1, 254))
    password = Text(
        "correct horse battery staple", required=True, load_only=True, validate=Length(1, 128)
    )
    code = a_code()


class TokenSchema(BaseSchema):
    """A JWT (RFC 7519) for the admin surfaces (RFC 6750)."""

    access_token = String("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9...")
    token_type = String("Bearer")
    expires_in = Number(900, "Seconds.")
    role = Choice(Role)
    tenant = String("acme")
