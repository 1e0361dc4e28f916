"""Fails where the branch coverage of the pure core is below its bound (`make test`)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

BOUND = 95
CORE = ("controller/api/", "controller/loop/", "controller/evidence/")


def main() -> int:
    """Print the coverage of each core package; return 1 where one is below the bound."""
    files = json.loads(Path(sys.argv[1]).read_text("utf-8"))["files"]
    failed = False
    for package in CORE:
        summaries = [f["summary"] for name, f in files.items() if name.startswith(package)]
        total = sum(s["num_statements"] + s["num_branches"] for s in summaries)
        covered = sum(s["covered_lines"] + s["covered_branches"] for s in summaries)
        percent = 100 * covered / total if total else 0
        failed |= percent < BOUND
        print(f"coverage of {package} by line and branch: {percent:.1f} % (bound {BOUND} %)")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
