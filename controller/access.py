"""Which corpus directories a namespace may read: said by the operator's owner, never a tenant.

A `ResearchSource` names a directory below the corpus root, and everybody who may create one in a
namespace could read every corpus through it. Without a rule file every directory is open to every
namespace; with one, a namespace reads what its entry lists, or else what the entry `*` lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

import yaml

from controller.api.errors import SourceNotReadyError, UserError
from controller.api.reasons import ReadyReason
from controller.api.source import ResearchSource

EVERY_OTHER_NAMESPACE: Final = "*"


@dataclass(frozen=True)
class CorpusAccess:
    """The directories each namespace may read; `rules` is None where all are open to all."""

    rules: Mapping[str, tuple[PurePosixPath, ...]] | None = None

    def require(self, source: ResearchSource) -> None:
        """Check that a source's namespace may read the source's directory.

        Raises:
            SourceNotReadyError: it may not.
        """
        directory = source.spec.corpus.directory if source.spec.corpus else None
        if directory is None or self.rules is None:
            return
        namespace, path = source.metadata.namespace, PurePosixPath(directory)
        opened = self.rules.get(namespace, self.rules.get(EVERY_OTHER_NAMESPACE, ()))
        if ".." not in path.parts and any(path.is_relative_to(root) for root in opened):
            return
        raise SourceNotReadyError(
            ReadyReason.DIRECTORY_NOT_ALLOWED,
            f"directory {directory!r} is not open to the namespace {namespace}; "
            "the operator's --corpus-access file must list it",
        )


EVERYTHING_OPEN: Final = CorpusAccess()


def read_corpus_access(file: Path) -> CorpusAccess:
    """Read the rules from a YAML or JSON file: a mapping of namespaces to lists of directories.

    A directory opens everything below it, `.` the whole corpus root; the key `*` is for every
    namespace that has no entry of its own.

    Raises:
        UserError: the file is not there or says something else.
    """
    try:
        content: Any = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(
            f"the corpus access file {file} cannot be read: {error}; it must be YAML or JSON"
        ) from error
    if not isinstance(content, dict) or not all(map(_is_entry, content.items())):
        raise UserError(
            f"the corpus access file {file} must map namespaces, or '*', to lists of directories "
            "relative to the corpus root, such as {team-a: [django-docs]}"
        )
    return CorpusAccess(
        {name: tuple(PurePosixPath(path) for path in paths) for name, paths in content.items()}
    )


def _is_entry(entry: tuple[object, object]) -> bool:
    name, paths = entry
    return (
        isinstance(name, str)
        and isinstance(paths, list)
        and all(isinstance(path, str) and _is_below_root(PurePosixPath(path)) for path in paths)
    )


def _is_below_root(path: PurePosixPath) -> bool:
    return not path.is_absolute() and ".." not in path.parts
