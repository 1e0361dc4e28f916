"""`fixpoint version`: what is installed."""

from __future__ import annotations

import platform

from controller import __version__
from controller.api.reasons import ExitCode
from controller.cli.terminal import output


def version() -> int:
    """Show the version of Fixpoint, of its API and of Python."""
    from controller.api.base import API_VERSION

    output().print(f"fixpoint {__version__} ({API_VERSION}, Python {platform.python_version()})")
    return ExitCode.GOAL_REACHED
