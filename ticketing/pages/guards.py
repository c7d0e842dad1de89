"""Guards of pages. Pages of buyers have their secret in the URL, because links must open them."""

from dataclasses import dataclass

from flask import g, request

from ticketing import credentials
from ticketing.errors import NotFound, TicketingError, TooManyRequests
from ticketing.limits import CallClass
from ticketing.locales import N_
from ticketing.services.mail import lost_links
from ticketing.services.orders import holders, intents, mailboxes
from ticketing.services.payments import payee_changes
from ticketing.web.auth import Counts, Security
from ticketing.web.context import config
from ticketing.web.secret_guards import counts_for_payers

_TICKET_ENDED = N_(
    "This ticket was passed on or replaced. Its new holder has a new link, and this one has ended."
    " If you accepted the ticket yourself, look for the new link in your mail."
)
"""Codes are random, and old ones are not kept. So this is said of each that could be one."""

_BUTTON_ENDED = N_(
    "This button has ended: the address was confirmed, or changed again. Look for a newer mail, or"
    " write to the organizer."
)

_NO_TICKET = N_("This ticket does not exist. Is the link complete?")


class Page:
    """What all guards of pages have in common: the OpenAPI document does not contain pages."""

    def security(self, method: str, view: str) -> Security:
        """Return an empty list: no header is required."""
        return []

    def errors(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return the errors that it may raise."""
        return [NotFound, TooManyRequests]


@dataclass(frozen=True)
class Visitor(Page):
    """Lets everybody read, and send forms of the class `posts_as`."""

    posts_as: CallClass

    def check(self) -> None:
        """Do nothing."""

    def counts(self) -> Counts:
        """Count by address: forms in their own class."""
        return Counts(self.posts_as if request.method == "POST" else CallClass.PUBLIC)


@dataclass(frozen=True)
class OrderLink(Page):
    """Requires `{intent_id}.{client_secret}` in the path. Sets `g.order` and `g.intent`."""

    def check(self) -> None:
        """Compare the client secret, and its generation with the order's. NotFound."""
        intent_id, _, secret = (request.view_args or {})["link"].partition(".")
        generation = credentials.client_secret_generation(config().keyring, intent_id, secret)
        if generation is None:
            raise NotFound(N_("This order does not exist. Is the link complete?"))
        g.intent = intents.find_by_link(intent_id, generation)
        g.order = intent_id

    def counts(self) -> Counts:
        """Count a good link by its order, because many buyers can share one address."""
        return Counts(CallClass.ORDER, g.order) if "order" in g else Counts(CallClass.CHECKOUT)


@dataclass(frozen=True)
class PayeeChangeLink(Page):
    """Requires `{intent_id}.{change_id}.{secret}` in the path: of a mail's button.

    Sets `g.payee_change` and `g.order`.
    """

    def check(self) -> None:
        """Compare the secret with that of the change. NotFound."""
        parts = (request.view_args or {})["link"].split(".")
        found = None
        if len(parts) == 3:
            intent_id, change_id, secret = parts
            found = payee_changes.find(intent_id, change_id, secret, config().keyring)
        if found is None:
            raise NotFound(N_("This change does not exist. Is the link complete?"))
        g.payee_change, g.order = found, found.intent_id

    def counts(self) -> Counts:
        """Count a good link by its order."""
        return Counts(CallClass.ORDER, g.order) if "order" in g else Counts(CallClass.CHECKOUT)


@dataclass(frozen=True)
class PaymentLink(Page):
    """Requires `{intent_id}.{pay_secret}` in the path. Sets `g.paid_order` and `g.intent`."""

    def check(self) -> None:
        """Compare the pay secret, and its generation with the order's. NotFound."""
        intent_id, _, secret = (request.view_args or {})["link"].partition(".")
        generation = credentials.pay_secret_generation(config().keyring, intent_id, secret)
        if generation is None:
            raise NotFound(N_("This payment link does not exist. Is it complete?"))
        g.intent = intents.find_by_link(intent_id, generation)
        g.paid_order = intent_id

    def counts(self) -> Counts:
        """Count a good link by its order, and apart from the order's own page."""
        if "paid_order" in g:
            return counts_for_payers(g.paid_order)
        return Counts(CallClass.CHECKOUT)


@dataclass(frozen=True)
class MailboxLink(Page):
    """Requires `{intent_id}.{place}.{change_secret}` in the path. Sets `g.changed` and `g.address`.

    These are the order, and the row of the address for which the button was mailed.
    """

    def check(self) -> None:
        """Compare the secret with the one that the address's row gives. NotFound."""
        intent_id, _, rest = (request.view_args or {})["link"].partition(".")
        place, _, secret = rest.partition(".")
        row = mailboxes.with_button(intent_id, place)
        salt, change = (row and row.salt) or "", f"email {place}"
        fits = credentials.is_change_secret(config().keyring, intent_id, change, salt, secret)
        if row is None or not fits:
            raise NotFound(_BUTTON_ENDED)
        g.changed, g.address = intent_id, row

    def counts(self) -> Counts:
        """Count a good link by its order, and apart from the order's own page."""
        return counts_for_payers(g.changed) if "changed" in g else Counts(CallClass.CHECKOUT)


@dataclass(frozen=True)
class PlaceLink(Page):
    """Requires `{entry_id}.{place_secret}` in the path. Sets `g.place`."""

    def check(self) -> None:
        """Compare the secret of the place. NotFound."""
        entry_id, _, secret = (request.view_args or {})["link"].partition(".")
        if not credentials.is_place_secret(config().keyring, entry_id, secret):
            raise NotFound(
                N_("This place on the waiting list does not exist. Is the link complete?")
            )
        g.place = entry_id

    def counts(self) -> Counts:
        """Count a good link by its place, because many can share one address."""
        return Counts(CallClass.ORDER, g.place) if "place" in g else Counts(CallClass.CHECKOUT)


@dataclass(frozen=True)
class OrdersLink(Page):
    """Requires the token of a mail with lost links in the path. Sets `g.orders_link`."""

    def check(self) -> None:
        """Read the token. NotFound: it has ended, or is no token."""
        token = (request.view_args or {})["link"]
        found = lost_links.read_link(token, config().keyring)
        if found is None:
            raise NotFound(N_("This link has ended. Ask for the links of your orders again."))
        g.orders_link = found

    def counts(self) -> Counts:
        """Count by address: nobody needs such a page often."""
        return Counts(CallClass.CHECKOUT)


@dataclass(frozen=True)
class TicketLink(Page):
    """Requires the code of an admission in the path. Sets `g.admission`."""

    def check(self) -> None:
        """Find the admission. NotFound: the code has ended, or is no code."""
        code = (request.view_args or {})["code"]
        try:
            g.admission = holders.find(code)
        except NotFound:
            is_whole = credentials.is_admission_code(code)
            raise NotFound(_TICKET_ENDED if is_whole else _NO_TICKET) from None
        g.order = holders.counted_for(g.admission)

    def counts(self) -> Counts:
        """Count a good code by its order, because many holders can share one address."""
        return Counts(CallClass.ORDER, g.order) if "order" in g else Counts(CallClass.CHECKOUT)


@dataclass(frozen=True)
class OfferLink(Page):
    """Requires the offer of a transfer in the path."""

    def check(self) -> None:
        """Compare the offer's digest. NotFound."""
        offer = (request.view_args or {})["offer"]
        if credentials.offered_transfer(config().keyring, offer) is None:
            raise NotFound(N_("This offer does not exist. Is the link complete?"))

    def counts(self) -> Counts:
        """Count by address: the person who accepts an offer has nothing else yet."""
        return Counts(CallClass.CHECKOUT)
