"""Change where refunds go: statements that begin to count, and payees that are proven.

The buttons of mails are here, too: they confirm a statement or stop it, whoever made it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from peewee import Expression, Tuple, fn

from ticketing import clock, credentials, ids
from ticketing.credentials import Keyring
from ticketing.db.connection import write_transaction
from ticketing.errors import Invalid, PayeeChangeEnded
from ticketing.models.notifications import Mail
from ticketing.models.order_accounts import OWING, OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payments import Payment
from ticketing.models.refunds import PROVEN, WAITING, RefundAddress
from ticketing.notification_types import MailKind, MailStatus
from ticketing.services.orders import accounts, payees_shown
from ticketing.services.payments import (
    payee_rows,
    payee_rules,
    payer_proofs,
    refund_addresses,
    settlement,
)
from ticketing.services.payments.payee_rules import Standing

ACCOUNTS_AT_ONCE = 500


def take_effect(tenant_id: str | None = None) -> None:
    """Make statements that are due count, and set the proven payees of accounts without one.

    Each account is changed in a transaction of its own, under its order's lock. The worker calls it
    for all tenants, and each list for its tenant before it reads.
    """
    for intent_id in _due(tenant_id):
        _for_each_account(intent_id, _decide)
    for each in accounts.owing_tenants() if tenant_id is None else [tenant_id]:
        for account in _unproven(each):
            _for_each_account(account.intent_id, set_proven)


def find(intent_id: str, change_id: str, secret: str, keyring: Keyring) -> RefundAddress | None:
    """Return the statement that the secret of a mail's buttons is for. None: it is for none."""
    if not ids.is_id(ids.REFUND_ADDRESS, change_id):
        return None
    row: RefundAddress | None = RefundAddress.get_or_none(RefundAddress.id == change_id)
    if row is None or row.intent_id != intent_id or row.confirm_salt is None:
        return None
    salt = str(row.confirm_salt)
    is_secret = credentials.is_change_secret(keyring, intent_id, change_id, salt, secret)
    return row if is_secret else None


def confirm(change: RefundAddress) -> None:
    """Let a statement count now, because somebody confirmed it from the buyer's mailbox.

    A repeat changes nothing. PayeeChangeEnded: it was stopped, or another one came after it.
    """
    with write_transaction():
        account, row = _locked(change)
        if row.waits:
            now, decided_by = clock.now(), RefundAddress.BY_MAILBOX
            refund_addresses.count(account, row, _standing(account, row), now, decided_by)
        elif not row.is_payee:
            raise PayeeChangeEnded
        elif row.decided_by != RefundAddress.BY_MAILBOX:
            by_mailbox = {"decided_by": RefundAddress.BY_MAILBOX, "cautions": ""}
            payee_rows.change(account, row, **by_mailbox)


def stop(change: RefundAddress) -> None:
    """End a statement that the buyer did not make. A repeat changes nothing.

    If it counts already, the payee before it counts again. From now on, no statement of the order
    counts by waiting.
    """
    with write_transaction():
        account, row = _locked(change)
        if row.ended_at is not None:
            return
        if row.is_payee:
            payee_rows.end_payee(account, row)
        elif row.waits:
            payee_rows.withdraw(account, row, ended_at=clock.now())
        else:
            payee_rows.change(account, row, ended_at=clock.now())
        payee_rows.close_link(account.intent_id)
        set_proven(account)


def end_waiting(intent: PaymentIntent) -> None:
    """End what waits for a locked order, because its old links ended. The payees stay."""
    for account in intent.accounts:
        row = payees_shown.waiting_in(payee_rows.of(account))
        if row is not None:
            payee_rows.withdraw(account, row)


def set_proven(account: OrderAccount) -> None:
    """Let a locked account's proven payee count, unless somebody decided otherwise.

    What is no longer proven ends: another payer came in, or a payment left the chain.
    """
    payee = payees_shown.payee_in(payee_rows.of(account))
    if (payee is not None and not payee.is_proven) or not account.due:
        return
    proven = payer_proofs.proven_payee(account)
    if proven is not None and not _may_be_payee(account, proven[0]):
        proven = None
    if payee is not None:
        if proven is not None and proven[0] == payee.address:
            if proven[1] != payee.source:
                payee_rows.change(account, payee, source=proven[1])
            return
        payee_rows.end_payee(account, payee)
    if proven is not None:
        address, source = proven
        now = clock.now()
        row = payee_rows.add(account, address, source, now, effective_at=now)
        payee_rows.make_payee(account, row, now, decided_by=None, cautions="")


def _due(tenant_id: str | None) -> list[str]:
    """Return the orders with a statement whose wait is over."""
    due = RefundAddress.select(RefundAddress.intent).where(
        WAITING, RefundAddress.effective_at <= clock.now()
    )
    if tenant_id is not None:
        due = due.join(PaymentIntent).where(PaymentIntent.tenant == tenant_id)
    return sorted({row.intent_id for row in due})


def _for_each_account(intent_id: str, act: Callable[[OrderAccount], None]) -> None:
    with write_transaction():
        (intent,) = settlement.lock_rows([intent_id])
        for account in intent.accounts:
            act(account)


def _decide(account: OrderAccount) -> None:
    """Let the statement that waits for a locked account count, if its wait is over."""
    row = payees_shown.waiting_in(payee_rows.of(account))
    if row is None or row.effective_at is None or row.effective_at > clock.now():
        return
    if row.told_at is None:
        to_buyer = Mail.kind == MailKind.REFUND_ADDRESS_CHANGED
        mails = list(Mail.select().where(Mail.subject == row.id, to_buyer))
        sent = [each.ended_at for each in mails if each.status == MailStatus.SENT]
        if not sent and any(each.status == MailStatus.WAITING for each in mails):
            return  # the mail server is down: the buyer must be told first
        if sent:
            told_at = min(sent)
            since = payee_rules.lengthened(row.stated_at, row.effective_at, told_at)
            payee_rows.change(account, row, told_at=told_at, effective_at=since)
            if since > clock.now():
                return
    standing = _standing(account, row)
    if payee_rules.needs_signature(standing):
        payee_rows.withdraw(account, row)
        return
    since, decided_by = row.effective_at, RefundAddress.BY_WAITING
    refund_addresses.count(account, row, standing, since, decided_by)


def _standing(account: OrderAccount, row: RefundAddress) -> Standing:
    """Return what is known of a statement whose wait is over, or that somebody confirms."""
    payee = payees_shown.payee_in(payee_rows.of(account))
    return Standing(
        can_be_told=row.told_at is not None,
        replaces_proven=payee is not None and payee.is_proven,
    )


def _unproven(tenant_id: str) -> Iterator[OrderAccount]:
    """Yield a tenant's accounts that owe, and whose proven payee is another one than is set."""
    payee = RefundAddress.select().where(
        RefundAddress.account == OrderAccount.id,
        RefundAddress.source.in_(PROVEN),
        RefundAddress.replaced_at.is_null(),
    )
    # Of most accounts nothing is proven, and after a canceled event very many owe something.
    proven = Payment.select().where(
        Payment.account == OrderAccount.id, Payment.proven.is_null(False)
    )
    wanted: Expression = fn.EXISTS(payee) | (
        OrderAccount.refund_address.is_null() & fn.EXISTS(proven)
    )
    query = accounts.of_tenant(tenant_id).where(OWING, wanted)
    in_order = query.order_by(OrderAccount.intent, OrderAccount.id).limit(ACCOUNTS_AT_ONCE)
    after: tuple[str, int] = ("", 0)
    while page := list(in_order.where(Tuple(OrderAccount.intent, OrderAccount.id) > Tuple(*after))):
        after = accounts.place(page[-1])
        yield from _changed(page)


def _changed(page: Sequence[OrderAccount]) -> Iterator[OrderAccount]:
    """Yield those of some accounts whose proven payee is another one than is set."""
    for account in page:
        proven = payer_proofs.proven_payee(account)
        if (account.refund_address or None) != (proven and proven[0]):
            yield account


def _may_be_payee(account: OrderAccount, address: str) -> bool:
    try:
        refund_addresses.parse(address, account, "address")
    except Invalid:
        return False
    return True


def _locked(change: RefundAddress) -> tuple[OrderAccount, RefundAddress]:
    """Lock the order of a statement. Return the account that it is for, and the statement."""
    (intent,) = settlement.lock_rows([change.intent_id])
    row: RefundAddress = RefundAddress.get_by_id(change.id)
    return payee_rows.account_of(row, intent), row
