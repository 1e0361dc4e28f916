"""A real Kubernetes control plane on this machine, for tests and for the demonstration.

An operator is what it does to an API server. Whether an update that lost a race is refused, a
role suffices, or an owner's children are collected is decided by the real etcd, API server and
controller manager; a stand-in would only repeat what its author believes about them. There is no
kubelet and no scheduler: pods are stored, but nothing runs them.
"""

from __future__ import annotations

import base64
import csv
import http.client
import json
import os
import re
import secrets
import ssl
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.controlplane import components, programs
from tests.controlplane.metrics import RequestKind, parse_request_counts
from tests.controlplane.processes import ControlPlaneError, Processes

_ADMINISTRATORS = "system:masters"
_POLL_SECONDS = 0.05

_CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----\n.*?-----END CERTIFICATE-----\n", re.DOTALL)
_CERTIFICATES_OF_CHAIN = 2  # the server's own and its authority's


class KubectlError(subprocess.CalledProcessError):
    """An error of kubectl, whose text says what kubectl said."""

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self.stderr}{self.stdout}"


@dataclass(frozen=True)
class User:
    """Somebody whom the API server knows by a token; RBAC says what the user may do."""

    name: str
    groups: tuple[str, ...] = ()
    token: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)


class ControlPlane:
    """etcd, the API server and the controller manager, started for one user and thrown away.

    Everything it is lies in `folder`, and ends with `stop`, with the `with` statement, or, at
    the latest, with the process that started it, even if that is killed.
    """

    @classmethod
    def start(
        cls, users: Sequence[User] = (), *, controllers: bool = True, timeout: float = 120
    ) -> Self:
        """Start a control plane, and return it when it answers.

        Args:
            users: whom the API server knows, besides an administrator and its own.
            controllers: whether garbage is collected, namespaces can be deleted and have
                default service accounts, and so on. The API server alone starts faster.
            timeout: the seconds after which each of its parts must answer.

        Raises:
            ControlPlaneError: a component ended or does not answer; with the end of its log.
        """
        # Built before anything runs: this takes minutes the first time, and may fail.
        for program in ("etcd", "kube-apiserver", "kube-controller-manager"):
            if controllers or program != "kube-controller-manager":
                programs.command(program)
        plane = cls(Processes(), users, timeout)
        try:
            plane._start_components(controllers=controllers)
        except BaseException:
            plane.stop()
            raise
        return plane

    def __init__(self, processes: Processes, users: Sequence[User], timeout: float) -> None:
        """Take processes that run nothing yet. Use `start`."""
        self._processes = processes
        self._timeout = timeout
        self._administrator = User("admin", (_ADMINISTRATORS,))
        self._controllers_user = User("system:kube-controller-manager", (_ADMINISTRATORS,))
        self._users = (self._administrator, self._controllers_user, *users)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End all components and remove all data. May be called more than once."""
        self._processes.close()

    @property
    def folder(self) -> Path:
        """The folder of data, logs (NAME.log) and kubeconfigs."""
        return self._processes.folder

    @property
    def url(self) -> str:
        """The API server's address, which stays the same when it is stopped and started."""
        return f"https://127.0.0.1:{self._processes.port}"

    @property
    def certificate_authority(self) -> Path:
        """The file with the certificate that the API server's certificate is signed with."""
        return self.folder / "ca.crt"

    @property
    def admin_token(self) -> str:
        """The bearer token of a user who may do everything."""
        return self._administrator.token

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig for a user who may do everything."""
        return self.kubeconfig_for(token=self.admin_token, name=self._administrator.name)

    def kubeconfig_for(self, *, token: str, name: str, namespace: str = "default") -> Path:
        """Write a kubeconfig for a bearer token, and return its path in `folder`.

        Args:
            token: that of a `User`, or of a service account.
            name: what to call the user and the file, which replaces one of the same name.
            namespace: the one that kubectl uses when told none.
        """
        authority = base64.b64encode(self.certificate_authority.read_bytes()).decode()
        cluster = {"server": self.url, "certificate-authority-data": authority}
        context = {"cluster": "controlplane", "user": name, "namespace": namespace}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "controlplane", "cluster": cluster}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": "controlplane", "context": context}],
            "current-context": "controlplane",
        }
        file = self.folder / f"{name.replace(':', '-').replace('/', '-')}.kubeconfig"
        # Replaced as a whole: a client may read it at this moment. All JSON is YAML.
        unfinished = file.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(content, indent=2), encoding="utf-8")
        return unfinished.replace(file)

    def service_account_kubeconfig(self, namespace: str, name: str, seconds: int = 3600) -> Path:
        """Return a kubeconfig with a new token of a service account, which must exist.

        The API server grants no token for less than 600 seconds.
        """
        answer = self.kubectl(
            "create", "token", name, f"--namespace={namespace}", f"--duration={seconds}s"
        )
        return self.kubeconfig_for(
            token=answer.stdout.strip(), name=f"{namespace}:{name}", namespace=namespace
        )

    def kubectl(
        self,
        *arguments: str,
        input: str | None = None,  # noqa: A002 - the name that subprocess.run has for it
        check: bool = True,
        kubeconfig: Path | None = None,
        timeout: float = 60,
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl, as an administrator unless another kubeconfig is given.

        Raises:
            KubectlError: it failed, and `check` is set. It is a `CalledProcessError`.
            subprocess.TimeoutExpired: it ran for too long, and was killed.
        """
        done = subprocess.run(
            [*self.kubectl_command(), *arguments],
            input=input if input is not None else "",
            check=False,
            capture_output=True,
            text=True,
            timeout=timeout,
            env=self.kubectl_environment(kubeconfig),
        )
        if check and done.returncode != 0:
            raise KubectlError(done.returncode, done.args, done.stdout, done.stderr)
        return done

    def kubectl_command(self) -> list[str]:
        """Return the beginning of a command line of kubectl; see `kubectl_environment`."""
        return programs.command("kubectl")

    def kubectl_environment(self, kubeconfig: Path | None = None) -> dict[str, str]:
        """Return the environment in which kubectl talks to this control plane.

        It keeps kubectl from the user's own settings, and from leaving a cache in their home.
        """
        own = {
            "KUBECONFIG": str(kubeconfig or self.kubeconfig),
            "KUBECACHEDIR": str(self.folder / "kubectl-cache"),
            "KUBERC": "off",
        }
        return os.environ | own

    def stop_api_server(self) -> None:
        """Kill the API server. etcd keeps the data; the port stays reserved, and refuses."""
        self._processes.stop("kube-apiserver")

    def start_api_server(self) -> None:
        """Start the API server again, with the same address and data; return when it answers."""
        tokens = self.folder / "tokens.csv"
        arguments = components.api_server(self.folder, self._processes.port, tokens)
        self._start("kube-apiserver", arguments)
        self._wait("kube-apiserver", "ready", self._api_server_is_ready)

    def restart_controllers(self) -> None:
        """Start the controller manager anew, and return before it has begun to work.

        The garbage collector and the quotas learn of new kinds every 30 seconds, and on start.
        A test that has just applied a custom resource definition need not wait for that.
        """
        self._start_controllers()

    def metrics(self) -> str:
        """Return the API server's metrics, in the text format of Prometheus."""
        status, text = self._get("/metrics")
        if status != http.HTTPStatus.OK:
            raise ControlPlaneError(f"GET {self.url}/metrics: status {status}: {text}")
        return text

    def request_counts(
        self, *, group: str | None = None, resource: str | None = None
    ) -> dict[RequestKind, int]:
        """Return how many requests of each kind the API server has answered since its start.

        A watch counts when it ends. All clients count, so also the controllers.

        Args:
            group: only requests for this API group; the core group's name is empty.
            resource: only requests for this resource, by its plural name.
        """
        return {
            kind: count
            for kind, count in parse_request_counts(self.metrics()).items()
            if group in (None, kind.group) and resource in (None, kind.resource)
        }

    def _start_components(self, *, controllers: bool) -> None:
        self._write_tokens()
        self._start("etcd", components.etcd(self.folder))
        self.start_api_server()
        if controllers:
            self._start_controllers()
            self._wait(
                "kube-controller-manager",
                "at work: there is no default service account",
                lambda: self._exists("/api/v1/namespaces/default/serviceaccounts/default"),
            )

    def _write_tokens(self) -> None:
        with (self.folder / "tokens.csv").open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            for user in self._users:
                rows.writerow([user.token, user.name, user.name, ",".join(user.groups)])

    def _start_controllers(self) -> None:
        user = self._controllers_user
        kubeconfig = self.kubeconfig_for(token=user.token, name=user.name)
        arguments = components.controller_manager(kubeconfig, self.certificate_authority)
        self._start("kube-controller-manager", arguments)

    def _start(self, program: programs.Program, arguments: list[str]) -> None:
        self._processes.start(program, [*programs.command(program), *arguments])

    def _wait(self, program: programs.Program, state: str, reached: Callable[[], bool]) -> None:
        """Poll until a state is reached, or a program has ended, or the time is over."""
        deadline = time.monotonic() + self._timeout
        while not reached():
            self._processes.require_running("etcd")
            self._processes.require_running(program)
            if time.monotonic() > deadline:
                raise ControlPlaneError(
                    f"after {self._timeout:g} s, {program} is not {state}\n"
                    + self._processes.log(program)
                )
            time.sleep(_POLL_SECONDS)

    def _api_server_is_ready(self) -> bool:
        serving_certificate = components.serving_certificate(self.folder)
        if not serving_certificate.exists():
            return False
        if not self.certificate_authority.exists() and not self._extract_authority():
            return False
        return self._exists("/readyz") and self._exists("/api/v1/namespaces/default")

    def _extract_authority(self) -> bool:
        """Write the certificate authority's file, unless the API server is still writing."""
        text = components.serving_certificate(self.folder).read_text(encoding="ascii")
        certificates = _CERTIFICATE.findall(text)
        if len(certificates) != _CERTIFICATES_OF_CHAIN:
            return False
        self.certificate_authority.write_text(certificates[-1], encoding="ascii")
        return True

    def _exists(self, path: str) -> bool:
        """Tell whether the API server answers a path with 200; no when it does not answer."""
        try:
            status, _ = self._get(path)
        except (OSError, http.client.HTTPException):
            return False  # it is starting: the caller has a deadline
        return status == http.HTTPStatus.OK

    def _get(self, path: str) -> tuple[int, str]:
        trusted = ssl.create_default_context(cafile=str(self.certificate_authority))
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._processes.port, timeout=self._timeout, context=trusted
        )
        with closing(connection):
            connection.request("GET", path, headers={"Authorization": f"Bearer {self.admin_token}"})
            reply = connection.getresponse()
            return reply.status, reply.read().decode()
