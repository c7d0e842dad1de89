"""Log formats: plain text for people, JSON for software. Times are RFC 3339 in UTC."""

import json
import logging
import re
import time
from datetime import UTC, datetime
from typing import Any

_WORD = re.compile(r"[A-Za-z0-9._:/<>-]+", re.ASCII)


class PlainFormatter(logging.Formatter):
    """One line per record. Its fields follow the message as `name=value`."""

    def __init__(self) -> None:
        super().__init__(
            "%(asctime)s %(levelname)s %(name)s: %(message)s", datefmt="%Y-%m-%dT%H:%M:%SZ"
        )
        self.converter = time.gmtime

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the line without a stack trace."""
        fields = getattr(record, "fields", {})
        return " ".join([super().formatMessage(record), *map(_pair, fields.items())])


class JsonFormatter(logging.Formatter):
    """One JSON object per record, with the stack trace inside."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object as one line."""
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
    """Log to standard error, from `level` up. `form` is `plain` or `json`."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if form == "json" else PlainFormatter())
    logging.basicConfig(level=level, handlers=[handler])
    # Peewee logs the values of every statement, and they contain personal data. `db upgrade`
    # prints the applied migrations itself.
    logging.getLogger("peewee").setLevel(logging.WARNING)
    # authlib logs the tokens that it issues.
    logging.getLogger("authlib").setLevel(logging.WARNING)


def for_gunicorn(level: str) -> dict[str, Any]:
    """Return the settings with which gunicorn writes its own lines as JSON (dictConfig)."""
    return {
        "formatters": {"json": {"()": JsonFormatter}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "root": {"level": level, "handlers": ["stderr"]},
        "loggers": {"gunicorn.error": {"level": level, "handlers": [], "propagate": True}},
    }


def _pair(field: tuple[str, object]) -> str:
    name, value = field
    text = "-" if value is None else str(value)
    return f"{name}={text if _WORD.fullmatch(text) else json.dumps(text)}"
