"""Cross-origin requests (Fetch standard, 3.2), for the surfaces that browsers of any site use."""

from flask import Blueprint, Response, request

ALLOWED_HEADERS = "Authorization, Content-Type, Idempotency-Key, If-None-Match, X-Request-ID"
EXPOSED_HEADERS = (
    "ETag, Idempotent-Replayed, RateLimit, RateLimit-Policy, Retry-After, X-Request-ID"
)
PREFLIGHT_SECONDS = "86400"
HEADERS = [
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", EXPOSED_HEADERS),
]


def open_to_all(blueprint: Blueprint) -> None:
    """Let scripts of any origin use a surface. No cookie is ever looked at, so none is at risk."""
    blueprint.after_request(_allow)


def _allow(response: Response) -> Response:
    response.headers.extend(HEADERS)
    if request.method == "OPTIONS":
        response.headers["Access-Control-Allow-Methods"] = ", ".join(sorted(response.allow))
        response.headers["Access-Control-Allow-Headers"] = ALLOWED_HEADERS
        response.headers["Access-Control-Max-Age"] = PREFLIGHT_SECONDS
    return response
