"""The getter of the demo's corpus."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from demo.corpus import SHA256, CorpusUnavailableError, corpora_root, django_docs, unpack_tree


def test_the_directory_holds_the_documentation_alone(documentation: Path) -> None:
    assert [path.name for path in documentation.iterdir()] == ["docs"]
    assert sum(path.is_file() for path in documentation.rglob("*")) == 684


def test_what_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    (tmp_path / "django-docs/docs").mkdir(parents=True)
    (tmp_path / "django-docs.sha256").write_text(SHA256)
    assert django_docs(tmp_path) == tmp_path / "django-docs"


def test_the_command_prints_the_directory(documentation: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    result = subprocess.run(
        [sys.executable, "-m", "demo.corpus"], cwd=root, check=True, capture_output=True, text=True
    )
    assert result.stdout == f"{documentation}\n"


def test_the_root_follows_the_base_directory_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert corpora_root() == Path("/cache/fixpoint/corpora")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert corpora_root() == Path.home() / ".cache/fixpoint/corpora"


def archive_of(path: Path, *names: str) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 4
            archive.addfile(member, io.BytesIO(b"text"))
        link = tarfile.TarInfo("x-1/docs/link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return path


def test_only_the_files_of_the_tree_are_unpacked(tmp_path: Path) -> None:
    archive = archive_of(tmp_path / "a.tar.gz", "x-1/docs/a/b.txt", "x-1/setup.py", "docs/c.txt")
    assert unpack_tree(archive, "docs", tmp_path / "out") == 1
    found = [path for path in (tmp_path / "out").rglob("*") if not path.is_dir()]
    assert found == [tmp_path / "out/docs/a/b.txt"]


@pytest.mark.parametrize("name", ["x-1/docs/../../evil.txt", "/docs/evil.txt"])
def test_a_name_that_leads_out_is_refused(name: str, tmp_path: Path) -> None:
    archive = archive_of(tmp_path / "a.tar.gz", name)
    with pytest.raises(CorpusUnavailableError, match="refused"):
        unpack_tree(archive, "docs", tmp_path / "out")
