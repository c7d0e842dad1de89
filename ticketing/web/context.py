"""Access to the current request's data: configuration, request id, address, caller, tenant."""

import re
from typing import Any

from flask import current_app, g, request

from ticketing import credentials, ids
from ticketing.config import Config
from ticketing.models.tenants import Tenant
from ticketing.services.access import tenants
from ticketing.services.access.callers import Caller
from ticketing.services.door import devices
from ticketing.services.door.devices import DoorCaller
from ticketing.services.pagination import PageRequest
from ticketing.web import client_ip

_REQUEST_ID = "ticketing.request_id"
_VALID_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)


def config() -> Config:
    """Return the configuration of the running application."""
    loaded: Config = current_app.extensions["ticketing"]
    return loaded


def request_id() -> str:
    """Return the id of this request."""
    return request_id_of(request.environ)


def request_id_of(environ: dict[str, Any]) -> str:
    """Return the client's X-Request-ID if it is well-formed, else a new id."""
    found: str | None = environ.get(_REQUEST_ID)
    if found is None:
        offered = environ.get("HTTP_X_REQUEST_ID", "")
        found = offered if _VALID_REQUEST_ID.fullmatch(offered) else ids.new("req_")
        environ[_REQUEST_ID] = found
    return found


def address() -> str:
    """Return the client's IPv4 address or IPv6 /64 network."""
    return client_ip.address(request.environ, config().trusted_proxies)


def networks() -> tuple[str, ...]:
    """Return the client's networks, from narrow to wide, for limits."""
    return client_ip.networks(request.environ, config().trusted_proxies)


def client() -> tuple[str, ...]:
    """Return digests of the client's networks, from narrow to wide, for limits of orders."""
    return client_of(request.environ, config())


def client_of(environ: dict[str, Any], config: Config) -> tuple[str, ...]:
    """Return the same for a request that Flask does not handle."""
    secret_key, found = config.keyring.current, client_ip.networks(environ, config.trusted_proxies)
    return tuple(credentials.keyed_digest(secret_key, "held-by", each) for each in found)


def limited_client() -> tuple[str, ...]:
    """Return the same for a request without a credential. Empty for one with a credential."""
    return () if caller_or_none() else client()


def caller() -> Caller:
    """Return the caller, on a surface whose guard requires a credential."""
    found: Caller = g.caller
    return found


def caller_or_none() -> Caller | None:
    """Return the caller. None if the request has no credential and needs none."""
    found: Caller | None = g.get("caller")
    return found


def admission_code() -> str | None:
    """Return the admission's code that the guard has accepted. None for other credentials."""
    found: str | None = g.get("admission_code")
    return found


def door_caller() -> DoorCaller:
    """Return the device, or the organizer's credential, on a door's surface. NotFound."""
    if "device" in g:
        return devices.caller_of(g.device)
    return devices.organizer(caller(), (request.view_args or {})["event_id"])


def credential_or_none() -> tuple[str, str] | None:
    """Return the id of the credential that the guard has accepted, and its tenant's slug."""
    known = caller_or_none()
    if known:
        return known.credential_id, known.tenant.slug
    return (g.device.id, g.device.tenant.slug) if "device" in g else None


def tenant_of_path() -> Tenant:
    """Return the tenant in the path. It is looked up once per request. NotFound."""
    if "tenant" not in g:
        known = caller_or_none()
        g.tenant = known.tenant if known else tenants.find((request.view_args or {})["tenant"])
    found: Tenant = g.tenant
    return found


def page_request(query: dict[str, object]) -> PageRequest:
    """Remove `limit` and `cursor` from a list's validated query, and return them."""
    limit, cursor = query.pop("limit"), query.pop("cursor")
    assert isinstance(limit, int) and (cursor is None or isinstance(cursor, str))
    return PageRequest(limit, cursor, config().keyring)
