"""Where tasks live: the local store's file, or a cluster. The commands read from either."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import yaml

from controller.api.errors import UserError
from controller.clock import SystemClock
from controller.ports import TaskKey, TaskStore
from controller.store.local import LocalStore

DEFAULT_NAMESPACE: Final = "default"


class HomeStore(TaskStore, Protocol):
    """A store that has the ConfigMaps of corpora as well: both homes' have."""

    async def load_config_maps(
        self, namespace: str, wanted: Sequence[str]
    ) -> tuple[dict[str, dict[str, str]], tuple[str, ...]]:
        """Return the texts of ConfigMaps by name and key, and the names of those missing."""
        ...


@dataclass(frozen=True)
class Home:
    """Which home a command means: `store` names a file, else it is a cluster."""

    store: Path | None = None
    kubeconfig: Path | None = None
    namespace: str | None = None

    def key(self, name: str) -> TaskKey:
        """Return the key of a task of this home."""
        return TaskKey(self.namespace or self._usual_namespace(), name)

    @property
    def options(self) -> str:
        """The options that name this home again on a command line."""
        parts = []
        if self.store is not None:
            parts.append("--local" if self.store == default_store() else f"--store {self.store}")
        elif self.kubeconfig is not None:
            parts.append(f"--kubeconfig {self.kubeconfig}")
        if self.namespace is not None:
            parts.append(f"--namespace {self.namespace}")
        return " ".join(parts)

    def _usual_namespace(self) -> str:
        return DEFAULT_NAMESPACE if self.store is not None else _namespace_of(self.kubeconfig)


def default_store() -> Path:
    """Return the file of `fixpoint run`, in the user's folder for state (XDG base directories)."""
    base = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not base.is_absolute():  # unset, empty, or relative, which the rules say to ignore
        base = Path.home() / ".local" / "state"
    return base / "fixpoint" / "tasks.db"


def default_cache() -> Path:
    """Return the folder of search indexes, in the user's folder for caches."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():
        base = Path.home() / ".cache"
    return base / "fixpoint" / "indexes"


def open_local(path: Path) -> LocalStore:
    """Open a local store, and make it and the default one's folder if they are not there.

    Raises:
        UserError: the file cannot be used as a store.
        UnavailableError: another process holds it for too long.
    """
    if path == default_store():
        path.parent.mkdir(parents=True, exist_ok=True)
    elif not path.absolute().parent.is_dir():
        raise UserError(f"the folder of the store {path} does not exist; make it first")
    return LocalStore.open(path, SystemClock())


@asynccontextmanager
async def open_home(home: Home) -> AsyncIterator[HomeStore]:
    """Open the store of a home for reading, and close it at the end.

    Raises:
        UserError: the file is not there, or no cluster is configured.
    """
    if home.store is not None:
        if not home.store.is_file():
            raise UserError(
                f"there is no store {home.store}; `fixpoint run` makes it, or name another "
                "with --store"
            )
        with open_local(home.store) as store:
            yield store
        return
    from controller.store.kubernetes import KubernetesStore
    from controller.store.kubernetes_client import connect

    client = await connect(home.kubeconfig)
    try:
        yield KubernetesStore(client, SystemClock())
    finally:
        await client.close()  # type: ignore[no-untyped-call]  # the client types it not


def _namespace_of(kubeconfig: Path | None) -> str:
    """Return the namespace of the current context, as kubectl finds it.

    A file that cannot be read is passed over here: connecting says what is wrong with it.
    """
    usual = Path.home() / ".kube" / "config"
    named = str(kubeconfig) if kubeconfig else os.environ.get("KUBECONFIG") or str(usual)
    current = None
    namespaces: dict[str, str] = {}
    for file in filter(None, named.split(os.pathsep)):
        try:
            content = yaml.safe_load(Path(file).expanduser().read_text(encoding="utf-8"))
            current = current or content.get("current-context")
            for context in content.get("contexts") or ():
                namespace = (context.get("context") or {}).get("namespace") or DEFAULT_NAMESPACE
                namespaces.setdefault(context["name"], str(namespace))
        except (OSError, UnicodeDecodeError, yaml.YAMLError, AttributeError, KeyError, TypeError):
            continue
    return namespaces.get(current or "", DEFAULT_NAMESPACE)
