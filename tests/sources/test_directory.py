"""Which files of a directory are documents, and that nothing outside of it ever is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from controller.api.errors import SourceNotReadyError
from controller.api.reasons import ReadyReason
from controller.sources import directory
from controller.sources.collection import MAX_FILE_BYTES, Collection
from tests.sources.conftest import write


def collect(root: Path) -> Collection:
    return directory.collect("library", root.resolve())


def paths(found: Collection) -> list[str]:
    return [file.path for file in found.files]


def test_files_are_taken_by_their_suffix_hidden_ones_are_not(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a.txt": "1",
            "B.RST": "2",
            "deep/er/c.md": "3",
            "deep/d.htm": "4",
            "e.png": "5",
            "f": "6",
            ".hidden.txt": "7",
            ".git/g.txt": "8",
        },
    )
    found = collect(tmp_path)
    assert paths(found) == ["B.RST", "a.txt", "deep/d.htm", "deep/er/c.md"]
    assert found.left_out == ()


def test_locators_are_paths_percent_encoded_where_needed(tmp_path: Path) -> None:
    names = {
        "plain-name_1.txt": "file:plain-name_1.txt",
        "with space#?.txt": "file:with%20space%23%3F.txt",
        "100%.txt": "file:100%25.txt",
        "grün.txt": "file:gr%C3%BCn.txt",
        "עברית/🙂.txt": "file:%D7%A2%D7%91%D7%A8%D7%99%D7%AA/%F0%9F%99%82.txt",
        "a\u202eb.txt": "file:a%E2%80%AEb.txt",
    }
    write(tmp_path, dict.fromkeys(names, "text"))
    assert {file.path: file.locator for file in collect(tmp_path).files} == names


def test_a_name_that_is_no_text_is_a_name_all_the_same(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff\xfe.txt")).write_text("text")
    (file,) = collect(tmp_path).files
    assert file.locator == "file:%FF%FE.txt"
    assert file.load() == b"text"


def test_the_digest_is_of_paths_and_contents_alone(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    write(one, {"a.txt": "1", "b/c.md": "2", "x.png": "3"})
    write(other, {"b/c.md": "2", "a.txt": "1"})
    digest = collect(one).digest
    assert collect(other).digest == digest
    write(other, {"a.txt": "2"})
    assert collect(other).digest != digest
    write(other, {"a.txt": "1"})
    assert collect(other).digest == digest
    (other / "a.txt").rename(other / "d.txt")
    assert collect(other).digest != digest


def test_a_link_that_leads_out_is_left_out_with_a_warning(tmp_path: Path) -> None:
    write(tmp_path, {"outside/secret.txt": "secret", "library/a.txt": "1"})
    library = tmp_path / "library"
    (library / "link.txt").symlink_to(tmp_path / "outside/secret.txt")
    (library / "up").symlink_to("../outside")
    (library / "passwd.txt").symlink_to("/etc/passwd")
    found = collect(library)
    assert paths(found) == ["a.txt"]
    assert [item.path for item in found.left_out] == ["link.txt", "passwd.txt", "up"]
    assert all("leads out of the corpus directory" in str(item) for item in found.left_out)
    assert not any(item.bars_absence for item in found.left_out)


def test_links_inside_are_followed_and_each_file_is_read_once(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "1", "d/b.txt": "2"})
    (tmp_path / "again.txt").symlink_to("a.txt")
    (tmp_path / "e").symlink_to("d")
    (tmp_path / "d/up").symlink_to("..")
    found = collect(tmp_path)
    assert paths(found) == ["a.txt", "d/b.txt"]
    assert found.left_out == ()


def test_a_volume_of_a_config_map_is_read_through_its_links(tmp_path: Path) -> None:
    """The kubelet keeps the files in a hidden directory and links to them."""
    write(tmp_path, {"..2026_01/a.txt": "1", "..2026_01/sub/b.txt": "2"})
    (tmp_path / "..data").symlink_to("..2026_01")
    (tmp_path / "a.txt").symlink_to("..data/a.txt")
    (tmp_path / "sub").symlink_to("..data/sub")
    assert paths(collect(tmp_path)) == ["a.txt", "sub/b.txt"]


def test_links_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "gone.txt").symlink_to("nothing.txt")
    (tmp_path / "circle.txt").symlink_to("circle.txt")
    (tmp_path / "circle").symlink_to("circle")
    found = collect(tmp_path)
    assert paths(found) == []
    assert [(i.path, i.bars_absence) for i in found.left_out] == [("circle.txt", True)]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    (item,) = collect(tmp_path).left_out
    assert "not a regular file" in str(item)


# S4.35
def test_a_file_that_is_too_large_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, {"just.txt": "", "over.txt": ""})
    os.truncate(tmp_path / "just.txt", MAX_FILE_BYTES)
    os.truncate(tmp_path / "over.txt", 5 * MAX_FILE_BYTES)
    found = collect(tmp_path)
    assert paths(found) == ["just.txt"]
    (item,) = found.left_out
    assert str(item) == "over.txt is left out: it is larger than 10 MiB; split it"
    assert item.bars_absence


def test_files_beyond_the_limit_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directory, "MAX_FILES", 3)
    write(tmp_path, {f"{number}.txt": "x" for number in range(6)})
    found = collect(tmp_path)
    assert paths(found) == ["0.txt", "1.txt", "2.txt"]
    (item,) = found.left_out
    assert item.bars_absence


def test_what_cannot_be_read_is_left_out(without_privileges: Path) -> None:
    write(without_privileges, {"a.txt": "1", "b.txt": "2", "sub/c.txt": "3"})
    (without_privileges / "b.txt").chmod(0)
    (without_privileges / "sub").chmod(0)
    found = collect(without_privileges)
    (without_privileges / "sub").chmod(0o700)
    assert paths(found) == ["a.txt"]
    assert sorted(map(str, found.left_out)) == [
        "b.txt is left out: it cannot be read (Permission denied); let the operator's user read it",
        (
            "sub/ is left out: it cannot be listed (Permission denied);"
            " let the operator's user read it"
        ),
    ]
    assert all(item.bars_absence for item in found.left_out)


def test_an_unchanged_file_is_not_read_again(tmp_path: Path) -> None:
    """A file's time of access tells whether it was read."""
    write(tmp_path, {"a.txt": "1", "b.txt": "2"})
    digest = collect(tmp_path).digest
    for name in ("a.txt", "b.txt"):
        path = tmp_path / name
        os.utime(path, ns=(1, path.stat().st_mtime_ns))
    collect(tmp_path)  # the change of times is a change of the file's record: read once more
    before = {name: (tmp_path / name).stat().st_atime_ns for name in ("a.txt", "b.txt")}
    assert collect(tmp_path).digest == digest
    assert {name: (tmp_path / name).stat().st_atime_ns for name in before} == before


def test_a_change_is_seen_though_size_and_time_are_the_same(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "one"})
    path = tmp_path / "a.txt"
    os.utime(path, ns=(10**9, 10**9))
    digest = collect(tmp_path).digest
    path.write_text("two")
    os.utime(path, ns=(10**9, 10**9))
    assert collect(tmp_path).digest != digest


REFUSED = {
    "../other": ReadyReason.DIRECTORY_NOT_ALLOWED,
    "a/../../other": ReadyReason.DIRECTORY_NOT_ALLOWED,
    "/etc": ReadyReason.DIRECTORY_NOT_ALLOWED,
    "nul\x00": ReadyReason.DIRECTORY_NOT_ALLOWED,
    "escape": ReadyReason.DIRECTORY_NOT_ALLOWED,
    "missing": ReadyReason.DIRECTORY_NOT_FOUND,
    "file.txt": ReadyReason.DIRECTORY_NOT_FOUND,
    "file.txt/below": ReadyReason.DIRECTORY_NOT_READABLE,
    "circle": ReadyReason.DIRECTORY_NOT_READABLE,
}


@pytest.mark.parametrize("name", REFUSED)
def test_directories_that_are_refused(name: str, tmp_path: Path) -> None:
    write(tmp_path, {"other/a.txt": "1", "root/file.txt": "2"})
    root = tmp_path / "root"
    (root / "escape").symlink_to("../other")
    (root / "circle").symlink_to("circle")
    with pytest.raises(SourceNotReadyError) as refused:
        directory.resolve_directory(name, root)
    assert refused.value.reason is REFUSED[name]
    assert repr(name) in str(refused.value)
    assert ";" in str(refused.value)


def test_directories_that_are_taken(tmp_path: Path) -> None:
    write(tmp_path, {"real/v2/a.txt": "1"})
    (tmp_path / "root").symlink_to("real")
    (tmp_path / "real/current").symlink_to("v2")
    root = tmp_path / "root"
    assert directory.resolve_directory("v2", root) == (tmp_path / "real/v2").resolve()
    assert directory.resolve_directory("current", root) == (tmp_path / "real/v2").resolve()
    assert directory.resolve_directory(".", root) == (tmp_path / "real").resolve()


def test_without_a_corpus_root_no_directory_is_allowed() -> None:
    with pytest.raises(SourceNotReadyError, match="no corpus root") as refused:
        directory.resolve_directory("a", None)
    assert refused.value.reason is ReadyReason.DIRECTORY_NOT_ALLOWED


def test_a_directory_that_cannot_be_listed(without_privileges: Path) -> None:
    root = without_privileges / "library"
    root.mkdir(mode=0)
    with pytest.raises(SourceNotReadyError, match="Permission denied") as refused:
        directory.collect("library", root)
    assert refused.value.reason is ReadyReason.DIRECTORY_NOT_READABLE


def test_nothing_is_read_that_became_a_link_after_it_was_listed(tmp_path: Path) -> None:
    write(tmp_path, {"secret": "secret", "library/a.txt": "text"})
    (file,) = collect(tmp_path / "library").files
    (tmp_path / "library/a.txt").unlink()
    (tmp_path / "library/a.txt").symlink_to(tmp_path / "secret")
    with pytest.raises(OSError, match="symbolic links"):
        file.load()


def test_readers_stay_out_of_memory_until_they_are_needed() -> None:
    script = (
        "import sys, controller.sources.corpus;"
        "sys.exit(any(m.partition('.')[0] in {'lxml', 'markdown_it', 'charset_normalizer'}"
        " for m in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
