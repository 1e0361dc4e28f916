"""The work of `fixpoint run`: apply the file, make the sources ready, drive the loop, report."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console

from controller.actions.publish import JSON_FILE, MARKDOWN_FILE
from controller.api.errors import NotFoundError, UserError
from controller.api.reasons import TERMINAL, AcceptedReason, ExitCode
from controller.api.source import addresses_of
from controller.api.task import Awaiting, ResearchTask
from controller.cli import wording
from controller.cli.documents import (
    TOPIC_VARIABLE,
    TaskFile,
    missing_sources,
    read_task_file,
    secret_of_variable,
)
from controller.cli.exits import INTERRUPTED
from controller.cli.given_model import GivenModel, with_model
from controller.cli.homes import Home, default_cache, default_store, open_local
from controller.cli.jsonl import JournalLog
from controller.cli.live import LiveProgress
from controller.cli.local import drive, stop_on_interrupt
from controller.cli.observer import Follower, RunObserver
from controller.cli.plain import PlainProgress
from controller.cli.terminal import Verbosity, count, is_live, labelled, output, visible, write
from controller.clock import SystemClock
from controller.connections import ConnectionGuard, OpenedOrigins, guarded_client
from controller.credentials import SecretReader
from controller.gathering import is_settled
from controller.holders import local_holder, local_process_may_live, process_exists
from controller.logs import quiet_transports
from controller.models.pacing import Pacer
from controller.models.wiring import model_maker
from controller.ports import References
from controller.reconcile import Reconciler
from controller.references import Resolver
from controller.sources.corpus import ConfigMaps
from controller.sources.making import source_maker
from controller.sources.web.fetcher import Fetcher, user_agent
from controller.store.local import LocalStore


@dataclass(frozen=True, kw_only=True)
class _Request:
    """What a command line asks for."""

    file: TaskFile
    corpus_root: Path
    store: Path
    folder: Path
    log: Path | None
    contact: str | None
    verbosity: Verbosity
    console: Console
    is_live: bool

    def say(self, line: str) -> None:
        """Write a line, unless all is to be silent."""
        if self.verbosity >= Verbosity.MILESTONES:
            write(self.console, line)


def run_file(
    file: Path,
    *,
    corpus_root: Path | None,
    store: Path | None,
    folder: Path | None,
    max_steps: int | None,
    secrets: Sequence[str] = (),
    model: GivenModel,
    log: Path | None,
    contact: str | None = None,
    fresh: bool,
    verbosity: Verbosity,
    plain: bool,
) -> int:
    """Run the task of a file as far as it goes; return the exit code.

    Raises:
        UserError: a file, an option or a source is wrong.
        StoreError: the store does not answer, or refuses.
        JournalError: the task's journal cannot be read.
    """
    task_file = read_task_file(file).with_overrides(
        topic=os.environ.get(TOPIC_VARIABLE) or None, max_steps=max_steps
    )
    given = tuple(secret_of_variable(s, task_file.key.namespace, os.environ) for s in secrets)
    task_file = replace(task_file, secrets=(*task_file.secrets, *given))
    if model.is_given:
        task_file = with_model(task_file, model, os.environ)
    user_agent(contact)
    console = output()
    request = _Request(
        file=task_file,
        corpus_root=_corpus_root(corpus_root, file),
        store=store or default_store(),
        folder=folder or Path(f"{task_file.key.name}-report"),
        log=log,
        contact=contact,
        verbosity=verbosity,
        console=console,
        is_live=is_live(console) and not plain and verbosity >= Verbosity.MILESTONES,
    )
    if verbosity is Verbosity.DEBUG:
        logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    quiet_transports()
    with open_local(request.store) as opened:
        if fresh:
            with contextlib.suppress(NotFoundError):
                opened.delete_task(task_file.key)
        return asyncio.run(_run(request, opened))


def _corpus_root(named: Path | None, file: Path) -> Path:
    root = named or file.absolute().parent
    if not root.is_dir():
        raise UserError(f"the corpus root {root} is no folder; name one with --corpus-root")
    return root


async def _run(request: _Request, store: LocalStore) -> int:
    notes = await _apply(request, store)
    for note in notes:
        request.say(labelled("note", note))
    clock = SystemClock()
    pacer = Pacer(clock)
    guard = ConnectionGuard(await _own_origins(request, store))
    async with (
        guarded_client(guard) as endpoints,
        Fetcher(guard, clock=clock, contact=request.contact) as fetcher,
    ):
        secrets = SecretReader(store)
        make_model = model_maker(endpoints, secrets.credentials_of, clock)
        resolver = Resolver(
            store,
            source_maker(
                corpus_root=request.corpus_root,
                cache_directory=default_cache(),
                load_config_maps=partial(_load_config_maps, store),
                fetcher=fetcher,
                guard=guard,
                key_of=secrets.key_of,
            ),
            make_model=pacer.making(make_model),
            guard=guard,
            secrets=secrets,
        )
        references = await _ready(request, store, resolver)
        await _tell_corpora(request, references)
        holder = local_holder()
        reconciler = Reconciler(
            store=store,
            references=resolver,
            clock=clock,
            holder=holder,
            may_live=partial(local_process_may_live, holder, exists=process_exists),
            pacing=pacer,
        )
        return await _work(request, store, reconciler)


async def _work(request: _Request, store: LocalStore, reconciler: Reconciler) -> int:
    """Drive the task as far as it goes, and say how that was; return the exit code."""
    key = request.file.key
    with _observers(request) as observers:
        recorded = await store.list_steps(await store.get_task(key), 0)
        for log in (o for o in observers if isinstance(o, JournalLog)):
            for step in recorded:
                log.write(step)
        follower = await Follower.from_now_on(store, key, observers)
        if recorded:
            request.say(labelled("going on", f"after step {len(recorded)} of its journal"))
        with stop_on_interrupt(reconciler) as stop:
            task = await drive(reconciler, key, follower, stop)
    return await _close(request, store, task, stopped=stop.is_set())


async def _own_origins(request: _Request, store: LocalStore) -> OpenedOrigins:
    """Open the addresses of the models and sources that this user has written, now or earlier."""
    models = list(request.file.models)
    spec = request.file.task.spec
    for reference in filter(None, (spec.model_ref, spec.fallback_model_ref)):
        with contextlib.suppress(NotFoundError):
            models.append(await store.get_model(request.file.key.namespace, reference.name))
    urls = [m.spec.base_url for m in models if m.spec.base_url is not None]
    for reference in spec.source_refs:  # those of the file are stored by now
        with contextlib.suppress(NotFoundError):
            source = await store.get_source(request.file.key.namespace, reference.name)
            urls += [url for _, url in addresses_of(source.spec)]
    return OpenedOrigins.of_urls(urls)


async def _load_config_maps(store: LocalStore, namespace: str, names: Sequence[str]) -> ConfigMaps:
    return ConfigMaps(*await store.load_config_maps(namespace, names))


async def _apply(request: _Request, store: LocalStore) -> list[str]:
    """Store what the file declares; return what was assumed or overridden."""
    file, notes = request.file, []
    if os.environ.get(TOPIC_VARIABLE):
        notes.append(f"the topic is that of the variable {TOPIC_VARIABLE}, not the file's")
    known = []
    for reference in file.task.spec.source_refs:
        with contextlib.suppress(NotFoundError):
            known.append((await store.get_source(file.key.namespace, reference.name)).metadata.name)
    assumed = missing_sources(file, request.corpus_root, known)
    for manifest, _ in (*file.others, *assumed):
        store.apply(manifest)
    for secret in file.secrets:
        store.keep_secret(secret)
    store.apply(file.task_manifest)
    return [*notes, *(line for _, line in assumed)]


async def _ready(request: _Request, store: LocalStore, resolver: Resolver) -> References:
    """Return the sources, each indexed.

    Raises:
        UserError: one of them is not ready. A cluster waits for it; here the user is at hand.
    """
    task = await store.get_task(request.file.key)
    with contextlib.ExitStack() as stack:
        if request.is_live:
            stack.enter_context(request.console.status("reading the corpus ..."))
        references = await resolver.resolve(task)
    if references.missing is not None and not is_settled(task):
        mend = ""
        if references.missing.reason is AcceptedReason.SECRET_NOT_FOUND:
            mend = (
                "\nAdd the Secret to the file, or take its key from a variable of the environment "
                "with --secret NAME/KEY=VARIABLE"
            )
        raise UserError(references.missing.message + mend)
    return references


async def _tell_corpora(request: _Request, references: References) -> None:
    for name, source in references.sources.items():
        seen = await source.observe()
        held = "asked at its address"
        if seen.documents is not None and seen.digest is not None:
            held = f"{count(seen.documents, 'document')}, {seen.digest[:19]}"
        request.say(labelled("remote" if source.is_remote else "corpus", f"{name}: {held}"))
        for warning in seen.warnings:
            what = "note" if source.is_remote else "left out"
            request.say(labelled("", f"{what}: {visible(warning)}"))


@contextlib.contextmanager
def _observers(request: _Request) -> Iterator[list[RunObserver]]:
    with contextlib.ExitStack() as stack:
        progress: RunObserver = PlainProgress(request.console, request.verbosity)
        if request.is_live:
            progress = stack.enter_context(LiveProgress(request.console, request.verbosity))
        observers = [progress]
        if request.log is not None:
            observers.append(stack.enter_context(JournalLog(request.log)))
        yield observers


async def _close(request: _Request, store: LocalStore, task: ResearchTask, *, stopped: bool) -> int:
    """Write the report, say how it ended and what to do next; return the exit code."""
    home = Home(request.store, namespace=None)
    name = task.metadata.name
    if not is_settled(task):
        again = f"fixpoint run --file {request.file.path}"
        request.say("")
        if stopped:
            request.say(
                labelled(
                    "stopped",
                    "what is recorded is kept; the time until it goes on is active time "
                    "(spec.budgets.activeDeadlineSeconds)",
                )
            )
            request.say(labelled("next", f"the same command goes on from there: {again}"))
            return INTERRUPTED
        if task.status.awaiting is not None:
            for line in _asked_for(task.status.awaiting, home):
                request.say(line)
            request.say(labelled("next", f"then: {again}"))
            return ExitCode.HAND_OFF
        request.say(labelled("suspended", "as spec.desiredState asks for"))
        request.say(labelled("next", f"set it to Running, and: {again}"))
        return ExitCode.HAND_OFF
    reason = task.status.terminal_reason
    assert reason is not None
    request.say("")
    for line in wording.closing(task):
        request.say(line)
    request.say(labelled("report", await _written_report(request, store, task)))
    request.say(wording.next_line(task))
    request.say(labelled("", f"fixpoint verify {name} {home.options}"))
    return TERMINAL[reason].exit_code


def _asked_for(awaiting: Awaiting, home: Home) -> Iterator[str]:
    """Say what a person is asked for, and where the answer goes."""
    for field in awaiting.fields:
        yield labelled("asked", f"{field}: put {{field: {field}, answer: ...}} in clarifications")
    if awaiting.approval_digest is not None:
        yield labelled("asked", f"approve or deny the draft {awaiting.approval_digest}")
        yield labelled("", f"read it: fixpoint report --draft {home.options}".rstrip())
        yield labelled("", "decide: put its digest and a verdict in spec.approval.decision")
    yield labelled("until", f"{awaiting.deadline:%Y-%m-%d %H:%M:%S} UTC")


async def _written_report(request: _Request, store: LocalStore, task: ResearchTask) -> str:
    """Write the report's files; return where they are, or that there is none."""
    stored = await store.get_report(task)
    if stored is None:
        return "not written"
    try:
        request.folder.mkdir(parents=True, exist_ok=True)
        for name in (JSON_FILE, MARKDOWN_FILE):
            (request.folder / name).write_text(stored.files[name], encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"the report cannot be written to {request.folder}: {error.strerror}; name another "
            "folder with --output"
        ) from error
    return str(request.folder / MARKDOWN_FILE)
