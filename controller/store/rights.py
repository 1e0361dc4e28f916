"""What the operator may ask of the API server, and why: the one list of its rights.

The check at the start, the RBAC manifests and their tests all read this table, so that a right
is either used and granted, or neither.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from controller.api.base import GROUP
from controller.store.names import MODELS, SOURCES, STEPS, TASKS


class Right(NamedTuple):
    """Verbs on one resource (`resource` or `resource/subresource`), and what they are for.

    One that is optional is not asked for at the start: where it is not granted, the tasks that
    need it wait and say so.
    """

    group: str
    resource: str
    verbs: tuple[str, ...]
    purpose: str
    is_optional: bool = False


RIGHTS: Final = (
    Right(
        GROUP,
        TASKS,
        ("get", "list", "watch", "delete"),
        "to see the tasks, and to delete those that were kept for their time",
    ),
    Right(GROUP, f"{TASKS}/status", ("patch",), "to write how far a run has come"),
    Right(
        GROUP,
        f"{TASKS}/finalizers",
        ("update",),
        "to let a task own its steps and its report where owner references are checked",
    ),
    Right(
        GROUP,
        STEPS,
        ("get", "list", "create", "delete"),
        "to keep the journal, and to delete rounds beyond historyLimit",
    ),
    Right(GROUP, SOURCES, ("get", "list", "watch"), "to see the sources that tasks refer to"),
    Right(GROUP, f"{SOURCES}/status", ("patch",), "to say whether a source is ready"),
    Right(GROUP, MODELS, ("get", "list", "watch"), "to see the models that tasks refer to"),
    Right(GROUP, f"{MODELS}/status", ("patch",), "to say whether a model is ready"),
    Right(
        "",
        "configmaps",
        ("get", "list", "create", "update"),
        "to read corpora and to publish reports",
    ),
    Right("", "events", ("create",), "to tell of transitions"),
    Right(
        "",
        "secrets",
        ("get",),
        "to read the keys that models name: by name, never as a list",
        is_optional=True,
    ),
)
