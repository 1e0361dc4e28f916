"""The desk that every test of the command line works at."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.desk import Desk


@pytest.fixture
def desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Desk:
    """Return a desk whose folders for state and caches are its own, too."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("RESEARCH_TOPIC", raising=False)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    return Desk(tmp_path, capsys)
