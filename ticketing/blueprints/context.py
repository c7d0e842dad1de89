"""What a request carries with it: the configuration, its id, who asks."""

import re

from flask import current_app, g, request

from ticketing import ids
from ticketing.config import Config
from ticketing.services.pages import PageRequest
from ticketing.services.tokens import Caller

_SANE_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)


def config() -> Config:
    """Return the configuration of the running application."""
    loaded: Config = current_app.extensions["ticketing"]
    return loaded


def request_id() -> str:
    """Return the id of this request: the client's if it is sane, else one of ours."""
    if "request_id" not in g:
        offered = request.headers.get("X-Request-ID", "")
        g.request_id = offered if _SANE_REQUEST_ID.fullmatch(offered) else ids.new("req_")
    return str(g.request_id)


def caller() -> Caller:
    """Return who asks, on a surface whose guard has found it out."""
    found: Caller = g.caller
    return found


def page_request(query: dict[str, object]) -> PageRequest:
    """Take the page out of a list's checked query; what is left are its filters."""
    limit, cursor = query.pop("limit"), query.pop("cursor")
    assert isinstance(limit, int) and (cursor is None or isinstance(cursor, str))
    return PageRequest(limit, cursor, config().keyring)
