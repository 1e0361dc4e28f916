"""The pod is run as the program expects it, with as little as it needs."""

from __future__ import annotations

import inspect
import tomllib
from typing import Any, Final

import yaml

from controller.__main__ import operator
from controller.settings import Settings
from tests.manifests.conftest import MANIFESTS, ROOT, stateful_set

_POD: Final[dict[str, Any]] = stateful_set()["spec"]["template"]["spec"]
_CONTAINER: Final[dict[str, Any]] = _POD["containers"][0]


def options() -> dict[str, str]:
    """Return the command line options by the names of the program's parameters."""
    pairs = (argument.removeprefix("--").split("=", 1) for argument in _CONTAINER["args"])
    return {name.replace("-", "_"): value for name, value in pairs}


def test_there_is_one_pod_with_one_container() -> None:
    assert stateful_set()["spec"]["replicas"] == 1
    assert len(_POD["containers"]) == 1
    assert "initContainers" not in _POD


def test_every_option_is_one_of_the_program() -> None:
    assert set(options()) <= set(inspect.signature(operator).parameters)


def test_options_name_what_is_mounted_and_opened() -> None:
    mounts = {mount["mountPath"]: mount for mount in _CONTAINER["volumeMounts"]}
    assert mounts[options()["cache_directory"]].get("readOnly", False) is False
    assert mounts[options()["corpus_root"]]["readOnly"] is True
    assert {mount["name"] for mount in mounts.values()} == {v["name"] for v in _POD["volumes"]}
    (port,) = _CONTAINER["ports"]
    assert port == {"name": "health", "containerPort": int(options()["health_port"])}


def test_the_defaults_of_the_program_are_those_of_the_image() -> None:
    settings = Settings()
    assert options()["corpus_root"] == str(settings.corpus_root)
    assert options()["cache_directory"] == str(settings.cache_directory)
    assert int(options()["health_port"]) == settings.health_port


def test_the_grace_of_the_pod_is_15_seconds_above_that_of_the_program() -> None:
    assert _POD["terminationGracePeriodSeconds"] == 135 == int(options()["grace_seconds"]) + 15


def test_the_pod_may_nothing() -> None:
    pod, container = _POD["securityContext"], _CONTAINER["securityContext"]
    assert pod["runAsNonRoot"] is True
    assert pod["runAsUser"] == pod["runAsGroup"] > 0
    assert pod["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "privileged": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not _POD.keys() & {"hostNetwork", "hostPID", "hostIPC"}


def test_temporary_files_go_where_it_may_write() -> None:
    environment = {entry["name"]: entry for entry in _CONTAINER["env"]}
    assert environment["TMPDIR"]["value"] == options()["cache_directory"]
    assert environment["POD_NAME"]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"


def test_probes_ask_the_health_port() -> None:
    paths = {"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"}
    for probe, path in paths.items():
        assert _CONTAINER[probe]["httpGet"] == {"path": path, "port": "health"}
    startup = _CONTAINER["startupProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] == 300


def test_resources_are_requested_and_limited() -> None:
    resources = _CONTAINER["resources"]
    assert resources["requests"].keys() == resources["limits"].keys() >= {"cpu", "memory"}


def test_the_service_gives_the_set_its_name_and_finds_its_pod() -> None:
    service = yaml.safe_load((MANIFESTS / "base/service.yaml").read_text("utf-8"))
    assert service["metadata"]["name"] == stateful_set()["spec"]["serviceName"]
    assert service["spec"]["clusterIP"] == "None"
    labels = stateful_set()["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == stateful_set()["spec"]["selector"]["matchLabels"]
    assert service["spec"]["selector"].items() <= labels.items()


def test_the_image_carries_the_version_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert _CONTAINER["image"] == f"{project['name']}:{project['version']}"
