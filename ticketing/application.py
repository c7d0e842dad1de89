"""The application with all surfaces: what answers requests."""

import json
from collections.abc import Callable
from typing import Any

from flask import Flask
from flask.json.provider import DefaultJSONProvider

from ticketing import cli
from ticketing.blueprints import (
    admissions,
    api_keys,
    audit_log,
    chains,
    checkout,
    collections,
    crowds,
    deposits,
    door,
    door_devices,
    erasure,
    events,
    exports,
    gasless,
    holders,
    images,
    intents,
    mcp,
    members,
    messages,
    metrics,
    money,
    notifications,
    oauth,
    pairing,
    passed_ids,
    payouts,
    public,
    questions,
    reconciliation,
    refunds,
    robots_and_llms,
    sales,
    series,
    system,
    tenants,
    ticket_types,
    tokens,
    transfers,
    voucher_tickets,
    vouchers,
    waiting,
    waiting_list,
    waiting_room,
    wallets,
    webhooks,
    x402,
)
from ticketing.config import Config
from ticketing.constants import MAX_BODY_BYTES
from ticketing.pages import problems as error_pages
from ticketing.pages import surfaces as pages
from ticketing.pages.templates import PageEnvironment
from ticketing.response_times import ResponseTimes
from ticketing.services.access.blocked_networks import Blocks
from ticketing.services.access.rate_limits import Limiter
from ticketing.services.health import WriteCheck
from ticketing.services.waiting_room.rooms import Rooms
from ticketing.web import guesses, openapi, problems, rate_limit, request_log
from ticketing.web.front import Front
from ticketing.web.response_cache import ResponseCache
from ticketing.web.waiting_room import WaitingPages

SURFACES = (
    tokens,
    tenants,
    members,
    api_keys,
    wallets,
    collections,
    events,
    series,
    images,
    ticket_types,
    vouchers,
    questions,
    messages,
    waiting_list,
    waiting_room,
    intents,
    admissions,
    crowds,
    deposits,
    refunds,
    passed_ids,
    payouts,
    money,
    sales,
    reconciliation,
    audit_log,
    public,
    checkout,
    gasless,
    voucher_tickets,
    waiting,
    holders,
    transfers,
    chains,
    system,
    door_devices,
    pairing,
    door,
    erasure,
    notifications,
    webhooks,
    exports,
    x402,
)

_COMPACT = (",", ":")


class _Json(DefaultJSONProvider):
    """JSON of responses, written by one encoder: to make one takes as long as to use it."""

    sort_keys = False
    compact = True
    _encode = json.JSONEncoder(separators=_COMPACT, default=DefaultJSONProvider.default).encode

    def dumps(self, obj: Any, **options: Any) -> str:
        """Return a value as JSON, as json.dumps with these options would."""
        if options == {"separators": _COMPACT}:
            return self._encode(obj)
        return super().dumps(obj, **options)


class _Application(Flask):
    """Flask without asynchronous views."""

    json_provider_class = _Json
    jinja_environment = PageEnvironment
    # There are as many templates as files. Jinja's default searches a list at each use of one.
    jinja_options = {"cache_size": -1}

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return a view, or what runs before or after it, as it is: none is asynchronous.

        Flask would inspect ten functions at each request.
        """
        return func


def build() -> Flask:
    """Return the application with all surfaces. It works once it is configured."""
    app = _Application("ticketing")
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
    app.url_map.merge_slashes = False  # otherwise `//` redirects to an absolute http:// URL
    request_log.register(app)
    rate_limit.register(app)
    guesses.register(app)
    problems.register(app, error_pages)
    for surface in (*SURFACES, metrics, mcp, oauth, robots_and_llms):
        app.register_blueprint(surface.blp)
    app.register_blueprint(oauth.metadata_blp)
    openapi.register(app, (surface.blp for surface in SURFACES))
    pages.register(app)
    app.wsgi_app = Front(app)  # type: ignore[method-assign]
    return app


def configure(app: Flask, config: Config) -> None:
    """Let an application work with `config`, without anything that it knew. OSError."""
    cli.configure(app, config)
    app.extensions.update(
        blocks=Blocks(),
        limiter=Limiter(),
        response_cache=ResponseCache(),
        write_check=WriteCheck(),
        waiting_rooms=Rooms(ResponseTimes()),
        waiting_pages=WaitingPages(),
    )
