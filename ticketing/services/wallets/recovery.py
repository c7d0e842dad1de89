"""The recovery file: what finds all receivers of a tenant, without the database.

It cannot spend. It reveals all addresses, past and future, so it is in no log, audit log or
notification.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ticketing import clock
from ticketing.chain import address as addresses
from ticketing.chain import receivers
from ticketing.chain.registry import Chain
from ticketing.constants import MAX_SAFE_INTEGER
from ticketing.db.connection import write_transaction
from ticketing.errors import FieldMessage, Invalid, NotFound
from ticketing.models.order_accounts import HAS_MONEY, OrderAccount
from ticketing.models.tenants import Tenant
from ticketing.models.unassigned_money import UnassignedMoney
from ticketing.models.wallets import TokenOnChain, Wallet

VERSION = 2

_KIND = "ticketing-recovery"
_SECRET = re.compile(r"0x[0-9a-f]{64}", re.ASCII)
_MOST_LISTED = 1_000
"""Networks, and tokens, of one wallet in a file that is continued."""

_MALFORMED = FieldMessage("recovery", "This is not a recovery file of this service.")
_NEWER = FieldMessage("recovery_version", "This file is of a newer version of this service.")
_OTHER_ADDRESS = FieldMessage("recovery_address", "This file is for another address.")


@dataclass(frozen=True)
class Continued:
    """A wallet of another installation: its secret, and the first index to issue here.

    `chain_ids` and `tokens`: where its orders may hold money.
    """

    secret: str = field(repr=False)
    next_index: int
    chain_ids: frozenset[int] = frozenset()
    tokens: frozenset[TokenOnChain] = frozenset()


def file_of(tenant: Tenant, enabled: Mapping[int, Chain]) -> dict[str, Any]:
    """Return the recovery file of all addresses that a tenant ever had, and note that it was saved.

    `enabled` are the chains with their tokens. NotFound if the tenant never had a wallet.
    """
    with write_transaction():
        # One statement: no address is issued between what is noted and what is returned.
        saved = (
            Wallet.update(recovery_index=Wallet.next_index)
            .where(Wallet.tenant_id == tenant.id)
            .returning(Wallet)
        )
        found = sorted(saved.execute(), key=lambda wallet: str(wallet.id))
    if not found:
        raise NotFound("This tenant has no wallet.")
    received = _received(tenant.id, [wallet.id for wallet in found])
    return {
        "kind": _KIND,
        "version": VERSION,
        "tenant": tenant.slug,
        "created_at": clock.rfc3339(clock.now()),
        "wallets": [_entry(wallet, received[wallet.id], enabled) for wallet in found],
    }


def continued(file: Mapping[str, Any], owner: str) -> Continued:
    """Return how a wallet of `owner` continues with a recovery file.

    The installation that wrote the file may have issued more addresses since then. Those that a
    search with the file can find are skipped: see SEARCH_GAP. Invalid.

    Example: the file says 17. The wallet continues at 5,000,017.
    """
    if file.get("kind") != _KIND or not isinstance(file.get("wallets"), list):
        raise _invalid(_MALFORMED)
    version = file.get("version")
    if type(version) is not int or version < VERSION:
        raise _invalid(_MALFORMED)
    if version > VERSION:
        raise _invalid(_NEWER)
    of_owner = [each for read, each in map(_read, file["wallets"]) if read == owner]
    if not of_owner:
        raise _invalid(_OTHER_ADDRESS)
    if len(of_owner) > 1:
        raise _invalid(_MALFORMED)
    return of_owner[0]


def _received(tenant_id: str, wallet_ids: Collection[str]) -> Mapping[str, set[TokenOnChain]]:
    """Return the tokens that orders of each wallet received, on whatever chain."""
    received = (OrderAccount.wallet_id, OrderAccount.chain_id, OrderAccount.token_address)
    unassigned = (UnassignedMoney.wallet, UnassignedMoney.chain_id, UnassignedMoney.token_address)
    queries = (
        # An index has the accounts with money by these columns.
        OrderAccount.select(*received).where(OrderAccount.tenant_id == tenant_id, HAS_MONEY),
        UnassignedMoney.select(*unassigned).where(UnassignedMoney.wallet.in_(list(wallet_ids))),
    )
    found: dict[str, set[TokenOnChain]] = defaultdict(set)
    for query in queries:
        rows: Iterable[Any] = query.distinct().tuples()
        for wallet_id, chain_id, token_address in rows:
            found[wallet_id].add(TokenOnChain(chain_id, token_address))
    return found


def _entry(
    wallet: Wallet, received: set[TokenOnChain], enabled: Mapping[int, Chain]
) -> dict[str, Any]:
    ever = wallet.chain_ids | wallet.all_chain_ids
    tokens = received | wallet.continued_tokens
    # A network may have been sold on, and nobody has paid there yet.
    tokens |= {TokenOnChain(each, enabled[each].token_address) for each in ever if each in enabled}
    other = (ever | {each.chain_id for each in tokens}) - wallet.chain_ids
    return {
        "contract_version": wallet.contract_version,
        "owner": wallet.owner,
        "secret": f"0x{wallet.secret}",
        "exchange": wallet.is_exchange,
        "minimum_deposit": wallet.least_collected,
        "chain_ids": sorted(wallet.chain_ids),
        "other_chain_ids": sorted(other),
        "tokens": [{"chain_id": each[0], "token_address": each[1]} for each in sorted(tokens)],
        "next_index": wallet.next_index,
        "created_at": clock.rfc3339(wallet.created_at),
    }


def _read(entry: Any) -> tuple[str, Continued]:
    """Return the owner of an entry, and how its wallet continues. Invalid."""
    if not isinstance(entry, dict):
        raise _invalid(_MALFORMED)
    owner, secret, next_index = (entry.get(name) for name in ("owner", "secret", "next_index"))
    is_version = entry.get("contract_version") == receivers.CONTRACT_VERSION
    if not is_version or not isinstance(owner, str) or not isinstance(secret, str):
        raise _invalid(_MALFORMED)
    most = MAX_SAFE_INTEGER - receivers.SEARCH_GAP
    if type(next_index) is not int or not 1 <= next_index <= most:
        raise _invalid(_MALFORMED)
    chain_ids = _listed(entry, "chain_ids") + _listed(entry, "other_chain_ids")
    if not all(map(_is_chain_id, chain_ids)):
        raise _invalid(_MALFORMED)
    tokens = _listed(entry, "tokens")
    if not all(isinstance(each, dict) and _is_chain_id(each.get("chain_id")) for each in tokens):
        raise _invalid(_MALFORMED)
    try:
        owner = addresses.parse(owner)
        named = {
            TokenOnChain(each["chain_id"], addresses.parse(str(each.get("token_address"))))
            for each in tokens
        }
    except ValueError:
        raise _invalid(_MALFORMED) from None
    if not _SECRET.fullmatch(secret):
        raise _invalid(_MALFORMED)
    next_index += receivers.SEARCH_GAP
    return owner, Continued(
        secret.removeprefix("0x"), next_index, frozenset(chain_ids), frozenset(named)
    )


def _listed(entry: Mapping[str, Any], name: str) -> list[Any]:
    """Return a list of an entry. Invalid."""
    found = entry.get(name)
    if not isinstance(found, list) or len(found) > _MOST_LISTED:
        raise _invalid(_MALFORMED)
    return found


def _is_chain_id(value: Any) -> bool:
    return type(value) is int and 0 < value <= MAX_SAFE_INTEGER


def _invalid(message: FieldMessage) -> Invalid:
    return Invalid({"recovery": [message]})
