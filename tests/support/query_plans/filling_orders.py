"""Orders for the generator: payment intents, with accounts, payments, refunds and admissions."""

import secrets
from collections.abc import Iterator, Sequence
from itertools import accumulate
from random import Random
from typing import Any

from tests.support.query_plans.bulk import Sink
from tests.support.query_plans.fiction import (
    DAY,
    HOLD,
    HOUR,
    OPEN,
    OUTCOMES,
    YEAR,
    Outcome,
    Sold,
    Wallet,
    address,
    block,
    id_at,
    text,
)
from ticketing import credentials, ids
from ticketing.chain.registry import REGISTRY
from ticketing.constants import LIVE, SOLD, AdmissionStatus, IntentStatus
from ticketing.models.payment_intents import flag_bits
from ticketing.notification_types import MailKind, MailStatus

MAILS_KEPT = 30 * DAY
HOLDERS = ("Some Buyer", "Night Owl")


class Orders:
    """Creates the orders of one database. `tenants` and `wallets` belong together by index."""

    def __init__(
        self, sink: Sink, random: Random, now: float, tenants: list[str], wallets: list[Wallet]
    ) -> None:
        self._sink, self._random, self._now = sink, random, now
        self._tenants, self._wallets = tenants, wallets
        self._last_account = 0

    def make(self, types: Sequence[Sold], weights: Sequence[int], count: int) -> None:
        """Create `count` orders of ticket types, in the order of time.

        `weights`: the probability of each type, relative to the others. Their stock is updated.
        """
        being_paid = min(count, max(10, count // 200))
        ended = count - being_paid
        for place, ticket_type in enumerate(self._draw(types, weights, count)):
            if place < ended:
                at = self._now - HOUR - YEAR * (1 - place / ended)
                (outcome,) = self._random.choices(OUTCOMES, [each.weight for each in OUTCOMES])
            else:
                at = self._now - (HOLD - 60) * (count - place) / being_paid
                (outcome,) = self._random.choices(OPEN, [each.weight for each in OPEN])
            self._make_one(max(at, ticket_type.created + 1), ticket_type, outcome)

    def _draw(self, types: Sequence[Sold], weights: Sequence[int], count: int) -> Iterator[Sold]:
        cumulative = list(accumulate(weights))
        for start in range(0, count, 10_000):
            some = min(10_000, count - start)
            yield from self._random.choices(types, cum_weights=cumulative, k=some)

    def _make_one(self, at: float, ticket_type: Sold, outcome: Outcome) -> None:
        status, quantity = outcome.status, self._random.choice((1, 1, 1, 2, 2, 4))
        if ticket_type.chain_id is None:
            # A free order has no payment: it is confirmed at once, or expires.
            status = IntentStatus.CONFIRMED if status in SOLD else status
            status = IntentStatus.AWAITING_PAYMENT if status in LIVE else status
            outcome = Outcome(0, status)
        intent = id_at(self._random, ids.INTENT, at)
        tenant = self._tenants[ticket_type.tenant]
        amount = quantity * ticket_type.price
        stays = status != IntentStatus.REVERSED
        refunded = outcome.back * amount // 100
        paid_at = at + (HOLD + 300 if outcome.late else 120)
        chain_id = ticket_type.chain_id
        place = self._place(ticket_type) if chain_id is not None else (None,) * 4
        is_paid = stays and sum(outcome.paid) >= 100
        end = None if status in LIVE else paid_at + 60 if outcome.paid else at + HOLD
        confirmed_at = end or at if status in SOLD else None
        hold_until = text(at + HOLD)
        self._sink.add(
            "payment_intents",
            intent,
            tenant,
            ticket_type.event_id,
            status,
            flag_bits(outcome.flags),
            quantity,
            0 if amount else quantity,
            amount,
            "USDC",
            chain_id,
            *place,
            block(paid_at) if is_paid else None,
            len(outcome.paid),
            "somebody@example.org",
            "Some Buyer",
            text(at),
            hold_until,
            None,
            hold_until,
            text(confirmed_at),
        )
        if chain_id is not None:
            of_order = (intent, chain_id, place[0], *place[2:], tenant, ticket_type.event_id)
            received = sum(outcome.paid) * amount // 100 * stays
            sold = amount if status in SOLD or status in LIVE else 0
            books = (received, max(0, received - sold - refunded), refunded)
            self._keep_books(of_order, status, books, block(paid_at), end)
        price = (ticket_type.price,) * 2
        self._sink.add("intent_items", intent, 0, ticket_type.id, quantity, *price, True, False)
        for number, percent in enumerate(outcome.paid):
            self._pay(intent, ticket_type, number, paid_at, percent * amount // 100, stays)
        if refunded:
            self._sink.add(
                "refunds",
                id_at(self._random, ids.REFUND, at + DAY),
                intent,
                self._last_account,
                chain_id,
                "0x" + secrets.token_hex(32),
                0,
                address(),
                address(),
                refunded,
                block(at + DAY),
                "0x" + secrets.token_hex(32),
                True,
                text(at + DAY),
            )
        if status in SOLD:
            self._admit(intent, ticket_type, quantity, confirmed_at or at, stays)
            self._mail(intent, tenant, confirmed_at or at, is_free=chain_id is None)
        ticket_type.held += quantity * (status in LIVE)
        ticket_type.sold += quantity * (status in SOLD)

    def _place(self, ticket_type: Sold) -> tuple[str | int | None, ...]:
        wallet = self._wallets[ticket_type.tenant]
        token_address = REGISTRY[ticket_type.chain_id or 0].token_address
        return (wallet.former_id, *wallet.take(), token_address)

    def _keep_books(
        self,
        of_order: tuple[Any, ...],
        status: IntentStatus,
        books: tuple[int, int, int],
        paid_block: int,
        end: float | None,
    ) -> None:
        """Open the home of an order. `books`: what was received, what is due, and refunded."""
        self._last_account += 1
        (received, due, refunded), chain = books, REGISTRY[of_order[1]]
        rest = received - due - refunded
        is_final = status != IntentStatus.PROCESSING
        watch_until = None if end is None else end + DAY
        collectable_at = end if status == IntentStatus.CONFIRMED else watch_until
        swept = self._now - self._random.random() * HOUR / 2
        is_cold = watch_until is not None and watch_until < swept
        self._sink.add(
            "order_accounts",
            self._last_account,
            *of_order,
            chain.decimals,
            chain.confirmations,
            True,
            True,
            received,
            received * is_final,
            0 if status in LIVE else rest,
            rest if status in LIVE else 0,
            due,
            refunded,
            None if is_final else paid_block,
            text(watch_until),
            text(end) if status in SOLD else None,
            text(collectable_at) if status != IntentStatus.REVERSED else None,
            *((text(swept), str(received)) if is_cold else (None, None)),
        )

    def _pay(
        self, intent: str, of_type: Sold, number: int, at: float, amount: int, stays: bool
    ) -> None:
        chain_id = of_type.chain_id
        made, token = id_at(self._random, ids.PAYMENT, at), REGISTRY[chain_id or 0].token_address
        of_it = (intent, self._last_account, chain_id)
        owner = self._wallets[of_type.tenant].owner
        for table, key, token_columns, other in (
            ("payments", made, (), address()),
            # All of it was collected, as this order is nobody's on the node.
            ("collections", made.replace(ids.PAYMENT, ids.COLLECTION), (token,), owner),
        ):
            self._sink.add(
                table,
                key,
                *of_it,
                *token_columns,
                "0x" + secrets.token_hex(32),
                number,
                block(at),
                "0x" + secrets.token_hex(32),
                text(at),
                other,
                amount,
                0,
                stays,
                text(at + 1),
            )

    def _admit(self, intent: str, to: Sold, seats: int, at: float, valid: bool) -> None:
        status = AdmissionStatus.VALID if valid else AdmissionStatus.SUSPENDED
        for seat in range(seats):
            redeemed_at = text(at + HOUR) if self._random.random() < 1 / 3 else None
            self._sink.add(
                "admissions",
                id_at(self._random, ids.ADMISSION, at),
                self._tenants[to.tenant],
                to.event_id,
                to.id,
                intent,
                credentials.new_admission_code(),
                status,
                to.price,
                HOLDERS[seat % 2],
                "somebody@example.org",
                redeemed_at,
                text(at),
            )

    def _mail(self, intent: str, tenant: str, at: float, *, is_free: bool) -> None:
        """Tell the buyer. Of a free order, the mailbox and the networks of the client count."""
        if at < self._now - MAILS_KEPT:
            return
        counted = [secrets.token_hex(32) if is_free else None for _ in range(3)]
        self._sink.add(
            "mails",
            id_at(self._random, ids.MAIL, at),
            tenant,
            MailKind.ORDER_CONFIRMED,
            intent,
            id_at(self._random, ids.NOTIFICATION, at),
            secrets.token_hex(32),
            *counted,
            MailStatus.SENT,
            1,
            text(at),
            text(at + 5),
        )
