"""A status with everything at its limit: the server takes it, and the operator keeps it small."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from controller.api.base import canonical_json
from controller.api.task import ResearchTaskStatus
from controller.loop.status import MAX_STATUS_BYTES, fitted
from tests.controlplane.plane import ControlPlane
from tests.crds.objects import FOUR_BYTES, fullest_status, task


def size(status: ResearchTaskStatus) -> int:
    return len(canonical_json(status.to_json()).encode())


def full() -> ResearchTaskStatus:
    return ResearchTaskStatus.model_validate(fullest_status())


def test_the_full_status_is_what_it_says() -> None:
    status = fullest_status()
    assert status.keys() == {
        field.alias or name for name, field in ResearchTaskStatus.model_fields.items()
    }
    assert len(status["conditions"]) == 12
    assert len(status["questions"]) == 20
    assert len(status["consecutiveErrors"]) == 9
    assert status["questions"][0]["text"] == FOUR_BYTES * 500
    assert full().to_json() == status


# S0.18, T20
def test_a_full_status_is_fitted_into_32_kibibytes() -> None:
    assert size(full()) > 3 * MAX_STATUS_BYTES
    assert size(fitted(full())) <= MAX_STATUS_BYTES == 32 * 1024


def test_only_messages_and_the_texts_of_questions_are_cut() -> None:
    def without_texts(status: ResearchTaskStatus) -> dict[str, Any]:
        content = status.to_json()
        for condition in content["conditions"]:
            del condition["message"]
        for question in content["questions"]:
            del question["text"]
        return content

    before, after = full(), fitted(full())
    assert without_texts(after) == without_texts(before)
    for condition in after.conditions:
        assert condition.message.endswith(FOUR_BYTES + "…")
    for question in after.questions:
        assert question.text.endswith(FOUR_BYTES + "…")


def test_a_small_status_is_left_as_it_is() -> None:
    status = ResearchTaskStatus.model_validate(fullest_status() | {"questions": []})
    small = status.model_copy(update={"conditions": status.conditions[:1], "pending": None})
    assert fitted(small) is small


# T20
@pytest.mark.controlplane
@pytest.mark.timeout(1200)
def test_the_server_takes_a_full_status_twice_in_a_row(
    plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """The second write also pays for the rules that compare with the first one."""
    manifest = task("full")
    plane.kubectl("create", f"--namespace={namespace}", "--filename=-", input=json.dumps(manifest))
    status = fullest_status()
    for patch in ({"status": status}, {"status": status | {"wakeUpReason": "Changed"}}):
        file = tmp_path / "patch.json"
        file.write_text(json.dumps(patch), "utf-8")
        answer = plane.kubectl(
            "patch", "rtask", "full", f"--namespace={namespace}", "--subresource=status",
            "--type=merge", f"--patch-file={file}", "--output=json",
        )  # fmt: skip
        assert json.loads(answer.stdout)["status"] == patch["status"]
