"""The gate: the checks that a request of a JSON surface or a page passes before its view."""

from collections.abc import Callable
from http import HTTPStatus

from flask import Response, request

from ticketing.bodies import ACCEPT_BODY
from ticketing.errors import BodyTooLarge, NotFound
from ticketing.limits import CallClass
from ticketing.web import rate_limit
from ticketing.web.auth import Guard
from ticketing.web.context import caller


def check_request(
    guard: Guard, *, body: str, max_bytes: int, first: Callable[[], None] | None = None
) -> Response | None:
    """Check the current request: its size, `first`, its guard, its caller's limit, its path.

    `body` is what the error calls a body that exceeds `max_bytes`. A request that `first` or the
    guard refuses counts, too. BodyTooLarge, TooManyRequests, NotFound, and their errors.

    Return the answer to send instead of the view's: the server has read the head of an upload only,
    and asks whether to read its body. Then the same request comes again, with the body.
    """
    request.max_content_length = max_bytes
    if (request.content_length or 0) > max_bytes:
        rate_limit.count(CallClass.PUBLIC)
        raise BodyTooLarge(f"The {body} exceeds {max_bytes // 1024} KiB.")
    try:
        if first is not None:
            first()
        guard.check()
    finally:
        counts = guard.counts()
        rate_limit.count(*counts)
        if counts.call_class is CallClass.ORDER:
            rate_limit.count_order_for_address()
    if any("\0" in part for part in (request.view_args or {}).values()):
        raise NotFound  # No id contains NUL, and Postgres rejects it in a parameter.
    accept_body = request.environ.get(ACCEPT_BODY)
    if accept_body is None:
        return None
    accept_body(caller().tenant_id)
    return Response(status=HTTPStatus.CONTINUE)
