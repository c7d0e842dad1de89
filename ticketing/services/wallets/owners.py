"""Wallets of an ordinary address: each order is paid to a receiver that can only pay its owner."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from peewee import IntegrityError

from ticketing import clock, ids
from ticketing.chain import receivers
from ticketing.chain.node import AccountKind
from ticketing.chain.registry import REGISTRY, Chain
from ticketing.db.connection import savepoint
from ticketing.errors import FieldMessage, Invalid
from ticketing.models.wallets import Wallet
from ticketing.services import account_use
from ticketing.services.wallets import issuing, recovery, refusals
from ticketing.services.wallets.recovery import Continued

_SECRET_TAKEN = FieldMessage("recovery_taken", "Another wallet uses this recovery file already.")
_HAS_ORDERS = FieldMessage(
    "recovery_other_secret", "This address has orders here already, with another recovery file."
)


@dataclass(frozen=True)
class OwnerSettings:
    """An ordinary address as a wallet, as the organizer states it. See models/wallets.py.

    `continued`: it continues a recovery file.
    """

    owner: str
    chain_ids: Collection[int]
    code_on: Collection[int] = ()
    no_code_on: Collection[int] = ()
    contract_is_mine: bool = False
    is_exchange: bool = False
    least_collected: int | None = None
    continued: Continued | None = None


def stated(
    tenant_id: str | None,
    address: str,
    chain_ids: Collection[int],
    enabled: Mapping[int, Chain],
    *,
    contract_is_mine: bool = False,
    is_exchange: bool = False,
    least_collected: int | None = None,
    file: Mapping[str, Any] | None = None,
) -> OwnerSettings:
    """Check an address as a wallet, and ask the enabled chains what is there.

    `tenant_id` None: a new tenant. `contract_is_mine`: the organizer says that a contract at this
    address is theirs. Once is enough for each address. `least_collected` is an exchange's minimum
    deposit, in micro-units. `file` is a recovery file. Call it outside of a write transaction,
    because it may take some seconds. Invalid; ChainUnavailable while too many requests wait for
    nodes.
    """
    owner = refusals.owner_of(address, enabled)
    unknown = sorted(set(chain_ids) - set(enabled) - set(REGISTRY))
    if unknown:
        named = ", ".join(map(str, unknown))
        text = f"These networks are not known here: {named}."
        raise Invalid({"chain_ids": [FieldMessage("chain_unknown", text, ids=named)]})
    if least_collected is not None and not is_exchange:
        text = "Only an address of an exchange has a minimum deposit."
        raise Invalid({"minimum_deposit": [FieldMessage("exchange_only", text)]})
    continued = None if file is None else recovery.continued(file, owner)
    return asked(
        OwnerSettings(
            owner,
            frozenset(chain_ids),
            contract_is_mine=contract_is_mine or _is_confirmed(tenant_id, owner),
            is_exchange=is_exchange,
            least_collected=least_collected,
            continued=continued,
        ),
        enabled,
    )


def _is_confirmed(tenant_id: str | None, owner: str) -> bool:
    of_owner = (Wallet.tenant_id == tenant_id) & (Wallet.owner == owner)
    return bool(Wallet.select().where(of_owner, Wallet.contract_is_mine).exists())


def asked(settings: OwnerSettings, enabled: Mapping[int, Chain]) -> OwnerSettings:
    """Return settings with what the enabled chains say now about the address's code.

    What chains said before stays, where they do not answer.

    Invalid if the address is a token on an enabled chain; if it is another contract, and nobody
    said that it is theirs; or if one of its chains has no code there: that address may belong to
    somebody else. ChainUnavailable as in `stated`.

    Example: a Safe exists on 1, and is named for 1 and 8453. Another person could deploy a contract
    at the same address on 8453, and own the money there. So 8453 is refused.
    """
    kinds = account_use.kinds_on(settings.owner, enabled)
    plain, contract, token = (
        frozenset(chain_id for chain_id, found in kinds.items() if found is kind)
        for kind in (AccountKind.PLAIN, AccountKind.CONTRACT, AccountKind.TOKEN)
    )
    if token:
        names = _names(token, enabled)
        text = f"This is the address of a token on: {names}. It is not a wallet."
        raise Invalid({"address": [FieldMessage("answers_as_token", text, names=names)]})
    code_on = frozenset(settings.code_on) - plain | contract
    no_code_on = frozenset(settings.no_code_on) - contract | plain
    _check_contract(settings, code_on, no_code_on, enabled)
    return replace(settings, code_on=code_on, no_code_on=no_code_on)


def _check_contract(
    settings: OwnerSettings,
    code_on: frozenset[int],
    no_code_on: frozenset[int],
    enabled: Mapping[int, Chain],
) -> None:
    """Check that a contract is the organizer's, and exists on all chains that it is for. Invalid.

    Both are said at once.
    """
    if not code_on:
        return
    wrong = {}
    if not settings.contract_is_mine:
        names = _names(code_on, enabled)
        text = (
            f"There is a contract at this address on: {names}. Confirm that it is your Safe or"
            " smart wallet."
        )
        wrong["contract_is_mine"] = [FieldMessage("contract_unconfirmed", text, names=names)]
    if without := no_code_on.intersection(settings.chain_ids):
        names = _names(without, enabled)
        text = f"This address is a contract, which does not exist on: {names}."
        wrong["chain_ids"] = [FieldMessage("not_deployed", text, names=names)]
    if wrong:
        raise Invalid(wrong)


def on_chains(settings: OwnerSettings, chain_ids: Collection[int]) -> OwnerSettings:
    """Return the same settings for some of their chains."""
    return replace(settings, chain_ids=frozenset(chain_ids))


def check_secret(tenant_id: str, settings: OwnerSettings) -> None:
    """Check that no other wallet has the secret of a recovery file. Invalid.

    Two wallets with one secret would issue the same addresses twice.
    """
    if settings.continued is None:
        return
    is_own = (Wallet.tenant_id == tenant_id) & (Wallet.owner == settings.owner)
    if Wallet.select().where(Wallet.secret == settings.continued.secret, ~is_own).exists():
        raise Invalid({"recovery": [_SECRET_TAKEN]})


def stored(tenant_id: str, settings: OwnerSettings) -> Wallet:
    """Store an address as a wallet of a tenant, and return it. Call it in a write transaction.

    A former address of this tenant continues with its secret, after its last index. What chains
    said about it before stays, where they were not asked now. A recovery file that was saved before
    a network was added lacks it, so it counts as not saved. Invalid if a recovery file's secret
    belongs to another wallet.
    """
    of_owner = (Wallet.tenant_id == tenant_id) & (Wallet.owner == settings.owner)
    wallet: Wallet | None = Wallet.get_or_none(of_owner)
    if wallet is None:
        _insert(tenant_id, settings)
    elif settings.continued is not None:
        _continue(wallet, settings.continued)
    known, continued = wallet or Wallet.get(of_owner), settings.continued or Continued("", 1)
    code_before = known.code_on
    if settings.contract_is_mine and not known.contract_is_mine:
        code_before = frozenset()  # It may be a token: chains that are silent now are asked again.
    code_on = code_before - frozenset(settings.no_code_on) | frozenset(settings.code_on)
    no_code_on = known.no_code_on - frozenset(settings.code_on) | frozenset(settings.no_code_on)
    before = known.all_chain_ids | known.chain_ids
    all_chain_ids = before.union(settings.chain_ids, continued.chain_ids)
    columns = {
        Wallet.chain_ids: settings.chain_ids,
        Wallet.all_chain_ids: all_chain_ids,
        Wallet.recovery_index: known.recovery_index if all_chain_ids == before else None,
        Wallet.continued_tokens: known.continued_tokens | continued.tokens,
        Wallet.code_on: code_on,
        Wallet.no_code_on: no_code_on,
        Wallet.unchecked_chains: frozenset(settings.chain_ids) - code_on - no_code_on,
        Wallet.contract_is_mine: settings.contract_is_mine,
        Wallet.is_exchange: settings.is_exchange,
        Wallet.least_collected: settings.least_collected,
    }
    Wallet.update(columns).where(of_owner).execute()
    found: Wallet = Wallet.get(of_owner)
    return found


def _insert(tenant_id: str, settings: OwnerSettings) -> None:
    wallet_id, continued = ids.new(ids.WALLET), settings.continued
    if continued is None:
        continued = Continued(secrets.token_hex(32), 1)
    row = {
        Wallet.id: wallet_id,
        Wallet.tenant_id: tenant_id,
        Wallet.owner: settings.owner,
        Wallet.gathering: issuing.gathering_address(settings.owner),
        Wallet.secret: continued.secret,
        Wallet.contract_version: receivers.CONTRACT_VERSION,
        Wallet.next_index: continued.next_index,
        Wallet.created_at: clock.now(),
    }
    try:
        with savepoint():
            Wallet.insert(row).execute()
    except IntegrityError:
        raise Invalid({"recovery": [_SECRET_TAKEN]}) from None


def _continue(wallet: Wallet, continued: Continued) -> None:
    """Continue a recovery file in a wallet that exists. Its index never goes back.

    If it has another secret, it must not have issued an address with that.
    """
    if wallet.secret == continued.secret:
        next_index = max(wallet.next_index, continued.next_index)
        Wallet.update(next_index=next_index).where(Wallet.id == wallet.id).execute()
        return
    unused = (Wallet.id == wallet.id) & (Wallet.next_index == 1)
    try:
        with savepoint():
            replaced = (
                Wallet.update(
                    secret=continued.secret, next_index=continued.next_index, recovery_index=None
                )
                .where(unused)
                .execute()
            )
    except IntegrityError:
        raise Invalid({"recovery": [_SECRET_TAKEN]}) from None
    if not replaced:
        raise Invalid({"recovery": [_HAS_ORDERS]})


def _names(chain_ids: Collection[int], enabled: Mapping[int, Chain]) -> str:
    known = {**REGISTRY, **enabled}
    found = [known[each].name if each in known else str(each) for each in sorted(chain_ids)]
    return ", ".join(found)
