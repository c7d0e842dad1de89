"""Recognize a text that must stay secret: a seed phrase, or a private key.

People who are asked for an address sometimes paste one of these instead.
"""

import re
from enum import StrEnum

_WORDS = frozenset({12, 15, 18, 21, 24})
"""How many words a seed phrase may have (BIP-39)."""

_PRIVATE_KEY = re.compile(r"(0[xX])?[0-9a-fA-F]{64}", re.ASCII)


class SecretText(StrEnum):
    """What kind of secret a text is."""

    SEED_PHRASE = "seed_phrase"
    PRIVATE_KEY = "private_key"


def kind_of(text: str) -> SecretText | None:
    """Return what kind of secret a text is. None: it is none of these.

    A phrase need not be valid: one with a typing error must stay secret, too. So any 12, 15, 18, 21
    or 24 words of letters count, of every language and in any case.

    >>> kind_of("test " * 11 + "junk")
    <SecretText.SEED_PHRASE: 'seed_phrase'>
    >>> kind_of("0x" + "07" * 32)
    <SecretText.PRIVATE_KEY: 'private_key'>
    >>> kind_of("0x70997970C51812dc3A010C7d01b50e0d17dc79C8")
    """
    words = text.replace(",", " ").split()
    if len(words) in _WORDS and all(map(str.isalpha, words)):
        return SecretText.SEED_PHRASE
    if _PRIVATE_KEY.fullmatch("".join(words)) or text.lstrip()[:4].lower() == "xprv":
        return SecretText.PRIVATE_KEY
    return None
