"""How gunicorn serves the application. What is wrong stops the start here, in one sentence."""

import errno
import gc
import os
import socket
import sys
from typing import Any

from ticketing.config import ConfigError, load

try:
    _config = load(os.environ)
except ConfigError as error:
    sys.exit(f"ticketing: {error}")

bind = f"0.0.0.0:{_config.port}"
workers = _config.web_concurrency
worker_class = "gthread"
threads = 4
preload_app = True
control_socket_disable = True
loglevel = _config.log_level.lower()


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
