"""What a model is asked, what acts, and what decides are three parts."""

from __future__ import annotations

import grimp
import pytest

ASKING, ACTING, DECIDING = (
    "controller.loop.exchanges",
    "controller.actions",
    "controller.loop.decide",
)


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("controller", cache_dir=None)


# S3.17
@pytest.mark.parametrize(
    ("importer", "imported"),
    [(ASKING, ACTING), (ASKING, DECIDING), (ACTING, DECIDING), (DECIDING, ACTING)],
)
def test_they_do_not_import_each_other_sideways(
    graph: grimp.ImportGraph, importer: str, imported: str
) -> None:
    assert importer in graph.modules
    chains = graph.find_shortest_chains(importer, imported, as_packages=True)
    assert not chains, chains


# S3.17
def test_the_turn_ties_them(graph: grimp.ImportGraph) -> None:
    tied = graph.find_modules_directly_imported_by("controller.reconcile")
    assert DECIDING in tied
    assert any(module.startswith(ACTING) for module in tied)
