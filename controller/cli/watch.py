"""`fixpoint watch`: follows a task, in a cluster or a local store, until it has ended."""

from __future__ import annotations

from controller.cli.options import (
    FileOption,
    KubeconfigOption,
    LocalOption,
    NameArgument,
    NamespaceOption,
    PlainOption,
    StoreOption,
    VerbosityOption,
    chosen_task,
)
from controller.cli.terminal import Verbosity


def watch(
    *,
    name: NameArgument = None,
    file: FileOption = None,
    store: StoreOption = None,
    local: LocalOption = False,
    kubeconfig: KubeconfigOption = None,
    namespace: NamespaceOption = None,
    verbosity: VerbosityOption = Verbosity.STEPS.value,
    plain: PlainOption = False,
) -> int:
    """Follow a task until it has ended; the exit code says how.

    Nothing is changed. Ctrl-C ends the watching, not the task.
    """
    from controller.cli.following import watch_task

    home, key = chosen_task(
        name, file, store=store, local=local, kubeconfig=kubeconfig, namespace=namespace
    )
    return watch_task(home, key, Verbosity(verbosity), plain=plain)
