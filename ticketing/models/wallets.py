"""Wallets: where a tenant's payments go, and changes of them that wait."""

import json
from collections.abc import Iterable
from typing import NamedTuple

from peewee import AnyField, BigIntegerField, BooleanField, IntegerField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField


class ChainIdsField(AnyField):
    """A set of chain ids (EIP-155), stored as text: {8453, 10} is "10,8453", none is ""."""

    field_type = "TEXT"

    def db_value(self, value: Iterable[int]) -> str:
        """Convert chain ids to text."""
        return ",".join(map(str, sorted(value)))

    def python_value(self, value: str) -> frozenset[int]:
        """Convert text to a set of chain ids."""
        return frozenset(map(int, value.split(","))) if value else frozenset()


class TokenOnChain(NamedTuple):
    """A token, by its address, on one chain."""

    chain_id: int
    token_address: str


class TokensField(AnyField):
    """A set of tokens, stored as JSON."""

    field_type = "TEXT"

    def db_value(self, value: Iterable[TokenOnChain]) -> str:
        """Convert tokens to JSON."""
        return json.dumps(sorted(value))

    def python_value(self, value: str) -> frozenset[TokenOnChain]:
        """Convert JSON to tokens."""
        return frozenset(TokenOnChain(*each) for each in json.loads(value))


class Wallet(BaseModel):
    """Where payments go, and the index of the next unused address.

    The organizer controls the address `owner`. Each order's address is a receiver
    (chain/receivers.py): it follows from `owner`, `secret` (32 bytes in hex) and the index. There
    is one row for each `tenant_id` and `owner`, and no two rows have the same `secret`, so no
    address is issued twice. `gathering` is the address of the owner's gathering receiver.

    `chain_ids` are the networks on which the organizer says to control the address. The worker
    asks each of them whether the address has code there: `code_on` and `no_code_on`. The rest of
    `chain_ids` is in `unchecked_chains`. `contract_is_mine`: the organizer said that the contract
    at this address is theirs, for example a Safe. It is taken back if a token answers there.
    `all_chain_ids` also has those that were ever named: orders of that time may still be paid
    there. It includes the networks of a recovery file that was continued, and `continued_tokens`
    are the tokens of that file.

    `is_exchange`: the address belongs to an exchange. `least_collected`: its minimum deposit in
    micro-units. `credited_at`: when the organizer said that a first deposit arrived.
    `recovery_index`: `next_index` in the recovery file that was downloaded last.
    """

    id = TextField(primary_key=True)
    tenant_id = TextField()
    owner = TextField()
    gathering = TextField()
    secret = TextField()
    contract_version = IntegerField()
    chain_ids = ChainIdsField(default=frozenset)
    code_on = ChainIdsField(default=frozenset)
    no_code_on = ChainIdsField(default=frozenset)
    unchecked_chains = ChainIdsField(default=frozenset)
    contract_is_mine = BooleanField(default=False)
    all_chain_ids = ChainIdsField(default=frozenset)
    continued_tokens = TokensField(default=frozenset)
    is_exchange = BooleanField(default=False)
    least_collected = BigIntegerField(null=True)
    credited_at = UtcDateTimeField(null=True)
    recovery_index = BigIntegerField(null=True)
    next_index = BigIntegerField(default=1)
    created_at = UtcDateTimeField()

    class Meta:
        table_name = "wallets"

    @property
    def is_unconfirmed_contract(self) -> bool:
        """Whether there is a contract of which the organizer has not said that it is theirs."""
        return bool(self.code_on) and not self.contract_is_mine

    @property
    def checked_chains(self) -> frozenset[int]:
        """The chains of `chain_ids` on which tickets may be sold: none of an unconfirmed contract.

        A contract, such as a Safe, is the organizer's only where it was deployed. So as soon as the
        address has code on one chain, only chains on which it has code remain.

        Example: of 1, 10 and 8453, the address has code on 1, none on 10, and 8453 was not asked
        yet. Then it is {1}. Without the code on 1, it would be {1, 10}.
        """
        if self.is_unconfirmed_contract:
            return frozenset()
        checked: frozenset[int] = self.chain_ids & (self.code_on or self.no_code_on)
        return checked

    def takes(self, chain_id: int | None) -> bool:
        """Return whether orders on a chain may get addresses of this wallet."""
        return chain_id in self.checked_chains


class PendingWallet(BaseModel):
    """A change of a tenant's wallet that was asked for, and is made at `effective_at`.

    `secret`, `next_index` and the columns that begin with `continued_` continue a recovery file.
    `asked_by` is the id of the key or member that asked.
    """

    tenant_id = TextField(primary_key=True)
    owner = TextField()
    chain_ids = ChainIdsField(default=frozenset)
    code_on = ChainIdsField(default=frozenset)
    no_code_on = ChainIdsField(default=frozenset)
    contract_is_mine = BooleanField(default=False)
    is_exchange = BooleanField(default=False)
    least_collected = BigIntegerField(null=True)
    secret = TextField(null=True)
    next_index = BigIntegerField(null=True)
    continued_chain_ids = ChainIdsField(default=frozenset)
    continued_tokens = TokensField(default=frozenset)
    asked_by = TextField()
    asked_at = UtcDateTimeField()
    effective_at = UtcDateTimeField()

    class Meta:
        table_name = "pending_wallets"
