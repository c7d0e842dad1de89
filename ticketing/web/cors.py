"""CORS (Fetch standard, 3.2), for the surfaces that scripts of any website may use."""

from flask import Blueprint, Response, request

ALLOWED_HEADERS = (
    "Authorization, Content-Type, Idempotency-Key, If-None-Match, X-Request-ID,"
    # Clients in browsers that pay by a header send the last of these as a request header.
    " Waiting-Room-Token, PAYMENT-SIGNATURE, Access-Control-Expose-Headers"
)
EXPOSED_HEADERS = (
    "ETag, Idempotent-Replayed, Location, RateLimit, RateLimit-Policy, Retry-After, X-Request-ID,"
    " PAYMENT-REQUIRED, PAYMENT-RESPONSE"
)
PREFLIGHT_SECONDS = "86400"
HEADERS = [
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", EXPOSED_HEADERS),
]


def open_to_all(blueprint: Blueprint) -> None:
    """Allow scripts of any origin. This is safe because the service uses no cookies."""
    blueprint.after_request(_allow)


def _allow(response: Response) -> Response:
    response.headers.extend(HEADERS)
    if request.method == "OPTIONS":
        response.headers["Access-Control-Allow-Methods"] = ", ".join(sorted(response.allow))
        response.headers["Access-Control-Allow-Headers"] = ALLOWED_HEADERS
        response.headers["Access-Control-Max-Age"] = PREFLIGHT_SECONDS
    return response
