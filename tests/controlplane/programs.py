"""Says which file is etcd, the API server, the controller manager and kubectl.

Developers of operators often have these programs already, in the folder that the environment
variable KUBEBUILDER_ASSETS names: then they need not be built.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Literal

from tests.controlplane.cache import report

Program = Literal["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"]

_ASSETS = "KUBEBUILDER_ASSETS"


def command(program: Program) -> list[str]:
    """Return the command that runs a program, and build the program first if need be."""
    assets = os.environ.get(_ASSETS)
    if assets:
        file = Path(assets) / program
        if file.exists():
            return [str(file)]
        if program != "kube-controller-manager":
            raise FileNotFoundError(f"{_ASSETS} is set, but {file} does not exist")
        _report_once(
            f"{_ASSETS} has no kube-controller-manager, without which nothing collects garbage "
            "or deletes namespaces: ours is used"
        )
    elif program == "kubectl" and (found := _suitable_kubectl_of_path()):
        return [found]
    # Imported late: with KUBEBUILDER_ASSETS nothing may ever be built, and `python -m
    # tests.controlplane.build` must find its module not loaded yet.
    from tests.controlplane.build import binary

    return [str(binary()), program]


@functools.cache
def _report_once(line: str) -> None:
    report(line)


@functools.cache
def _suitable_kubectl_of_path() -> str | None:
    """Return the kubectl of PATH unless its version is too far from the API server's.

    The policy of Kubernetes is that kubectl may be one minor version older or newer.
    """
    from tests.controlplane.build import kubernetes_version

    found = shutil.which("kubectl")
    if found is None:
        return None
    answer = subprocess.run(
        [found, "version", "--client", "--output=json"], check=False, capture_output=True, text=True
    )
    if answer.returncode != 0:
        report(f"{found} does not tell its version, so ours is used: {answer.stderr.strip()}")
        return None
    version = json.loads(answer.stdout)["clientVersion"]
    major, minor, _ = kubernetes_version()
    if version["major"] == str(major) and abs(int(version["minor"].rstrip("+")) - minor) <= 1:
        return found
    report(f"{found} is {version['gitVersion']}, too far from {major}.{minor}: ours is used")
    return None
