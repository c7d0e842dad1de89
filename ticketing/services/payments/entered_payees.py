"""Enter where a refund goes, for a buyer who told the organizer."""

from ticketing import clock
from ticketing.config import Config
from ticketing.constants import PayeeSource
from ticketing.db.connection import write_transaction
from ticketing.errors import NothingReceived
from ticketing.notification_types import MailKind
from ticketing.services.access import audit_log
from ticketing.services.access.audit_log import Actor
from ticketing.services.notifications import mail_queue
from ticketing.services.orders import accounts, intents, mailboxes, payees_shown
from ticketing.services.payments import payee_rows, refund_addresses, refunds, settlement
from ticketing.services.payments.refunds import RefundOwed


def enter(
    tenant_id: str,
    intent_id: str,
    address: str,
    reason: str,
    config: Config,
    by: Actor,
    chain_id: int | None = None,
    token_address: str | None = None,
) -> RefundOwed:
    """Let the refund of an intent's account go to an address from now on. Return the refund.

    It is the account that accounts.named finds. What waits ends, and the buyer gets a mail. An
    address that was entered already changes nothing. NotFound. NothingReceived. Invalid: see
    refund_addresses.
    """
    intent = intents.get(tenant_id, intent_id)
    with write_transaction():
        (locked,) = settlement.lock_rows([intent.id])
        account = accounts.named(locked, chain_id, token_address)
        address = refund_addresses.parse(address, account or locked.home, "address", config)
        refund_addresses.check_not_organizers(tenant_id, address)
        if account is None:
            raise NothingReceived
        refund_addresses.refuse_if_nothing_was_received(account)
        rows = payee_rows.of(account)
        payee = payees_shown.payee_in(rows)
        is_entered = payee is not None and payee.source == PayeeSource.ENTERED
        if payee is None or not is_entered or payee.address != address:
            former, now = account.refund_address, clock.now()
            row = payee_rows.add(account, address, PayeeSource.ENTERED, now, effective_at=now)
            payee_rows.make_payee(account, row, now, decided_by=by.name, cautions="")
            if config.smtp is not None:
                kind = MailKind.REFUND_ADDRESS_ENTERED
                mail_queue.add(
                    mail_queue.new(tenant_id, kind, row.id, recipient=each)
                    for each in mailboxes.of(locked).told
                )
            said = {"refund_address": address, "reason": reason, **accounts.in_audit(account)}
            before = {"refund_address": former}
            audit_log.record(tenant_id, by, intent_id, before=before, after=said)
    return refunds.owed_for(account)
