"""How log lines look: plain for people, JSON for machines. Times are RFC 3339 in UTC."""

import json
import logging
import re
import time
from datetime import UTC, datetime

_WORD = re.compile(r"[A-Za-z0-9._:/<>-]+", re.ASCII)


class PlainFormatter(logging.Formatter):
    """One line a record, what it carries besides its message as `name=value`."""

    def __init__(self) -> None:
        super().__init__(
            "%(asctime)s %(levelname)s %(name)s: %(message)s", datefmt="%Y-%m-%dT%H:%M:%SZ"
        )
        self.converter = time.gmtime

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Write the line without a trace."""
        fields = getattr(record, "fields", {})
        return " ".join([super().formatMessage(record), *map(_pair, fields.items())])


class JsonFormatter(logging.Formatter):
    """One JSON object a record, a trace inside it."""

    def format(self, record: logging.LogRecord) -> str:
        """Write the object."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


def configure(level: str, form: str) -> None:
    """Log to standard error from `level` on, `plain` or `json`."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if form == "json" else PlainFormatter())
    logging.basicConfig(level=level, handlers=[handler])
    # It logs the values of every statement, and these hold what people entrusted to us. `db
    # upgrade` tells itself which migrations it applied.
    logging.getLogger("peewee").setLevel(logging.WARNING)


def _pair(field: tuple[str, object]) -> str:
    name, value = field
    text = "-" if value is None else str(value)
    return f"{name}={text if _WORD.fullmatch(text) else json.dumps(text)}"
