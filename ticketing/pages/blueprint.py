"""The blueprint of every page: its guard, the checks of forms, the headers that keep it safe."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from flask import Blueprint, Response, request
from werkzeug import Response as AnyResponse

from ticketing.web import gate, origin
from ticketing.web.auth import Guard

MAX_FORM_BYTES = 16 * 1024

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

# With `no-referrer`, forms would send `Origin: null`.
HEADERS = (
    ("Content-Security-Policy", CONTENT_SECURITY_POLICY),
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
)

KEEPS_OPENER = ("Cross-Origin-Opener-Policy", "unsafe-none")
"""Of the way to the page that connects an app. Some apps open it in a window of their own and wait
for it there; `same-origin` would cut it off from them."""

NOT_SEARCHED = ("X-Robots-Tag", "noindex")
"""The header of a page that search engines leave out."""

SECRET_HEADERS = (("Cache-Control", "no-store"), NOT_SEARCHED)
"""Of a page that has a secret in its URL."""


class PageBlueprint(Blueprint):
    """A blueprint of pages.

    `is_secret`: their URLs contain a secret. `headers` are more headers of each response, or other
    values of HEADERS. A header that a view sets itself has priority over both.
    """

    max_form_bytes = MAX_FORM_BYTES

    def __init__(
        self,
        name: str,
        import_name: str,
        *,
        guard: Guard,
        is_secret: bool = False,
        headers: Mapping[str, str] = MappingProxyType({}),
        **options: Any,
    ) -> None:
        super().__init__(f"pages_{name}", import_name, **options)
        self.guard = guard
        self.is_secret = is_secret
        self.headers = {**dict(HEADERS), **headers}
        self.before_request(self.check_request)
        self.after_request(self._add_headers)

    def check_request(self) -> AnyResponse | None:
        """Check size, origin, guard and limits of a request. Return an answer to send instead."""
        return gate.check_request(
            self.guard, body="form", max_bytes=self.max_form_bytes, first=_check_origin
        )

    def _add_headers(self, response: Response) -> Response:
        for name, value in self.headers.items():
            response.headers.setdefault(name, value)
        if self.is_secret:
            response.headers.update(SECRET_HEADERS)
        return response


def _check_origin() -> None:
    origin.check_host()
    if request.method == "POST":
        origin.check_same_origin()
