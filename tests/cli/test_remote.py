"""`fixpoint run` over remote sources: the user's own addresses are open, and nothing else is."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import yaml

from controller.api.base import API_VERSION
from tests.cli.desk import Desk

GLOW = "Default: 40 lumens at the lowest dimmer position of the lamp."
CANARY = "canary-4f1c9a77"
QUESTIONS = [{"id": "glow", "text": "What is the default of GLOW_LEVEL?"}]


class Served:
    """A web server on this machine: pages by path, and what it was asked."""

    def __init__(self, pages: dict[str, str]) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                served.asked.append((self.path, headers))
                text = pages.get(self.path)
                body = (text or "nothing here").encode()
                self.send_response(404 if text is None else 200)
                self.send_header("content-type", "text/html; charset=utf-8")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self.server.server_port}"


@contextmanager
def serving(pages: dict[str, str]) -> Iterator[Served]:
    served = Served(pages)
    thread = threading.Thread(target=served.server.serve_forever)
    thread.start()
    try:
        yield served
    finally:
        served.server.shutdown()
        served.server.server_close()
        thread.join()


def write(desk: Desk, *documents: dict[str, Any], **source: object) -> None:
    """Write a task file with one question, and a source of this spec."""
    desk.write_task(questions=QUESTIONS, sourceRefs=[{"name": "pages"}])
    made = {
        "apiVersion": API_VERSION,
        "kind": "ResearchSource",
        "metadata": {"name": "pages"},
        "spec": source,
    }
    parts = [desk.task.read_text("utf-8"), *map(yaml.safe_dump, (made, *documents))]
    desk.task.write_text("---\n".join(parts), encoding="utf-8")


def page(*paragraphs: str) -> str:
    text = "".join(f"<p>{p}</p>" for p in paragraphs)
    return (
        "<!DOCTYPE html><html><head><title>GLOW_LEVEL</title></head><body>"
        f"<h1>GLOW_LEVEL</h1>{text}</body></html>"
    )


def test_a_page_on_this_machine_is_read_where_the_users_own_file_names_it(desk: Desk) -> None:
    with serving({"/glow": page(GLOW)}) as served:
        write(desk, type="Web", robots="Ignore", web={"urls": [f"{served.origin}/glow"]})
        said = desk.run("--contact", "research@example.com")
        asked = served.asked
    assert said.code == 0, said.err
    assert f"> {GLOW}" in (desk.report / "report.md").read_text("utf-8")
    assert "remote:     pages: asked at its address" in said.out
    assert "note: robots files are not asked: spec.robots is Ignore" in said.out
    assert [path for path, _ in asked] == ["/glow"]
    assert asked[0][1]["user-agent"].endswith("(+research@example.com)")
    verified = desk.fixpoint("verify", "lamp", "--store", desk.store)
    assert verified.code == 0, verified.out


def test_where_a_page_leads_on_this_machine_is_not_read(desk: Desk) -> None:
    with serving({"/secret": page(GLOW)}) as other:
        lure = page("Nothing of the kind stands here.", f'<a href="{other.origin}/secret">GLOW</a>')
        with serving({"/": lure}) as served:
            write(
                desk,
                type="Web",
                robots="Ignore",
                web={
                    "urls": [f"{served.origin}/"],
                    "maxDepth": 1,
                    "allowedHosts": ["127.0.0.1"],
                },
            )
            desk.run()
            assert served.asked
        assert other.asked == []
    assert GLOW not in (desk.report / "report.md").read_text("utf-8")


def test_a_key_of_a_source_may_come_from_a_variable_and_is_found_nowhere(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGINE_KEY", CANARY)
    secret = {"name": "engine", "key": "api-key"}
    with serving({}) as served:
        write(desk, type="SearXNG", searxng={"baseURL": served.origin}, credentialsSecretRef=secret)
        missing = desk.run()
        assert missing.code == 5
        assert "the ResearchSource pages has no key: the Secret default/engine" in missing.err
        assert "--secret NAME/KEY=VARIABLE" in missing.err
        assert served.asked == []
        said = desk.run("--secret", "engine/api-key=ENGINE_KEY", "--verbosity", "3")
        sent = {headers.get("authorization") for _, headers in served.asked}
    assert sent == {f"Bearer {CANARY}"}
    assert said.code != 0
    assert CANARY not in said.out + said.err
    left = [f for f in desk.folder.rglob("*") if f.is_file() and f != desk.task]
    assert all(CANARY.encode() not in file.read_bytes() for file in left)


def test_a_contact_that_no_header_can_hold_is_refused(desk: Desk) -> None:
    said = desk.run("--contact", "a\nb")
    assert said.code == 5
    assert "the contact 'a\\nb' must be" in said.err
