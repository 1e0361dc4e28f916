"""Makes the one API client of a process: where the cluster is, and how long to wait for it.

Retries are off: a request that failed is retried by the loop, which knows whether it matters
still. (The HTTP library repeats a GET or PUT once when a connection was dropped: both are safe
to repeat, a PUT because it names a version.) Proxies of the environment are not used: what the
operator writes goes to the API server that its configuration names, and nowhere else.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import yaml
from kubernetes.aio import config
from kubernetes.aio.client import ApiClient, Configuration

from controller.api.errors import UserError

REQUEST_TIMEOUT_SECONDS: Final = 15.0
"""How long one request may take. The client takes a number only, despite its documentation."""

CONNECTIONS: Final = 32
"""How many requests may be under way at once; about the number of workers."""

_IN_CLUSTER: Final = "KUBERNETES_SERVICE_HOST"


async def connect(kubeconfig: Path | None = None, *, connections: int = CONNECTIONS) -> ApiClient:
    """Return an API client; the caller closes it. One for each process: each reads certificates.

    The cluster is that of `kubeconfig`, else of the variable KUBECONFIG, else the one whose pod
    this is (its token is read again every minute), else of `~/.kube/config`.

    Raises:
        UserError: no cluster is configured, or a file does not say how to reach it.
    """
    configuration = Configuration()
    named = str(kubeconfig) if kubeconfig else os.environ.get("KUBECONFIG")
    if named:
        await _read_kubeconfig(named, configuration)
    elif _IN_CLUSTER in os.environ:
        _read_service_account(configuration)
    else:
        await _read_kubeconfig(str(Path.home() / ".kube" / "config"), configuration)
    configuration.retries = None
    configuration.connection_pool_maxsize = connections
    configuration.client_session_kwargs = {"trust_env": False}
    return ApiClient(configuration)


async def _read_kubeconfig(files: str, configuration: Configuration) -> None:
    """Read one kubeconfig, or several between colons, as kubectl does."""
    if not _exists(files):
        raise UserError(
            f"the kubeconfig {files} does not exist: it must say how to reach the cluster; "
            "name one with --kubeconfig or in the variable KUBECONFIG"
        )
    try:
        await config.load_kube_config(  # type: ignore[no-untyped-call]  # the client types it not
            config_file=files, client_configuration=configuration, persist_config=False
        )
    except (config.ConfigException, yaml.YAMLError, OSError, TypeError, KeyError) as exception:
        raise UserError(
            f"the kubeconfig {files} cannot be used: it must have a current context "
            f"with a cluster and a user, see `kubectl config view` ({exception})"
        ) from exception


def _exists(files: str) -> bool:
    return any(Path(file).expanduser().is_file() for file in files.split(os.pathsep) if file)


def _read_service_account(configuration: Configuration) -> None:
    try:
        config.load_incluster_config(configuration)  # type: ignore[no-untyped-call]  # as above
    except (config.ConfigException, OSError) as exception:
        raise UserError(
            f"the service account of this pod cannot be used: {exception}; its token must be "
            "mounted: set automountServiceAccountToken to true"
        ) from exception
