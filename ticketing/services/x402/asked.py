"""What an x402 client asks for: the items of one event, or some of one ticket type."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ticketing.credentials import Keyring, keyed_digest, same_as_any
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.services.order_requests import Order
from ticketing.services.orders import holds, vouchers
from ticketing.services.orders.lines import Line, Wanted
from ticketing.services.waiting_room.entrance import Entrance
from ticketing.services.wallets.named_addresses import NamedAddress
from ticketing.services.x402.share import X402


@dataclass(frozen=True)
class Asked:
    """An order as its request has it. `event`: its id or slug, if the path names it.

    Otherwise the path names the ticket type of the only item. `client` and `entrance` are those of
    a Person, and `fields` are all fields of an Order that the body has.
    """

    wanted: Sequence[Wanted]
    fields: Mapping[str, Any]
    client: Sequence[str] = ()
    event: str | None = None
    entrance: Entrance | None = None

    def lines(self, tenant: Tenant) -> list[Line]:
        """Return what is wanted with its ticket types, all published and of one event.

        NotFound. VoucherInvalid: the code is looked up first.
        """
        code, voucher, (first, *_) = self.fields["voucher"], None, self.wanted
        if self.event is not None:
            if code is not None:
                voucher = vouchers.find(tenant.id, self.event, code)
            return holds.lines_on_sale(tenant.id, self.event, self.wanted, voucher)
        if code is not None:
            voucher = vouchers.find_for_ticket(tenant.id, first.ticket_id, code)
        ticket_type = holds.on_sale_by_id(tenant.id, first.ticket_id, voucher)
        return [Line(first, ticket_type, voucher)]

    def order(
        self,
        lines: Sequence[Line],
        chain_id: int | None,
        keyring: Keyring,
        digest: str | None = None,
        named: NamedAddress | None = None,
    ) -> Order:
        """Return it as an order of the event of `lines`, paid on this chain.

        `digest`: of its Idempotency-Key. `named`: its address, if that was told before.
        """
        body_digest = self.digest(keyring.current)
        by = X402(self.client, self.entrance, digest, body_digest, named)
        event_id = lines[0].ticket_type.event_id
        return Order(event_id, self.wanted, by, chain_id, **self.fields)

    def is_path_of(self, intent: PaymentIntent) -> bool:
        """Return whether the path can be that of an order."""
        if self.event is not None:
            return self.event in (intent.event_id, intent.event.slug)
        return self.wanted[0].ticket_id == intent.only_ticket_id

    def digest(self, secret_key: str) -> str:
        """Return a digest of the body. Both paths give the same one for the same order.

        What is absent is left out, so a field that a later version adds changes no digest. The
        digest is keyed, because the body may have a name and an address.
        """
        given = {name: value for name, value in self.fields.items() if value not in (None, {}, [])}
        text = json.dumps([self.wanted, given], sort_keys=True)
        return keyed_digest(secret_key, "x402-order-body", text)

    def is_body_of(self, intent: PaymentIntent, keyring: Keyring) -> bool:
        """Return whether an order was made with this body."""
        digests = [self.digest(each) for each in keyring.accepted]
        return intent.body_digest is not None and same_as_any(intent.body_digest, digests)
