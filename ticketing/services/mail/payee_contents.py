"""What mails about the payee of a refund say: to the buyer, and to administrators."""

from __future__ import annotations

from ticketing import formats, links
from ticketing.config import Config
from ticketing.models.members import Member
from ticketing.models.notifications import Mail
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.refunds import RefundAddress
from ticketing.services import chains
from ticketing.services.mail import cautioned_refunds, order_contents, recipients
from ticketing.services.mail.values import Facts
from ticketing.services.orders import mailboxes
from ticketing.services.payments import payee_rows


def stated(mail: Mail, config: Config) -> Facts | None:
    """Where somebody wants the refund of an order to go, with the buttons.

    Whoever is told, but has no mailbox of the buyer, gets neither a button nor a link.
    """
    found = _change(mail)
    if found is None:
        return None
    account, change = found
    if not (change.waits or change.is_payee):
        return None
    path, salt = None, change.confirm_salt
    if salt is not None and _is_buyers(mail, account.order):
        path = links.payee_change(change.intent_id, change.id, salt, config.keyring)
    return {
        **_facts(account, change, config),
        "order_url": None,
        "waits": change.waits,
        "until": change.effective_at if change.waits else None,
        "former": _former(account, change),
        "confirm_url": path and f"{config.public_url}{path}",
        "stop_url": path and f"{config.public_url}{path}/stop",
    }


def entered(mail: Mail, config: Config) -> Facts | None:
    """Where the organizer sends a refund, because the buyer said so."""
    found = _change(mail)
    if found is None or not found[1].is_payee:
        return None
    account, change = found
    facts = _facts(account, change, config)
    return facts if _is_buyers(mail, account.order) else {**facts, "order_url": None}


def to_check(mail: Mail, config: Config) -> Facts | None:
    """How many refunds wait for somebody who looks at their cautions."""
    member = Member.get_or_none(Member.id == mail.subject)
    if member is None or member.disabled_at is not None:
        return None
    count = cautioned_refunds.count(mail.tenant_id)
    url = f"{config.public_url}/console/refunds"
    return {"count": count, "refunds_url": url} if count else None


def _change(mail: Mail) -> tuple[OrderAccount, RefundAddress] | None:
    """Return the payee that a mail is about, and its account."""
    change = RefundAddress.get_or_none(RefundAddress.id == mail.subject)
    if change is None:
        return None
    return payee_rows.account_of(change, PaymentIntent.get_by_id(change.intent_id)), change


def _facts(account: OrderAccount, change: RefundAddress, config: Config) -> Facts:
    return {
        **order_contents.of_order(account.order, config),
        "address": formats.shortened(change.address),
        "network": chains.name_of(account.chain_id, config),
    }


def _former(account: OrderAccount, change: RefundAddress) -> str | None:
    """Return the address that a statement would replace, or has replaced."""
    others = [each for each in payee_rows.of(account) if each.id != change.id]
    payees = [each for each in others if each.is_payee]
    if change.is_payee:
        payees = [each for each in others if each.replaced_at and each.counts_since]
    return formats.shortened(payees[-1].address) if payees else None


def _is_buyers(mail: Mail, order: PaymentIntent) -> bool:
    """Return whether a mail goes to a mailbox of the buyer, at this moment."""
    buyers = {recipients.one_form(each) for each in mailboxes.of(order).buyers}
    return recipients.one_form(mail.recipient or "") in buyers
