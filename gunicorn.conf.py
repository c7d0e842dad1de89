"""How gunicorn serves the application. What is wrong stops the start here, in one sentence."""

import os
import socket
import sys

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


def on_starting(server: object) -> None:
    """End at once where the port is taken, unless the sockets are inherited from it."""
    if "GUNICORN_FD" in os.environ or "LISTEN_FDS" in os.environ:
        return
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("0.0.0.0", _config.port))
        except OSError:
            sys.exit(f"ticketing: port {_config.port} is in use; set PORT to another one")
