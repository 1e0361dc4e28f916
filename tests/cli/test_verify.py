"""`fixpoint verify`: holds for what was published, and names the first thing that is not so."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from tests.cli.desk import Desk

Body = dict[str, Any]


def edit(desk: Desk, kind: str, name: str, change: Callable[[Body], None]) -> None:
    """Change a stored object behind the store's back, as somebody with the file could."""
    with closing(sqlite3.connect(desk.store)) as file:
        where = "WHERE kind = ? AND name LIKE ?"
        (text,) = file.execute(f"SELECT body FROM objects {where}", (kind, name)).fetchone()  # noqa: S608 - a constant
        body = json.loads(text)
        change(body)
        file.execute("DROP TRIGGER steps_are_records")
        changed = json.dumps(body, ensure_ascii=False)
        file.execute(f"UPDATE objects SET body = ? {where}", (changed, kind, name))  # noqa: S608 - a constant
        file.commit()


def in_report(change: Callable[[Body], None]) -> Callable[[Body], None]:
    """Return a change of the ConfigMap that changes `report.json` inside it."""

    def changed(config_map: Body) -> None:
        report = json.loads(config_map["data"]["report.json"])
        change(report)
        text = json.dumps(report, ensure_ascii=False, indent=2) + "\n"
        config_map["data"]["report.json"] = text

    return changed


def quote(report: Body) -> None:
    report["references"][0]["quote"] = report["references"][0]["quote"].replace("40", "41")


def statement(report: Body) -> None:
    said = report["questions"][0]["statements"][0]
    said["text"] = said["text"].replace("40", "41")


def score(report: Body) -> None:
    report["quality"]["score"] += 1


def certificate(report: Body) -> None:
    report["questions"][2]["certificate"]["queries"][0]["hits"] += 1


def answer(report: Body) -> None:
    report["questions"][2]["state"] = "Answered"


def journal(report: Body) -> None:
    report["journal"]["steps"] += 1


def another_task(report: Body) -> None:
    report["task"]["uid"] = "00000000-0000-0000-0000-000000000000"


def no_report(report: Body) -> None:
    del report["questions"]


def markdown(config_map: Body) -> None:
    config_map["data"]["report.md"] = config_map["data"]["report.md"].replace(
        "40 lumens", "4 lumens"
    )


def evidence(step: Body) -> None:
    block = step["spec"]["evidence"][0]["blocks"][0]
    block["text"] = block["text"][:-1] + "!"


REPORT = ("ConfigMap", "lamp-report")
LIES = {
    "one character of a quote": (
        *REPORT,
        in_report(quote),
        r"question glow, statement 1, citation \[1\]: the quote is not .* \(QuoteStands\)",
    ),
    "one character of a statement": (
        *REPORT,
        in_report(statement),
        r"question glow, statement 1: no such statement was drafted .*\(StatementDrafted\)",
    ),
    "the score": (
        *REPORT,
        in_report(score),
        r"the score is \d+ %, the journal gives .*\(ScoreAgrees\)",
    ),
    "a certificate": (
        *REPORT,
        in_report(certificate),
        r"question absent: .*certificate.*\(QuestionAgrees\)",
    ),
    "a question's state": (
        *REPORT,
        in_report(answer),
        r"question absent: .*state.*\(QuestionAgrees\)",
    ),
    "the journal's length": (*REPORT, in_report(journal), "it names a journal of 16 steps"),
    "another task": (*REPORT, in_report(another_task), "it names the task 00000000-"),
    "no report at all": (*REPORT, in_report(no_report), "report.json: questions: must be set"),
    "one character of the Markdown": (*REPORT, markdown, "report.md: it is not what report.json"),
    "one character of recorded evidence": (
        "ResearchStep",
        "lamp-%-00001",
        evidence,
        r"the journal: step lamp-\w+-00001 was changed after it was recorded \(StepChanged\)",
    ),
}


# S0.14, S2.27
def test_what_was_published_holds(desk: Desk) -> None:
    desk.run()
    said = desk.ask("verify")
    assert said.code == 0
    assert "statements: 2 checked" in said.out
    assert "citations:  2 compared with the recorded source text" in said.out
    assert "proofs:     1 certificate of absence" in said.out
    assert re.search(r"score: +(\d+) % published, \1 % computed again", said.out)
    assert said.out.endswith("verified:   everything holds\n")


@pytest.mark.parametrize(("kind", "name", "change", "text"), LIES.values(), ids=LIES.keys())
def test_a_lie_is_found_and_named(
    desk: Desk, kind: str, name: str, change: Callable[[Body], None], text: str
) -> None:
    desk.run()
    edit(desk, kind, name, change)
    said = desk.ask("verify", "--all")
    assert said.code == 1
    assert re.search(rf"^NOT HELD: +.*{text}", said.out, re.MULTILINE), said.out
    assert "everything holds" not in said.out


def test_the_first_lie_alone_is_shown_and_the_others_are_counted(desk: Desk) -> None:
    desk.run()
    edit(desk, *REPORT, in_report(quote))
    short, every = desk.ask("verify").out, desk.ask("verify", "--all").out
    assert short.count("NOT HELD") == 1
    assert every.count("NOT HELD") > 1
    assert f"and {every.count('NOT HELD') - 1} more; --all lists them" in short


def test_the_journal_behind_a_lost_report_is_kept_and_the_report_not_verified(desk: Desk) -> None:
    desk.run()
    with closing(sqlite3.connect(desk.store)) as file:
        file.execute("DELETE FROM objects WHERE kind = 'ConfigMap'")
        file.commit()
    assert desk.ask("verify").code == 1
    assert desk.run().code == 0
