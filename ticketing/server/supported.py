"""What the worker does not support stops the start, in one sentence."""

import sys
from typing import Any

import gunicorn

READ_FOR = "27.0.1"
"""The one gunicorn that the worker was written against: it overrides private methods."""


def check(cfg: Any) -> None:
    """End the process if gunicorn is another version, or `cfg` asks for TLS or PROXY protocol."""
    if gunicorn.__version__ != READ_FOR:
        sys.exit(f"ticketing: install gunicorn {READ_FOR}; this is {gunicorn.__version__}")
    if cfg.is_ssl:
        sys.exit("ticketing: TLS ends at a proxy; leave out --certfile and --keyfile")
    if cfg.proxy_protocol != "off":
        # Anybody who connects could say which address they come from.
        sys.exit(
            "ticketing: leave out --proxy-protocol; let the proxy send X-Forwarded-For and name"
            " it in TRUSTED_PROXIES"
        )
