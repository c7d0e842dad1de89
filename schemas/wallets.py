"""Schemas of wallets."""

from marshmallow import fields

from schemas.base import (
    EXAMPLE_ADDRESS,
    EXAMPLE_TOKEN,
    BaseSchema,
    Bool,
    Int,
    Items,
    ListOf,
    Moment,
    Number,
    Part,
    String,
    Text,
    YesNo,
    documented,
    one_of,
)
from schemas.checks import Length, Range
from ticketing.constants import (
    MAX_PRICE,
    MAX_SAFE_INTEGER,
    MAX_WALLET_CHAINS,
    WalletWarning,
)
from ticketing.errors import FieldMessage

_MOST_PASTED = 400
"""A seed phrase of 24 words has at most 215 characters. It must be recognized, not be too long."""

_FILE = {
    "kind": "ticketing-recovery",
    "version": 2,
    "tenant": "acme",
    "created_at": "2026-11-21T09:00:00Z",
    "wallets": [
        {
            "contract_version": 1,
            "owner": EXAMPLE_ADDRESS,
            "secret": "0x" + "5e" * 32,
            "exchange": False,
            "minimum_deposit": None,
            "chain_ids": [8453],
            "other_chain_ids": [10],
            "tokens": [{"chain_id": 8453, "token_address": EXAMPLE_TOKEN}],
            "next_index": 17,
            "created_at": "2026-11-20T09:00:00Z",
        }
    ],
}


class _File(fields.Dict):
    """A recovery file in a request: a JSON object. The service checks what is in it."""

    default_error_messages = {"invalid": FieldMessage("object", "Must be a JSON object.")}


class WalletSetSchema(BaseSchema):
    """The wallet to set."""

    address = Text(
        EXAMPLE_ADDRESS,
        "An ordinary address. In mixed case its EIP-55 checksum must be right. Tokens, payment"
        " addresses of orders, contracts of this service, contracts that many people use and"
        " addresses that nobody controls are refused.",
        required=True,
        validate=Length(1, _MOST_PASTED),
    )
    contract_is_mine = Bool(
        False,
        "There is a contract at the address, and it is your Safe or smart wallet, or a deposit"
        " address of your exchange. Without this, a contract is refused. Once is enough for each"
        " address.",
        load_default=False,
    )
    chain_ids = Items(
        Int(validate=Range(1, MAX_SAFE_INTEGER)),
        "The networks on which you control the address. A contract, such as a Safe, must exist on"
        " each.",
        example=[8453],
        load_default=None,
        allow_none=False,
        validate=Length(1, MAX_WALLET_CHAINS, "items"),
    )
    exchange = Bool(False, "The address belongs to an exchange.", load_default=False)
    minimum_deposit = Int(
        None,
        "The exchange's minimum deposit, in micro-units.",
        load_default=None,
        allow_none=True,
        validate=Range(0, MAX_PRICE, "amount"),
    )
    recovery = _File(
        load_default=None,
        allow_none=False,
        metadata=documented(
            _FILE,
            "The recovery file of this address from another installation: it is continued here, at"
            " `next_index` + 5,000,000.",
        ),
    )


class WantedWalletSchema(BaseSchema):
    """What a wallet consists of."""

    address = String(EXAMPLE_ADDRESS)
    chain_ids = ListOf(
        fields.Integer(),
        "The networks on which the organizer controls the address.",
        example=[8453],
    )
    contract_is_mine = YesNo(
        False, "Whether the organizer said that the contract at the address is theirs."
    )
    exchange = YesNo(False, "Whether the address belongs to an exchange.")
    minimum_deposit = Number(None, "Of an exchange, in micro-units.")


class PendingWalletSchema(BaseSchema):
    """A change of the wallet that waits. Until then, orders get addresses of the old wallet."""

    wallet = Part(WantedWalletSchema)
    effective_at = Moment()
    by = String("mem_01hq3v5m8r2t6w9y1a4c7e0g3j", "The id of the key or member that asked.")


class WalletSchema(WantedWalletSchema):
    """Where a tenant's payments go."""

    next_index = Number(17, "Index of the next address to issue. The first is 1.")
    contract_version = Number(1, "The version of the contracts that pay the address.")
    unchecked_chains = ListOf(
        fields.Integer(),
        "Networks that could not be asked about the address. Nothing is sold on them before the"
        " worker has asked.",
        example=[],
    )
    credited_at = Moment(
        "When an exchange's first deposit was said to be credited.", example=None, nullable=True
    )
    warnings = ListOf(
        one_of(WalletWarning), "What should still be done.", example=["recovery_file_not_saved"]
    )
    pending = Part(PendingWalletSchema, "A change that waits, or null.", nullable=True)


class RecoveryTokenSchema(BaseSchema):
    """A token that orders of a wallet may hold."""

    chain_id = Number(8453)
    token_address = String(EXAMPLE_TOKEN)


class RecoveryWalletSchema(BaseSchema):
    """One address that a tenant had as its wallet."""

    contract_version = Number(1)
    owner = String(EXAMPLE_ADDRESS)
    secret = String("0x" + "5e" * 32, "It finds all addresses of orders. It cannot spend anything.")
    exchange = YesNo(False, "The address belongs to an exchange.")
    minimum_deposit = Number(None, "The exchange's minimum deposit, in micro-units.")
    chain_ids = ListOf(fields.Integer(), "The networks that the wallet names now.", example=[8453])
    other_chain_ids = ListOf(
        fields.Integer(),
        "Other networks on which its orders may hold money: it named them once.",
        example=[10],
    )
    tokens = ListOf(RecoveryTokenSchema, "What its orders are paid in, or ever received.")
    next_index = Number(17)
    created_at = String("2026-11-20T09:00:00Z")


class RecoveryFileSchema(BaseSchema):
    """The recovery file. With it, `tools.collect` finds all payments without this service."""

    kind = String("ticketing-recovery")
    version = Number(2)
    tenant = String("acme")
    created_at = String("2026-11-21T09:00:00Z")
    wallets = ListOf(RecoveryWalletSchema)
