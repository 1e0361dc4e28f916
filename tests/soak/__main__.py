"""`python -m tests.soak`: hundreds of kills, then two operators at once; build/bench/soak.json."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tests.controlplane.plane import ControlPlane
from tests.operator.cluster import apply_operator_account
from tests.soak.soak import Soak, run_soak, split_brain

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "build" / "bench" / "soak.json"


def main() -> int:
    """Run both soaks on a control plane of their own; return 1 if any figure does not hold."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200, help="operators to be killed one by one")
    parser.add_argument("--split-kills", type=int, default=40, help="kills while two work at once")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    soaks = [
        Soak(seed=options.seed, kills=options.kills, tasks=20, at_once=12),
        split_brain(options.seed + 1, options.split_kills, tasks=20),
    ]
    results = []
    with ControlPlane.start() as plane:
        plane.kubectl("apply", "--server-side", "-k", str(ROOT / "crds"))
        plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        for soak in soaks:
            with tempfile.TemporaryDirectory() as folder:
                kubeconfig = apply_operator_account(plane)
                result = run_soak(plane, kubeconfig, Path(folder), soak)
            results.append(result)
            sys.stdout.write(json.dumps(result.to_json(), indent=2) + "\n")
    FILE.parent.mkdir(parents=True, exist_ok=True)
    content = [result.to_json() for result in results]
    FILE.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return int(any(result.problems or result.defects_logged for result in results))


if __name__ == "__main__":
    sys.exit(main())
