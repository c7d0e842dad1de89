"""Money that belongs to no order, at addresses that only its organizer can empty.

There are three kinds. After a backup was restored, orders that came after it are not known: buyers
may have paid receivers whose indexes `db restored` skipped. An x402 client may have paid an address
that it was told, and not sent the payment here. And somebody may have paid a gathering receiver,
which no order has. The worker reads the balances of all from time to time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice
from typing import Any

from peewee import EXCLUDED

from ticketing import clock
from ticketing.chain import units
from ticketing.db.connection import write_transaction
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.unassigned_money import GATHERING, SkippedIndexes, UnassignedMoney
from ticketing.models.wallets import Wallet
from ticketing.services.money import collectable
from ticketing.services.money.collectable import PAGE, Asked, Order, Sum
from ticketing.services.wallets import issuing

WATCHED_FOR = timedelta(days=30)
"""For how long all receivers with a skipped index are read. Later, those with money only."""


@dataclass(frozen=True)
class Place:
    """A receiver without an order: its wallet and index, GATHERING for the gathering receiver."""

    wallet: Wallet = field(repr=False)
    index: int
    address: str


@dataclass
class Unassigned:
    """What such receivers of a tenant hold on one chain, in micro-units."""

    unknown_orders: Sum = field(default_factory=Sum)
    at_gathering: int = 0


def places(chain_id: int, *, with_named: bool) -> Iterator[Sequence[Place]]:
    """Yield the receivers whose balances are read on a chain, in pages. It may take hours.

    `with_named`: also all those that x402 clients were told.
    """
    found = _places(chain_id, with_named=with_named)
    while page := list(islice(found, PAGE)):
        yield page


def with_money(chain_id: int) -> Sequence[Place]:
    """Return the receivers that held something when they were read last, at most PAGE."""
    wallets = {wallet.id: wallet for wallet in Wallet.select()}
    rows = UnassignedMoney.select().where(UnassignedMoney.chain_id == chain_id).limit(PAGE)
    return [_place(wallets[row.wallet_id], row.address_index) for row in rows]


def _places(chain_id: int, *, with_named: bool) -> Iterator[Place]:
    wallets = list(Wallet.select())
    for wallet in wallets:
        yield _place(wallet, GATHERING)
    is_new = SkippedIndexes.skipped_at > clock.now() - WATCHED_FOR
    if not with_named:
        is_new &= ~SkippedIndexes.named
    for wallet in wallets:
        of_wallet = SkippedIndexes.select().where(SkippedIndexes.wallet == wallet.id, is_new)
        ranges = [range(each.first, each.next) for each in of_wallet]
        for indexes in ranges:
            yield from (_place(wallet, index) for index in indexes)
        for index in _indexes_with_money(wallet.id, chain_id):
            if not any(index in each for each in ranges):
                yield _place(wallet, index)


def _place(wallet: Wallet, index: int) -> Place:
    if index == GATHERING:
        return Place(wallet, index, wallet.gathering)
    return Place(wallet, index, issuing.address_of(wallet, index))


def _indexes_with_money(wallet_id: str, chain_id: int) -> list[int]:
    rows = UnassignedMoney.select(UnassignedMoney.address_index).where(
        UnassignedMoney.wallet == wallet_id,
        UnassignedMoney.chain_id == chain_id,
        UnassignedMoney.address_index != GATHERING,
    )
    return [row.address_index for row in rows]


def note(
    chain_id: int, token_address: str, decimals: int, page: Sequence[Place], held: Sequence[int]
) -> None:
    """Store what some receivers hold of a token, in atomic units each.

    One that has an order now is left out: what it holds is that order's.
    """
    now = clock.now()
    ordered = _ordered(page)
    amounts = [
        0 if (place.wallet.id, place.index) in ordered else units.from_atomic(each, decimals)[0]
        for place, each in zip(page, held, strict=True)
    ]
    found = [(place, amount) for place, amount in zip(page, amounts, strict=True) if amount]
    rows = [
        {
            UnassignedMoney.wallet: place.wallet.id,
            UnassignedMoney.chain_id: chain_id,
            UnassignedMoney.token_address: token_address,
            UnassignedMoney.address_index: place.index,
            UnassignedMoney.amount: amount,
            UnassignedMoney.seen_at: now,
        }
        for place, amount in found
    ]
    with write_transaction():
        for wallet_id in {place.wallet.id for place in page}:
            empty = [
                place.index
                for place, amount in zip(page, amounts, strict=True)
                if place.wallet.id == wallet_id and not amount
            ]
            UnassignedMoney.delete().where(
                UnassignedMoney.wallet == wallet_id,
                UnassignedMoney.chain_id == chain_id,
                UnassignedMoney.token_address == token_address,
                UnassignedMoney.address_index.in_(empty),
            ).execute()
        if rows:
            UnassignedMoney.insert_many(rows).on_conflict(
                conflict_target=[
                    UnassignedMoney.wallet,
                    UnassignedMoney.chain_id,
                    UnassignedMoney.token_address,
                    UnassignedMoney.address_index,
                ],
                update={
                    UnassignedMoney.amount: EXCLUDED.amount,
                    UnassignedMoney.seen_at: EXCLUDED.seen_at,
                },
            ).execute()


def _ordered(page: Sequence[Place]) -> set[tuple[str, int]]:
    """Return the wallet and index of those receivers that have an order."""
    found: set[tuple[str, int]] = set()
    for wallet_id in {place.wallet.id for place in page}:
        indexes = [place.index for place in page if place.wallet.id == wallet_id]
        rows = PaymentIntent.select(PaymentIntent.address_index).where(
            PaymentIntent.wallet == wallet_id, PaymentIntent.address_index.in_(indexes)
        )
        found.update((wallet_id, int(row.address_index or 0)) for row in rows)
    return found


def of_tenant(tenant_id: str) -> dict[tuple[int, str], Unassigned]:
    """Return what a tenant's receivers without an order held, by chain and token."""
    found: dict[tuple[int, str], Unassigned] = {}
    for row in _rows(tenant_id):
        here = found.setdefault((row.chain_id, row.token_address), Unassigned())
        if row.address_index == GATHERING:
            here.at_gathering += row.amount
        else:
            here.unknown_orders += Sum(1, row.amount)
    return found


def unknown_orders(asked: Asked) -> Iterator[Order]:
    """Yield the receivers of orders that are not known and held something, the oldest first."""
    wallets = collectable.wallets(asked.tenant_id)
    rows = _rows(asked.tenant_id).where(
        UnassignedMoney.chain_id == asked.chain_id,
        UnassignedMoney.token_address == asked.token_address,
        UnassignedMoney.address_index != GATHERING,
    )
    for row in rows:
        place = _place(wallets[row.wallet_id], row.address_index)
        yield Order(None, row.wallet_id, place.index, place.address)


def _rows(tenant_id: str) -> Any:
    own = list(collectable.wallets(tenant_id))
    of_tenant = UnassignedMoney.select().where(UnassignedMoney.wallet.in_(own))
    return of_tenant.order_by(UnassignedMoney.wallet, UnassignedMoney.address_index)
