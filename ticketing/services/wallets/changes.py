"""Change a tenant's wallet: at once, or after a time in which administrators can cancel it.

To change where the money goes is the most dangerous thing that an administrator can do, and so is
to add a network on which the address may belong to somebody else. So both wait for a tenant that
was ever paid, unless the caller has proved more than a credential (`wait` is 0 then).

Example, with 24 hours. Nothing changes for orders before 10:00 of the next day.

    Monday 10:00   PUT with an API key: the answer has `pending`, all administrators get a mail
    Monday 15:00   another PUT: it replaces the first, and waits until Tuesday 15:00
    Monday 16:00   an administrator cancels it: the wallet stays

One change of a tenant runs at a time. Orders do not wait for it: each takes the address that is
next in the wallet of that moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from ticketing import clock
from ticketing.chain.registry import Chain
from ticketing.db.connection import one_at_a_time, write_transaction
from ticketing.errors import FieldMessage, Invalid, NotFound
from ticketing.models.order_accounts import HAS_MONEY, OrderAccount
from ticketing.models.tenants import Tenant
from ticketing.models.wallets import PendingWallet, Wallet
from ticketing.services import catalog_version
from ticketing.services.notifications import facts, feed
from ticketing.services.wallets import owners, refusals
from ticketing.services.wallets.owners import OwnerSettings
from ticketing.services.wallets.recovery import Continued

SERVICE = "service"
"""Who cancels a change that is not possible any more."""


def stated(
    tenant_id: str | None, fields: Mapping[str, Any], enabled: Mapping[int, Chain]
) -> OwnerSettings:
    """Check what an organizer wants as a wallet, with what the enabled chains say about it.

    `tenant_id` None: a new tenant. `fields` are those of the request. Call it outside of a write
    transaction, because it may take some seconds. Invalid; ChainUnavailable while too many requests
    wait for nodes.
    """
    # First, so that a secret is named as one, whatever else is wrong.
    refusals.check_not_secret(fields["address"])
    if not fields.get("chain_ids"):
        text = "Name the networks on which you control this address."
        raise Invalid({"chain_ids": [FieldMessage("chain_ids", text)]})
    return owners.stated(
        tenant_id,
        fields["address"],
        fields["chain_ids"],
        enabled,
        contract_is_mine=bool(fields.get("contract_is_mine")),
        is_exchange=bool(fields.get("exchange")),
        least_collected=fields.get("minimum_deposit"),
        file=fields.get("recovery"),
    )


def put(tenant_id: str, settings: OwnerSettings, *, by: str, wait: timedelta) -> None:
    """Make an address the tenant's wallet, at once or after `wait`.

    It replaces a change that waits. `by` is the id of the key or member that asks. The first
    wallet, a tenant that was never paid, and what makes no new address or network possible are
    changed at once. Networks are taken off at once, too. Invalid if a recovery file belongs to
    another wallet.
    """
    with write_transaction():
        one_at_a_time(f"wallet of {tenant_id}")
        former = _current(tenant_id)
        replaced = _take_pending(tenant_id)
        owners.check_secret(tenant_id, settings)
        if former is not None and _waits(tenant_id, former, settings, wait):
            if settings.owner == former.owner:
                kept = former.chain_ids.intersection(settings.chain_ids)
                _make(tenant_id, former, owners.on_chains(settings, kept), by)
            pending = _insert_pending(tenant_id, settings, by, wait)
            feed.record(tenant_id, *facts.wallet_change_requested(_said(pending, former, by)))
            return
        _make(tenant_id, former, settings, by)
        if replaced is not None:
            feed.record(tenant_id, *facts.wallet_change_canceled(_said(replaced, former, by)))


def would_wait(tenant_id: str, settings: OwnerSettings, wait: timedelta) -> bool:
    """Return whether `put` would make the change after `wait` only."""
    former = _current(tenant_id)
    return former is not None and _waits(tenant_id, former, settings, wait)


def cancel(tenant_id: str, by: str) -> None:
    """Cancel the change that waits. NotFound if there is none."""
    with write_transaction():
        one_at_a_time(f"wallet of {tenant_id}")
        pending = _take_pending(tenant_id)
        if pending is None:
            raise NotFound("No change of the wallet waits.")
        said = _said(pending, _current(tenant_id), by)
        feed.record(tenant_id, *facts.wallet_change_canceled(said))


def due() -> list[PendingWallet]:
    """Return some changes whose time has come, the oldest first."""
    is_due = PendingWallet.effective_at <= clock.now()
    return list(
        PendingWallet.select().where(is_due).order_by(PendingWallet.effective_at).limit(100)
    )


def asked_again(pending: PendingWallet, enabled: Mapping[int, Chain]) -> OwnerSettings:
    """Return the settings of a change that is due, checked once more.

    Call it outside of a write transaction. Invalid: it is not possible any more. ChainUnavailable
    as in `stated`.
    """
    refusals.check_owner(pending.owner, enabled.values())
    continued = None
    if pending.secret is not None and pending.next_index is not None:
        continued = Continued(
            pending.secret,
            pending.next_index,
            pending.continued_chain_ids,
            pending.continued_tokens,
        )
    settings = OwnerSettings(
        pending.owner,
        pending.chain_ids,
        pending.code_on,
        pending.no_code_on,
        contract_is_mine=pending.contract_is_mine,
        is_exchange=pending.is_exchange,
        least_collected=pending.least_collected,
        continued=continued,
    )
    return owners.asked(settings, enabled)


def make(pending: PendingWallet, settings: OwnerSettings) -> bool:
    """Make a change that is due. False if it was canceled or replaced meanwhile. Invalid."""
    tenant_id = pending.tenant_id
    with write_transaction():
        one_at_a_time(f"wallet of {tenant_id}")
        if _take_pending(tenant_id, pending.asked_at) is None:
            return False
        _make(tenant_id, _current(tenant_id), settings, pending.asked_by)
        return True


def drop(pending: PendingWallet) -> bool:
    """Cancel a change that is not possible any more. False if it was canceled or replaced."""
    tenant_id = pending.tenant_id
    with write_transaction():
        one_at_a_time(f"wallet of {tenant_id}")
        if _take_pending(tenant_id, pending.asked_at) is None:
            return False
        said = _said(pending, _current(tenant_id), SERVICE)
        feed.record(tenant_id, *facts.wallet_change_canceled(said))
        return True


def drop_all() -> None:
    """Cancel all changes that wait, of all tenants."""
    with write_transaction():
        for pending in list(PendingWallet.select().order_by(PendingWallet.tenant_id)):
            drop(pending)


def note_credited(tenant_id: str) -> None:
    """Note that the organizer got the money of a first collection. A repeat changes nothing."""
    current = Wallet.id == Tenant.select(Tenant.wallet).where(Tenant.id == tenant_id)
    is_first = current & Wallet.credited_at.is_null()
    Wallet.update(credited_at=clock.now()).where(is_first).execute()


def _current(tenant_id: str) -> Wallet | None:
    found: Wallet | None = Wallet.select().join(Tenant).where(Tenant.id == tenant_id).first()
    return found


def _make(tenant_id: str, former: Wallet | None, settings: OwnerSettings, by: str) -> None:
    """Set the wallet. If money can go to another place than before, say so."""
    wallet = owners.stored(tenant_id, settings)
    Tenant.update(wallet=wallet.id).where(Tenant.id == tenant_id).execute()
    catalog_version.advance(tenant_id)
    if former is not None and _is_risky(former, settings):
        feed.record(tenant_id, *facts.wallet_changed(_said(wallet, former, by)))


def _waits(tenant_id: str, former: Wallet, settings: OwnerSettings, wait: timedelta) -> bool:
    if not wait or not _is_risky(former, settings):
        return False
    received = OrderAccount.select().where(OrderAccount.tenant_id == tenant_id, HAS_MONEY)
    return bool(received.exists())


def _is_risky(former: Wallet, settings: OwnerSettings) -> bool:
    """Return whether money could go to an address, or to a network, to which it does not go yet."""
    if former.owner != settings.owner:
        return True
    return not former.chain_ids.issuperset(settings.chain_ids)


def _take_pending(tenant_id: str, asked_at: datetime | None = None) -> PendingWallet | None:
    """Delete the change that waits, and return it. `asked_at`: only if it is this one."""
    found: PendingWallet | None = PendingWallet.get_or_none(PendingWallet.tenant_id == tenant_id)
    if found is None or asked_at not in (None, found.asked_at):
        return None
    PendingWallet.delete().where(PendingWallet.tenant_id == tenant_id).execute()
    return found


def _insert_pending(
    tenant_id: str, settings: OwnerSettings, by: str, wait: timedelta
) -> PendingWallet:
    now = clock.now()
    columns: dict[str, Any] = {
        "asked_by": by,
        "asked_at": now,
        "effective_at": now + wait,
        "owner": settings.owner,
        "chain_ids": settings.chain_ids,
        "code_on": settings.code_on,
        "no_code_on": settings.no_code_on,
        "contract_is_mine": settings.contract_is_mine,
        "is_exchange": settings.is_exchange,
        "least_collected": settings.least_collected,
    }
    if settings.continued is not None:
        columns |= {
            "secret": settings.continued.secret,
            "next_index": settings.continued.next_index,
            "continued_chain_ids": settings.continued.chain_ids,
            "continued_tokens": settings.continued.tokens,
        }
    PendingWallet.insert(tenant_id=tenant_id, **columns).execute()
    pending: PendingWallet = PendingWallet.get(PendingWallet.tenant_id == tenant_id)
    return pending


def _said(wallet: Wallet | PendingWallet, former: Wallet | None, by: str) -> dict[str, Any]:
    """Return what notifications say of a change: addresses, never a secret."""
    return {
        "address": wallet.owner,
        "chain_ids": sorted(wallet.chain_ids),
        "former_address": None if former is None else former.owner,
        "effective_at": (
            clock.rfc3339(wallet.effective_at) if isinstance(wallet, PendingWallet) else None
        ),
        "by": by,
    }
