"""The model's server itself: it is gone when its block ends, and when its owner is killed."""

from __future__ import annotations

import subprocess
import sys
import urllib.error

import psutil
import pytest

from tests.llama.server import LlamaServer

pytestmark = [pytest.mark.llama, pytest.mark.timeout(3600)]

OWNER = """
from tests.llama.server import LlamaServer
with LlamaServer() as server:
    print(server.process_id, flush=True)
    input()
"""


def test_the_server_asks_for_its_key_and_ends_with_its_block() -> None:
    with LlamaServer(slots=1) as server:
        process = psutil.Process(server.process_id)
        assert len(server.get("/slots")) == 1
        server.key = "wrong-key"
        with pytest.raises(urllib.error.HTTPError, match="401"):
            server.get("/slots")
    assert not process.is_running()


def test_the_server_ends_when_its_owner_is_killed() -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with owner:
        assert owner.stdout is not None
        process = psutil.Process(int(owner.stdout.readline()))
        owner.kill()
    process.wait(60)
    assert not process.is_running()
