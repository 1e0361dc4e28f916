"""`make sweep` and `make drill`: print what came out, as docs/experiments.md shows it."""

from __future__ import annotations

import asyncio
import sys

from tests.experiments.drill import drill
from tests.experiments.sweep import sweep

EXPERIMENTS = {"sweep": sweep, "drill": drill}


def main() -> int:
    """Run the experiment that is named."""
    if len(sys.argv) != 2 or sys.argv[1] not in EXPERIMENTS:
        print(f"name one of {', '.join(EXPERIMENTS)}", file=sys.stderr)
        return 2
    print(asyncio.run(EXPERIMENTS[sys.argv[1]]()), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
