"""Make ids, and check their format.

An id is a prefix and 26 characters of Crockford base32: 56 bits of microseconds since 1970,
then 74 random bits. So ids of one kind sort by creation time.
"""

import re
import secrets
import time

TENANT = "ten_"
WALLET = "wal_"
API_KEY = "key_"
MEMBER = "mem_"
INVITATION = "inv_"
SESSION = "ses_"
CONNECTED_APP = "app_"
APP_DESCRIPTION = "apd_"
PASSKEY = "psk_"
EVENT = "evt_"
TICKET_TYPE = "tkt_"
VOUCHER = "vou_"
INTENT = "pi_"
PAYMENT = "pay_"
COLLECTION = "col_"
ADMISSION = "adm_"
REFUND = "ref_"
REFUND_ADDRESS = "rad_"
WAIVER = "wvr_"
TRANSFER = "xfr_"
DOOR_DEVICE = "dev_"
SCAN = "scn_"
NOTIFICATION = "ntf_"
WEBHOOK_ENDPOINT = "whk_"
WEBHOOK_DELIVERY = "whd_"
MAIL = "mal_"
MESSAGE = "msg_"
QUESTION = "que_"
QUESTION_OPTION = "opt_"
ANSWER = "ans_"
WAITING_LIST_ENTRY = "wle_"

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
RANDOM_BITS = 74
_LENGTH = 26
_BODY = re.compile(rf"[{ALPHABET}]{{{_LENGTH}}}")
_BYTES = 16
_PAIRS = [first + second for first in ALPHABET for second in ALPHABET]
_VALUES = {character: value for value, character in enumerate(ALPHABET)}
_CONFUSED = str.maketrans("ilo", "110", " -")


def base32(number: int, length: int) -> str:
    """Write `number` as `length` characters of Crockford base32, most significant first."""
    pairs = [_PAIRS[(number >> shift) & 1023] for shift in range(10 * (length // 2) - 10, -1, -10)]
    if length % 2:
        pairs.insert(0, ALPHABET[(number >> 5 * (length - 1)) & 31])
    return "".join(pairs)


def new(prefix: str) -> str:
    """Make an id with this prefix."""
    return make(prefix, time.time_ns() // 1000, secrets.randbits(RANDOM_BITS))


def make(prefix: str, microseconds: int, random_bits: int) -> str:
    """Return the id of a time since 1970 and of RANDOM_BITS bits."""
    return prefix + base32(microseconds << RANDOM_BITS | random_bits, _LENGTH)


def is_id(prefix: str, text: str) -> bool:
    """Return whether `text` has the format of an id with this prefix."""
    return text.startswith(prefix) and _BODY.fullmatch(text, len(prefix)) is not None


def typed(text: str) -> str:
    """Return base32 that a person typed in its standard form (Crockford's rules).

    Upper case counts as lower case, o as 0, i and l as 1. Spaces and hyphens are removed.
    """
    return text.lower().translate(_CONFUSED)


def to_bytes(an_id: str) -> bytes:
    """Return an id without its prefix as 16 bytes, big endian."""
    number = 0
    for character in an_id[-_LENGTH:]:
        number = number << 5 | _VALUES[character]
    return number.to_bytes(_BYTES, "big")


def from_bytes(prefix: str, data: bytes) -> str:
    """Return the id with this prefix whose bytes are `data`."""
    return prefix + base32(int.from_bytes(data, "big"), _LENGTH)
