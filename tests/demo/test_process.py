"""The operator process of the demonstration ends with its block, and its end is noticed."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from demo.process import OperatorEndedError, OperatorProcess


def process(folder: Path) -> OperatorProcess:
    """Return an operator that has no cluster to talk to."""
    return OperatorProcess(
        kubeconfig=folder / "none",
        corpus_root=folder,
        cache_directory=folder / "cache",
        log=folder / "operator.log",
    )


def test_an_operator_that_ends_by_itself_is_noticed_with_its_log(tmp_path: Path) -> None:
    with process(tmp_path) as operator:
        assert operator.process is not None
        operator.process.wait(60)
        with pytest.raises(OperatorEndedError, match="the operator ended with status 1"):
            operator.require_running()
        assert str(tmp_path / "none") in operator.log_tail()


def test_an_operator_is_ended_with_its_block(tmp_path: Path) -> None:
    with process(tmp_path) as operator:
        assert operator.process is not None
        number = operator.process.pid
        operator.require_running()
    assert not psutil.pid_exists(number)
