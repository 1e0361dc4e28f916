"""A model that is given on the command line: `fixpoint run --backend Ollama --model llama3.2`.

It is the same `ResearchModel` that a file could define, under a name of its own; the task of the
file is done with it. What is not said is usual for the back end (S0.38, S0.40 to S0.42).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from controller.api.base import API_VERSION
from controller.api.errors import UserError
from controller.api.meta import ObjectMeta
from controller.api.model import Backend, ResearchModel
from controller.api.task import ResearchTask
from controller.cli.documents import Manifest, TaskFile
from controller.store.manifest import read_manifest
from controller.store.secret_manifest import Secret

NAME: Final = "command-line"
"""The name of the `ResearchModel`, and of the Secret with its key."""

KEY_VARIABLE: Final = "OPENAI_API_KEY"
"""The variable that holds the key of OpenAI's endpoint."""

_KEY: Final = "key"


class _Usual(NamedTuple):
    """What a back end has where nothing else is said; None: it must be said."""

    base_url: str | None = None
    model: str | None = None


_USUAL: Final[Mapping[Backend, _Usual]] = {
    Backend.OPENAI: _Usual(model="gpt-4o-mini"),
    Backend.OLLAMA: _Usual("http://localhost:11434/v1", "llama3.2"),
    Backend.LLAMA_CPP: _Usual("http://127.0.0.1:8080/v1", "ministral-3b"),
    Backend.VLLM: _Usual("http://127.0.0.1:8000/v1"),
    Backend.OPENAI_COMPATIBLE: _Usual(),
}


@dataclass(frozen=True)
class GivenModel:
    """What a command line says of a model; None: nothing."""

    backend: str | None = None
    base_url: str | None = None
    model: str | None = None

    @property
    def is_given(self) -> bool:
        """Whether the command line says anything of a model."""
        return any((self.backend, self.base_url, self.model))


def with_model(file: TaskFile, given: GivenModel, environment: Mapping[str, str]) -> TaskFile:
    """Return the file as if it defined the model, and its task referred to it.

    Raises:
        UserError: something that must be said is not, or is no such thing.
    """
    backend, usual = _backend(given)
    name = given.model or usual.model
    if name is None:
        raise UserError(f"--model must name the model that the {backend} endpoint serves; add it")
    if given.base_url is None and usual.base_url is None and backend is not Backend.OPENAI:
        raise UserError(f"--base-url must be the address of the {backend} endpoint; add it")
    key = environment.get(KEY_VARIABLE) if backend is Backend.OPENAI else None
    if key is None and backend is Backend.OPENAI:
        raise UserError(f"{KEY_VARIABLE} is not set; --backend OpenAI takes its key from it")
    manifest = _manifest(file, backend, given.base_url or usual.base_url, name)
    metadata = ObjectMeta(name=NAME, namespace=file.key.namespace)
    values = {_KEY: key.encode(errors="surrogateescape")} if key is not None else {}
    task_manifest = {
        **file.task_manifest,
        "spec": {**file.task_manifest["spec"], "modelRef": {"name": NAME}},
    }
    task, made = read_manifest(task_manifest), read_manifest(manifest)
    assert isinstance(task, ResearchTask)
    assert isinstance(made, ResearchModel)
    return replace(
        file,
        task_manifest=task_manifest,
        task=task,
        others=(*file.others, (manifest, made)),
        secrets=(*file.secrets, *((Secret(metadata, values),) if values else ())),
    )


def _backend(given: GivenModel) -> tuple[Backend, _Usual]:
    """Return the back end, in whatever case it is written; an address alone is a compatible one."""
    written = given.backend or Backend.OPENAI_COMPATIBLE.value
    for backend, usual in _USUAL.items():
        if backend.value.lower() == written.lower():
            return backend, usual
    raise UserError(
        f"--backend {written!r} is unknown; it must be one of {', '.join(b.value for b in Backend)}"
    )


def _manifest(file: TaskFile, backend: Backend, base_url: str | None, model: str) -> Manifest:
    spec: Manifest = {"backend": backend.value, "model": model}
    if base_url is not None:
        spec["baseURL"] = base_url
    if backend is Backend.OPENAI:
        spec["credentialsSecretRef"] = {"name": NAME, "key": _KEY}
    return {
        "apiVersion": API_VERSION,
        "kind": "ResearchModel",
        "metadata": {"name": NAME, "namespace": file.key.namespace},
        "spec": spec,
    }
