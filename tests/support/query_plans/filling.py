"""Fill a database with consistent rows, as many as the planner needs to prefer an index.

Rows are created in the order of time, as by the service, so that the rows of a tenant are as
scattered as in reality. The tenant `big` has a tenth of everything, and one of its events has a
third of its orders. An event of `fair` has many ticket types. Most tenants are small.
"""

import json
import random
import secrets
import time
from dataclasses import dataclass

from tests.support.query_plans.bulk import Sink, filling
from tests.support.query_plans.fiction import (
    DAY,
    HOUR,
    YEAR,
    Sold,
    Wallet,
    address,
    block,
    id_at,
    text,
)
from tests.support.query_plans.filling_orders import Orders
from ticketing import ids
from ticketing.chain.receivers import CONTRACT_VERSION
from ticketing.chain.registry import REGISTRY
from ticketing.services.payments import block_history

CHAINS = (31337, 8453)
BIG, FAIR, HIT = 0, 1, 0
"""The indexes of the tenant `big`, of the tenant `fair`, and of the large event."""

WORDS = ("Launch", "Summer", "Night", "Jazz", "Open Air", "Workshop", "Gala", "Reading")
TYPES = ("in_person", "online", "hybrid", "in_person")
STATUSES = ("published",) * 17 + ("draft", "canceled", "canceled")


@dataclass(frozen=True)
class Scale:
    """How many rows to create."""

    tenants: int
    events: int
    intents: int

    @property
    def crowd(self) -> int:
        """The number of rows for a list with a thousand pages of two."""
        return self.events // 40


class Generator:
    """Creates the rows of one database. Except for secrets, they are the same each time."""

    def __init__(self, scale: Scale, sink: Sink) -> None:
        self._scale, self._sink = scale, sink
        self._random = random.Random(1)
        self._now = time.time()
        self._tenants: list[str] = []
        self._wallets: list[Wallet] = []
        self._keys: list[tuple[str, float, str]] = []
        self._types: list[Sold] = []
        self._weights: list[int] = []

    def run(self) -> None:
        """Create everything, in the order of time."""
        self._make_tenants()
        self._make_events()
        orders = Orders(self._sink, self._random, self._now, self._tenants, self._wallets)
        orders.make(self._types, self._weights, self._scale.intents)
        for ticket_type in self._types:
            self._write_ticket_type(ticket_type)
        for tenant, wallet in zip(self._tenants, self._wallets, strict=True):
            self._write_wallets(tenant, wallet)
        self._make_chains()
        self._make_idempotency_keys()
        self._make_trail()
        self._make_rate_counts()
        self._sink.flush()

    def _make_tenants(self) -> None:
        start = self._now - 2 * YEAR
        for place in range(self._scale.tenants):
            at = start + place * YEAR / self._scale.tenants
            slug = {BIG: "big", FAIR: "fair"}.get(place, f"tenant-{place}")
            tenant, wallet = (
                id_at(self._random, ids.TENANT, at),
                Wallet(
                    id_at(self._random, ids.WALLET, at),
                    address(),
                    ids.new(ids.WALLET),
                    address(),
                    secrets.token_bytes(32),
                ),
            )
            self._tenants.append(tenant)
            self._wallets.append(wallet)
            self._sink.add("tenants", tenant, slug, slug.title(), wallet.id, text(at))
            for key in range(self._scale.crowd if place == BIG else 2):
                revoked = text(at + DAY) if key % 3 == 1 else None
                made = id_at(self._random, ids.API_KEY, at + key)
                self._keys.append((tenant, at + key, made))
                self._sink.add(
                    "api_keys",
                    made,
                    tenant,
                    f"key {key}",
                    "read",
                    secrets.token_hex(32),
                    "key",
                    text(at + key),
                    text(at + (3 * YEAR if key % 3 == 0 else DAY)),
                    None,
                    revoked,
                )

    def _make_events(self) -> None:
        tenants, events = self._scale.tenants, self._scale.events
        small = [1 / (place + 10) for place in range(1, tenants)]
        # With its large event, this tenant has a tenth of the orders.
        shares = [sum(small) / 14, *small]
        owners = self._random.choices(range(tenants), shares, k=events)
        owners[HIT], owners[1] = BIG, FAIR
        for place, owner in enumerate(owners):
            at = self._now - 1.1 * YEAR + place * YEAR / events
            event, tenant = id_at(self._random, ids.EVENT, at), self._tenants[owner]
            status = STATUSES[place % len(STATUSES)]
            start = at + (1 + place % 50) * 10 * DAY
            self._sink.add(
                "events",
                event,
                tenant,
                f"{WORDS[place % len(WORDS)]} {place}",
                f"event-{place}",
                "What it is about. " * 12,
                TYPES[place % len(TYPES)],
                "Main Hall",
                text(start),
                text(start + 2 * HOUR),
                "Europe/Berlin",
                "https://example.org/join",
                status,
                text(at),
                text(at),
            )
            for number in range(self._scale.crowd if place == 1 else 2):
                is_free = number == 1 and place % 10 == 0
                price = 0 if is_free else (1 + place % 40) * 500_000
                chain_id = None if is_free else CHAINS[place % 10 == 9]
                made = id_at(self._random, ids.TICKET_TYPE, at + number)
                self._types.append(Sold(made, owner, event, price, chain_id, at + number, status))
                # The event's orders: none for a draft, a third of the tenant's for the hit.
                share = max(1, events // 30) if place == HIT else int(number < 2)
                self._weights.append(0 if status == "draft" else share)

    def _write_ticket_type(self, made: Sold) -> None:
        at, capacity = text(made.created), made.held + made.sold + 1_000
        self._sink.add(
            "ticket_types",
            made.id,
            self._tenants[made.tenant],
            made.event_id,
            "Seat",
            made.price,
            made.chain_id,
            True,
            made.status,
            capacity,
            made.held,
            made.sold,
            1,
            10,
            None,
            None,
            at,
            at,
        )

    def _write_wallets(self, tenant: str, wallet: Wallet) -> None:
        new = (wallet.id, wallet.new_owner, self._random.randbytes(32), 1)
        former = (wallet.former_id, wallet.owner, wallet.secret, wallet.next_index)
        for id_, owner, secret, next_index in (new, former):
            # No chain was asked about them.
            nothing = (CONTRACT_VERSION, *[""] * 5, "[]")
            secrets_ = (address(), secret.hex())
            at = text(self._now)
            self._sink.add("wallets", id_, tenant, owner, *secrets_, *nothing, next_index, at)

    def _make_chains(self) -> None:
        head, now = block(self._now), text(self._now)
        for chain_id in CHAINS:
            chain = REGISTRY[chain_id]
            self._sink.add(
                "chains",
                chain_id,
                chain.token_address,
                chain.decimals,
                chain.symbol,
                None,
                head,
                "0x" + secrets.token_hex(32),
                now,
                now,
            )
            for number in range(head - block_history.KEPT + 1, head + 1):
                block_hash = "0x" + secrets.token_hex(32)
                self._sink.add("chain_blocks", chain_id, number, block_hash, now)

    def _make_idempotency_keys(self) -> None:
        count = self._scale.intents // 20
        for place in range(count):
            at = text(self._now - DAY * (1 - place / count))
            body = json.dumps({"id": id_at(self._random, ids.INTENT, self._now), "text": "x" * 700})
            self._sink.add(
                "idempotency_keys",
                secrets.token_hex(32),
                secrets.token_hex(32),
                at,
                at,
                201,
                body,
            )

    def _make_trail(self) -> None:
        for tenant, at, key in self._keys:
            for later, action in enumerate(("keys create", "keys rotate")):
                entry = id_at(self._random, "trl_", at + later)
                self._sink.add(
                    "trail",
                    entry,
                    tenant,
                    text(at + later),
                    "cli",
                    None,
                    None,
                    action,
                    key,
                    None,
                    "{}",
                )

    def _make_rate_counts(self) -> None:
        for place in range(self._scale.tenants):
            minute = int(self._now // 60) - place % 2
            self._sink.add("rate_counts", f"public 192.0.2.{place}", minute, 10)


def fill(scale: Scale) -> None:
    """Fill the open database, which must be migrated and empty."""
    with filling():
        Generator(scale, Sink()).run()
