"""The claim of a price: what an x402 client was told, before there is an order.

The client sends it back with its payment. It is encrypted, so it can be neither made nor changed
elsewhere, and says nothing of how many orders there are. It ends, but still proves that an order
with its address is the buyer's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ticketing import clock, encryption
from ticketing.credentials import Keyring
from ticketing.encryption import SecretUnreadable
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.wallets.named_addresses import NamedAddress

GOOD_FOR = timedelta(minutes=5)
"""How long a client may take to sign."""

_PREFIX, _PURPOSE = "p_", "x402-price"


@dataclass(frozen=True)
class PriceClaim:
    """A price that a client was told: `amount` in micro-units, for an order with this body."""

    named: NamedAddress
    amount: int
    body_digest: str
    ends_at: datetime

    @property
    def has_ended(self) -> bool:
        """Whether no order can be made with it any more."""
        return clock.now() >= self.ends_at

    def is_of(self, intent: PaymentIntent) -> bool:
        """Return whether an order has the address that was told with it."""
        where = (intent.wallet_id, intent.address_index)
        return where == (self.named.wallet_id, self.named.index)


def write(claim: PriceClaim, tenant_id: str, keyring: Keyring) -> str:
    """Return a claim as a client gets it."""
    named = claim.named
    fields = {
        "wallet": named.wallet_id,
        "index": named.index,
        "address": named.address,
        "blocks": list(named.blocks.items()),
        "amount": claim.amount,
        "body": claim.body_digest,
        "ends": claim.ends_at.timestamp(),
    }
    return _PREFIX + encryption.encrypt(json.dumps(fields), _PURPOSE, tenant_id, keyring)


def read(offered: str, tenant_id: str, keyring: Keyring) -> PriceClaim | None:
    """Return the claim that a client sends back. None: it is not one of this tenant."""
    if not offered.startswith(_PREFIX):
        return None
    try:
        text = encryption.decrypt(offered.removeprefix(_PREFIX), _PURPOSE, tenant_id, keyring)
    except SecretUnreadable:
        return None
    fields = json.loads(text)
    named = NamedAddress(
        fields["wallet"], fields["index"], fields["address"], dict(fields["blocks"])
    )
    ends_at = datetime.fromtimestamp(fields["ends"], UTC)
    return PriceClaim(named, fields["amount"], fields["body"], ends_at)
