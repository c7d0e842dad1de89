"""For tools.sweep and tools.xpub: ask for the seed phrase and derive keys from it, offline."""

import warnings
from getpass import GetPassWarning, getpass

from tools.sweep_packages import Account, LocalAccount

FIRST_HARDENED_INDEX = 2**31


class Refused(Exception):
    """Nothing is signed. The message is one sentence with the reason, never the phrase."""


def ask_phrase() -> str:
    """Ask for the seed phrase without echo. Refused if there is no terminal."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", GetPassWarning)
            phrase = getpass("Seed phrase (not shown): ")
    except (GetPassWarning, EOFError):
        raise Refused("type the seed phrase at a terminal: there is none") from None
    return " ".join(phrase.split())


def derive_key(phrase: str, account: int, index: int) -> LocalAccount:
    """Derive the key at m/44'/60'/account'/0/index. Refused if the phrase is invalid."""
    try:
        path = f"m/44'/60'/{account}'/0/{index}"
        key: LocalAccount = Account.from_mnemonic(phrase, account_path=path)
    except Exception:
        # The library's message may contain the phrase.
        raise Refused("this is not a valid seed phrase") from None
    return key
