"""The control plane that other tests rely on does what a cluster does, and leaves nothing."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.controlplane import ControlPlane, ControlPlaneError, KubectlError, User
from tests.controlplane.build import binary, kubernetes_version

# The first of these tests on a machine may have to build the control plane.
pytestmark = [pytest.mark.controlplane, pytest.mark.timeout(1200)]

_PROJECT = Path(__file__).parent.parent.parent
_ALICE = User("alice")

_WIDGETS = """
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: widgets.example.org}
    spec:
      group: example.org
      names: {kind: Widget, plural: widgets, singular: widget}
      scope: Namespaced
      versions:
        - name: v1
          served: true
          storage: true
          schema: {openAPIV3Schema: {type: object}}
"""


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with ControlPlane.start(users=[_ALICE]) as plane:
        yield plane


@pytest.fixture
def namespace(plane: ControlPlane) -> str:
    name = f"test-{secrets.token_hex(4)}"
    plane.kubectl("create", "namespace", name)
    return name


def eventually(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Wait until a condition holds; fail when the time is over."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not reached within {seconds} s"
        time.sleep(0.1)


def apply(plane: ControlPlane, manifest: dict[str, Any]) -> dict[str, Any]:
    answer = plane.kubectl("create", "--filename=-", "--output=json", input=json.dumps(manifest))
    created: dict[str, Any] = json.loads(answer.stdout)
    return created


def exists(plane: ControlPlane, kind: str, name: str, namespace: str) -> bool:
    found = plane.kubectl(
        "get", kind, name, f"--namespace={namespace}", "--ignore-not-found", "--output=name"
    )
    return bool(found.stdout)


def config_map(name: str, namespace: str, owner: dict[str, Any] | None = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    if owner is not None:
        reference = {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
        }
        metadata["ownerReferences"] = [reference]
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"key": "one"}}


def processes_of(folder: Path) -> list[psutil.Process]:
    """Return the processes that have the path of a folder of data on their command line."""
    found = []
    for process in psutil.process_iter():
        try:
            if any(str(folder) in argument for argument in process.cmdline()):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue  # it ended while we looked
    return found


def test_it_is_ready_and_has_the_version_of_its_sources(plane: ControlPlane) -> None:
    assert plane.kubectl("get", "--raw=/readyz").stdout == "ok"
    version = json.loads(plane.kubectl("get", "--raw=/version").stdout)
    assert version["gitVersion"] == "v{}.{}.{}".format(*kubernetes_version())


def test_users_may_do_only_what_a_role_grants(plane: ControlPlane, namespace: str) -> None:
    alice = plane.kubeconfig_for(token=_ALICE.token, name="alice", namespace=namespace)
    denied = plane.kubectl("get", "configmaps", kubeconfig=alice, check=False)
    assert denied.returncode == 1
    assert 'User "alice" cannot list resource "configmaps"' in denied.stderr

    in_namespace = f"--namespace={namespace}"
    plane.kubectl("create", "role", "r", "--verb=list", "--resource=configmaps", in_namespace)
    plane.kubectl("create", "rolebinding", "b", "--role=r", "--user=alice", in_namespace)
    plane.kubectl("get", "configmaps", kubeconfig=alice)
    with pytest.raises(KubectlError, match='cannot list resource "secrets"'):
        plane.kubectl("get", "secrets", kubeconfig=alice)


def test_unknown_tokens_are_refused(plane: ControlPlane) -> None:
    stranger = plane.kubeconfig_for(token=secrets.token_hex(16), name="stranger")
    refused = plane.kubectl("get", "configmaps", kubeconfig=stranger, check=False)
    assert refused.returncode == 1
    assert "You must be logged in to the server" in refused.stderr


def test_update_of_an_old_version_conflicts(plane: ControlPlane, namespace: str) -> None:
    old = apply(plane, config_map("contested", namespace))
    newer = old | {"data": {"key": "two"}}
    plane.kubectl("replace", "--filename=-", input=json.dumps(newer))
    with pytest.raises(KubectlError, match="the object has been modified"):
        plane.kubectl("replace", "--filename=-", input=json.dumps(newer))
    counts = plane.request_counts(group="", resource="configmaps")
    assert sum(count for kind, count in counts.items() if kind[0] + kind.code == "PUT409") == 1


def test_dependents_go_with_their_owner(plane: ControlPlane, namespace: str) -> None:
    owner = apply(plane, config_map("owner", namespace))
    apply(plane, config_map("dependent", namespace, owner))
    apply(plane, config_map("other", namespace))
    plane.kubectl("delete", "configmap", "owner", f"--namespace={namespace}")
    eventually(lambda: not exists(plane, "configmap", "dependent", namespace))
    assert exists(plane, "configmap", "other", namespace)


def test_garbage_of_new_kinds_is_collected_after_a_restart_of_the_controllers(
    plane: ControlPlane, namespace: str
) -> None:
    plane.kubectl("apply", "--filename=-", input=textwrap.dedent(_WIDGETS))
    plane.kubectl("wait", "--for=condition=Established", "crd/widgets.example.org")
    plane.restart_controllers()
    metadata = {"name": "owner", "namespace": namespace}
    manifest = {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": metadata}
    owner = apply(plane, manifest)
    apply(plane, config_map("dependent", namespace, owner))
    plane.kubectl("delete", "widget", "owner", f"--namespace={namespace}")
    # Less than the 30 s after which the garbage collector would look for new kinds.
    eventually(lambda: not exists(plane, "configmap", "dependent", namespace), seconds=20)


def test_namespaces_can_be_deleted(plane: ControlPlane, namespace: str) -> None:
    apply(plane, config_map("content", namespace))
    plane.kubectl("delete", "namespace", namespace, "--wait", "--timeout=60s", timeout=90)
    assert not exists(plane, "configmap", "content", namespace)


def test_quotas_hold(plane: ControlPlane, namespace: str) -> None:
    in_namespace = f"--namespace={namespace}"
    plane.kubectl("create", "quota", "q", "--hard=count/secrets=1", in_namespace)
    used = ("get", "quota", "q", in_namespace, "--output=jsonpath={.status.used}")
    eventually(lambda: plane.kubectl(*used).stdout == '{"count/secrets":"0"}')
    plane.kubectl("create", "secret", "generic", "first", in_namespace)
    with pytest.raises(KubectlError, match="exceeded quota"):
        plane.kubectl("create", "secret", "generic", "second", in_namespace)


def test_service_accounts_act_by_their_tokens(plane: ControlPlane, namespace: str) -> None:
    plane.kubectl("create", "serviceaccount", "operator", f"--namespace={namespace}")
    kubeconfig = plane.service_account_kubeconfig(namespace, "operator")
    answer = plane.kubectl("auth", "whoami", "--output=json", kubeconfig=kubeconfig)
    user = json.loads(answer.stdout)["status"]["userInfo"]
    assert user["username"] == f"system:serviceaccount:{namespace}:operator"
    with pytest.raises(KubectlError, match="Forbidden"):
        plane.kubectl("get", "configmaps", kubeconfig=kubeconfig)


def test_api_server_comes_back_with_its_data() -> None:
    with ControlPlane.start(controllers=False) as plane:
        apply(plane, config_map("kept", "default"))
        plane.kubectl("create", "serviceaccount", "operator")
        kubeconfig = plane.service_account_kubeconfig("default", "operator")
        url = plane.url

        plane.stop_api_server()
        refused = plane.kubectl("get", "configmaps", check=False)
        assert refused.returncode == 1
        assert "refused" in refused.stderr

        plane.start_api_server()
        assert plane.url == url
        assert exists(plane, "configmap", "kept", "default")
        plane.kubectl("auth", "whoami", kubeconfig=kubeconfig)


def test_two_planes_know_nothing_of_each_other(
    plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("deep" * 30)  # the path of a socket there would be too long
    deep.mkdir()
    monkeypatch.setenv("TMPDIR", str(deep))
    with ControlPlane.start(controllers=False) as other:
        apply(other, config_map("only-in-one", "default"))
        assert not exists(plane, "configmap", "only-in-one", "default")
        assert other.folder.is_relative_to(deep)
        stranger = plane.kubeconfig_for(token=other.admin_token, name="stranger")
        with pytest.raises(KubectlError, match="Unauthorized"):
            plane.kubectl("get", "configmaps", kubeconfig=stranger)


def test_nothing_is_left_after_stop() -> None:
    plane = ControlPlane.start()
    port = int(plane.url.rpartition(":")[2])
    assert len(processes_of(plane.folder)) == 3
    plane.stop()
    assert processes_of(plane.folder) == []
    assert not plane.folder.exists()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    plane.stop()
    with pytest.raises(ControlPlaneError, match="has been stopped"):
        plane.start_api_server()


_PARENT = """\
    import os, sys, time
    from tests.controlplane import ControlPlane

    plane = ControlPlane.start()
    child = os.fork() if sys.argv[1:] == ["fork"] else None
    if child != 0:
        print(plane.folder, plane._processes._supervisor.pid, child, flush=True)
    time.sleep(600)
"""


def start_parent(*arguments: str) -> tuple[subprocess.Popen[str], list[str]]:
    """Start a process that starts a control plane; return it, and what it prints."""
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(_PARENT), *arguments],
        cwd=_PROJECT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    return parent, parent.stdout.readline().split()


def kill(parent: subprocess.Popen[str]) -> None:
    parent.kill()
    parent.wait()
    assert parent.stdout is not None
    parent.stdout.close()


def test_nothing_is_left_after_the_parent_is_killed() -> None:
    parent, (path, _, _) = start_parent()
    folder = Path(path)
    assert len(processes_of(folder)) == 3
    kill(parent)
    eventually(lambda: not processes_of(folder) and not folder.exists())


def test_child_that_the_parent_forked_keeps_nothing_alive() -> None:
    parent, (path, _, child) = start_parent("fork")
    folder = Path(path)
    try:
        kill(parent)
        eventually(lambda: not processes_of(folder) and not folder.exists())
        assert psutil.pid_exists(int(child))
    finally:
        os.kill(int(child), signal.SIGKILL)


def test_components_end_when_the_supervisor_is_killed_too() -> None:
    parent, (path, supervisor, _) = start_parent()
    folder = Path(path)
    os.kill(int(supervisor), signal.SIGKILL)
    kill(parent)
    eventually(lambda: not processes_of(folder))
    shutil.rmtree(folder)  # nobody is left who could have done it


def test_supervisor_that_is_killed_is_noticed() -> None:
    plane = ControlPlane.start(controllers=False)
    plane._processes._supervisor.kill()
    with pytest.raises(ControlPlaneError, match="the supervisor ended"):
        plane.stop_api_server()
    with pytest.raises(ControlPlaneError, match="the supervisor ended"):
        plane.stop()
    eventually(lambda: not processes_of(plane.folder))
    assert not plane.folder.exists()


def test_command_keeps_a_control_plane_until_it_is_interrupted(plane: ControlPlane) -> None:
    command = subprocess.Popen(
        [sys.executable, "-m", "tests.controlplane"],
        cwd=_PROJECT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert command.stdout is not None
    name, _, kubeconfig = command.stdout.readline().strip().partition("=")
    assert name == "export KUBECONFIG"
    assert plane.kubectl("get", "--raw=/readyz", kubeconfig=Path(kubeconfig)).stdout == "ok"
    command.send_signal(signal.SIGINT)
    command.communicate(timeout=60)
    assert command.returncode == 0
    assert not Path(kubeconfig).parent.exists()


def script(file: Path, body: str) -> None:
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)


def test_programs_of_kubebuilder_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("etcd", "kube-apiserver", "kubectl"):
        script(tmp_path / name, f'exec "{binary()}" {name} "$@"')
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    with ControlPlane.start() as plane:
        assert plane.kubectl_command() == [str(tmp_path / "kubectl")]
        assert plane.kubectl("get", "--raw=/readyz").stdout == "ok"
    assert "has no kube-controller-manager" in capfd.readouterr().err


def test_failed_start_shows_the_log_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "etcd", "echo the disk is full; exit 3")
    script(tmp_path / "kube-apiserver", f'exec "{binary()}" kube-apiserver "$@"')
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with pytest.raises(
        ControlPlaneError, match=r"etcd ended with status 3\n(.*\n)*the disk is full"
    ):
        ControlPlane.start(controllers=False)
    assert list(tmp_path.glob("fixpoint-controlplane-*")) == []
    assert processes_of(tmp_path) == []
