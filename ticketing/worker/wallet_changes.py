"""Make the changes of wallets that have waited long enough, with an entry in the audit log."""

import logging
from dataclasses import asdict
from typing import Any

from ticketing.config import Config
from ticketing.errors import ChainUnavailable, Invalid, NotFound
from ticketing.models.wallets import PendingWallet
from ticketing.services.access import audit_log
from ticketing.services.access.audit_log import Actor
from ticketing.services.leases import LeaseHolder
from ticketing.services.wallets import changes, views
from ticketing.services.wallets.owners import OwnerSettings

LEASE = "wallet changes"

_WORKER = "worker"
_NOT_RECORDED = (
    "next_index",
    "contract_version",
    "unchecked_chains",
    "credited_at",
    "warnings",
    "pending",
)

log = logging.getLogger(__name__)


class WalletChanges:
    """The task of the worker that makes changes of wallets when they are due.

    The lease saves questions to nodes. Each change is made once without it, too: the row of the
    change is deleted in the same transaction.
    """

    def __init__(self, config: Config) -> None:
        """Make the changes of all tenants."""
        self._config = config
        self._lease = LeaseHolder(LEASE)

    def run(self) -> None:
        """Make the changes that are due, unless another worker does.

        Each one is checked once more. One that is not possible any more is canceled.
        """
        due = changes.due()
        if not due or not self._lease.keep():
            return
        for pending in due:
            try:
                settings = changes.asked_again(pending, self._config.chains)
                _recorded(pending, "wallets_set_wallet", settings)
            except ChainUnavailable:
                continue  # next time
            except Invalid as error:
                log.warning("the wallet of %s does not change: %s", pending.tenant_id, error)
                _recorded(pending, "wallets_cancel_wallet_change", None)

    def leave(self) -> None:
        """Let another worker continue at once."""
        if self._lease.is_held:
            self._lease.give_back()


def _recorded(pending: PendingWallet, action: str, settings: OwnerSettings | None) -> None:
    """Make a change, or drop it without `settings`, and record that in the same transaction.

    `action` is the operation of the API that does the same.
    """
    tenant_id = pending.tenant_id
    with audit_log.changes(tenant_id):
        before = _fields(tenant_id)
        is_done = changes.drop(pending) if settings is None else changes.make(pending, settings)
        if is_done:
            by = Actor(_WORKER, action)
            details = {"asked_by": pending.asked_by}
            if settings is None:
                details["not_possible"] = pending.owner
            after = _fields(tenant_id)
            audit_log.record(tenant_id, by, "wallet", before=before, after=after, details=details)


def _fields(tenant_id: str) -> dict[str, Any]:
    """Return the wallet as the audit log has it."""
    try:
        found = asdict(views.read(tenant_id))
    except NotFound:
        return {}
    return {name: value for name, value in found.items() if name not in _NOT_RECORDED}
