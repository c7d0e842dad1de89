"""The tokens surface: exchange an API key or a password for a JWT."""

from typing import Any

from schemas.tokens import KeyExchangeSchema, LoginSchema, TokenSchema
from ticketing import credentials
from ticketing.errors import InvalidCredentials
from ticketing.limits import CallClass
from ticketing.services.access import tokens
from ticketing.services.access.tokens import Token
from ticketing.web import auth, rate_limit
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import config

blp = ApiBlueprint(
    "tokens",
    __name__,
    url_prefix="/v1/auth",
    guard=auth.Open(CallClass.TOKEN),
    description="Exchange an API key or a password for a JWT.",
)


@blp.post("/token")
@blp.arguments(KeyExchangeSchema)
@blp.response(200, TokenSchema)
@blp.raises(InvalidCredentials)
def exchange_key(body: dict[str, Any]) -> Token:
    """Exchange an API key for a JWT."""
    return tokens.exchange_key(body["api_key"], config())


@blp.post("/login")
@blp.arguments(LoginSchema)
@blp.response(200, TokenSchema)
@blp.raises(InvalidCredentials)
def sign_in(body: dict[str, Any]) -> Token:
    """Sign a member in with a password."""
    # An attacker can guess one member's password from many addresses, so requests also count per
    # member. The count stores a digest, because an email address is personal data.
    member = f"{body['tenant']}\n{body['email'].lower()}"
    secret = config().keyring.current
    rate_limit.count_also(CallClass.LOGIN, credentials.keyed_digest(secret, "sign-in", member))
    return tokens.sign_in(body["tenant"], body["email"], body["password"], config())
