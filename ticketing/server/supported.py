"""End the start with one sentence if the configuration is not supported by the worker."""

import sys
from typing import Any

import gunicorn

SUPPORTED = "27.0.1"
"""The only supported version of gunicorn, because the worker overrides private methods."""


def check(cfg: Any) -> None:
    """Exit if gunicorn has another version, or if `cfg` enables TLS or the PROXY protocol."""
    if gunicorn.__version__ != SUPPORTED:
        sys.exit(f"ticketing: install gunicorn {SUPPORTED}; this is {gunicorn.__version__}")
    if cfg.is_ssl:
        sys.exit("ticketing: TLS is not supported; use a proxy, without --certfile and --keyfile")
    if cfg.proxy_protocol != "off":
        # With the PROXY protocol, any client could claim any address.
        sys.exit(
            "ticketing: --proxy-protocol is not supported; let the proxy send X-Forwarded-For, and"
            " add it to TRUSTED_PROXIES"
        )
