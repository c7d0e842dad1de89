"""Restore what a backup knew of orders, money and refunds."""

from typing import Any

from tests.support.factories import cli
from tests.support.refunds import pass_hours
from ticketing.models.admissions import Admission
from ticketing.models.chains import ChainBlock, ChainState
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payments import Payment
from ticketing.models.payouts import PassedId, Payout, PayoutCursor, PayoutEvent
from ticketing.models.refunds import Refund, RefundAddress
from ticketing.models.ticket_types import TicketType
from tools import anvil


class Backup:
    """The database as it was: it does not know what was listed, booked and read since then."""

    CHANGED = (PaymentIntent, OrderAccount, Admission, TicketType, ChainState)
    ADDED = (Payout, PayoutEvent, PassedId, PayoutCursor, Refund, RefundAddress, Payment)

    def __init__(self) -> None:
        self._rows = {model: list(model.select()) for model in (*self.CHANGED, *self.ADDED)}

    def restore(self, app: Any, node: anvil.Anvil) -> None:
        """Restore it, and say so to the service."""
        for model, rows in self._rows.items():
            if model in self.ADDED:
                model.delete().execute()
            for row in rows:
                row.save(force_insert=model in self.ADDED)
        known = [each.id for each in self._rows[OrderAccount]]
        OrderAccount.delete().where(OrderAccount.id.not_in(known)).execute()
        (state,) = self._rows[ChainState]
        ChainBlock.delete().where(ChainBlock.number > state.block_number).execute()
        cli(app, "db", "restored")
        # Blocks that are mined after the restore.
        pass_hours(node, 0.1)
