"""`python -m demo` (`make demo`): three research tasks on a real Kubernetes API server.

One is answered and proves an absence, one runs out of budget and says so, one gets a larger
budget and goes on from where it stopped. Everything is checked on the API server's objects; the
exit code is 0 only if all of it is so. Nothing is left behind but caches.
"""

from __future__ import annotations

import argparse
import asyncio
import shlex
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from controller.actions.publish import MARKDOWN_FILE
from controller.api.errors import FixpointError
from controller.cli.homes import default_cache
from controller.cli.terminal import duration, output
from demo import cluster, local_model
from demo.corpus import CorpusUnavailableError, django_docs
from demo.process import OperatorEndedError, OperatorProcess
from demo.story import (
    ANSWERS,
    TASKS,
    Script,
    Story,
    TookTooLongError,
    play,
    without_model,
)
from demo.view import DemoView
from tests.controlplane import ControlPlane
from tests.controlplane.build import BuildError
from tests.controlplane.processes import ControlPlaneError
from tests.llama.server import LlamaUnavailableError

_FAILURES = (
    BuildError,
    ControlPlaneError,
    CorpusUnavailableError,
    FixpointError,
    LlamaUnavailableError,
    OperatorEndedError,
    TookTooLongError,
    subprocess.SubprocessError,
)


def main() -> int:
    """Play the demonstration; return 0 if everything was as it must be."""
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__.split("\n")[0])
    parser.add_argument("--keep", action="store_true", help="leave it running until Ctrl-C")
    parser.add_argument("--plain", action="store_true", help="plain lines on a terminal too")
    parser.add_argument(
        "--llm", action="store_true", help="with a real small model on this machine"
    )
    options = parser.parse_args()
    # Said anew: a shell that starts it in the background lets it ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    console = output()
    try:
        with (
            local_model.demonstration(console)
            if options.llm
            else nullcontext(without_model()) as script
        ):
            return _show(console, script, keep=options.keep, plain=options.plain)
    except KeyboardInterrupt:
        console.print("stopped; nothing is left running")
        return 130
    except _FAILURES as failure:
        sys.stderr.write(f"the demonstration failed: {failure}\n")
        return 1


def _end(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def _show(console: Console, script: Script, *, keep: bool, plain: bool) -> int:
    began = time.monotonic()
    with ThreadPoolExecutor(1) as beside:
        corpus = beside.submit(django_docs)
        console.print("Starting etcd, kube-apiserver and kube-controller-manager ...")
        with ControlPlane.start() as plane:
            console.print("Installing the kinds, and the operator's account and rights ...")
            kubeconfig = cluster.install(plane)
            directory = corpus.result()
            console.print(f"The API server answers; the corpus is {directory}")
            operator = OperatorProcess(
                kubeconfig=kubeconfig,
                corpus_root=directory.parent,
                cache_directory=default_cache(),
                log=plane.folder / "operator.log",
                options=script.options,
            )
            with operator:
                story = _story(console, script, plane, operator, plain=plain)
                _conclude(console, plane, story, plain=plain)
                is_as_expected = all(outcome.is_met for outcome in story.outcomes)
                if not is_as_expected:
                    _show_log(operator)
                console.print(f"\nAll of it took {duration(time.monotonic() - began)}.")
                if keep:
                    _keep(console, plane)
                else:
                    made = "demo-llm" if script.options else "demo"
                    console.print(f"`make {made} KEEP=1` leaves it running, for you and kubectl.")
    return 0 if is_as_expected else 1


def _story(
    console: Console,
    script: Script,
    plane: ControlPlane,
    operator: OperatorProcess,
    *,
    plain: bool,
) -> Story:
    try:
        cluster.apply(plane, list(script.objects))
        console.print(f"Applied: {script.applied}\n")
        with DemoView(console, plain=plain) as view:
            return asyncio.run(play(script, plane, operator, view))
    except* _FAILURES as failures:
        _show_log(operator)
        raise failures.exceptions[0] from None


def _show_log(operator: OperatorProcess) -> None:
    sys.stderr.write(f"the end of the operator's log:\n{operator.log_tail()}\n")


def _conclude(console: Console, plane: ControlPlane, story: Story, *, plain: bool) -> None:
    """Show the first report, the tasks as kubectl shows them, and what was checked."""
    stored = story.tasks[ANSWERS].stored
    text = stored.files[MARKDOWN_FILE] if stored else "There is no report.\n"
    console.print(f"\n$ fixpoint report {ANSWERS}\n")
    if console.is_terminal and not plain:
        console.print(Markdown(text, hyperlinks=False), soft_wrap=False)
    else:
        console.print(text)
    console.print("$ kubectl get rtask")
    console.print(plane.kubectl("get", "rtask").stdout)
    for outcome in story.outcomes:
        mark = Text("✓ " if outcome.is_met else "✗ ", style="green" if outcome.is_met else "red")
        console.print(mark + Text(outcome.expectation), soft_wrap=True)
        if not outcome.is_met:
            console.print(f"  found instead: {outcome.found}")


def _keep(console: Console, plane: ControlPlane) -> None:
    installed = Path(sys.executable).with_name("fixpoint")
    fixpoint = installed if installed.exists() else f"{sys.executable} -m controller.cli.main"
    console.print(
        "\nIt keeps running; Ctrl-C ends it and removes its data. In another terminal:\n\n"
        f"export KUBECONFIG={shlex.quote(str(plane.kubeconfig))}\n"
        f"alias kubectl={shlex.quote(shlex.join(plane.kubectl_command()))}\n"
        "kubectl get rtask,rsource,rstep\n"
        f"kubectl describe rtask {TASKS[1]}\n"
        f"{fixpoint} report {ANSWERS}\n"
        f"{fixpoint} verify {ANSWERS}\n"
        f"# logs: {plane.folder}/*.log"
    )
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        console.print("\nstopped; nothing is left running")


if __name__ == "__main__":
    sys.exit(main())
