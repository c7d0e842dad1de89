"""The authorization server: what it answers to the page, to token requests and to revocations.

Errors have the format of OAuth: `error` and `error_description`, in JSON (RFC 6749, 5.2), or in the
URI to which a person is sent back (4.1.2.1), with `iss` (RFC 9207).

authlib has 40 modules, and few processes need it: load this module where it is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit

from authlib.oauth2.rfc6749 import (
    AuthorizationServer,
    InvalidRequestError,
    OAuth2Error,
    OAuth2Request,
    UnsupportedResponseTypeError,
)
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload

from ticketing import clock
from ticketing.config import Config
from ticketing.credentials import Keyring
from ticketing.db.connection import write_transaction
from ticketing.errors import AppRefused, AuthorizationEnded
from ticketing.models.connected_apps import ConnectedApp
from ticketing.models.members import Member
from ticketing.roles import Role
from ticketing.services.access import signed_claims
from ticketing.services.oauth import client_documents, connected_apps, metadata, scopes
from ticketing.services.oauth.answers import Answer, Asked, Decision, Pairs, SentBack
from ticketing.services.oauth.clients import Client
from ticketing.services.oauth.grants import (
    Challenge,
    CodeGrant,
    Consent,
    RefreshGrant,
    Revocation,
)

PAGE_LIVES = timedelta(minutes=10)
MAX_PARAMETER = 2048

_PAGE = "ticketing-oauth-page"
_VISIBLE = re.compile(r"[\x20-\x7e]*", re.ASCII)
_S256 = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


class _Request(OAuth2Request):
    """A request of OAuth with these parameters."""

    payload: Any

    def __init__(self, method: str, uri: str, parameters: dict[str, str]) -> None:
        super().__init__(method, uri)
        self.payload = BasicOAuth2Payload(parameters)

    @property
    def form(self) -> dict[str, str]:
        """The parameters."""
        found: dict[str, str] = self.payload.data
        return found


class _Server(AuthorizationServer):
    """authlib's server. `find` returns the client with an id."""

    def __init__(self, keyring: Keyring, find: Callable[[str], Client]) -> None:
        super().__init__()
        self.keyring, self._find = keyring, find
        self.register_grant(CodeGrant, [Challenge(required=True)])
        self.register_grant(RefreshGrant)
        self.register_endpoint(Revocation)
        self.register_token_generator("default", self._tokens)

    def query_client(self, client_id: str) -> Client:
        """Return the client with this id."""
        return self._find(client_id)

    def save_token(self, token: dict[str, Any], request: OAuth2Request) -> None:
        """Do nothing: tokens are signed, and not stored."""

    def send_signal(self, name: str, *_: Any, **__: Any) -> None:
        """Do nothing: nobody listens."""

    def create_oauth2_request(self, request: OAuth2Request) -> OAuth2Request:
        """Return the request as it is."""
        return request

    def handle_response(self, status: int, body: Any, headers: list[tuple[str, str]]) -> Answer:
        """Return the answer."""
        return Answer(status, body, headers)

    def _tokens(self, user: ConnectedApp, scope: str, **_: Any) -> dict[str, Any]:
        return {
            "access_token": connected_apps.access_token(user, scope, self.keyring),
            "token_type": "Bearer",
            "expires_in": int(connected_apps.ACCESS_LIVES.total_seconds()),
            "refresh_token": connected_apps.refresh_token(user, self.keyring),
            "scope": scope,
        }


def ask(pairs: Pairs, member: Member, issuer: str, config: Config) -> Asked:
    """Check an authorization request, and return what the page asks the member.

    AppRefused: the client or its redirect URI is not valid, so nobody is sent there. SentBack with
    the error that the app gets. Awaited if the app's URL must be read first. TooManyDescriptions.
    """
    sent = _unrepeated(pairs)
    for name in ("client_id", "redirect_uri"):
        if not sent.get(name):
            raise AppRefused(f"The app did not send its {name}.")
    client = client_documents.find(sent["client_id"], member.tenant_id, config)
    redirect_uri = sent["redirect_uri"]
    if not client.check_redirect_uri(redirect_uri):
        raise AppRefused("The app wants to send you back to an address that is not its own.")
    state = sent.get("state")
    try:
        _check(sent, issuer)
        request = _Request("GET", metadata.page(issuer), sent)
        _Server(config.keyring, lambda _: client).get_consent_grant(request, member)
        roles = scopes.grantable(sent.get("scope") or None, Role(member.role))
        if not roles:
            raise OAuth2Error("The member has none of these roles.", error="invalid_scope")
    except OAuth2Error as error:
        raise SentBack(_failed(redirect_uri, error, state, issuer)) from None
    claims = {
        "sub": member.id,
        "app": connected_apps.new_id(),
        "name": client.name,
        "host": client.host,
        "roles": roles,
        "sent": {
            name: sent[name]
            for name in ("response_type", "client_id", "redirect_uri", "state", "code_challenge")
            if name in sent
        },
    }
    page = signed_claims.sign(_PAGE, claims, config.keyring, clock.now() + PAGE_LIVES)
    return Asked(client, redirect_uri, roles, page)


def answer(page: str, member: Member, role: Role | None, issuer: str, config: Config) -> Decision:
    """Connect the app in this role, or not if it is None. Call it in the transaction of the audit.

    AuthorizationEnded if the page is another member's, was open for longer than PAGE_LIVES, or was
    answered before. TooManyApps.
    """
    required = ["sub", "exp", "app", "name", "roles", "sent"]
    claims = signed_claims.read(_PAGE, page, config.keyring, required)
    if claims is None or claims["sub"] != member.id:
        raise AuthorizationEnded
    if role is not None and (role not in claims["roles"] or not Role(member.role).holds(role)):
        raise AuthorizationEnded
    sent = claims["sent"]
    redirect_uri = sent["redirect_uri"]
    client = Client(sent["client_id"], claims["name"], (redirect_uri,), claims["host"])
    consent = None if role is None else Consent(member, claims["app"], role)
    request = _Request("POST", metadata.page(issuer), {**sent, "code_challenge_method": "S256"})
    server = _Server(config.keyring, lambda _: client)
    grant = server.get_consent_grant(request, member)
    found: Answer = server.create_authorization_response(request, consent, grant)
    assert found.location is not None
    return Decision(claims["app"], client, _with(found.location, {"iss": issuer}))


def exchange(pairs: Pairs, issuer: str, config: Config) -> Answer:
    """Answer a token request: a code, or a refresh token, for new tokens (RFC 6749, 3.2)."""
    return _in_json(pairs, issuer, config, _Server.create_token_response)


def revoke(pairs: Pairs, issuer: str, config: Config) -> Answer:
    """Answer a revocation request: the app of a token ends, if there is one (RFC 7009)."""

    def end(server: _Server, request: _Request) -> Answer:
        found: Answer = server.create_endpoint_response(Revocation.ENDPOINT_NAME, request)
        return found

    return _in_json(pairs, issuer, config, end)


def _in_json(
    pairs: Pairs, issuer: str, config: Config, act: Callable[[_Server, _Request], Answer]
) -> Answer:
    try:
        sent = _unrepeated(pairs)
        _check_resource(sent, issuer)
    except AppRefused as error:
        return _json_of(InvalidRequestError(error.detail))
    except OAuth2Error as error:
        return _json_of(error)
    # The row of the app has the id of its client. So the client's own description is not needed.
    server = _Server(config.keyring, lambda client_id: Client(client_id, "", ()))
    with write_transaction():
        return act(server, _Request("POST", issuer, sent))


def _json_of(error: OAuth2Error) -> Answer:
    status, body, headers = error()
    return Answer(status, body, headers)


def _unrepeated(pairs: Pairs) -> dict[str, str]:
    """Return the parameters that have a value (RFC 6749, 3.1). AppRefused."""
    found: dict[str, str] = {}
    for name, value in pairs:
        if not value:
            continue
        if name in found:
            raise AppRefused(f"A parameter was sent twice{_named(name)}.")
        if len(value) > MAX_PARAMETER or not _VISIBLE.fullmatch(value):
            raise AppRefused(f"A parameter is too long, or not ASCII{_named(name)}.")
        found[name] = value
    return found


def _named(name: str) -> str:
    return f": {name}" if re.fullmatch(r"[a-z_]{1,40}", name, re.ASCII) else ""


def _check(sent: dict[str, str], issuer: str) -> None:
    """Check what authlib leaves to us, or would put into an error as it is. OAuth2Error."""
    if sent.get("response_type") != "code":
        raise UnsupportedResponseTypeError("other")
    if sent.get("code_challenge_method") != "S256":
        raise InvalidRequestError("code_challenge_method must be S256.")
    if not _S256.fullmatch(sent.get("code_challenge", "")):
        raise InvalidRequestError("code_challenge must be 43 characters of base64url.")
    _check_resource(sent, issuer)


def _check_resource(sent: dict[str, str], issuer: str) -> None:
    """Check for what the tokens are wanted (RFC 8707). OAuth2Error."""
    resource = sent.get("resource")
    if resource is not None and resource.rstrip("/") not in metadata.resources(issuer):
        raise OAuth2Error("This is no resource of this server.", error="invalid_target")


def _failed(redirect_uri: str, error: OAuth2Error, state: str | None, issuer: str) -> str:
    said = {"error": str(error.error), "error_description": str(error.get_error_description())}
    more = {} if state is None else {"state": state}
    return _with(redirect_uri, {**said, **more, "iss": issuer})


def _with(uri: str, parameters: dict[str, str]) -> str:
    """Return a redirect URI, which has no fragment, with further parameters in its query."""
    parts = urlsplit(uri)
    query = "&".join(filter(None, (parts.query, urlencode(parameters))))
    return parts._replace(query=query).geturl()
