"""Names of processes in `status.pending`, and what one process may say of another's life.

A name tells where its process runs, so that a fresh process knows of some others that they are
gone: the one before it in the same pod, or one of this machine whose number nobody has. Of all
others it does not know; they are given the time of their attempt.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable
from typing import Final

_MAX_PLACE: Final = 200


def pod_holder() -> str:
    """Return a name that no process has ever had: the pod's, and a random value."""
    place = os.environ.get("POD_NAME") or socket.gethostname()
    return f"{place[:_MAX_PLACE]}/{secrets.token_hex(4)}"


def other_pod_may_live(own: str, other: str) -> bool:
    """Say whether another holder may be alive: one of the same pod's name is gone.

    A StatefulSet has one pod of a name at a time, and a pod one process.
    """
    return own.rpartition("/")[0] != other.rpartition("/")[0]


def local_holder() -> str:
    """Return the name of this process; no other has ever had it."""
    return f"{socket.gethostname()[:_MAX_PLACE]}/{os.getpid()}/{secrets.token_hex(4)}"


def local_process_may_live(own: str, other: str, exists: Callable[[int], bool]) -> bool:
    """Say whether another process may be alive: on this machine, whoever has no number is gone.

    Args:
        own: the name of this process.
        other: the other name; one of another form may be anybody's.
        exists: says whether a process of this number is there (`process_exists`).
    """
    place, _, number = other.rpartition("/")[0].rpartition("/")
    own_place, _, own_number = own.rpartition("/")[0].rpartition("/")
    if place != own_place or not number.isdecimal():
        return True
    return number != own_number and exists(int(number))


def process_exists(number: int) -> bool:
    """Say whether this machine has a process of this number, whosever it is."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
