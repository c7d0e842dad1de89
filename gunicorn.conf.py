"""How gunicorn serves the application. A wrong configuration stops the start right here."""

import os
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
