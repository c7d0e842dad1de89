"""Events after the sale in the property test's world: of holders, and of the organizer."""

from tests.support.property.catalog import SLUG
from tests.support.property.core import Core, refused
from ticketing import credentials
from ticketing.models.admissions import Transfer
from ticketing.services.orders import guest_list, holders, reissues, returns, transfers
from ticketing.services.payments import resales, voids

ENDED = ("already_redeemed", "admission_void")
NOT_TRANSFERABLE = (
    *ENDED,
    "admission_suspended",
    "transfers_closed",
    "payment_not_final",
    "return_offered",
)
NOT_RETURNABLE = (
    *ENDED,
    "admission_suspended",
    "not_returnable",
    "returns_closed",
    "payment_not_final",
    "refund_address_missing",
)


class Admissions(Core):
    """Admissions are voided, reissued, named and transferred. Guests get some too."""

    def void(self, who: int, refund: bool, transferred: bool) -> None:
        """Take an admission back."""
        if admission := self.admission(who):
            with refused("was_transferred", "return_in_progress", *ENDED):
                voids.void(
                    self.tenant.id,
                    admission.id,
                    reason="Asked for.",
                    refund=refund,
                    transferred=transferred,
                )

    def reissue(self, who: int) -> None:
        """Give an admission a new code."""
        if admission := self.admission(who):
            with refused("return_offered", *ENDED):
                reissues.reissue(self.tenant.id, admission.id, email=None, config=self.config)

    def give_back(self, who: int) -> None:
        """Give an admission back."""
        if admission := self.admission(who):
            with refused("not_found", *NOT_RETURNABLE):
                returns.offer(SLUG, admission.id, admission.code)

    def keep(self, who: int) -> None:
        """Keep an admission after all."""
        if admission := self.admission(who):
            with refused("not_found", "return_in_progress"):
                returns.cancel(SLUG, admission.id, admission.code)

    def sell_on(self) -> None:
        """Swap what is final, and end offers that are too late, as the worker does."""
        resales.swap_some()
        resales.end_some_offers()

    def invite(self, free: bool, guests: int) -> None:
        """Put some guests on the list."""
        given = self.free if free else self.paid
        with refused("sold_out", "sale_canceled"):
            guest_list.add(self.tenant.id, given.event_id, given.id, [{"name": "Guest"}] * guests)

    def name_holder(self, who: int, name: str | None) -> None:
        """Name the holder of an admission."""
        if admission := self.admission(who):
            with refused("not_found", *ENDED):
                holders.name(SLUG, admission.id, admission.code, {"name": name})

    def offer(self, who: int) -> None:
        """Offer an admission to somebody."""
        if admission := self.admission(who):
            with refused("not_found", "too_many_transfers", *NOT_TRANSFERABLE):
                transfers.offer(SLUG, admission.id, admission.code, {}, self.config)

    def cancel_offer(self, who: int) -> None:
        """Take an offer back."""
        if admission := self.admission(who):
            with refused("not_found"):
                transfers.cancel(SLUG, admission.id, admission.code)

    def accept(self, which: int) -> None:
        """Accept one of the offers, the newest one being the 0th. It may have ended."""
        made = list(Transfer.select().order_by(Transfer.id))
        if made:
            transfer = made[-1 - which % len(made)]
            keyring = self.config.keyring
            offer = credentials.transfer_offer(keyring.current, transfer.id)
            with refused("offer_ended", *NOT_TRANSFERABLE):
                transfers.accept(self.tenant, offer, {"name": "Friend"}, keyring)
