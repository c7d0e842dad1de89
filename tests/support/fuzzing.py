"""The parts of the fuzz: schemathesis' engine, and the findings."""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.core.failures import Failure
from schemathesis.core.parameters import ParameterLocation
from schemathesis.core.transport import Response
from schemathesis.engine import events, from_schema
from schemathesis.engine.recorder import ScenarioRecorder
from schemathesis.generation.case import Case
from schemathesis.generation.meta import TestPhase
from schemathesis.hooks import HookContext
from schemathesis.openapi.checks import (
    AllowHeaderMismatch,
    AuthScenario,
    IgnoredAuth,
    RejectedPositiveData,
)
from schemathesis.transport.wsgi import WSGITransport

from tests.support.fuzzing_shop import PARTS, Known, Shop
from ticketing.db.connection import database

OUT_OF_RANGE = "Must be in the years 1970 to 9999 in UTC."
NO_PAYEE = {
    "Must be an address with a valid EIP-55 checksum.",
    "Must not be the zero address.",
    "Must not be the payment address of an order.",
}
REFUSED = {
    400: {"invalid_payment"},
    402: {"payment_required"},
    410: {"offer_ended", "invitation_ended", "feed_position_gone"},
}
"""Codes by status: no schema says which payment is signed, which order is paid, or which offer is
still there.
"""

IN_WORDS = {
    "cursor": {"Must be a cursor of this list."},
    "timezone": {"Not an IANA time zone name."},
    "starts.#": {
        "Must be a local time, such as 2026-12-24T20:00.",
        "The clocks skip this time.",
        "Must be in the years 1970 to 9999.",
    },
    "starts": {"Must not have a time twice."},
    "event_ids": {
        "One of these events does not exist.",
        "An administrator cannot be limited to events.",
    },
    "audience": {
        "Of an event that is canceled, only the audience canceled can be told.",
        "This event is not canceled.",
    },
    "contact_email": {"Not a valid email address."},
    "website": {"Not a valid URL."},
    "terms_url": {"Not a valid URL."},
    "privacy_url": {"Not a valid URL."},
    "online_join_url": {"Not a valid URL."},
    "end_at": {"Must be after start_at."},
    "doors_open_at": {"Must not be after end_at."},
    "transfers_end_at": {"Must not be after end_at."},
    "sales_end_at": {"Must be after sales_start_at."},
    "min_per_order": {"Must not be above max_per_order."},
    "chain_id": {
        "Must be a network of this order.",
        "Required if price_amount is not 0, or free_price is true.",
        "This ticket type is not sold on that chain.",
        "This network is not enabled.",
        "This network has no receivers.",
    },
    "buyer.email": {"Not a valid email address."},
    "holder.email": {"Not a valid email address."},
    "address": NO_PAYEE
    | {
        "Must be 0x and 40 hexadecimal digits.",
        "Its EIP-55 checksum is wrong: a letter was changed.",
        "Nobody can spend from this address.",
        "This address belongs to the network.",
        "This is the address of USDC on Local, not of a wallet.",
    },
    "chain_ids": {
        "Name the networks on which you control this address.",
        "These networks are not known here: #.",
        "Write either chain_id or chain_ids.",
        "Must have distinct networks.",
        "Only a wallet of an address has this field.",
    },
    "contract_is_mine": {
        "There is a contract at this address on: Local. Confirm that it is your Safe or smart"
        " wallet.",
        "Only a wallet of an address has this field.",
    },
    "exchange": {"Only a wallet of an address has this field."},
    "minimum_deposit": {
        "Only an address of an exchange has a minimum deposit.",
        "Only a wallet of an address has this field.",
    },
    "recovery": {
        "This is not a recovery file of this service.",
        "This file is for another address.",
        "Only a wallet of an address has this field.",
    },
    "account": {"Must be an address with a valid EIP-55 checksum."},
    "recipient": NO_PAYEE,
    "token": NO_PAYEE | {"There is no token at this address."},
    "payer": NO_PAYEE | {"Must be the address of the account that signs."},
    "email": {
        "Not a valid email address.",
        "Must be an email address.",
        "This invitation is for another email address.",
        "State the email address with which you will sign in.",
    },
    "holders.#.email": {"Not a valid email address."},
    "refund": {"Only an event that is canceled is refunded."},
    "since": {
        "Must be a cursor of this event's manifest.",
        "Must have either since or ids.",
    },
    "types": {'Must be ["*"] or different names.'},
    "url": {
        "Must be printable ASCII without spaces; write other characters percent-encoded.",
        "Not a valid URL.",
        "Must not contain a user name or password.",
        "Must not contain a fragment.",
        "Must begin with https:// and use port 443 or 8443.",
        "This address is not public.",
        "Must have a valid host name or IP address.",
    },
    "expires_at": {"Must be in the future."},
    "ticket_ids": {"Must be ticket types of this event.", "The event has no such ticket type."},
    "value": {"Must fit price_mode: null, micro-units, or whole percent from 1 to 100."},
    "deposit_amount": {"Must not be above price_amount."},
    "min_usages": {"Must not be above max_usages."},
    "max_price_amount": {"Only with free_price.", "Must not be below price_amount."},
    "price_amount": {"With free_price, must be 0 or at least #."},
    "identifier": {"Another question of the event has this identifier."},
    "holder": {"Missing data for required field."},
    "options": {
        "A choice needs options. Other types have none.",
        "Two options have the same label.",
        "The question has no such option.",
    },
    "show_at_door": {"Only a boolean or a choice can be shown at the door."},
    "ticket_id": {"Must not be used together with items.", "Missing data for required field."},
    "quantity": {"Must not be used together with items."},
    "crowds": {"Must not have a network twice."},
    "crowds.#.network": {"Must be an address or a network, of IPv4 to /16 or of IPv6 to /32."},
    "crowds.#.seats": {"Must be from 1 to 1000."},
    "items": {"Must have distinct ticket types.", "Must have at most # seats in all."},
    "scans.#.of": {"An undo has `of`, and no admission."},
    "scans.#.kind": {"Must have qr, or code, or admission_id and generation."},
    "scans.#.at": {"Missing data for required field."},
    "Idempotency-Key": {"32 characters or more without a credential."},
}
"""Rejections of values that JSON Schema allows. The document describes each of them in words.

`#` is a number.

JSON Schema has no checksums and no list of time zones, and cannot compare two dates.
"""


@dataclass
class Found:
    """The results of a run."""

    cases: int = 0
    statuses: dict[str, Counter[int]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    """The command that reproduces each finding, by its kind."""


def configuration(
    known: Known, headers: dict[str, str], *, seed: int, examples: int, seconds: int | None = None
) -> SchemathesisConfig:
    """Return how to fuzz with a credential: examples for each operation, or a time."""
    return SchemathesisConfig.from_dict(
        {
            "seed": seed,
            # Its client does not decompress.
            "headers": {**headers, "Accept-Encoding": "identity"},
            "continue-on-failure": True,
            **({"max-time": seconds} if seconds else {}),
            "dictionaries": {name: {"values": values} for name, values in known.items()},
            "parameters": {name: {"dictionary": name, "probability": 0.8} for name in known},
            "generation": {
                "max-examples": examples,
                "database": "none",
                "no-shrink": seconds is None,
                # With a valid credential they would only hide it.
                "with-security-parameters": not headers,
            },
            # All there are. object_level_authorization has nobody to compare with in one run:
            # tests/api/test_credentials_every_endpoint.py sends the neighbour everywhere.
            "checks": {"enabled": True, "max_response_time": 10},
            "phases": {"coverage": {"generate-duplicate-query-parameters": True}},
            "cache": {"enabled": False},
            "output": {"sanitization": {"enabled": False}},
        }
    )


def run(shop: Shop, config: SchemathesisConfig, *, only: str = "") -> Found:
    """Fuzz the operations with `only` in their path, and return the results."""
    app = shop.acme.app
    document = app.test_client().get("/openapi.json").json
    for operation in (each for item in document["paths"].values() for each in item.values()):
        # It allows other statuses: here every status must be listed.
        del operation["responses"]["default"]
    schema = schemathesis.openapi.from_dict(document, config=config)
    schema = schema.include(path_regex=only) if only else schema
    schema.app, schema.location = app, "/openapi.json"
    schema.hook(filter_failure)
    found = Found()
    with _one_server(shop):
        for event in from_schema(schema).execute():
            _take_down(event, found)
    return found


def _take_down(event: events.EngineEvent, found: Found) -> None:
    if isinstance(event, events.FatalError):
        raise event.exception
    if isinstance(event, events.NonFatalError):
        found.failures[f"{event.label}: {event.info.title}: {event.info.message}"] = ""
    elif isinstance(event, events.ScenarioFinished):
        _take_down_answers(event.recorder, found)
    elif isinstance(event, events.PhaseFinished) and found.cases:
        told = f"{found.cases} cases, {len(found.failures)} failures"
        sys.stderr.write(f"  after {event.phase.name}: {told}\n")


def _take_down_answers(recorder: ScenarioRecorder, found: Found) -> None:
    for case_id, interaction in recorder.interactions.items():
        found.cases += 1
        if interaction.response is not None:
            label = recorder.cases[case_id].value.operation.label
            status = interaction.response.status_code
            found.statuses.setdefault(label, Counter())[status] += 1
    for case_id, checks in recorder.checks.items():
        for check in checks:
            if check.failure_info is not None:
                failure = check.failure_info.failure
                response = recorder.interactions[failure.case_id or case_id].response
                answer = response.content.decode(errors="replace") if response else ""
                what = f"{check.name}: {failure.operation}: {failure.title}: {failure.message}"
                found.failures.setdefault(what, f"{check.failure_info.code_sample}\n{answer}")


def filter_failure(context: HookContext, failure: Failure, case: Case, response: Response) -> bool:
    """Return whether the contract was broken. A hook of schemathesis."""
    if isinstance(failure, RejectedPositiveData):
        if response.status_code in REFUSED:
            return response.json()["code"] not in REFUSED[response.status_code]
        return not (response.status_code == 422 and _is_said_in_words(case, response.json()))
    if isinstance(failure, IgnoredAuth) and failure.scenario is AuthScenario.INVALID_AUTH:
        # A wrong client secret or code is the 404 of an unknown intent or admission: nobody learns
        # that there is one.
        ways = case.operation.definition.raw["security"]
        secrets = any({"clientSecret", "admissionCode"} & way.keys() for way in ways)
        return not (secrets and "got `404 " in failure.message)
    if isinstance(failure, AllowHeaderMismatch):
        # Its path is also one of {voucher_id}, and Allow names the methods of both.
        both = {"/vouchers/batch": ["GET", "PATCH"], "/messages/preview": ["GET"]}
        last = "/".join(["", *case.operation.path.rsplit("/", 2)[1:]])
        return failure.undocumented_methods != both.get(last)
    return True


def _is_said_in_words(case: Case, problem: dict[str, Any]) -> bool:
    if problem["code"] in ("idempotency_key_reused", "image_invalid"):
        return True
    return all(
        _without_values(messages)
        <= {OUT_OF_RANGE} | IN_WORDS.get(re.sub(r"\.\d+(?=\.|$)", ".#", name), set())
        or name.startswith("answers.")  # each question says what its answers are
        or _is_float(case.body, name, messages)
        for name, messages in problem["errors"].items()
    )


def _without_values(messages: list[str]) -> set[str]:
    """Return the messages without what they say about the value: `#` instead."""
    ratios = [re.sub(r"\b\d+\.\d+:1", "#:1", each) for each in messages]
    return {re.sub(r"(known here:|at least|at most) [\d, ]*\d", r"\1 #", each) for each in ratios}


def _is_float(body: Any, name: str, messages: list[str]) -> bool:
    """Return whether 1.0 was sent: JSON Schema takes it for an integer, the service does not."""
    if not isinstance(body, dict):
        return False
    value: Any = body
    for part in name.split("."):
        value = value[int(part)] if isinstance(value, list) else value.get(part)
    return messages == ["Not a valid integer."] and isinstance(value, float)


_numbers = count(1)


def _give_it_a_key_of_its_own(case: Case) -> None:
    """Give each request its own Idempotency-Key.

    A rejection because of a shared key would say nothing about the body. A test of the key itself
    keeps it.
    """
    if (
        case.meta is not None
        and not case.meta.is_negative_at(ParameterLocation.HEADER)
        and getattr(case.meta.phase.data, "parameter", None) != "Idempotency-Key"
        and "Idempotency-Key" in case.headers
    ):
        case.headers["Idempotency-Key"] = f"{next(_numbers):036}"


def _lead_it_to_the_shop(case: Case, shop: Shop) -> None:
    """Let the path of a request name what the shop has, where the path is not what is tried.

    The coverage phase varies one value, and guesses the others from answers: the id of a member for
    a question, say. The fuzzing phase seldom draws the id of a question and that of its event.
    """
    known, values = shop.known, case.path_parameters
    if case.meta is not None and case.meta.phase.name is TestPhase.COVERAGE:
        tried = getattr(case.meta.phase.data, "parameter", None)
        names = {"tenant", *PARTS}
        # Not for each path of an event: they would all change, and soon cancel, the one on sale.
        if not PARTS.keys().isdisjoint(values) or case.path.endswith("/image"):
            names.add("event_id")
        for name in (names & values.keys()) - {tried}:
            if values[name] not in known[f"path.{name}"]:
                values[name] = known[f"path.{name}"][0]
        if tried == "event_id":
            return
    events = [shop.event_of[each] for each in values.values() if each in shop.event_of]
    if events and values.get("event_id") in known["path.event_id"]:
        values["event_id"] = events[0]


@contextmanager
def _one_server(shop: Shop) -> Iterator[None]:
    """Answer in one thread: schemathesis starts many, and each would leave its connection open."""
    send = WSGITransport.send

    def send_there(
        self: WSGITransport, case: Case, *, session: Any = None, **options: Any
    ) -> Response:
        # The second request of a check has data that only sockets accept.
        for name in ("max_redirects", "verify", "cert"):
            options.pop(name, None)
        _give_it_a_key_of_its_own(case)
        _lead_it_to_the_shop(case, shop)
        return thread.submit(send, self, case, session=session, **options).result()

    with ThreadPoolExecutor(1) as thread, pytest.MonkeyPatch.context() as patch:
        patch.setattr(WSGITransport, "send", send_there)
        try:
            yield
        finally:
            thread.submit(database.close).result()


def failures_of(found: Found) -> Iterator[str]:
    """Yield each failure with the command that reproduces it."""
    for what, how in found.failures.items():
        yield f"{what}\n{how}\n"
