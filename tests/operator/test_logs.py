"""One line a record, whatever is in it."""

from __future__ import annotations

import json
import logging
import sys

from controller.logs import JsonFormatter


def record(message: str, *arguments: object) -> logging.LogRecord:
    return logging.LogRecord("controller.x", logging.WARNING, "x.py", 1, message, arguments, None)


def test_a_record_is_one_line_of_json_with_any_text() -> None:
    line = JsonFormatter().format(record("%s says\n日本語 🌍", "team/task"))
    assert "\n" not in line
    entry = json.loads(line)
    assert entry["message"] == "team/task says\n日本語 🌍"
    assert entry["level"] == "warning"
    assert entry["logger"] == "controller.x"
    assert entry["time"].endswith("+00:00")
    assert "exception" not in entry


def test_an_exception_is_part_of_its_record() -> None:
    failed = record("failed")
    try:
        int("a defect")
    except ValueError:
        failed.exc_info = sys.exc_info()
    line = JsonFormatter().format(failed)
    assert "\n" not in line
    assert "ValueError: invalid literal" in json.loads(line)["exception"]
