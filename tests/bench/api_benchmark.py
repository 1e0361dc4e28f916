"""Measures what a task costs the API server, by the server's own counters.

Prints JSON: the steps of a task over a small corpus, the write requests that it took beyond the
user's `kubectl apply`, the seconds to the first step and between two steps, and the requests that
a finished task causes in 60 s.
"""

from __future__ import annotations

import json
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from demo.cluster import install
from tests.controlplane import ControlPlane, RequestKind
from tests.operator.process import OperatorProcess, wait_until

QUIET_SECONDS = 60
WRITES = {"POST", "PUT", "PATCH", "DELETE"}
OURS = {"researchtasks", "researchsteps", "configmaps", "events"}

MANUAL = """# Lamp

## GLOW_LEVEL

Default: 40 lumens at the lowest dimmer position of the lamp.

## GLOW_COLOUR

Default: warm white, which is 2700 kelvin on every lamp of the series.
"""

SOURCE = """
apiVersion: research.fixpoint.dev/v1alpha1
kind: ResearchSource
metadata: {name: lamp}
spec: {type: Corpus, corpus: {directory: lamp}}
"""

TASK = """
apiVersion: research.fixpoint.dev/v1alpha1
kind: ResearchTask
metadata: {name: measured}
spec:
  topic: The lamp
  questions:
    - {id: level, text: "What is the default of GLOW_LEVEL?"}
    - {id: colour, text: "What is the default of GLOW_COLOUR?"}
    - {id: absent, text: "What is the default of FROST_LEVEL?"}
  sourceRefs: [{name: lamp}]
"""


def requests(plane: ControlPlane) -> dict[RequestKind, int]:
    """Return the server's counters of requests for what a task consists of."""
    return {kind: n for kind, n in plane.request_counts().items() if kind.resource in OURS}


def grown(before: dict[RequestKind, int], after: dict[RequestKind, int]) -> dict[str, int]:
    """Return which counters have grown, and by how much."""
    return {
        f"{kind.verb} {kind.resource} {kind.subresource} {kind.code}": count - before.get(kind, 0)
        for kind, count in after.items()
        if count > before.get(kind, 0)
    }


def writes(grown_by: dict[str, int]) -> int:
    """Return how many of the requests are writes."""
    return sum(n for name, n in grown_by.items() if name.split()[0] in WRITES)


def seconds_until_first_step(plane: ControlPlane, applied_at: datetime) -> float:
    """Return the seconds from a moment to the time that the first step carries."""
    wait_until(
        lambda: bool(plane.kubectl("get", "rstep", "-o", "name").stdout), "a step", every=0.01
    )
    step = json.loads(plane.kubectl("get", "rstep", "-o", "json").stdout)["items"][0]["spec"]
    recorded = datetime.fromisoformat(step["endTime"])
    return round((recorded - applied_at).total_seconds(), 2)


def seconds_idle(plane: ControlPlane) -> float:
    """Return the mean time of a step that is not its action's: writes included."""
    listed = json.loads(plane.kubectl("get", "rstep", "-o", "json").stdout)["items"]
    specs = sorted((item["spec"] for item in listed), key=lambda spec: spec["index"])
    ends = [datetime.fromisoformat(spec["endTime"]) for spec in specs]
    worked = sum(spec["usage"]["durationMilliseconds"] for spec in specs[1:]) / 1000
    idle: float = (ends[-1] - ends[0]).total_seconds() - worked
    return round(idle / len(specs[1:]), 4)


def measure() -> dict[str, Any]:
    """Run a task on a real API server and count."""
    # Without controllers: the garbage collector's look-ups would be counted as ours.
    with ControlPlane.start(controllers=False) as plane, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "corpora" / "lamp").mkdir(parents=True)
        (folder / "corpora" / "lamp" / "manual.md").write_text(MANUAL, "utf-8")
        kubeconfig = install(plane)
        plane.kubectl("apply", "-f", "-", input=SOURCE)
        with OperatorProcess(kubeconfig, folder, corpus_root=folder / "corpora") as operator:
            operator.wait_ready()
            return _counted(plane)


def _counted(plane: ControlPlane) -> dict[str, Any]:
    plane.kubectl("wait", "--for=condition=Ready", "rsource", "lamp", "--timeout=30s")
    before = requests(plane)
    applied_at = datetime.now(UTC)
    plane.kubectl("apply", "-f", "-", input=TASK)
    first_step = seconds_until_first_step(plane, applied_at)
    plane.kubectl("wait", "--for=condition=Finished", "rtask/measured", "--timeout=60s")
    # Events are posted after the status that they tell of; they belong to the run.
    time.sleep(2)
    during = grown(before, requests(plane))
    steps = len(plane.kubectl("get", "rstep", "-o", "name").stdout.split())
    made_by_user = 1
    quiet = requests(plane)
    time.sleep(QUIET_SECONDS)
    in_quiet = grown(quiet, requests(plane))
    # One list of the metadata of all reports, whatever the number of tasks, is no task's own.
    sweeps = in_quiet.pop("LIST configmaps  200", 0)
    return {
        "steps": steps,
        "writes": writes(during) - made_by_user,
        "bound": 2 * steps + 4,
        "requests": during,
        "secondsFromApplyToFirstStep": first_step,
        "secondsIdleBetweenSteps": seconds_idle(plane),
        "requestsOfFinishedTaskInQuietSeconds": in_quiet,
        "listsOfAllReportsInQuietSeconds": sweeps,
        "quietSeconds": QUIET_SECONDS,
    }


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
