"""The tokens surface: exchange an API key or a password for a JWT."""

from functools import partial
from typing import Any

from schemas.members import InvitationAcceptSchema
from schemas.tokens import KeyExchangeSchema, LoginSchema, TokenSchema
from ticketing.errors import (
    InvalidCredentials,
    InvitationEnded,
    MemberExists,
    NotFound,
    SecondFactorMissing,
    SecondFactorRequired,
    WrongCode,
)
from ticketing.limits import CallClass
from ticketing.services.access import tokens
from ticketing.services.access.tokens import Token
from ticketing.web import auth
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import config
from ticketing.web.sign_in import invitation as accept
from ticketing.web.sign_in import of_api as check_second_factor
from ticketing.web.sign_in import password as check_password

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
@blp.raises(InvalidCredentials, SecondFactorRequired, WrongCode, SecondFactorMissing)
def sign_in(body: dict[str, Any]) -> Token:
    """Sign a member in with a password, and with the code of a second factor, if there is one.

    A passkey is used in the console only. Programs use API keys.
    """
    code = body.pop("code")
    member = check_password(**body)
    check_second_factor(member, code)
    return tokens.of_member(member, config())


@blp.post("/invitation")
@blp.arguments(InvitationAcceptSchema)
@blp.response(200, TokenSchema)
@blp.raises(
    NotFound, InvitationEnded, MemberExists, SecondFactorRequired, WrongCode, SecondFactorMissing
)
def accept_invitation(body: dict[str, Any]) -> Token:
    """Set a password with an invitation, and sign in. It works once.

    All sessions and JWTs of the member end. The first member of a tenant states an `email`. Who has
    a second factor already sends its `code`, too.
    """
    code = body.pop("code")
    member = accept(**body, check=partial(check_second_factor, code=code))
    return tokens.of_member(member, config())
