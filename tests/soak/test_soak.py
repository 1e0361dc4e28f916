"""The soak in short: a few kills, and two operators at once. `make soak` runs the long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.controlplane.plane import ControlPlane
from tests.operator.cluster import apply_operator_account
from tests.soak.soak import Soak, run_soak, split_brain

pytestmark = [pytest.mark.controlplane, pytest.mark.xdist_group("operator")]


@pytest.mark.parametrize(
    "soak",
    [
        pytest.param(Soak(seed=11, kills=8, tasks=6, at_once=6), id="one operator"),
        pytest.param(split_brain(12, kills=3, tasks=6), id="split brain"),
    ],
)
def test_killed_operators_repeat_nothing(soak: Soak, plane: ControlPlane, tmp_path: Path) -> None:
    result = run_soak(plane, apply_operator_account(plane), tmp_path, soak)
    assert result.problems == ()
    assert result.defects_logged == ()
    assert result.kills == soak.kills
    assert result.tasks >= soak.tasks
    assert result.reports_written == 2 * result.tasks  # one each time that it ended
