"""Ask a chain about addresses that it could not be asked about before."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from peewee import Expression, Field, Value

from ticketing.chain.node import AccountKind
from ticketing.db.connection import locked, write_transaction
from ticketing.models.base import literal
from ticketing.models.tenants import Tenant
from ticketing.models.wallets import Wallet
from ticketing.services import catalog_version

log = logging.getLogger(__name__)

AT_ONCE = 50
"""How many addresses one run asks about."""


def unasked(chain_id: int) -> list[Wallet]:
    """Return some current wallets that name a chain which did not say yet if they have code."""
    return list(
        Wallet.select()
        .join(Tenant, on=(Tenant.id == Wallet.tenant_id) & (Tenant.wallet == Wallet.id))
        .where(
            # The condition of the index, in which few wallets are.
            Wallet.unchecked_chains != literal(""),
            _names(Wallet.unchecked_chains, chain_id),
        )
        .order_by(Wallet.id)
        .limit(AT_ONCE)
    )


def ask(chain_id: int, kind_of: Callable[[str], AccountKind]) -> None:
    """Ask a chain about its unasked wallets, and store each answer.

    `kind_of` says what is at an address there. What it raises ends the run.
    """
    for wallet in unasked(chain_id):
        _note(wallet, chain_id, kind_of(str(wallet.owner)))


def _note(asked: Wallet, chain_id: int, kind: AccountKind) -> None:
    wallet_id, has_code = str(asked.id), kind is not AccountKind.PLAIN
    with write_transaction():
        # Another chain's worker may store its answer now.
        wallet = locked(Wallet.select().where(Wallet.id == wallet_id)).get()
        code_on, no_code_on = wallet.code_on - {chain_id}, wallet.no_code_on - {chain_id}
        columns: dict[Any, Any] = {
            Wallet.code_on: code_on | {chain_id} if has_code else code_on,
            Wallet.no_code_on: no_code_on if has_code else no_code_on | {chain_id},
            Wallet.unchecked_chains: wallet.unchecked_chains - {chain_id},
        }
        if kind is AccountKind.TOKEN:
            columns[Wallet.contract_is_mine] = False  # it cannot be: nothing is sold any more
            log.warning("a token answers at the address of wallet %s on %s", wallet_id, chain_id)
        Wallet.update(columns).where(Wallet.id == wallet_id).execute()
        catalog_version.advance(str(wallet.tenant_id))


def _names(column: Field[frozenset[int]], chain_id: int) -> Expression:
    """Return the condition that a set of chain ids, stored as text, contains one.

    Example: "10,8453" becomes ",10,8453,", which contains ",10,", but not ",1,".
    """
    inside = Value(",", converter=False).concat(column).concat(",")
    found: Expression = inside.contains(f",{chain_id},")
    return found
