"""The proxy: what it loses is lost, what it passes on is kept, what it delays is late."""

from __future__ import annotations

import itertools
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http import HTTPStatus
from http.client import RemoteDisconnected
from typing import Any

import pytest

from tests.controlplane.plane import ControlPlane
from tests.crash.proxy import (
    ChosenFaults,
    EachOf,
    Fault,
    FaultProxy,
    NoFaults,
    RandomFaults,
    Request,
)

_NUMBERS = itertools.count()
_CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


class LateWatch(NoFaults):
    """Every event of a watch is a second late."""

    def seconds(self, request: Request) -> float:
        return 1.0 if request.is_watch else 0.0


@pytest.fixture
def proxy(plane: ControlPlane) -> Iterator[FaultProxy]:
    with FaultProxy(plane) as started:
        yield started


@pytest.fixture
def name() -> str:
    return f"proxied-{next(_NUMBERS)}"


def send(plane: ControlPlane, url: str, body: object = None) -> Any:  # noqa: ANN401 - a file-like
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {plane.admin_token}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, data, headers)  # noqa: S310 - loopback
    return urllib.request.urlopen(request, timeout=30)  # noqa: S310 - the same


def create(plane: ControlPlane, proxy: FaultProxy, name: str) -> dict[str, Any]:
    with send(plane, proxy.url + _CONFIG_MAPS, {"metadata": {"name": name}}) as answer:
        content: dict[str, Any] = json.load(answer)
        return content


def exists(plane: ControlPlane, name: str) -> bool:
    answer = plane.kubectl("get", "configmap", name, "--ignore-not-found", "--output=name")
    return bool(answer.stdout)


def of_config_maps(fault: Fault) -> ChosenFaults:
    return ChosenFaults(fault, lambda request: request.resource == "configmaps")


@pytest.mark.controlplane
@pytest.mark.xdist_group("operator")
class TestBeforeAnApiServer:
    def test_what_is_accepted_is_kept(
        self, plane: ControlPlane, proxy: FaultProxy, name: str
    ) -> None:
        assert create(plane, proxy, name)["metadata"]["name"] == name
        assert exists(plane, name)
        (write,) = proxy.trail
        assert (write.kind, write.namespace, write.name) == ("ConfigMap", "default", name)
        assert proxy.requests == {("POST", "configmaps", HTTPStatus.CREATED): 1}

    def test_a_lost_request_does_nothing(
        self, plane: ControlPlane, proxy: FaultProxy, name: str
    ) -> None:
        proxy.faults = of_config_maps(Fault.LOST_REQUEST)
        with pytest.raises(RemoteDisconnected):
            create(plane, proxy, name)
        assert not exists(plane, name)
        assert proxy.trail == ()

    def test_a_lost_answer_hides_what_was_done(
        self, plane: ControlPlane, proxy: FaultProxy, name: str
    ) -> None:
        proxy.faults = of_config_maps(Fault.LOST_ANSWER)
        with pytest.raises(RemoteDisconnected):
            create(plane, proxy, name)
        assert exists(plane, name)
        assert [write.name for write in proxy.trail] == [name]
        assert proxy.injected == {Fault.LOST_ANSWER: 1}

    @pytest.mark.parametrize(
        ("fault", "status"),
        [
            (Fault.CONFLICT, HTTPStatus.CONFLICT),
            (Fault.TOO_MANY_REQUESTS, HTTPStatus.TOO_MANY_REQUESTS),
            (Fault.SERVER_ERROR, HTTPStatus.INTERNAL_SERVER_ERROR),
            (Fault.FORBIDDEN, HTTPStatus.FORBIDDEN),
        ],
    )
    def test_a_refusal_reads_like_the_api_server_s(
        self, plane: ControlPlane, proxy: FaultProxy, name: str, fault: Fault, status: HTTPStatus
    ) -> None:
        proxy.faults = of_config_maps(fault)
        with pytest.raises(urllib.error.HTTPError) as caught:
            create(plane, proxy, name)
        with caught.value as answer:
            assert answer.code == status
            assert json.load(answer)["kind"] == "Status"
            expected = "1" if fault is Fault.TOO_MANY_REQUESTS else None
            assert answer.headers.get("Retry-After") == expected
        assert not exists(plane, name)

    def test_an_event_of_a_watch_is_late(
        self, plane: ControlPlane, proxy: FaultProxy, name: str
    ) -> None:
        proxy.faults = LateWatch()
        query = f"?watch=true&timeoutSeconds=20&fieldSelector=metadata.name={name}"
        with send(plane, proxy.url + _CONFIG_MAPS + query) as watch:
            began = time.monotonic()
            create(plane, proxy, name)
            event = json.loads(watch.readline())
            assert time.monotonic() - began >= 1
        assert event["type"] == "ADDED"
        assert event["object"]["metadata"]["name"] == name


def test_the_same_seed_gives_the_same_faults() -> None:
    write = Request("PATCH", "researchtasks", "default", "task", "status", is_watch=False)

    def faults(seed: int) -> list[Fault | None]:
        source = RandomFaults(seed, percent=50, latency_seconds=0, watch_seconds=0)
        return [source.fault(write) for _ in range(50)]

    assert faults(1) == faults(1)
    assert faults(1) != faults(2)
    assert {Fault.CONFLICT, Fault.LOST_ANSWER, None} <= set(faults(1))


def test_only_a_write_that_names_a_version_meets_a_conflict() -> None:
    source = RandomFaults(1, percent=100, latency_seconds=0, watch_seconds=0)
    create_step = Request("POST", "researchsteps", "default", "", "", is_watch=False)
    watch = Request("GET", "researchtasks", "", "", "", is_watch=True)
    assert Fault.CONFLICT not in {source.fault(create_step) for _ in range(200)}
    assert Fault.LOST_ANSWER not in {source.fault(watch) for _ in range(200)}


def test_of_several_faults_the_first_that_is_for_a_request_happens_once() -> None:
    first = ChosenFaults(Fault.CONFLICT, lambda request: request.method == "PUT")
    second = ChosenFaults(Fault.SERVER_ERROR, lambda _: True, skip=1)
    faults = EachOf(first, second)
    get, put = (
        Request(method, "configmaps", "default", "report", "", is_watch=False)
        for method in ("GET", "PUT")
    )
    assert [faults.fault(r) for r in (put, get, put, get)] == [
        Fault.CONFLICT,
        None,
        Fault.SERVER_ERROR,
        None,
    ]
