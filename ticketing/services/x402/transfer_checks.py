"""Check a signed transfer before anything is done with it."""

from __future__ import annotations

from datetime import datetime, timedelta

from ticketing.chain.eip3009 import Authorization, signer
from ticketing.chain.errors import RpcError
from ticketing.chain.node import connect
from ticketing.errors import ChainUnavailable
from ticketing.services import node_slots
from ticketing.services.x402.requirements import Market, Way

LONGEST_AFTER = timedelta(hours=1)
"""How long after the hold a transfer may be good for. Until it ends, the worker asks for it."""


def fault_of(
    subject: str, signed: Authorization, signature: bytes, way: Way, ends_at: datetime
) -> str | None:
    """Return what is wrong with a transfer that shall pay what is due. None: nothing.

    `subject`: the order, or its address. `ends_at`: of its hold. ChainUnavailable. NodesBusy.
    """
    market, now = way.market, way.market.now.timestamp()
    if signed.value != way.amount:
        return "The signed value is not the price."
    if signed.valid_before <= now:
        return "The signed transfer has expired."
    if signed.valid_before > (ends_at + LONGEST_AFTER).timestamp():
        return "The signed transfer is good for too long: more than an hour after the price."
    if signed.valid_after > now:
        return "The signed transfer is not valid yet."
    if not is_signed(subject, signed, signature, market):
        return "The signature is not the payer's."
    return None


def is_signed(subject: str, signed: Authorization, signature: bytes, market: Market) -> bool:
    """Return whether the payer signed, or is a contract: then the facilitator finds out.

    ChainUnavailable if that is not known. NodesBusy.
    """
    try:
        if signer(signed.digest(market.separator), signature) == signed.sender:
            return True
    except ValueError:
        pass
    try:
        with node_slots.slot(subject):
            return connect(market.chain).has_code(signed.sender)
    except RpcError:
        raise ChainUnavailable from None


def has_money(subject: str, signed: Authorization, market: Market) -> bool:
    """Return whether the payer holds what the transfer moves. ChainUnavailable. NodesBusy."""
    try:
        with node_slots.slot(subject):
            (held,) = connect(market.chain).holdings(market.chain.token_address, [signed.sender])
    except RpcError:
        raise ChainUnavailable from None
    return held >= signed.value
