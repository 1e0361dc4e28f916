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


def test_fields_are_keys_of_their_own() -> None:
    told = record("step 3")
    told.fields = {"namespace": "team", "name": "task", "step": 3, "action": "Search"}
    entry = json.loads(JsonFormatter().format(told))
    assert (entry["namespace"], entry["name"], entry["step"]) == ("team", "task", 3)
    assert entry["message"] == "step 3"


def test_no_field_takes_the_place_of_what_every_line_has() -> None:
    told = record("step 3")
    told.fields = {"message": "another", "level": "none", "time": "never", "logger": "nobody"}
    entry = json.loads(JsonFormatter().format(told))
    assert entry["message"] == "step 3"
    assert entry["level"] == "warning"


def test_a_plain_line_says_the_same_without_fields() -> None:
    told = record("team/task: step %d Search Completed", 3)
    told.fields = {"namespace": "team", "name": "task", "step": 3}
    line = logging.Formatter("%(levelname)s %(message)s").format(told)
    assert line == "WARNING team/task: step 3 Search Completed"
