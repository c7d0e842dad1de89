"""Which texts and addresses cannot be a wallet, each with a reason of its own.

What was pasted is in no message: it may be a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NoReturn

from ticketing.chain import address as addresses
from ticketing.chain import secret_texts
from ticketing.chain.registry import Chain
from ticketing.chain.secret_texts import SecretText
from ticketing.errors import FieldMessage, Invalid
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.wallets import Wallet
from ticketing.services import stated_addresses

_SECRETS = {
    SecretText.SEED_PHRASE: FieldMessage(
        "seed_phrase", "This is your secret phrase. Move your money to a new wallet."
    ),
    SecretText.PRIVATE_KEY: FieldMessage(
        "private_key", "This is your private key. Move your money to a new wallet."
    ),
}

ORDER_ADDRESS = FieldMessage("order_address", "Must not be the payment address of an order.")

_ADDRESS_LIKE = re.compile(r"0[xX][0-9a-fA-F]{40}", re.ASCII)


def check_not_secret(text: str) -> None:
    """Check that an `address` is no seed phrase and no private key. Invalid, without the text."""
    kind = secret_texts.kind_of(text)
    if kind is not None:
        _refuse(_SECRETS[kind])


def owner_of(text: str, enabled: Mapping[int, Chain]) -> str:
    """Return the address that a wallet may have, with its EIP-55 checksum. Invalid.

    `enabled`: the chains whose tokens are refused, besides those of the registry.
    """
    check_not_secret(text)
    if not _ADDRESS_LIKE.fullmatch(text) or text.startswith("0X"):
        _refuse(FieldMessage("address", "Must be 0x and 40 hexadecimal digits."))
    try:
        owner = addresses.parse(text)
    except ValueError:
        _refuse(
            FieldMessage("address_checksum", "Its EIP-55 checksum is wrong: a letter was changed."),
        )
    check_owner(owner, enabled.values())
    return owner


def check_owner(owner: str, enabled: Iterable[Chain]) -> None:
    """Check that an address with its checksum may be a wallet. Invalid.

    Each question to the database is one look into an index, however many orders there are.
    """
    known = stated_addresses.refusal(owner, enabled)
    if known is not None:
        _refuse(known)
    if PaymentIntent.select().where(PaymentIntent.address == owner).exists():
        _refuse(ORDER_ADDRESS)
    if Wallet.select().where(Wallet.gathering == owner).exists():
        _refuse(
            FieldMessage("gathering_address", "Payments are gathered here. It is not a wallet."),
        )


def _refuse(message: FieldMessage) -> NoReturn:
    raise Invalid({"address": [message]})
