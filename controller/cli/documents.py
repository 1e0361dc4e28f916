"""Reads a task file: YAML documents, checked before anything is done with them.

A task may come with the sources and ConfigMaps that it needs. What is missing is named, with the
YAML that would add it; a directory of the source's name below the corpus root is taken for it.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml

from controller.api.base import API_VERSION
from controller.api.errors import UserError
from controller.api.meta import ObjectMeta
from controller.api.model import ResearchModel
from controller.api.source import ResearchSource, SourceType
from controller.api.task import ResearchTask
from controller.ports import TaskKey
from controller.store.manifest import StoredObject, read_manifest
from controller.store.secret_manifest import Secret

_SECRET_OPTION: Final = re.compile(
    r"([a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?)/([-._a-zA-Z0-9]{1,253})=([A-Za-z_][A-Za-z0-9_]*)"
)

TOPIC_VARIABLE: Final = "RESEARCH_TOPIC"
"""The environment variable that beats the topic of the file (S0.35)."""

Manifest = dict[str, Any]


class _Loader(yaml.SafeLoader):
    """YAML without duplicate keys: the second `maxSteps` would silently win."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 - the signature is yaml's
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        problem=f"the key {key.value} stands there twice; remove one",
                        problem_mark=key.start_mark,
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)


@dataclass(frozen=True)
class TaskFile:
    """A file's one task and the other objects, in their order, all of them valid.

    Secrets stand apart: what is known of the others is stored and shown, of a Secret it is not.
    """

    path: Path
    task_manifest: Manifest
    task: ResearchTask
    others: tuple[tuple[Manifest, StoredObject], ...]
    secrets: tuple[Secret, ...] = ()

    @property
    def key(self) -> TaskKey:
        """The task's name."""
        return TaskKey(self.task.metadata.namespace, self.task.metadata.name)

    @property
    def models(self) -> tuple[ResearchModel, ...]:
        """The models that the file holds."""
        return tuple(found for _, found in self.others if isinstance(found, ResearchModel))

    def declares_source(self, name: str) -> bool:
        """Say whether the file holds a source of the task's namespace."""
        return any(
            isinstance(declared, ResearchSource)
            and (declared.metadata.namespace, declared.metadata.name) == (self.key.namespace, name)
            for _, declared in self.others
        )

    def with_overrides(self, *, topic: str | None, max_steps: int | None) -> TaskFile:
        """Return the file as if its task had this topic and this step budget.

        Raises:
            UserError: the value breaks a rule of the task.
        """
        spec = dict(self.task_manifest["spec"])
        if topic is not None:
            spec["topic"] = topic
        if max_steps is not None:
            spec["budgets"] = {**(spec.get("budgets") or {}), "maxSteps": max_steps}
        manifest = {**self.task_manifest, "spec": spec}
        task = read_manifest(manifest)
        assert isinstance(task, ResearchTask)
        return replace(self, task_manifest=manifest, task=task)


def read_task_file(path: Path) -> TaskFile:
    """Return the task of a file, and what it comes with.

    Raises:
        UserError: the file cannot be read, is no YAML, holds an object that is not valid, or not
            exactly one ResearchTask.
    """
    objects = [(manifest, read_manifest(manifest)) for manifest in _manifests(path)]
    tasks = [(manifest, found) for manifest, found in objects if isinstance(found, ResearchTask)]
    if len(tasks) != 1:
        names = ", ".join(found.metadata.name for _, found in tasks)
        held = f"{names}; give each a file of its own" if tasks else "none; add one"
        raise UserError(f"{path} must hold exactly one ResearchTask and holds {held}")
    manifest, task = tasks[0]
    others = tuple(
        (each, found)
        for each, found in objects
        if each is not manifest and not isinstance(found, Secret)
    )
    secrets = tuple(found for _, found in objects if isinstance(found, Secret))
    return TaskFile(path, manifest, task, others, secrets)


def secret_of_variable(text: str, namespace: str, environment: Mapping[str, str]) -> Secret:
    """Return the Secret that `NAME/KEY=VARIABLE` makes of a variable of the environment.

    Raises:
        UserError: it is written otherwise, or there is no such variable.
    """
    found = _SECRET_OPTION.fullmatch(text)
    if found is None:
        raise UserError(
            "--secret must be written NAME/KEY=VARIABLE, such as openai/api-key=OPENAI_API_KEY: a "
            "variable of the environment, never the key itself; correct it"
        )
    name, key, variable = found.groups()
    if variable not in environment:
        raise UserError(
            f"the variable {variable} of --secret {name}/{key}={variable} is not set; export it, "
            "or name another one"
        )
    value = environment[variable].encode(errors="surrogateescape")
    return Secret(ObjectMeta(name=name, namespace=namespace), {key: value})


def missing_sources(
    file: TaskFile, corpus_root: Path, known: Sequence[str]
) -> tuple[tuple[Manifest, str], ...]:
    """Return a manifest for each source that is not defined, with the line that says so.

    Args:
        file: the task, and the sources that are defined with it.
        corpus_root: where a directory of the source's name is taken for its corpus.
        known: names of sources that the store has already.

    Raises:
        UserError: a source is not defined, and no directory has its name.
    """
    return tuple(
        _assumed_source(file, name, corpus_root)
        for reference in file.task.spec.source_refs
        if not file.declares_source(name := reference.name) and name not in known
    )


def _assumed_source(file: TaskFile, name: str, corpus_root: Path) -> tuple[Manifest, str]:
    directory = corpus_root / name
    if not directory.is_dir():
        raise UserError(
            f"the ResearchSource {name} that {file.path} refers to is not defined there, and "
            f"{corpus_root} has no directory {name}.\n"
            f"Name the folder that holds the directory with --corpus-root, or add to the file:\n\n"
            + _source_yaml(name, file.key.namespace)
        )
    return (
        _source_manifest(name, file.key.namespace),
        f"the ResearchSource {name} is not defined; the directory {directory} is taken for it",
    )


def _source_manifest(name: str, namespace: str) -> Manifest:
    return {
        "apiVersion": API_VERSION,
        "kind": "ResearchSource",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"type": SourceType.CORPUS.value, "corpus": {"directory": name}},
    }


def _source_yaml(name: str, namespace: str) -> str:
    return "---\n" + yaml.safe_dump(_source_manifest(name, namespace), sort_keys=False).rstrip()


def _manifests(path: Path) -> Iterator[Manifest]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}; name a task file") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text: {error.reason}; save it as UTF-8") from error
    try:
        documents = list(yaml.load_all(text, Loader=_Loader))
    except yaml.YAMLError as error:
        raise UserError(f"{path} is no valid YAML: {_yaml_fault(error)}") from error
    for number, document in enumerate(documents, 1):
        if document is None:
            continue
        if not isinstance(document, dict):
            raise UserError(
                f"document {number} of {path} must be an object with apiVersion, kind, metadata "
                "and spec; correct it"
            )
        yield document


def _yaml_fault(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return " ".join(str(error).split())
    mark = error.problem_mark
    return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem}"
