"""Read the environment variables once, check them strictly, and keep them in a frozen object.

app.py and gunicorn.conf.py call `load`. An invalid variable ends the start, with its name; no
message contains a secret.

settings.py: `load`, and all variables with their bounds and defaults; the mail server, and the
    networks that webhooks may reach
chains.py: RPC_URL_* and what belongs to it: a chain is enabled if it has a URL
x402.py: X402_FACILITATOR_*; x402 is on if there is one
variables.py: reads one variable strictly: numbers with bounds, lists, URLs
"""

from ticketing.config.settings import Allowed, Config, Smtp, is_loopback, load, webhook_allow
from ticketing.config.variables import ConfigError

__all__ = ["Allowed", "Config", "ConfigError", "Smtp", "is_loopback", "load", "webhook_allow"]
