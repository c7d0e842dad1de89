"""Guards of those who hold a secret: an order's buyer, an admission's holder, a door's device.

They also accept a credential of the tenant.
"""

from dataclasses import dataclass

from flask import g, request

from ticketing import credentials
from ticketing.errors import InsufficientRole, NotFound, TicketingError, WrongTenant
from ticketing.limits import WIDE_FACTOR, CallClass
from ticketing.roles import SCANNING, Role
from ticketing.services.door import devices
from ticketing.services.orders import holders, intents
from ticketing.web.auth import (
    API_KEY,
    BEARER,
    ERRORS,
    Counts,
    Security,
    admit,
    bearer,
    counts_for_credential,
    is_view,
)
from ticketing.web.context import config
from ticketing.web.event_scope import ONE_EVENT

CLIENT_SECRET: dict[str, list[str]] = {"clientSecret": []}
PAY_SECRET: dict[str, list[str]] = {"paySecret": []}
ADMISSION_CODE: dict[str, list[str]] = {"admissionCode": []}
DOOR_TOKEN: dict[str, list[str]] = {"doorToken": []}


@dataclass(frozen=True)
class Buyer:
    """Requires the client secret of the intent in the path, or the role `paywall`.

    The `open_view`, which opens an intent, lets everybody in. The `secret_views` accept only the
    client secret, whatever the role of another credential. The `pay_views` accept the pay secret
    too. The `tag_views` read the order's tag, with `g.link_generation`.
    """

    open_view: str | None = None
    secret_views: frozenset[str] = frozenset()
    pay_views: frozenset[str] = frozenset()
    tag_views: frozenset[str] = frozenset()

    def check(self) -> None:
        """Check whether the request may open an intent, or use the intent in its path.

        To open an intent, a credential is optional, but an invalid one is an error.
        """
        if self._opens_intent():
            if sends_credential():
                admit({Role.PAYWALL})
            return
        secret = bearer()
        if secret is None or _looks_like_jwt(secret):
            admit({Role.PAYWALL})
            if any(map(is_view, self.secret_views)):
                raise InsufficientRole
            return
        intent_id = (request.view_args or {})["intent_id"]
        keyring = config().keyring
        is_of_payer = any(map(is_view, self.pay_views))
        if is_of_payer:
            generation = credentials.pay_secret_generation(keyring, intent_id, secret)
            if generation is not None:
                self._find(intent_id, generation)
                g.paid_order = intent_id
                return
        generation = credentials.client_secret_generation(keyring, intent_id, secret)
        if generation is None:
            raise NotFound("This intent does not exist.")
        self._find(intent_id, generation)
        g.order = intent_id

    def _find(self, intent_id: str, generation: int) -> None:
        """Check that a secret has not ended. Keep the order for the view.

        The `tag_views` check it with their tag, so that a poll is one query.
        """
        g.link_generation = generation
        if not any(map(is_view, self.tag_views)):
            path = request.view_args or {}
            g.intent = intents.get_by_link(path["tenant"], intent_id, generation)

    def counts(self) -> Counts:
        """Count a valid secret by its order, because many buyers can share one address."""
        if "order" in g:
            return Counts(CallClass.ORDER, g.order)
        if "paid_order" in g:
            return counts_for_payers(g.paid_order)
        by_address = CallClass.PREFLIGHT if self._opens_intent() else CallClass.CHECKOUT
        return counts_for_credential(CallClass.ADMIN) or Counts(by_address)

    def security(self, method: str, view: str) -> Security:
        """Return the credentials that an intent accepts. To open one, none is required."""
        if view in self.secret_views:
            return [CLIENT_SECRET]
        if view in self.pay_views:
            return [PAY_SECRET, CLIENT_SECRET, BEARER, API_KEY]
        return [{}, BEARER, API_KEY] if view == self.open_view else [CLIENT_SECRET, BEARER, API_KEY]

    def errors(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return the errors that it may raise."""
        return ERRORS if view == self.open_view else [*ERRORS, NotFound]

    def _opens_intent(self) -> bool:
        return is_view(self.open_view)


@dataclass(frozen=True)
class Shopper:
    """Lets everybody order. A credential with the role `paywall` is optional."""

    def check(self) -> None:
        """Check the credential if there is one. An invalid one is an error."""
        if sends_credential():
            admit({Role.PAYWALL})

    def counts(self) -> Counts:
        """Count it as a preflight: also a read may take an address."""
        return counts_for_credential(CallClass.ADMIN) or Counts(CallClass.PREFLIGHT)

    def security(self, method: str, view: str) -> Security:
        """Return the credentials that are accepted. None is required."""
        return [{}, BEARER, API_KEY]

    def errors(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return the errors that it may raise."""
        return ERRORS


@dataclass(frozen=True)
class Holder:
    """Requires the code of the admission in the path, or the role `paywall`."""

    def check(self) -> None:
        """Compare the code, or check the credential."""
        code = bearer()
        if code is None or _looks_like_jwt(code):
            admit({Role.PAYWALL})
            return
        path = request.view_args or {}
        if any("\0" in part for part in path.values()):
            raise NotFound("This admission does not exist.")  # Postgres rejects NUL
        admission = holders.get(path["tenant"], path["admission_id"], code)
        g.admission_code = code
        g.order = holders.counted_for(admission)

    def counts(self) -> Counts:
        """Count a valid code by its order, because many holders can share one address."""
        if "order" in g:
            return Counts(CallClass.ORDER, g.order)
        return counts_for_credential(CallClass.ADMIN) or Counts(CallClass.CHECKOUT)

    def security(self, method: str, view: str) -> Security:
        """Return the credentials that an admission accepts."""
        return [ADMISSION_CODE, BEARER, API_KEY]

    def errors(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return the errors that it may raise."""
        return [*ERRORS, NotFound]


@dataclass(frozen=True)
class Door:
    """Requires a device of the event in the path, or a credential with the role `write` or `door`.

    To a device, every other event is one that does not exist.
    """

    def check(self) -> None:
        """Recognize the device or the caller, and check the tenant and the event."""
        token = bearer() or ""
        if credentials.door_token_id(token) is None:
            admit(SCANNING, ONE_EVENT)
            return
        device = devices.of_token(token, config().keyring)
        path = request.view_args or {}
        if path["tenant"] not in (device.tenant.id, device.tenant.slug):
            raise WrongTenant
        if path["event_id"] != device.event_id:
            raise NotFound("This event does not exist.")
        g.device = device

    def counts(self) -> Counts:
        """Count by device or credential if it is valid, else by address: it may be a guess."""
        if "device" in g:
            return Counts(CallClass.ADMIN, g.device.id)
        return counts_for_credential(CallClass.ADMIN) or Counts(CallClass.TOKEN)

    def security(self, method: str, view: str) -> Security:
        """Return the three ways to send a credential."""
        return [DOOR_TOKEN, BEARER, API_KEY]

    def errors(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return the errors that it may raise."""
        return [*ERRORS, NotFound]


def counts_for_payers(intent_id: str) -> Counts:
    """Return how the requests with an order's pay secret count: for all payers of it together.

    The link may be posted in public. Then those who open it must not use up the buyer's requests.
    """
    return Counts(CallClass.ORDER, f"payers of {intent_id}", WIDE_FACTOR)


def sends_credential() -> bool:
    """Return whether the request has a credential, valid or not."""
    return "Authorization" in request.headers or "X-API-Key" in request.headers


def _looks_like_jwt(token: str) -> bool:
    return token.count(".") == 2
