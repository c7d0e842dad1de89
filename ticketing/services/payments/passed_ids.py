"""Pass over an id that was used for something else, on an administrator's word."""

from ticketing import clock
from ticketing.db.connection import write_transaction
from ticketing.errors import NoRefundDue, NotFound, RefundListed
from ticketing.models.payouts import PassedId, Payout
from ticketing.services import stated_addresses
from ticketing.services.access import audit_log
from ticketing.services.access.audit_log import Actor
from ticketing.services.orders import accounts, intents
from ticketing.services.payments import payout_events, payout_ids, refunds, settlement
from ticketing.services.payments.refunds import RefundOwed


def pass_over(
    tenant_id: str,
    intent_id: str,
    payer: str,
    payment_id: str,
    reason: str,
    by: Actor,
    chain_id: int | None = None,
    token_address: str | None = None,
) -> RefundOwed:
    """Say that `payer` used an id of an order for something else. A repeat changes nothing.

    Then the order can be listed again: for this payer, with the next id. The account is the home,
    or the one on `chain_id`, see accounts.named. NotFound, also for an id of another order.
    NoRefundDue. Invalid for a wrong address. RefundListed while a list that has this id can still
    be paid: until then it may be.
    """
    payer, payment_id = stated_addresses.parse(payer, "payer"), payment_id.lower()
    intent = intents.get(tenant_id, intent_id)
    if intent.chain_id is None:  # it is free
        raise NoRefundDue
    with write_transaction():
        # The cursor of events stays in place, by which a list has ended.
        settlement.lock_chain(chain_id or intent.chain_id, shared=True)
        (locked,) = settlement.lock_rows([intent_id])
        account = accounts.owing(locked, chain_id, token_address)
        if payment_id not in payout_ids.owners_of_ids([account]):
            raise NotFound("This order has no such id.")
        if not _is_passed(payer, payment_id):
            if _may_be_paid(payer, payment_id, account.terms.chain_id):
                raise RefundListed
            PassedId.insert(
                payer=payer,
                payment_id=payment_id,
                intent=intent_id,
                reason=reason,
                created_at=clock.now(),
            ).execute()
            after = {"payer": payer, "payment_id": payment_id, "reason": reason}
            after |= accounts.in_audit(account)
            audit_log.record(tenant_id, by, intent_id, before=None, after=after)
    return refunds.owed_for(account)


def _is_passed(payer: str, payment_id: str) -> bool:
    of_payer = (PassedId.payer == payer) & (PassedId.payment_id == payment_id)
    return bool(PassedId.select().where(of_payer).exists())


def _may_be_paid(payer: str, payment_id: str, chain_id: int) -> bool:
    """Return whether a list with this id of the payer has not ended, even if the id looks used."""
    rows = Payout.select().where(Payout.payer == payer, Payout.payment_id == payment_id)
    return bool(rows.where(Payout.valid_before >= payout_events.ended_before(chain_id)).exists())
