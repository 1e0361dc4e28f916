"""The operator's log: one line a record, plain for people or JSON for collectors."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any


class LogFormat(StrEnum):
    """How a log line is written."""

    PLAIN = "plain"
    JSON = "json"


class LogLevel(StrEnum):
    """The least severe records that are logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class JsonFormatter(logging.Formatter):
    """One JSON object a line: `time`, `level`, `logger`, `message`, and `exception` if any.

    A record that was logged with `extra={"fields": {...}}` has these keys as well; they cannot
    take the place of the first four. (`extra` itself cannot hold a `name`: it is the logger's.)
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON."""
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        entry = {**getattr(record, "fields", {}), **entry}
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


def quiet_transports() -> None:
    """Keep what HTTP libraries log out of the log: at `debug`, headers of answers are in it.

    An endpoint can echo the key that it was sent in any header.
    """
    for name in ("httpcore2", "httpx2", "openai"):
        logging.getLogger(name).setLevel(logging.WARNING)


def configure_logging(log_format: LogFormat, level: LogLevel) -> None:
    """Send the root logger to standard error, in one format."""
    handler = logging.StreamHandler(sys.stderr)
    if log_format is LogFormat.JSON:
        handler.setFormatter(JsonFormatter())
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    quiet_transports()
