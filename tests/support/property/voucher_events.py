"""Events about vouchers, in the property test's world: orders with a code, and changed codes."""

from collections.abc import Sequence
from datetime import timedelta

from tests.support.property.core import Core, refused
from ticketing.models.vouchers import Voucher
from ticketing.services import checkout
from ticketing.services.catalog import vouchers
from ticketing.services.order_requests import Order
from ticketing.services.orders.lines import Wanted


class Vouchers(Core):
    """Orders that use a code, and what the organizer does with it meanwhile."""

    def order_with_voucher(self, which: int, seats: Sequence[int]) -> None:
        """Order some shirts, free seats and paid seats with one of the codes."""
        voucher = self._voucher(which)
        types = (self.shirt, self.free, self.paid)
        wanted = [
            Wanted(each.id, quantity)
            for each, quantity in zip(types, seats, strict=True)
            if quantity
        ]
        if wanted:
            order = Order(voucher.event_id, wanted, voucher=voucher.code.lower())
            with refused(
                "voucher_invalid",
                "voucher_not_applicable",
                "sold_out",
                "not_payable",
                "sales_ended",
                "event_over",
                "not_found",
            ):
                checkout.preflight(self.tenant.id, order, self.config)

    def limit_voucher(self, which: int, max_usages: int) -> None:
        """Change how often a code can be used."""
        with refused("max_usages_too_low"):
            self._change(which, max_usages=max_usages)

    def end_voucher(self, which: int, ends_in: int | None) -> None:
        """End a code in some seconds, or never."""
        ends = None if ends_in is None else self.now + timedelta(seconds=ends_in)
        self._change(which, valid_until=ends)

    def revalue_voucher(self, which: int, more: bool) -> None:
        """Change what a code gives."""
        voucher = self._voucher(which)
        value = {("percent", True): 100, ("percent", False): 33, ("set", True): 0}
        self._change(which, value=value.get((voucher.price_mode, more), 850))

    def disable_voucher(self, which: int) -> None:
        """End a code for good."""
        voucher = self._voucher(which)
        vouchers.disable(self.tenant.id, voucher.event_id, voucher.id)

    def _change(self, which: int, **fields: object) -> None:
        voucher = self._voucher(which)
        vouchers.change(self.tenant.id, voucher.event_id, voucher.id, fields)

    def _voucher(self, which: int) -> Voucher:
        found = list(Voucher.select().order_by(Voucher.id))
        return found[which % len(found)]
