"""Writes the generated files: `python -m tools.generate`; with `--check` it only compares."""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

from controller.api.crd import KINDS, definition
from tools.metrics_table import with_metrics
from tools.question_moves import question_states_page
from tools.reasons import guards_page, terminal_reasons_page
from tools.reference import reference_pages
from tools.requirements import requirements_page
from tools.state_table import with_tables

ROOT = Path(__file__).resolve().parent.parent
HEADER = "# Generated from controller/api by `make crds`; do not edit.\n"


def generated() -> dict[Path, str]:
    """Return every generated file with its content."""
    files = {
        ROOT / "crds" / f"{kind.plural}.yaml": HEADER
        + yaml.safe_dump(definition(kind), sort_keys=False, width=100, allow_unicode=True)
        for kind in KINDS
    }
    listing = "".join(f"  - {kind.plural}.yaml\n" for kind in KINDS)
    files[ROOT / "crds" / "kustomization.yaml"] = (
        f"{HEADER}apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
        f"resources:\n{listing}"
    )
    files[ROOT / "docs" / "terminal-reasons.md"] = terminal_reasons_page()
    files[ROOT / "docs" / "guards.md"] = guards_page()
    files[ROOT / "docs" / "question-states.md"] = question_states_page()
    files[ROOT / "docs" / "requirements.md"] = requirements_page()
    readme = ROOT / "README.md"
    files[readme] = with_tables(readme.read_text("utf-8"))
    observability = ROOT / "docs" / "observability.md"
    files[observability] = with_metrics(observability.read_text("utf-8"))
    return files | reference_pages()


def main() -> int:
    """Write the files, or with `--check` return 1 and name those that differ."""
    check = "--check" in sys.argv[1:]
    stale = []
    for path, content in generated().items():
        if path.exists() and path.read_text("utf-8") == content:
            continue
        stale.append(path.relative_to(ROOT))
        if not check:
            path.write_text(content, "utf-8")
    for path in stale:
        print(f"{'out of date' if check else 'written'}: {path}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
