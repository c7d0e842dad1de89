"""Where a buyer wants money back: they state an address, and may change it.

Whoever has the order's link can do that. So a statement waits: see payee_rules.py.
"""

from __future__ import annotations

from datetime import datetime

from ticketing import clock, credentials
from ticketing.chain import address as addresses
from ticketing.config import Config
from ticketing.constants import REFUND_ADDRESSES_PER_DAY, PayeeSource
from ticketing.db.connection import write_transaction
from ticketing.errors import (
    FieldMessage,
    Invalid,
    NothingReceived,
    RefundAddressFixed,
    SignatureRequired,
    TooManyChanges,
)
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payments import Payment
from ticketing.models.payouts import Payout
from ticketing.models.refunds import RefundAddress
from ticketing.models.wallets import Wallet
from ticketing.notification_types import MailKind
from ticketing.services import daily_counts, stated_addresses
from ticketing.services.notifications import mail_queue
from ticketing.services.orders import accounts, intents, mailboxes, payees_shown
from ticketing.services.orders.mailboxes import Mailboxes
from ticketing.services.payments import (
    payee_rows,
    payee_rules,
    payee_signatures,
    payer_proofs,
    settlement,
    strays,
)
from ticketing.services.payments.payee_rules import Standing
from ticketing.services.payments.payee_signatures import Signed

_NOBODY = Mailboxes((), ())

_ZERO = FieldMessage("zero_address", "Must not be the zero address.")
_OF_THE_TOKEN = FieldMessage("token_address", "Must not be the address of the token.")
_OF_AN_ORDER = FieldMessage("order_address", "Must not be the payment address of an order.")
_OF_THE_ORGANIZER = FieldMessage(
    "organizer_address", "This is an address of the organizer, not of the buyer."
)


def state(
    found: PaymentIntent,
    address: str,
    config: Config,
    chain_id: int | None = None,
    token_address: str | None = None,
    signature: str | None = None,
) -> PaymentIntent:
    """State where the refunds of an order's account go: of its home, or of the one named.

    `found`: the order as it was read when its link was checked. NotFound if that ended since.

    It counts when the buyer's mailbox confirms it, or after a wait: see payee_rules.py. The address
    that waits already, or that counts while nothing waits, changes nothing. The one that counts,
    while another waits, takes that back. Money that could still pay for the order is asked back
    with a statement, for good: it is owed.

    `signature`: of what `SignatureRequired` has, if nobody can be told about the change.

    Invalid: see `parse` and `check_not_organizers`. NothingReceived, also on a chain
    without an account. TooManyChanges. SignatureRequired. RefundAddressFixed. ChainUnavailable.
    """
    signed = None
    if signature is not None:
        account = accounts.named(found, chain_id, token_address)
        signed = payee_signatures.checked(account, address, signature, config.chains)
    with write_transaction():
        (intent,) = settlement.lock_rows([found.id])
        intents.check_link(intent.link_generation, found.link_generation)
        account = accounts.named(intent, chain_id, token_address)
        address = parse(address, account or intent.home, "address", config)
        check_not_organizers(intent.tenant_id, address)
        if account is None:
            raise NothingReceived
        refuse_if_nothing_was_received(account)
        _state(account, address, config, signed)
    intents.add_payment_details([intent])
    return intent


def parse(text: str, account: OrderAccount, field: str, config: Config | None = None) -> str:
    """Return an address that may receive an account's refund, with its EIP-55 checksum.

    Invalid, with the name of the `field`: for a wrong checksum, the zero address, the token's own
    address, and every address that this service issued, because money there belongs to its buyer.
    With a `config`, also for what is known to be nobody's wallet.
    """
    address = stated_addresses.parse(text, field)
    if address == addresses.ZERO:
        raise Invalid({field: [_ZERO]})
    if address.lower() == (account.token_address or "").lower():
        raise Invalid({field: [_OF_THE_TOKEN]})
    if PaymentIntent.select().where(PaymentIntent.address == address).exists():
        raise Invalid({field: [_OF_AN_ORDER]})
    known = config and stated_addresses.refusal(address, config.chains.values())
    if known:
        raise Invalid({field: [known]})
    return address


def check_not_organizers(tenant_id: str, address: str) -> None:
    """Check that a payee that somebody named is no account of the organizer. Invalid.

    That is an owner, a gathering receiver, or an account that pays back. One that has proven that
    it paid may be: an organizer who tries a ticket.
    """
    is_own = (Wallet.owner == address) | (Wallet.gathering == address)
    owns = Wallet.select().where(Wallet.tenant_id == tenant_id, is_own)
    pays = Payout.select().where(Payout.payer == address, Payout.tenant_id == tenant_id)
    if owns.exists() or pays.exists():
        raise Invalid({"address": [_OF_THE_ORGANIZER]})


def refuse_if_nothing_was_received(account: OrderAccount) -> None:
    """Refuse an account without any payment. One that a reorganization removed may come back.

    Each change is a notification and a mail. Anybody can order with anybody's email address.
    NothingReceived.
    """
    if account.received == 0:
        ever_received = Payment.select().where(Payment.account == account.id)
        if not ever_received.exists():
            raise NothingReceived


def _state(account: OrderAccount, address: str, config: Config, signed: Signed | None) -> None:
    """Store a statement for a locked account, unless it changes nothing."""
    rows = payee_rows.of(account)
    payee, waiting = payees_shown.payee_in(rows), payees_shown.waiting_in(rows)
    if waiting is not None and waiting.address == address:
        return
    if payee is not None and payee.address == address:
        if waiting is not None:
            payee_rows.withdraw(account, waiting)
        return
    stated = RefundAddress.select().where(
        RefundAddress.intent == account.intent_id, RefundAddress.source == PayeeSource.STATED
    )
    daily_counts.check(stated, RefundAddress.stated_at, REFUND_ADDRESSES_PER_DAY, TooManyChanges)
    now, wait = clock.now(), config.refund_change
    told = mailboxes.of(account.order) if config.smtp is not None else _NOBODY
    standing = Standing(
        can_be_told=bool(told.buyers),
        is_closed=payee_rows.is_closed(account.intent_id),
        replaces_proven=payee is not None and payee.is_proven,
        stated=[each.stated_at for each in rows if each.source == PayeeSource.STATED],
    )
    counts_at = payee_rules.counts_at(standing, now, wait)
    is_signed = False
    if payee is not None and payee_rules.needs_signature(standing) and not standing.is_closed:
        wanted = payee_signatures.wanted(account, payee, address, len(rows))
        if signed != wanted:
            raise SignatureRequired(signer=wanted.signer, message=wanted.message)
        is_signed = True
    elif counts_at is None and not standing.can_be_told:
        raise RefundAddressFixed
    _ask_back(account)
    if waiting is not None:
        payee_rows.end_waiting(waiting)
    row = payee_rows.add(
        account,
        address,
        PayeeSource.STATED,
        now,
        waits=True,
        effective_at=counts_at,
        confirm_salt=credentials.new_change_salt(),
    )
    mail_queue.add(
        mail_queue.new(account.tenant_id, _mail_kind(each, told), row.id, recipient=each)
        for each in told.told
    )
    if is_signed or counts_at == now:
        decided_by = RefundAddress.BY_SIGNATURE if is_signed else RefundAddress.BY_WAITING
        count(account, row, standing, now, decided_by)
    else:
        payee_rows.note_stated(account, row)


def _mail_kind(recipient: str, told: Mailboxes) -> MailKind:
    """Return which mail an address gets: only those to the buyer's mailboxes have buttons."""
    is_buyers = recipient in told.buyers
    return MailKind.REFUND_ADDRESS_CHANGED if is_buyers else MailKind.REFUND_ADDRESS_NEWS


def count(
    account: OrderAccount, row: RefundAddress, standing: Standing, since: datetime, decided_by: str
) -> None:
    """Let a statement of a locked account count."""
    proven = payer_proofs.proven_payee(account)
    cautions = payee_rules.cautions(
        standing,
        is_confirmed=decided_by == RefundAddress.BY_MAILBOX,
        differs_from_proven=proven is not None and proven[0] != row.address,
    )
    payee_rows.make_payee(account, row, since, decided_by, cautions)


def _ask_back(account: OrderAccount) -> None:
    """Ask money back that may still pay for the order: from now on it is owed."""
    if not account.is_home and account.asked_back_at is None:
        strays.write(account.order, account, {"asked_back_at": clock.now()})
