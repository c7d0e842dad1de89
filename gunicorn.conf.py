"""Settings of gunicorn. An invalid configuration ends the start with one sentence."""

import atexit
import errno
import gc
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
from functools import partial
from typing import Any

from ticketing import logs
from ticketing.config import ConfigError, load
from ticketing.constants import LOOKS_AT_ONCE
from ticketing.server import supported
from ticketing.services.access.rate_limits import Limiter
from ticketing.version import VERSION
from ticketing.web.precedence import comes_first

try:
    _config = load(os.environ)
except ConfigError as error:
    sys.exit(f"ticketing: {error}")


def _remove_folder(master: int, folder: str) -> None:
    if os.getpid() == master:
        shutil.rmtree(folder, ignore_errors=True)


# Each process counts its requests in a file of this folder. The variable must be set before the
# application is loaded. The folder belongs to this master process and survives SIGHUP.
if os.environ.get("TICKETING_METRICS_OF") != str(os.getpid()):
    os.environ["TICKETING_METRICS_OF"] = str(os.getpid())
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="ticketing-metrics-")
    atexit.register(_remove_folder, os.getpid(), os.environ["PROMETHEUS_MULTIPROC_DIR"])

# The first line of the log, also after SIGHUP with new code.
logs.configure(_config.log_level, _config.log_format)
logging.getLogger("ticketing").info("ticketing %s", VERSION)
if _config.log_format == "json":
    logconfig_dict = logs.for_gunicorn(_config.log_level)

# A platform says where to listen. On a bare host, a proxy on the same machine comes first.
bind = f"0.0.0.0:{_config.port}" if "PORT" in os.environ else f"127.0.0.1:{_config.port}"
workers = _config.web_concurrency
worker_class = "ticketing.server.worker.Worker" if supported.IS_KNOWN else "gthread"
threads = 2 * LOOKS_AT_ONCE  # half of them may wait for others' servers
worker_connections = 500  # the usual limit of 1,024 file descriptors leaves two per connection
# `sendfile` stays unset: any value would disable it. ticketing/server/files.py sends files.
preload_app = True
control_socket_disable = True
forwarded_allow_ips = ""  # web/client_ip.py reads X-Forwarded-For, with TRUSTED_PROXIES
loglevel = _config.log_level.lower()


# Between its fork and its signal handlers, a process would lose a signal to stop. So these signals
# are blocked until the handlers are in place: see `post_worker_init`.
_STOPS = {signal.SIGTERM, signal.SIGINT, signal.SIGQUIT}
block_signals = partial(signal.pthread_sigmask, signal.SIG_BLOCK, _STOPS)
unblock_signals = partial(signal.pthread_sigmask, signal.SIG_UNBLOCK, _STOPS)
os.register_at_fork(before=block_signals, after_in_parent=unblock_signals)
unblock_signals()  # SIGUSR2: the old gunicorn started this one with blocked signals


def on_starting(server: Any) -> None:
    """Warn of an unknown gunicorn. Exit if the port is in use, unless sockets are inherited."""
    if not supported.IS_KNOWN:
        server.log.warning(supported.WARNING)
    if "GUNICORN_FD" in os.environ or "LISTEN_FDS" in os.environ:
        return
    # --bind overrides `bind` above.
    for address in server.cfg.address:
        if not isinstance(address, tuple):
            continue  # a Unix socket or an inherited one
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(address)
            except OSError as error:
                if error.errno == errno.EADDRINUSE:  # gunicorn reports all other errors
                    sys.exit(f"ticketing: port {address[1]} is in use; set PORT to another one")


def pre_fork(server: object, worker: object) -> None:
    """Exclude loaded objects from garbage collection.

    Otherwise the first collection of each worker would copy all shared memory pages.
    """
    gc.collect()
    gc.freeze()


def post_fork(server: Any, worker: Any) -> None:
    """Set what the process must know. Create the metrics folder again if it was removed."""
    Limiter.processes = server.num_workers
    worker.comes_first = comes_first  # gunicorn's own worker ignores it
    os.makedirs(os.environ["PROMETHEUS_MULTIPROC_DIR"], mode=0o700, exist_ok=True)


def post_worker_init(worker: object) -> None:
    """Receive the signals to stop that came since the fork. The handlers are in place."""
    unblock_signals()
