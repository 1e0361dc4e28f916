"""A real MediaWiki on this machine: Debian's, with PHP's own server and SQLite."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.sources.remote.debian import DebianUnavailableError, unpacked

_PHP: Final = "8.2"
_PACKAGES: Final = (
    "mediawiki", "mediawiki-classes", "php-common", f"php{_PHP}-cli", f"php{_PHP}-common",
    f"php{_PHP}-intl", f"php{_PHP}-mbstring", f"php{_PHP}-sqlite3", f"php{_PHP}-xml",
)  # fmt: skip
_EXTENSIONS: Final = (
    "mbstring", "xml", "dom", "xmlreader", "xmlwriter", "simplexml", "pdo", "sqlite3",
    "pdo_sqlite", "intl", "ctype", "fileinfo", "iconv", "tokenizer", "posix",
)  # fmt: skip
_OWN: Final = ("LocalSettings.php", "config", "extensions", "images")
"""What Debian keeps below `/var` and `/etc`, which are not this system's."""

_SITE: Final = "usr/share/mediawiki"
_START_SECONDS: Final = 20.0


class RealWiki:
    """A wiki of its own folder; `edit`, `move` and `delete` change it as its own tools do."""

    def __init__(self, folder: Path) -> None:
        """Set a wiki up.

        Raises:
            DebianUnavailableError: a package cannot be had, or PHP does not run here.
        """
        root = unpacked("mediawiki", _PACKAGES, _without_debian)
        self._php = root / "usr" / "bin" / f"php{_PHP}"
        self._site = root / _SITE
        self._ini = folder / "php.ini"
        libraries = next((root / "usr/lib/php").glob("2*"))
        lines = [f"extension_dir={libraries}", "memory_limit=256M"]
        lines += [f"extension={name}.so" for name in _EXTENSIONS]
        self._ini.write_text("\n".join(lines), encoding="utf-8")
        self._settings = folder / "conf" / "LocalSettings.php"
        self._settings.parent.mkdir()
        data = folder / "data"
        data.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.origin = f"http://127.0.0.1:{self.port}"
        self._run("-v")
        self._tool(
            "install", "--dbtype", "sqlite", "--dbpath", str(data), "--dbname", "wiki",
            "--server", self.origin, "--scriptpath", "", "--pass", "a-Long-Pass-17",
            "--confpath", str(self._settings.parent), "Lamps", "Admin",
        )  # fmt: skip

    @property
    def api_url(self) -> str:
        """Where programs ask."""
        return f"{self.origin}/api.php"

    def edit(self, title: str, text: str) -> None:
        """Write a page, and let the search know."""
        self._tool("edit", title, stdin=text)
        self._tool("rebuildtextindex")

    def move(self, old: str, new: str) -> None:
        """Give a page another title, without a redirect."""
        self._tool("moveBatch", "--noredirects", stdin=f"{old}|{new}\n")

    def delete(self, title: str) -> None:
        """Delete a page."""
        self._tool("deleteBatch", stdin=f"{title}\n")

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serve the wiki until the end of the body."""
        server = subprocess.Popen(
            [self._php, "-c", self._ini, "-S", f"127.0.0.1:{self.port}", "-t", self._site],
            env=self._environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            self._await_answer(server)
            yield
        finally:
            server.terminate()
            server.wait(10)

    def _await_answer(self, server: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            assert server.poll() is None, "PHP's server has ended"
            try:
                with urllib.request.urlopen(f"{self.api_url}?action=query&format=json"):  # noqa: S310 - our own
                    return
            except OSError:
                assert time.monotonic() < deadline, "the wiki does not answer"
                time.sleep(0.1)

    def _tool(self, name: str, *arguments: str, stdin: str = "") -> None:
        self._run(str(self._site / "maintenance" / f"{name}.php"), *arguments, stdin=stdin)

    def _run(self, *arguments: str, stdin: str = "") -> None:
        try:
            done = subprocess.run(
                [self._php, "-c", self._ini, *arguments],
                check=False,
                input=stdin,
                env=self._environment(),
                capture_output=True,
                text=True,
                timeout=120,
            )
        except OSError as error:
            raise DebianUnavailableError(
                f"PHP does not run on {platform.machine()}: {error}"
            ) from None
        if "error while loading shared libraries" in done.stderr:
            raise DebianUnavailableError(f"PHP does not run here: {done.stderr.strip()}")
        assert done.returncode == 0, done.stdout + done.stderr

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "MW_CONFIG_FILE": str(self._settings),
            "PHP_INI_SCAN_DIR": "",
        }


def _without_debian(root: Path) -> None:
    """Let the wiki stand by itself: its own folders are links to places of an installed system."""
    for name in _OWN:
        (root / _SITE / name).unlink()
    for name in _OWN[1:]:
        (root / _SITE / name).mkdir()
