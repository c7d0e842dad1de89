"""Which gunicorn our worker runs on, and which configurations it refuses."""

import sys
from typing import Any

import gunicorn

KNOWN = "27.0.1"
"""The gunicorn our worker was written for: the worker overrides its private methods."""

IS_KNOWN: bool = gunicorn.__version__ == KNOWN
"""Whether our worker can run. Otherwise gunicorn.conf.py chooses gunicorn's own `gthread`."""

WARNING = (
    f"gunicorn {gunicorn.__version__} is not {KNOWN}: the service runs with gunicorn's own threads,"
    " and a slow client holds one. Put a proxy in front that buffers requests and responses."
)


def check(cfg: Any) -> None:
    """Exit if `cfg` enables TLS or the PROXY protocol."""
    if cfg.is_ssl:
        sys.exit("ticketing: TLS is not supported; use a proxy, without --certfile and --keyfile")
    if cfg.proxy_protocol != "off":
        # With the PROXY protocol, any client could claim any address.
        sys.exit(
            "ticketing: --proxy-protocol is not supported; let the proxy send X-Forwarded-For, and"
            " add it to TRUSTED_PROXIES"
        )
