"""A real Kubernetes control plane for tests: `with ControlPlane.start() as plane: ...`."""

from tests.controlplane.metrics import RequestKind
from tests.controlplane.plane import ControlPlane, KubectlError, User
from tests.controlplane.processes import ControlPlaneError

__all__ = ["ControlPlane", "ControlPlaneError", "KubectlError", "RequestKind", "User"]
