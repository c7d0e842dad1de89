"""How gunicorn serves the application. What is wrong stops the start here, in one sentence."""

import atexit
import errno
import gc
import os
import shutil
import signal
import socket
import sys
import tempfile
from functools import partial
from typing import Any

from ticketing.config import ConfigError, load
from ticketing.constants import LOOKS_AT_ONCE
from ticketing.server.worker import STOPS
from ticketing.services.access.rate_limits import Limiter

try:
    _config = load(os.environ)
except ConfigError as error:
    sys.exit(f"ticketing: {error}")


def _leave_nothing(master: int, folder: str) -> None:
    if os.getpid() == master:
        shutil.rmtree(folder, ignore_errors=True)


# Each process counts what it answers in a file there; it is named before the application is loaded
# and is this master's, also after SIGHUP.
if os.environ.get("TICKETING_METRICS_OF") != str(os.getpid()):
    os.environ["TICKETING_METRICS_OF"] = str(os.getpid())
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="ticketing-metrics-")
    atexit.register(_leave_nothing, os.getpid(), os.environ["PROMETHEUS_MULTIPROC_DIR"])

bind = f"0.0.0.0:{_config.port}"
workers = _config.web_concurrency
worker_class = "ticketing.server.worker.Worker"
threads = 2 * LOOKS_AT_ONCE  # half of them may wait for nodes
worker_connections = 500  # two file descriptors and more are left for each of the usual 1,024
sendfile = False  # a worker keeps what a client does not read at once
preload_app = True
control_socket_disable = True
forwarded_allow_ips = ""  # whom to believe says TRUSTED_PROXIES, in one place: web/client_ip.py
loglevel = _config.log_level.lower()


# A process that is told to stop between its fork and the moment at which it listens would never
# hear it: to be told waits until then.
hold_back = partial(signal.pthread_sigmask, signal.SIG_BLOCK, STOPS)
let_through = partial(signal.pthread_sigmask, signal.SIG_UNBLOCK, STOPS)
os.register_at_fork(before=hold_back, after_in_parent=let_through)
let_through()  # a gunicorn that was started by the one before it (SIGUSR2)


def on_starting(server: Any) -> None:
    """End at once where the port is taken, unless the sockets are inherited from it."""
    if "GUNICORN_FD" in os.environ or "LISTEN_FDS" in os.environ:
        return
    # What --bind says goes before `bind` above.
    for address in server.cfg.address:
        if not isinstance(address, tuple):
            continue  # a Unix socket or an inherited one
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(address)
            except OSError as error:
                if error.errno == errno.EADDRINUSE:  # gunicorn tells everything else
                    sys.exit(f"ticketing: port {address[1]} is in use; set PORT to another one")


def pre_fork(server: object, worker: object) -> None:
    """Keep what is loaded from the collector: each worker's first collection would copy it all."""
    gc.collect()
    gc.freeze()


def post_fork(server: Any, worker: object) -> None:
    """Say how many processes share a limit; make the folder again if somebody removed it."""
    Limiter.processes = server.num_workers
    os.makedirs(os.environ["PROMETHEUS_MULTIPROC_DIR"], mode=0o700, exist_ok=True)
