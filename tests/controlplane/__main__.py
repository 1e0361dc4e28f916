"""Runs a control plane in the foreground, for developing by hand."""

from __future__ import annotations

import shlex
import sys
import threading

from tests.controlplane import ControlPlane


def main() -> None:
    """Start a control plane, say how to use it, and keep it until the user interrupts."""
    with ControlPlane.start() as plane:
        sys.stdout.write(
            f"export KUBECONFIG={shlex.quote(str(plane.kubeconfig))}\n"
            f"# kubectl: {shlex.join(plane.kubectl_command())}\n"
            f"# logs: {plane.folder}/*.log\n"
            "# Ctrl-C ends the control plane and removes its data.\n"
        )
        sys.stdout.flush()
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            sys.stdout.write("\n")


if __name__ == "__main__":
    main()
