"""Pay any order without a network fee: the payer signs, and the facilitator submits and pays it.

The nonce of a transfer is derived from its order and from what the order has received. So the token
takes only one of all that a payer signs for the same sum, whoever submits them, and whenever.

Example: Ada signs for 25 USDC, and the facilitator refuses. She signs again, until a later time,
and pays. The first signature has the same nonce: it can never pay a second time. She signs in two
tabs at once: both have the same nonce, and one of them is settled.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ticketing.chain import address, eip3009
from ticketing.chain.eip3009 import Authorization
from ticketing.config import Config
from ticketing.constants import IntentStatus
from ticketing.credentials import Keyring, keyed_digest
from ticketing.errors import (
    FieldMessage,
    GaslessNotEnabled,
    IntentCanceled,
    IntentExpired,
    IntentReversed,
    Invalid,
    PaymentSent,
    TicketingError,
    TransferOutdated,
    TransferRefused,
    X402CallsUsed,
    X402NotEnabled,
)
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.orders import intents
from ticketing.services.x402 import claims, requirements, sales, share, submitting, transfer_checks
from ticketing.services.x402.requirements import Market

VALID_FOR = share.HOLD
"""How long a transfer can be submitted after the payer asked what to sign, or until the hold ends.

An unknown outcome is unknown for so long: then the payer can sign again.
"""

_ENDED: Mapping[IntentStatus, type[TicketingError]] = {
    IntentStatus.EXPIRED: IntentExpired,
    IntentStatus.CANCELED: IntentCanceled,
    IntentStatus.REVERSED: IntentReversed,
}

_NOT_SIGNED = FieldMessage("not_the_signer", "Must be the signature of the account in `from`.")


@dataclass(frozen=True)
class Offer:
    """An order that can be paid so. `is_settling`: a signed transfer of it is on its way."""

    is_settling: bool
    valid_minutes = int(VALID_FOR.total_seconds()) // 60


def offer(intent: PaymentIntent, config: Config) -> Offer | None:
    """Return what the page of an order offers, None if it cannot be paid so."""
    if intent.status != IntentStatus.AWAITING_PAYMENT or not intent.amount_due:
        return None
    try:
        _market_for(intent, config)
    except GaslessNotEnabled:
        return None
    is_settling, has_calls_left = claims.standing(intent.id)
    return Offer(is_settling) if is_settling or has_calls_left else None


def to_sign(tenant_reference: str, intent_id: str, payer: str, config: Config) -> dict[str, Any]:
    """Return what a payer signs for what is due now (`eth_signTypedData_v4`). It stores nothing.

    NotFound. GaslessNotEnabled. PaymentSent. IntentExpired, also if too little of the hold is left.
    IntentCanceled, IntentReversed. X402CallsUsed.
    """
    intent = intents.get(tenant_reference, intent_id)
    if not _awaits(intent):
        raise PaymentSent
    market = _market_for(intent, config)
    if not claims.standing(intent.id).has_calls_left:
        raise X402CallsUsed
    deadline = min(market.now + VALID_FOR, intent.expires_at)
    if (deadline - market.now).total_seconds() < requirements.LEAST_SECONDS:
        raise IntentExpired
    nonce = _nonce(intent.id, intent.amount_received, config.keyring.current)
    payer = address.checksum(payer)
    asked = _transfer(intent, payer, math.floor(deadline.timestamp()), nonce)
    return eip3009.typed_data(
        asked, market.domain, market.chain.chain_id, market.chain.token_address
    )


def pay(
    tenant_reference: str, intent_id: str, sent: Mapping[str, str], config: Config
) -> PaymentIntent:
    """Settle a signed transfer once. Return the order with its payment details, as it then is.

    `sent` has the `message` that was signed, of `to_sign`, and its `signature` in hex. The order is
    confirmed or processing, or awaits its payment, which is on its way. A repeat settles nothing
    twice. The errors have nothing of the order: the payer may be somebody else.

    NotFound. GaslessNotEnabled. TransferOutdated. Invalid for a wrong signature. TransferRefused:
    nothing was paid. X402CallsUsed. IntentExpired, IntentCanceled, IntentReversed.
    ChainUnavailable.
    """
    signed, signature = _signed(sent), bytes.fromhex(sent["signature"].removeprefix("0x"))
    intent = sales.order(intents.get(tenant_reference, intent_id).id)
    if _awaits(intent):
        market = _market_for(intent, config)
        _check(intent, signed, market, config.keyring)
        if not transfer_checks.is_signed(intent.id, signed, signature, market):
            raise Invalid({"signature": [_NOT_SIGNED]})
        intent, is_read = sales.look(intent, config)
        if _awaits(intent):
            _check(intent, signed, market, config.keyring)
            _submit(intent, signed, signature, market, config, is_read=is_read)
            intent = sales.order(intent.id)
            if _awaits(intent):
                # The order moved to another network before the claim, or the transfer failed since.
                raise TransferOutdated
    intents.add_payment_details([intent])
    return intent


def nonces(intent_id: str, totals: Iterable[int], keyring: Keyring) -> set[bytes]:
    """Return the nonces of what payers signed for an order that had received one of these sums."""
    keys = keyring.accepted
    return {_nonce(intent_id, total, key) for total in totals for key in keys}


def _submit(
    intent: PaymentIntent,
    signed: Authorization,
    signature: bytes,
    market: Market,
    config: Config,
    *,
    is_read: bool,
) -> None:
    try:
        refusal = submitting.submit(intent, signed, signature, market, config, is_read=is_read)
    except X402CallsUsed:
        # Without the order: the payer may be somebody else, who has a payment link only.
        raise X402CallsUsed from None
    if refusal is not None:
        raise TransferRefused(f"{TransferRefused.detail} Its reason: {refusal}.")


def _awaits(intent: PaymentIntent) -> bool:
    """Return whether an order waits for a payment that is not on its way. Errors if it ended."""
    ended = _ENDED.get(IntentStatus(intent.status))
    if ended is not None:
        raise ended
    if intent.chain_id is None:
        raise GaslessNotEnabled
    if intent.status != IntentStatus.AWAITING_PAYMENT or claims.is_settling(intent.id):
        return False
    if not intent.amount_due:
        raise IntentReversed  # its payment was removed, and may come back
    return True


def _market_for(intent: PaymentIntent, config: Config) -> Market:
    try:
        return requirements.market_for(intent, config)
    except X402NotEnabled:
        raise GaslessNotEnabled from None


def _check(intent: PaymentIntent, signed: Authorization, market: Market, keyring: Keyring) -> None:
    """Check that a transfer is what the order asks for now. TransferOutdated, IntentExpired.

    The order may have moved since its market was read. A signature does not move it back.
    """
    if intent.expires_at <= market.now:
        raise IntentExpired
    if intent.chain_id != market.chain.chain_id:
        raise TransferOutdated
    asked = [
        _transfer(intent, signed.sender, signed.valid_before, nonce)
        for nonce in nonces(intent.id, [intent.amount_received], keyring)
    ]
    is_in_time = market.now.timestamp() < signed.valid_before <= intent.expires_at.timestamp()
    if signed not in asked or not is_in_time:
        raise TransferOutdated


def _signed(message: Mapping[str, str]) -> Authorization:
    return Authorization(
        sender=address.checksum(message["from"]),
        recipient=address.checksum(message["to"]),
        value=int(message["value"]),
        valid_after=int(message["validAfter"]),
        valid_before=int(message["validBefore"]),
        nonce=bytes.fromhex(message["nonce"].removeprefix("0x")),
    )


def _transfer(intent: PaymentIntent, payer: str, valid_before: int, nonce: bytes) -> Authorization:
    return Authorization(
        sender=payer,
        recipient=intent.terms.address,
        value=requirements.amount_of(intent),
        valid_after=0,
        valid_before=valid_before,
        nonce=nonce,
    )


def _nonce(intent_id: str, received: int, secret_key: str) -> bytes:
    text = f"{intent_id} {received}"
    return bytes.fromhex(keyed_digest(secret_key, "gasless-nonce", text))
