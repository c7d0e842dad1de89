"""For apps that act for members: tokens, registration, and what apps find out by themselves.

Their formats are those of OAuth. The member is asked in the console (pages/console/connect.py).
"""

from flask import Response, jsonify, request

from ticketing.errors import AppRefused, MalformedJson, UnsupportedMediaType
from ticketing.limits import CallClass
from ticketing.services.oauth import client_documents, metadata
from ticketing.services.oauth.answers import Answer, Pairs
from ticketing.web import origin, parsing
from ticketing.web.agent_guard import OAuthClient
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import config

_FORM = "application/x-www-form-urlencoded"
_NOT_STORED = (("Cache-Control", "no-store"), ("Pragma", "no-cache"))

blp = ApiBlueprint(
    "oauth",
    __name__,
    guard=OAuthClient(CallClass.TOKEN),
    description="Tokens for apps that members have connected.",
)
metadata_blp = ApiBlueprint(
    "oauth_metadata",
    __name__,
    guard=OAuthClient(CallClass.PUBLIC),
    description="What apps find out by themselves.",
)


@metadata_blp.get("/.well-known/oauth-authorization-server")
def read_server_metadata() -> Response:
    """Read where apps get tokens (RFC 8414)."""
    return jsonify(metadata.of_server(origin.origin()))


@metadata_blp.get("/.well-known/oauth-protected-resource")
def read_resource_metadata() -> Response:
    """Read what apps get tokens for (RFC 9728). Some programs ask for no path."""
    return jsonify(metadata.of_resource(origin.origin(), metadata.RESOURCES[1]))


@metadata_blp.get("/.well-known/oauth-protected-resource/mcp")
def read_metadata_of_mcp() -> Response:
    """Read what apps get tokens for at /mcp (RFC 9728)."""
    return jsonify(metadata.of_resource(origin.origin(), metadata.RESOURCES[0]))


@metadata_blp.get("/.well-known/oauth-protected-resource/mcp/organizer")
def read_metadata_of_organizer_mcp() -> Response:
    """Read what apps get tokens for at /mcp/organizer (RFC 9728)."""
    return jsonify(metadata.of_resource(origin.origin(), metadata.RESOURCES[1]))


@blp.post(metadata.TOKEN)
def exchange() -> Response:
    """Exchange a code, or a refresh token, for tokens (RFC 6749, 3.2)."""
    # Few processes need authlib.
    from ticketing.services.oauth import server

    return _response(server.exchange(_parameters(), origin.origin(), config()))


@blp.post(metadata.REVOCATION)
def revoke() -> Response:
    """End the app that has this token (RFC 7009)."""
    # Few processes need authlib.
    from ticketing.services.oauth import server

    return _response(server.revoke(_parameters(), origin.origin(), config()))


@blp.post(metadata.REGISTRATION)
def register() -> Response:
    """Register an app that has no URL of its own (RFC 7591). Its id contains what it says."""
    try:
        sent = parsing.json_of(request)
        if not isinstance(sent, dict):
            raise MalformedJson
        client = client_documents.register(sent, config().keyring)
    except (MalformedJson, UnsupportedMediaType, AppRefused) as error:
        failure = {"error": "invalid_client_metadata", "error_description": error.detail}
        return _response(Answer(400, failure, []))
    body = {
        "client_id": client.client_id,
        "client_name": client.name,
        "redirect_uris": list(client.redirect_uris),
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
    }
    return _response(Answer(201, body, [*_NOT_STORED]))


def _parameters() -> Pairs:
    """Return the parameters of a form, as they were sent."""
    return [] if request.mimetype != _FORM else list(request.form.items(multi=True))


def _response(answer: Answer) -> Response:
    response = jsonify(answer.body)
    response.status_code = answer.status
    response.headers.update(answer.headers)
    response.headers.update(_NOT_STORED)
    return response
