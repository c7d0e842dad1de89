"""Ask an x402 facilitator to submit a signed transfer. What it says proves nothing."""

import json
import logging
import re
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import urllib3

from ticketing import nesting
from ticketing.chain.registry import Facilitator

TIMEOUT_SECONDS = 15.0
"""The time limit for a complete response."""

MAX_ANSWER_BYTES = 64 * 1024
_PENDING = "settlement_pending"
_REASON = re.compile(r"[a-z0-9_]{1,64}")
_TX_HASH = re.compile(r"0x[0-9a-fA-F]{64}")

log = logging.getLogger(__name__)

_pool = urllib3.PoolManager(maxsize=4, retries=False)


class Outcome(StrEnum):
    """What a facilitator says about a transfer."""

    SUBMITTED = "submitted"
    REFUSED = "refused"
    UNKNOWN = "unknown"


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
        status, body = _post(facilitator, json.dumps(request))
        answer = _parsed(body)
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


def _parsed(body: bytes) -> dict[str, Any]:
    if nesting.is_too_deep(body):
        raise ValueError("nested too deep")
    answer = json.loads(body)
    return answer if isinstance(answer, dict) else {}


def _post(facilitator: Facilitator, body: str) -> tuple[int, bytes]:
    """Return the status and the body of the answer. ValueError if it is too large or too slow."""
    headers = {"Content-Type": "application/json"}
    if facilitator.token is not None:
        headers["Authorization"] = f"Bearer {facilitator.token}"
    deadline = time.monotonic() + TIMEOUT_SECONDS
    response = _pool.request(
        "POST",
        f"{facilitator.url}/settle",
        body=body,
        headers=headers,
        preload_content=False,
        redirect=False,
        timeout=urllib3.Timeout(total=TIMEOUT_SECONDS),
    )
    found = bytearray()
    with response:
        while chunk := response.read1(MAX_ANSWER_BYTES):
            found += chunk
            if len(found) > MAX_ANSWER_BYTES or time.monotonic() > deadline:
                raise ValueError("the response is too large or takes too long")
    return response.status, bytes(found)
