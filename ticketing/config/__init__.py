"""Read the environment variables once, check them strictly, and keep them in a frozen object."""

from ticketing.config.settings import Allowed, Config, Smtp, is_loopback, load, webhook_allow
from ticketing.config.variables import ConfigError

__all__ = ["Allowed", "Config", "ConfigError", "Smtp", "is_loopback", "load", "webhook_allow"]
