"""Ask an x402 facilitator what it supports, and to submit a signed transfer.

What it says of a payment proves nothing.
"""

import json
import logging
import re
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

import urllib3

from ticketing import nesting
from ticketing.chain.registry import Facilitator
from ticketing.models.x402 import Outcome
from ticketing.services.x402.payment_header import SCHEME, VERSION

TIMEOUT_SECONDS = 15.0
"""The time limit for a complete response."""

MAX_ANSWER_BYTES = 64 * 1024
_MOST_REDIRECTS = 2
_SAME_REQUEST = (307, 308)
_PENDING = "settlement_pending"
_REASON = re.compile(r"[a-z0-9_]{1,64}")
_TX_HASH = re.compile(r"0x[0-9a-fA-F]{64}")

log = logging.getLogger(__name__)

_pool = urllib3.PoolManager(maxsize=4, retries=False)


@dataclass(frozen=True)
class Verdict:
    """A facilitator's answer. `tx_hash`: of the transaction that it names, None if it names none.

    UNKNOWN: there is no valid answer, or it is still waiting. It may have submitted the transfer.
    """

    outcome: Outcome
    tx_hash: str | None = None
    reason: str = "settlement_failed"


def settle(facilitator: Facilitator, request: dict[str, Any]) -> Verdict:
    """Send the request to settle a payment, and return the facilitator's verdict. No errors."""
    try:
        status, body = _ask(facilitator, "POST", "/settle", json.dumps(request))
        answer = _parsed(body) if status < 300 or status >= 400 else {}
    except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        log.warning("the facilitator has no valid response (%s)", type(error).__name__)
        return Verdict(Outcome.UNKNOWN)
    if status >= 500 or type(answer.get("success")) is not bool:
        log.warning("the facilitator responds with status %s", status)
        return Verdict(Outcome.UNKNOWN)
    tx_hash, reason = answer.get("transaction"), answer.get("errorReason")
    named = tx_hash if isinstance(tx_hash, str) and _TX_HASH.fullmatch(tx_hash) else None
    if answer["success"]:
        return Verdict(Outcome.SUBMITTED, named)
    if reason == _PENDING:
        return Verdict(Outcome.UNKNOWN, named)
    if not isinstance(reason, str) or not _REASON.fullmatch(reason):
        return Verdict(Outcome.REFUSED, named)
    return Verdict(Outcome.REFUSED, named, reason)


def refusal(facilitator: Facilitator, network: str) -> str | None:
    """Ask what the facilitator supports. Return why it is of no use for a network. None: it is.

    `network`: its CAIP-2 name.
    """
    try:
        status, body = _ask(facilitator, "GET", "/supported", None)
    except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        return f"it cannot be reached ({type(error).__name__})"
    if status != 200:
        return f"it responds to /supported with status {status}"
    try:
        kinds = _parsed(body).get("kinds")
    except ValueError:
        return "it has no valid response to /supported"
    offered = kinds if isinstance(kinds, list) else []
    if any(_is_kind(each, network) for each in offered):
        return None
    return f"it does not support version {VERSION}, scheme {SCHEME} on {network}"


def _is_kind(kind: Any, network: str) -> bool:
    """Return whether a facilitator offers to settle our payments. A family is "eip155:*"."""
    if not isinstance(kind, dict):
        return False
    here = {network, f"{network.partition(':')[0]}:*"}
    is_ours = kind.get("x402Version") == VERSION and kind.get("scheme") == SCHEME
    return is_ours and kind.get("network") in here


def _parsed(body: bytes) -> dict[str, Any]:
    if nesting.is_too_deep(body):
        raise ValueError("nested too deep")
    answer = json.loads(body)
    return answer if isinstance(answer, dict) else {}


def _ask(facilitator: Facilitator, method: str, path: str, body: str | None) -> tuple[int, bytes]:
    """Return the status and the body of the answer. ValueError if it is too large or too slow.

    307 and 308 are followed on the same host, because the token goes along. Others are logged: the
    operator has to name the new URL.
    """
    deadline = time.monotonic() + TIMEOUT_SECONDS
    url = f"{facilitator.url}{path}"
    for _ in range(_MOST_REDIRECTS + 1):
        status, location, answer = _exchange(facilitator, method, url, body, deadline)
        if not 300 <= status < 400:
            break
        target = urljoin(url, location)
        log.warning("the facilitator answers %s with a redirect to %s", status, _shown(target))
        if status not in _SAME_REQUEST or _origin(target) != _origin(url):
            break
        url = target
    return status, answer


def _exchange(
    facilitator: Facilitator, method: str, url: str, body: str | None, deadline: float
) -> tuple[int, str, bytes]:
    """Return the status, the Location, and the body of one answer. ValueError."""
    headers = {"Content-Type": "application/json"}
    bearer = facilitator.bearer(method, url)
    if bearer is not None:
        headers["Authorization"] = f"Bearer {bearer}"
    response = _pool.request(
        method,
        url,
        body=body,
        headers=headers,
        preload_content=False,
        redirect=False,
        timeout=urllib3.Timeout(total=max(0.1, deadline - time.monotonic())),
    )
    found = bytearray()
    with response:
        while chunk := response.read1(MAX_ANSWER_BYTES):
            found += chunk
            if len(found) > MAX_ANSWER_BYTES or time.monotonic() > deadline:
                raise ValueError("the response is too large or takes too long")
    return response.status, response.headers.get("Location", ""), bytes(found)


def _origin(url: str) -> tuple[str, str]:
    """Return the scheme and the host with its port of a URL."""
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def _shown(url: str) -> str:
    """Return a URL for the log, without what may be a secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{parts.path}"[:200]
