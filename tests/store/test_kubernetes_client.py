"""How the client is made: which cluster it talks to, and what it says when there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from aiohttp import web

from controller.api.errors import NotFoundError, UserError
from controller.ports import TaskKey
from controller.store.kubernetes import KubernetesStore
from controller.store.kubernetes_client import connect
from tests.store.builders import FixedClock

_VARIABLES = ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No cluster but the one that a test names."""
    for name in _VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def kubeconfig(folder: Path, server: str = "http://127.0.0.1:9", name: str = "config") -> Path:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "secret"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(json.dumps(content))
    return file


async def test_a_named_kubeconfig_goes_before_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path, "http://127.0.0.1:1", "other")))
    async with await connect(kubeconfig(tmp_path)) as client:
        assert client.configuration.host == "http://127.0.0.1:9"


async def test_the_variable_may_name_several_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'missing'}:{kubeconfig(tmp_path)}")
    async with await connect() as client:
        assert client.configuration.host == "http://127.0.0.1:9"


async def test_the_kubeconfig_of_the_home_folder_is_the_last_resort(tmp_path: Path) -> None:
    kubeconfig(tmp_path / "home" / ".kube")
    async with await connect() as client:
        assert client.configuration.host == "http://127.0.0.1:9"


async def test_without_any_cluster_the_error_says_how_to_name_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"\.kube/config does not exist.*--kubeconfig"):
        await connect()
    with pytest.raises(UserError, match="nowhere does not exist"):
        await connect(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "text", ["", "[1, 2", "- a list", "{}", "current-context: x\nclusters: []\ncontexts: []"]
)
async def test_a_kubeconfig_without_a_cluster_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "broken"
    file.write_text(text)
    with pytest.raises(UserError, match=r"broken cannot be used: it must have a current context"):
        await connect(file)


async def test_a_pod_without_its_token_is_told_to_mount_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with pytest.raises(UserError, match="automountServiceAccountToken"):
        await connect()


async def test_proxies_of_the_environment_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    async def not_found(request: web.Request) -> web.Response:
        assert request.headers["Authorization"] == "Bearer secret"
        return web.json_response({"kind": "Status", "reason": "NotFound"}, status=404)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", not_found)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        async with await connect(kubeconfig(tmp_path, url)) as client:
            with pytest.raises(NotFoundError):
                await KubernetesStore(client, FixedClock()).get_task(TaskKey("a", "b"))
    finally:
        await runner.cleanup()


# S1.33
async def test_the_client_never_retries_by_itself(tmp_path: Path) -> None:
    async with await connect(kubeconfig(tmp_path), connections=5) as client:
        assert client.configuration.retries is None
        assert client.configuration.connection_pool_maxsize == 5
