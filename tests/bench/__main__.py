"""`make bench`: runs every benchmark, and keeps what each prints under build/bench/.

It ends with a table of what was measured beside the nearest peer.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.bench.beside import table

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "build" / "bench"

_BY_NAME_ALONE = frozenset({"llama", "research"})
"""These need packages that `make bench` does not install, or fetch manuals of Debian."""


def main() -> int:
    """Run the benchmarks that are named, or all that `make bench` can; return 1 if one failed."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    wanted = sys.argv[1:]
    failed = []
    for script in sorted(Path(__file__).parent.glob("*_benchmark.py")):
        name = script.stem.removesuffix("_benchmark")
        if name not in wanted if wanted else name in _BY_NAME_ALONE:
            continue
        print(f"{name} ...", flush=True)
        command = [sys.executable, "-m", f"tests.bench.{script.stem}"]
        done = subprocess.run(command, stdout=subprocess.PIPE, cwd=ROOT, text=True, check=False)
        if done.returncode != 0:
            failed.append(name)
            continue
        (RESULTS / f"{name}.json").write_text(done.stdout, "utf-8")
        print(done.stdout, flush=True)
    print(table(RESULTS), flush=True)
    for name in failed:
        print(f"{name} failed", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
