"""What clients find out by themselves: about the server (RFC 8414), and what it protects (9728)."""

from __future__ import annotations

from typing import Any

from ticketing.services.oauth.clients import PUBLIC
from ticketing.services.oauth.scopes import SCOPES

PAGE, TOKEN, REVOCATION, REGISTRATION = (
    "/console/connect",
    "/v1/oauth/token",
    "/v1/oauth/revoke",
    "/v1/oauth/register",
)
RESOURCES = ("/mcp", "/mcp/organizer")
"""The paths that take access tokens. To the second one, nobody comes without."""

_OF_RESOURCE = "/.well-known/oauth-protected-resource"


def page(issuer: str) -> str:
    """Return the URL of the page on which a member connects an app."""
    return issuer + PAGE


def resources(issuer: str) -> frozenset[str]:
    """Return the identifiers for which tokens can be asked for (RFC 8707)."""
    return frozenset({issuer, *(issuer + path for path in RESOURCES)})


def url_of_resource(issuer: str, path: str) -> str:
    """Return where the metadata of the resource at `path` is."""
    return f"{issuer}{_OF_RESOURCE}{path}"


def of_resource(issuer: str, path: str) -> dict[str, Any]:
    """Return the metadata of the resource at `path`, one of RESOURCES (RFC 9728, 2)."""
    return {
        "resource": issuer + path,
        "authorization_servers": [issuer],
        "scopes_supported": [*SCOPES],
        "bearer_methods_supported": ["header"],
        "resource_name": "Tickets for stablecoins",
        "resource_documentation": f"{issuer}/llms.txt",
    }


def of_server(issuer: str) -> dict[str, Any]:
    """Return the metadata of the authorization server (RFC 8414, 2)."""
    return {
        "issuer": issuer,
        "authorization_endpoint": page(issuer),
        "token_endpoint": issuer + TOKEN,
        "revocation_endpoint": issuer + REVOCATION,
        "registration_endpoint": issuer + REGISTRATION,
        "scopes_supported": [*SCOPES],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": [PUBLIC],
        "revocation_endpoint_auth_methods_supported": [PUBLIC],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
        "client_id_metadata_document_supported": True,
        "protected_resources": [issuer + path for path in RESOURCES],
    }
