"""The Idempotency-Key header of POST requests (draft-ietf-httpapi-idempotency-key-header).

A key belongs to one credential, method and path. Example, for the key K:

    Ada's API key   POST .../apikeys {"name": "door"}   201, and the response is stored
    the same again                                      201 from the store, "Idempotent-Replayed"
    the same with {"name": "gate"}                      422 idempotency_key_reused
    Bob's API key   POST .../apikeys {"name": "gate"}   another request: 201
    Bob's API key   POST .../apikeys {"name": ""}       422, and nothing is stored
    Ada's API key   POST .../events  {...}              another request: 201

Pages have the key in a hidden field instead: see `once`.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any

from flask import Response, g, json, jsonify, request

from ticketing import credentials
from ticketing.constants import KEYS_PER_ORDER_OF_CLIENT, MAX_STORED_BODY
from ticketing.db.connection import write_transaction
from ticketing.errors import Invalid, TicketingError
from ticketing.services import idempotency
from ticketing.services.idempotency import Answer, Claim, Owner
from ticketing.web.context import caller_or_none, client, config
from ticketing.web.operation import describe
from ticketing.web.operation import of as operation_of
from ticketing.web.problems import of_ticketing_error

HEADER = "Idempotency-Key"
MIN_ANONYMOUS_LENGTH = 32
_BARE = "[!#-~]([ -~]{0,253}[!-~])?"
_QUOTED = '"[!-~]([ -~]{0,253}[!-~])?"'
PATTERN = f"^({_BARE}|{_QUOTED})$"
"""The pattern in the OpenAPI document. The minimum length is in the description."""
_KEY = re.compile(PATTERN)
_NOTHING_CHANGED = "ticketing.nothing_changed"
_ACCEPTED, _SEE_OTHER = 202, 303
_ANONYMOUS = "anonymous"

View = Callable[..., Response]
ShownAgain = Callable[[dict[str, Any]], Mapping[str, Any]]


class _RolledBack(Exception):
    """Rolls back a view's transaction, and carries the error response out of it."""

    def __init__(self, response: Response) -> None:
        self.response = response


def idempotent(view: View) -> View:
    """Run the view once per Idempotency-Key, in one transaction. Replay its response on a repeat.

    Invalid for a malformed key, IdempotencyKeyReused, IdempotencyStillRunning.
    """
    return _decorate(view, write_transaction)


def idempotent_outside_transaction(view: View) -> View:
    """Do the same without a transaction, for a view that reads a blockchain first.

    Such a view must be idempotent itself: if the process is killed before the response is stored,
    the view runs again.
    """
    return _decorate(view, nullcontext)


def once(key: str, act: Callable[[], str]) -> str:
    """Run `act` once for this form, in one transaction. Return the id that it returns.

    `key` is the hidden key of the form. The same form again, as after a double click, returns the
    id of the first time. A form with other content is another one. Invalid for a malformed key.

    Example: a form with key K names the holder Ada, and is sent twice: `act` runs once. The person
    goes back, changes Ada to Grace, and sends it with the same K: `act` runs again.
    """
    return _once(_claims_of_form(key), act)


def form_digests(key: str) -> list[str]:
    """Return digests of a form's hidden key, one for each SECRET_KEY, the current one first.

    They are the same whatever the form has. Invalid for a malformed key.
    """
    name = f"{request.path}\n{_parse(key)}"
    accepted = config().keyring.accepted
    return [credentials.keyed_digest(each, "form-key", name) for each in accepted]


def was_sent(key: str) -> bool:
    """Return whether this form was sent before, and has had its effect. Invalid."""
    return any(idempotency.is_claimed(each.digest) for each in _claims_of_form(key))


def once_for_content(key: str, content: str, act: Callable[[], str]) -> str:
    """Do the same for a key that is a part of the body, of a client without a credential.

    `content` is what must be the same in a repeat. IdempotencyKeyReused for other content.
    IdempotencyStillRunning.
    """
    return _once(_claims_of(_ANONYMOUS, key, content), act)


def _once(claims: Sequence[Claim], act: Callable[[], str]) -> str:
    idempotency.give_up_later()
    with write_transaction():
        answer = idempotency.claim_within(claims, _owner())
        if answer is None:
            answer = Answer(_SEE_OTHER, json.dumps({"id": act()}))
        idempotency.keep([each.digest for each in claims], answer)
    first_id: str = json.loads(answer.body)["id"]
    return first_id


def key_digests(purpose: str) -> list[str]:
    """Return digests of the Idempotency-Key for one purpose, one for each SECRET_KEY.

    The current one is first. Empty if the request has no key. Invalid for a malformed key.
    """
    header = request.headers.get(HEADER)
    return [] if header is None else digests_of(header, purpose)


def digests_of(key: str, purpose: str) -> list[str]:
    """Return the digests of such a key that was sent elsewhere than in the header. Invalid."""
    caller = caller_or_none()
    name = f"{caller.credential_id if caller else 'anonymous'}\n{_parse(key)}"
    accepted = config().keyring.accepted
    return [credentials.keyed_digest(each, purpose, name) for each in accepted]


def nothing_changed() -> None:
    """Say that the current request has changed nothing: its response is not stored."""
    request.environ[_NOTHING_CHANGED] = True


def never_stored(
    *names: str, shown_again: ShownAgain | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare members of a view's successful response that are not stored. Put it below the others.

    They are secrets, and what may have changed since. In a repeat they are null, or what
    `shown_again` returns for the stored body. `voucher.code` is the member `code` of `voucher`, or
    of each object in the list `voucher`.
    """

    def decorate(view: Callable[..., Any]) -> Callable[..., Any]:
        describe(view, never_stored=names, shown_again=shown_again)
        return view

    return decorate


def _decorate(view: View, transaction: Callable[[], AbstractContextManager[None]]) -> View:
    @wraps(view)
    def wrapper(*args: Any, **kwargs: Any) -> Response:
        key = request.headers.get(HEADER)
        if key is None:
            return view(*args, **kwargs)
        claims = _claims(_parse(key))
        stored = idempotency.claim(claims, _owner())
        if stored is not None:
            return _replay(stored, view)
        digests = [each.digest for each in claims]
        try:
            return _run(view, args, kwargs, digests, transaction)
        except BaseException:
            idempotency.give_up(digests)
            raise

    describe(wrapper, is_idempotent=True)
    return wrapper


def _run(
    view: View,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    digests: Sequence[str],
    transaction: Callable[[], AbstractContextManager[None]],
) -> Response:
    """Run the view and store its response in the same transaction, if it had an effect."""
    try:
        with transaction():
            try:
                response = view(*args, **kwargs)
            except TicketingError as error:
                raise _RolledBack(of_ticketing_error(error)) from error
            answer = _answer(response, view)
            if answer is None:
                idempotency.give_up(digests)
            else:
                idempotency.keep(digests, answer)
            return response
    except _RolledBack as error:
        idempotency.give_up(digests)
        return error.response


def _answer(response: Response, view: View) -> Answer | None:
    """Return the response to be stored, without what its view declares as never stored.

    None if it is not stored: nothing has changed, the view will give another answer later (202),
    or it is too large and the request has no credential.
    """
    if _NOTHING_CHANGED in request.environ or response.status_code == _ACCEPTED:
        return None
    body = response.get_json(force=True)
    for path in operation_of(view).never_stored:
        _forget(body, path)
    text = json.dumps(body)
    if len(text) > MAX_STORED_BODY and caller_or_none() is None:
        return None
    return Answer(response.status_code, text)


def _forget(body: Any, path: str) -> None:
    """Set a member of a response to null: that of this path, as `never_stored` has it."""
    name, _, inner = path.partition(".")
    if not inner:
        body[name] = None
        return
    of = body[name]
    for each in of if isinstance(of, list) else [] if of is None else [of]:
        _forget(each, inner)


def _replay(stored: Answer, view: View) -> Response:
    body = json.loads(stored.body)
    shown_again = operation_of(view).shown_again
    if stored.status < 400 and shown_again is not None:
        body.update(shown_again(body))
    response = jsonify(body)
    response.status_code = stored.status
    response.headers["Idempotent-Replayed"] = "true"
    return response


def _owner() -> Owner | None:
    """Return who the stored response counts for. None if the request has a credential."""
    if caller_or_none() is not None:
        return None
    most = config().orders_per_client * KEYS_PER_ORDER_OF_CLIENT
    return Owner(g.get("order"), client(), most)


def _parse(header: str) -> str:
    if not _KEY.fullmatch(header):
        raise Invalid({HEADER: ["Must have 1 to 255 printable characters, quoted or bare."]})
    key = header[1:-1] if header.startswith('"') else header
    if caller_or_none() is None and len(key) < MIN_ANONYMOUS_LENGTH:
        raise Invalid(
            {HEADER: [f"Must have {MIN_ANONYMOUS_LENGTH} characters or more without a credential."]}
        )
    return key


def _claims(key: str) -> list[Claim]:
    """Return the digests that identify the request, one pair per SECRET_KEY."""
    caller = caller_or_none()
    who = caller.credential_id if caller else _ANONYMOUS
    return _claims_of(who, key, request.get_data().decode("utf-8", "replace"))


def _claims_of_form(key: str) -> list[Claim]:
    return _claims(f"{_parse(key)}\n{hashlib.sha256(request.get_data()).hexdigest()}")


def _claims_of(who: str, key: str, content: str) -> list[Claim]:
    name = "\n".join((who, request.method, request.path, key))
    return [
        Claim(
            credentials.keyed_digest(secret, "idempotency-key", name),
            credentials.keyed_digest(secret, "idempotency-request", content),
        )
        for secret in config().keyring.accepted
    ]
