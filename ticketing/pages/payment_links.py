"""The page of a payment link: somebody else pays for an order. It shows nothing of the buyer."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from flask import g

from ticketing import clock, links, qr_codes
from ticketing.config import Config
from ticketing.constants import IntentStatus
from ticketing.errors import NotFound
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.pages import order_view, render
from ticketing.pages.blueprint import PageBlueprint
from ticketing.pages.guards import PaymentLink
from ticketing.pages.order_view import Way
from ticketing.services import chains
from ticketing.services.orders import finality, intents
from ticketing.services.payments import wallet_requests
from ticketing.services.payments.wallet_requests import WalletRequests
from ticketing.services.x402 import gasless
from ticketing.services.x402.gasless import Offer
from ticketing.web.context import config

_ASKED_EVERY, _ASKED_SELDOM = 10, 30
"""How often the page asks for news, in seconds. All who have it open count together."""

blp = PageBlueprint("payment_links", __name__, guard=PaymentLink(), is_secret=True)


class State(StrEnum):
    """What the page is about."""

    PAY = "pay"
    PROCESSING = "processing"
    PAID = "paid"
    MISSING = "missing"
    ENDED = "ended"


_STATES = {
    IntentStatus.PROCESSING: State.PROCESSING,
    IntentStatus.CONFIRMED: State.PAID,
    IntentStatus.REVERSED: State.MISSING,
    IntentStatus.EXPIRED: State.ENDED,
    IntentStatus.CANCELED: State.ENDED,
}


@dataclass(frozen=True)
class PaymentView:
    """What is due of an order. `is_unseen`: its chain cannot be read at the moment.

    `told`: what a wallet in the browser needs to know. `gasless` and `way`: as OrderView has them,
    of which the page shows a part. All ways to pay are shown at once.
    """

    intent: PaymentIntent
    event: Event
    tenant: Tenant
    network: str
    is_unseen: bool
    now: datetime
    told: WalletRequests
    gasless: Offer | None
    way: Way = Way.PHONE

    @property
    def state(self) -> State:
        """What the page is about.

        After the deadline nobody may pay any more, although the worker may not have ended the order
        yet. While the chain cannot be read, the time does not run.
        """
        intent = self.intent
        if intent.status != IntentStatus.AWAITING_PAYMENT:
            return _STATES[IntentStatus(intent.status)]
        if not intent.amount_due:
            return State.MISSING
        is_over = self.now > intent.expires_at and not self.is_unseen
        return State.ENDED if is_over else State.PAY

    @property
    def asks_every(self) -> int:
        """After how many seconds the page asks for news."""
        return _ASKED_SELDOM if self.state in (State.PAID, State.ENDED) else _ASKED_EVERY

    @property
    def marker(self) -> str:
        """What can change of the payment. static/pages/payment.js writes it too.

        Of `payment_uri`, the network changes: the buyer can move the order to another one.
        """
        intent = self.intent
        expires_at, uri = clock.rfc3339(intent.expires_at), intent.payment_uri or ""
        return f"{intent.status} {intent.amount_due} {intent.confirmations} {expires_at} {uri}"

    @property
    def blocks_needed(self) -> int:
        """With how many blocks the order is confirmed."""
        return finality.blocks_needed(self.intent)

    @property
    def blocks_seen(self) -> int:
        """How many blocks the payment has, at most those that it needs."""
        return min(self.intent.confirmations, self.blocks_needed)


@blp.get("/_p/<link>")
def show_payment(link: str) -> str:
    """Show how to pay what is still due."""
    view = _read(g.intent, config())
    return render.page(
        "payment_link.html",
        tenant=view.tenant,
        event=view.event,
        view=view,
        intent=view.intent,
        path=links.payment(view.intent.id, view.intent.link_generation, config().keyring),
        qr=qr_codes.picture,
    )


def _read(intent: PaymentIntent, config: Config) -> PaymentView:
    """Return what is due of an order. NotFound if it costs nothing."""
    if intent.chain_id is None:
        raise NotFound("There is nothing to pay.")
    intents.add_payment_details([intent])
    now = clock.now()
    return PaymentView(
        intent=intent,
        event=intent.event,
        tenant=intent.tenant,
        network=chains.name_of(intent.chain_id, config),
        is_unseen=order_view.is_unseen(intent, config, now),
        now=now,
        told=wallet_requests.of(intent, config),
        gasless=gasless.offer(intent, config),
    )
