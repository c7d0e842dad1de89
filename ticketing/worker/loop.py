"""The worker's loop. Each task has its own thread, so that a slow one delays no other."""

import logging
import math
import signal
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from ticketing.chain.errors import RpcError
from ticketing.config import Config
from ticketing.db import reserve
from ticketing.db.connection import UNAVAILABLE, close_broken_connection, database
from ticketing.services import counters, daily_counts, erasure, idempotency, images
from ticketing.services.access import challenges, invitations, rate_limits, sessions, totp
from ticketing.services.mail import cautioned_refunds
from ticketing.services.notifications import (
    mail_queue,
    numbering,
    reading,
    webhook_secrets,
    webhooks,
)
from ticketing.services.oauth import connected_apps, descriptions
from ticketing.services.payments import deposits, payee_changes, resales, settlement
from ticketing.services.payments.booking import CursorMoved
from ticketing.services.waiting_list.offers import Offering
from ticketing.version import VERSION
from ticketing.worker import description_reader
from ticketing.worker.chain_tasks import CHAIN_TASKS
from ticketing.worker.delivering import Delivering
from ticketing.worker.mailing import Mailer
from ticketing.worker.rate_reader import RateReader
from ticketing.worker.wallet_changes import WalletChanges
from ticketing.worker.watcher import ChainRefused, Watcher

log = logging.getLogger(__name__)

_NOTIFYING_SECONDS = 1.0
"""The longest pause between two runs of the tasks of notifications."""

_WAKING_SECONDS = 1.0
"""The longest pause between two looks into the database for the first new order."""

_RATE_SECONDS = 60.0
"""The pause between two checks whether a day has passed since the exchange rate was read."""

_OFFERING_SECONDS = 5.0
"""The longest pause between two looks whether anything is free for those who wait."""

_DEPOSITS_SECONDS = 600.0
"""The pause between two looks whether an event is over whose deposits come back."""

_PAYEES_SECONDS = 20.0
"""The shortest pause between two looks which payees of refunds begin to count."""

_CAUTIONS_SECONDS = 600.0
"""The pause between two looks which refunds nobody has looked at."""

_UNUSED_IMAGES_SECONDS = 86_400.0
"""The pause between two deletions of images that nothing refers to."""


def _keep_house(config: Config) -> None:
    """Run the periodic tasks that belong to no chain."""
    # First what makes room: on a full disk, all that writes fails.
    reserve.keep()
    idempotency.forget_old()
    settlement.expire_free()
    resales.swap_some()
    resales.end_some_offers()
    deposits.run_some()
    rate_limits.forget_old()
    sessions.forget_old()
    invitations.forget_old()
    connected_apps.forget_old()
    descriptions.forget_old()
    challenges.forget_old()
    counters.merge()
    daily_counts.forget_old()
    erasure.erase_old(config.personal_data_days)
    erasure.erase_unpaid()
    reading.forget_old(config.notification_days)
    webhooks.forget_old_deliveries()
    webhook_secrets.renew(config.keyring)
    totp.renew(config.keyring)
    mail_queue.drop_old()
    mail_queue.forget_old(config.notification_days)


def look_once(config: Config, *, accept_reorganization: bool = False) -> list[str]:
    """Read every enabled chain once. Return a sentence for each that failed.

    `accept_reorganization`: go back further than the stored blocks, if a node requires it.
    """
    deposits.begin_due()
    _keep_house(config)
    images.forget_unused()
    wallet_changes = WalletChanges(config)
    wallet_changes.run()
    wallet_changes.leave()
    offering = Offering(config)
    offering.run()
    offering.leave()
    troubles = []
    for chain in config.chains.values():
        watcher = Watcher(chain, accept_reorganization=accept_reorganization)
        try:
            watcher.look()
            watcher.sweep()
            watcher.check_refunds()
            for _, task in CHAIN_TASKS:
                task(chain, config)
            if accept_reorganization and not watcher.is_in_charge:
                troubles.append(f"another worker watches chain {chain.chain_id}: stop it first")
        except (ChainRefused, CursorMoved) as error:
            troubles.append(str(error))
        except RpcError as error:
            troubles.append(f"chain {chain.chain_id} cannot be read: {error}")
        finally:
            watcher.leave()
    payee_changes.take_effect()
    cautioned_refunds.plan(config)
    RateReader(config).run()
    description_reader.read_some(config)
    numbering.number_all()
    Delivering(config).once()
    mailer = Mailer(config)
    trouble = mailer.run()
    mailer.leave()
    return troubles if trouble is None else [*troubles, trouble]


class Worker:
    """Repeats every task until SIGTERM or SIGINT. An unexpected error ends the process."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._stop = threading.Event()
        self._failed = False
        every = timedelta(seconds=config.poll_seconds)
        self._watchers = [Watcher(chain, every=every) for chain in config.chains.values()]
        self._mailer = Mailer(config, is_stopped=self._stop.is_set)
        self._wallet_changes = WalletChanges(config)
        self._offering = Offering(config)

    def run(self) -> bool:
        """Run all tasks. Return whether a signal ended it."""
        log.info("ticketing %s", VERSION)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop.set())
        if not self._watchers:
            log.warning("no chain is enabled: nothing to watch")
        threads = [
            threading.Thread(target=self._repeat, args=task, name=task[0]) for task in self.tasks()
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        try:
            for watcher in self._watchers:
                watcher.leave()
            self._wallet_changes.leave()
            self._offering.leave()
            self._mailer.leave()
        except UNAVAILABLE:
            log.warning(
                "the database is unavailable: the next worker waits until the lease expires"
            )
        return not self._failed

    def tasks(self) -> list[tuple[str, Callable[[], object], float]]:
        """Return each task: its name, what it does, and the pause after it, in seconds."""
        pause = self._config.poll_seconds
        soon = min(_NOTIFYING_SECONDS, pause)
        waking = pause / math.ceil(pause / _WAKING_SECONDS)
        tasks: list[tuple[str, Callable[[], object], float]] = [
            ("housekeeping", partial(_keep_house, self._config), pause),
            ("deposits", deposits.begin_due, _DEPOSITS_SECONDS),
            ("unused images", images.forget_unused, _UNUSED_IMAGES_SECONDS),
            ("wallet changes", self._wallet_changes.run, pause),
            ("cautions", partial(cautioned_refunds.plan, self._config), _CAUTIONS_SECONDS),
            ("payees", payee_changes.take_effect, max(pause, _PAYEES_SECONDS)),
            ("waiting lists", self._offering.run, min(_OFFERING_SECONDS, pause)),
            ("exchange rate", RateReader(self._config).run, _RATE_SECONDS),
            ("descriptions of apps", partial(description_reader.read_some, self._config), soon),
            ("notifications", numbering.number_all, soon),
            # It returns only at the end, or after an error.
            ("webhooks", partial(Delivering(self._config).run, self._stop.is_set), soon),
            ("mails", self._mailer.run, soon),
        ]
        for watcher in self._watchers:
            chain_id = watcher.chain.chain_id
            tasks.append((f"chain {chain_id}", watcher.look_if_due, waking))
            tasks.append((f"sweep of chain {chain_id}", watcher.sweep, pause))
            tasks.append((f"refunds of chain {chain_id}", watcher.check_refunds, pause))
            for name, act in CHAIN_TASKS:
                of_chain = partial(act, watcher.chain, self._config)
                tasks.append((f"{name} of chain {chain_id}", of_chain, soon))
        return tasks

    def _repeat(self, name: str, task: Callable[[], object], pause: float) -> None:
        while not self._stop.is_set():
            try:
                task()
            except ChainRefused as error:
                log.error("%s", error)
            except CursorMoved as error:
                log.info("%s", error)
            except RpcError as error:
                log.warning("%s cannot be read: %s", name, error)
            except UNAVAILABLE as error:
                log.error("%s: database: %s", name, str(error).strip().split("\n")[0])
                close_broken_connection()
            except Exception:
                log.exception("%s", name)
                self._failed = True
                self._stop.set()
            self._stop.wait(pause)
        database.close()  # this thread's connection
