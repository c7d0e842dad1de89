"""Polls of buyers who wait for their payment: most of them ask for an order that has not changed.

blueprints/checkout.py answers them too. This is its short way for the client secret: one query.
"""

import re
from typing import Any

from ticketing import credentials, ids
from ticketing.config import Config
from ticketing.errors import NotFound
from ticketing.limits import CallClass
from ticketing.services.orders import intent_versions
from ticketing.web import conditional, cors, rate_limit
from ticketing.web.ready_response import Ready

ROUTE = "/v1/checkout/tenants/<tenant>/intents/<intent_id>"
_PATH = re.compile(
    rf"/v1/checkout/tenants/([a-z0-9_-]{{1,80}})/intents/({ids.INTENT}[{ids.ALPHABET}]{{26}})"
)
_BEARER = f"Bearer {credentials.CLIENT_SECRET_PREFIX}"


def find(environ: dict[str, Any], extensions: dict[str, Any]) -> Ready | None:
    """Return 304 if the client has the order's current state. None if Flask must respond.

    peewee's DatabaseError or InterfaceError if the database is unavailable.
    """
    known, authorization = environ.get("HTTP_IF_NONE_MATCH"), environ.get("HTTP_AUTHORIZATION", "")
    if known is None or environ["QUERY_STRING"] or not authorization.startswith(_BEARER):
        return None
    path = _PATH.fullmatch(environ["PATH_INFO"])
    if path is None:
        return None
    tenant, intent_id = path.groups()
    config: Config = extensions["ticketing"]
    secret = authorization.removeprefix("Bearer ")
    generation = credentials.client_secret_generation(config.keyring, intent_id, secret)
    if generation is None:
        return None
    allowance = rate_limit.spend(environ, extensions["limiter"], config, CallClass.ORDER, intent_id)
    if allowance is not None and not allowance.granted:
        return None
    try:
        tag = intent_versions.tag(tenant, intent_id, generation)
    except NotFound:
        return None
    if not conditional.has_tag(known, tag):
        return None
    headers = [("ETag", conditional.weak(tag)), ("Cache-Control", "no-store"), *cors.HEADERS]
    return Ready("304 NOT MODIFIED", headers, b"", ROUTE, tenant)
