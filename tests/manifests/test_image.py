"""The Dockerfile, read: an image is built only where Docker is, its rules hold everywhere."""

from __future__ import annotations

import json
import re
import tomllib
from fnmatch import fnmatch
from typing import Final, NamedTuple

import pytest

from tests.manifests.conftest import ROOT, stateful_set


class Instruction(NamedTuple):
    """One instruction of a Dockerfile, its lines joined."""

    name: str
    rest: str


def instructions(text: str) -> list[Instruction]:
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [Instruction(*line.split(maxsplit=1)) for line in joined.splitlines()]


_DOCKERFILE: Final = instructions((ROOT / "Dockerfile").read_text("utf-8"))
_LAST_FROM: Final = max(i for i, step in enumerate(_DOCKERFILE) if step.name == "FROM")
_FINAL_STAGE: Final = _DOCKERFILE[_LAST_FROM:]


def named(name: str, steps: list[Instruction] = _DOCKERFILE) -> list[str]:
    return [step.rest for step in steps if step.name == name]


def copied_from_the_context() -> list[str]:
    copies = [rest.split() for rest in named("COPY") if not rest.startswith("--from=")]
    return [source for *sources, _ in copies for source in sources]


def test_only_known_instructions_are_used() -> None:
    # ADD fetches addresses and unpacks archives; it is not among them.
    known = {"ARG", "FROM", "ENV", "WORKDIR", "COPY", "RUN", "LABEL", "USER", "EXPOSE"}
    assert {step.name for step in _DOCKERFILE} == known | {"ENTRYPOINT"}


def test_every_stage_starts_from_the_base_that_the_builder_chooses() -> None:
    assert _DOCKERFILE[0] == Instruction("ARG", "BASE=python:3.13-slim")
    assert named("FROM") == ["${BASE} AS build", "${BASE}"]


def test_everything_is_installed_by_hash_or_is_the_package_itself() -> None:
    commands = [command for run in named("RUN") for command in run.split(" && ")]
    installs = [c.strip() for c in commands if re.search(r"\bpip (install|wheel|download)\b", c)]
    assert len(installs) == 4
    for command in installs:
        by_hash = "--require-hashes --requirement requirements" in command
        itself = "--no-deps" in command and re.search("--no-build-isolation|--no-index", command)
        assert by_hash or itself, command


def test_nothing_is_fetched_by_address() -> None:
    assert not re.search(r"https?://|\bcurl\b|\bwget\b|apt-get", "\n".join(named("RUN")))


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-build.lock"])
def test_each_line_of_a_lock_has_a_version_and_a_hash(lock: str) -> None:
    text = re.sub(r"\\\n\s*", "", (ROOT / lock).read_text("utf-8"))
    entries = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    assert entries
    for entry in entries:
        assert re.match(r"[A-Za-z0-9._-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", entry), entry


def test_the_build_back_end_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (requirement,) = project["build-system"]["requires"]
    name = re.split(r"[<>=~]", requirement)[0]
    assert f"\n{name}==" in (ROOT / "requirements-build.lock").read_text("utf-8")


def test_it_runs_the_operator_as_the_pod_s_user() -> None:
    security = stateful_set()["spec"]["template"]["spec"]["securityContext"]
    assert named("USER", _FINAL_STAGE) == [f"{security['runAsUser']}:{security['runAsGroup']}"]
    assert json.loads(named("ENTRYPOINT", _FINAL_STAGE)[0]) == ["python", "-m", "controller"]


def test_a_read_only_root_file_system_is_no_hindrance() -> None:
    (environment,) = named("ENV", _FINAL_STAGE)
    assert "PYTHONDONTWRITEBYTECODE=1" in environment.split()


def test_the_final_stage_runs_nothing_and_takes_one_folder() -> None:
    assert named("RUN", _FINAL_STAGE) == []
    assert named("COPY", _FINAL_STAGE) == ["--from=build /opt/fixpoint /opt/fixpoint"]


def test_what_is_copied_exists_and_is_all_that_the_context_has() -> None:
    rules = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    kept = {rule.removeprefix("!") for rule in rules if rule.startswith("!")}
    copied = set(copied_from_the_context())
    assert copied == kept
    for name in copied:
        assert (ROOT / name).exists(), name
    assert rules.index("*") < min(i for i, rule in enumerate(rules) if rule.startswith("!"))


def test_no_secret_of_a_developer_reaches_the_context() -> None:
    rules = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    kept = [rule.removeprefix("!") for rule in rules if rule.startswith("!")]
    for name in (".env", ".git", "kubeconfig", "id_ed25519", ".venv"):
        assert not any(fnmatch(name, rule) for rule in kept)
