"""The grants of authlib, over connected apps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from authlib.oauth2.rfc6749 import InvalidGrantError
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant, RefreshTokenGrant
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge

from ticketing.models.connected_apps import ConnectedApp
from ticketing.models.members import Member
from ticketing.roles import Role
from ticketing.services.oauth import connected_apps, scopes
from ticketing.services.oauth.clients import PUBLIC, Client


@dataclass(frozen=True)
class Consent:
    """What a member has agreed to: an app with this id, in this role."""

    member: Member
    app_id: str
    role: Role


@dataclass(frozen=True)
class Code:
    """A code, with what authlib asks of it."""

    app: ConnectedApp
    code_challenge_method = "S256"

    @property
    def code_challenge(self) -> str:
        """The digest of the verifier that must come with the code."""
        return str(self.app.code_challenge)

    def get_redirect_uri(self) -> str:
        """Return where the member was sent back to."""
        return str(self.app.redirect_uri)

    def get_scope(self) -> str:
        """Return the scopes that the member has agreed to."""
        return scopes.text_of(Role(self.app.role))


@dataclass(frozen=True)
class Token:
    """A token, with what authlib asks of it. `generation`: that of a refresh token."""

    app: ConnectedApp
    generation: int = 0

    def check_client(self, client: Client) -> bool:
        """Return whether the token was issued to this client."""
        return bool(client.client_id == self.app.client_id)

    def get_scope(self) -> str:
        """Return the scopes that the member has agreed to."""
        return scopes.text_of(Role(self.app.role))


class Challenge(CodeChallenge):
    """PKCE with the one method that keeps the verifier secret (RFC 7636, 4.2)."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ["S256"]


class CodeGrant(AuthorizationCodeGrant):
    """A code of an app that a member connects, exchanged for tokens (RFC 6749, 4.1)."""

    TOKEN_ENDPOINT_AUTH_METHODS = [PUBLIC]
    request: Any

    def generate_authorization_code(self) -> str:
        """Return the code of the app in the consent."""
        return connected_apps.code_of(self.request.user.app_id, self.server.keyring)

    def save_authorization_code(self, _: str, request: Any) -> None:
        """Store the app. The code itself is signed. AuthorizationEnded; TooManyApps."""
        consent: Consent = request.user
        asked = request.payload
        connected_apps.connect(
            consent.member,
            consent.app_id,
            request.client,
            asked.redirect_uri,
            asked.data["code_challenge"],
            consent.role,
        )

    def query_authorization_code(self, code: str, client: Client) -> Code | None:
        """Return a code of this client that was not exchanged yet."""
        app = connected_apps.of_code(code, client.client_id, self.server.keyring)
        return None if app is None else Code(app)

    def authenticate_user(self, code: Code) -> ConnectedApp:
        """Use up the code. Return its app. InvalidGrantError."""
        return _used_once(connected_apps.exchange(code.app))

    def delete_authorization_code(self, _: Code) -> None:
        """Do nothing: it is used up."""


class RefreshGrant(RefreshTokenGrant):
    """A refresh token, exchanged for the next one (RFC 6749, 6)."""

    TOKEN_ENDPOINT_AUTH_METHODS = [PUBLIC]
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, token: str) -> Token | None:
        """Return a refresh token of an app that has not ended.

        None if the member's role has nothing of the app's any more: so the client asks them again.
        """
        found = connected_apps.of_refresh_token(token, self.server.keyring)
        if found is None or connected_apps.role_of(found[0], Role(found[0].role)) is None:
            return None
        return Token(*found)

    def authenticate_user(self, token: Token) -> ConnectedApp:
        """Use up the refresh token. Return its app. InvalidGrantError."""
        return _used_once(connected_apps.renew(token.app, token.generation))

    def revoke_old_credential(self, _: Token) -> None:
        """Do nothing: it is used up."""


class Revocation(RevocationEndpoint):
    """Ends the app of a token (RFC 7009)."""

    CLIENT_AUTH_METHODS = [PUBLIC]

    def query_token(self, token: str, _: str | None) -> Token | None:
        """Return an access or refresh token that is valid."""
        keyring = self.server.keyring
        found = connected_apps.of_refresh_token(token, keyring)
        other = connected_apps.of_access_token(token, keyring) if found is None else None
        app = found[0] if found else other[0] if other else None
        return None if app is None else Token(app)

    def revoke_token(self, token: Token, _: Any) -> None:
        """End the app, with all its tokens."""
        connected_apps.end(token.app.tenant_id, token.app.id, None)


def _used_once(app: ConnectedApp | None) -> ConnectedApp:
    if app is None:
        raise InvalidGrantError("It was used before, so the app was ended.")
    return app
