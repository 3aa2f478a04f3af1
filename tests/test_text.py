"""Text files keep their manner and are never left half written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from openclaw.errors import OpenclawError
from openclaw.files.text import md5, read_text, write_text


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_reading_drops_the_bom_keeps_newlines_and_survives_bad_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\n\xff\xfe end")
    assert read_text(path) == "one\r\ntwo\n\ufffd\ufffd end"


def test_writing_makes_folders_and_says_whether_anything_changed(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c.md"
    assert write_text(path, "text\n")
    before = path.stat()
    assert not write_text(path, "text\n")
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert names(path.parent) == ["c.md"]


def test_the_bom_of_a_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"\xef\xbb\xbfold\n")
    assert write_text(path, "new\n")
    assert path.read_bytes() == b"\xef\xbb\xbfnew\n"


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        (b"a\r\nb\r\n", "a\nc\n", b"a\r\nc\r\n"),
        (b"a\r\nb\r\n", "a\r\nc\n", b"a\r\nc\r\n"),
        (b"a\nb\n", "a\r\nc\r\n", b"a\nc\n"),
        (b"a\r\nb\n", "a\r\nc\n", b"a\r\nc\n"),
        (b"one line", "a\r\nb\n", b"a\r\nb\n"),
    ],
)
def test_the_newline_style_of_a_file_is_kept(
    tmp_path: Path, before: bytes, text: str, after: bytes
) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(before)
    write_text(path, text)
    assert path.read_bytes() == after


def test_what_was_read_can_be_written_back_without_a_change(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    for data in (b"\xef\xbb\xbfa\r\nb\r\n", b"a\r\nb\nc", b"", b"\r\r\n"):
        path.write_bytes(data)
        assert not write_text(path, read_text(path))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_the_mode_of_a_file_is_kept_and_a_new_one_obeys_the_umask(tmp_path: Path) -> None:
    old, new = tmp_path / "old.sh", tmp_path / "new.md"
    old.write_text("a", encoding="utf-8")
    old.chmod(0o751)
    write_text(old, "b")
    mask = os.umask(0o027)
    try:
        write_text(new, "b")
    finally:
        os.umask(mask)
    assert old.stat().st_mode & 0o777 == 0o751
    assert new.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be replaced on Windows")
def test_who_reads_while_it_is_written_sees_the_old_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    write_text(path, "old" * 1000)
    with path.open(encoding="utf-8") as reader:
        write_text(path, "new" * 1000)
        assert reader.read() == "old" * 1000
    assert path.read_text(encoding="utf-8") == "new" * 1000


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path: Path) -> None:
    target, link = tmp_path / "deep" / "target.md", tmp_path / "link.md"
    target.parent.mkdir()
    target.write_text("old", encoding="utf-8")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"


def test_a_file_in_another_encoding_is_not_overwritten_with_what_could_not_be_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes("Gr\u00fc\u00dfe\n".encode("latin-1"))
    with pytest.raises(OpenclawError, match="not UTF-8") as caught:
        write_text(path, read_text(path) + "more\n")
    assert "iconv" in caught.value.hint
    assert path.read_bytes() == "Gr\u00fc\u00dfe\n".encode("latin-1")


def test_halves_of_surrogate_pairs_are_joined_or_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    write_text(path, "\ud83d\ude00 \ud800")
    assert path.read_text(encoding="utf-8") == "\U0001f600 \ufffd"


def test_a_folder_that_is_a_file_is_an_error_that_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    write_text(folder / "file", "x")
    with pytest.raises(OpenclawError, match="cannot write") as caught:
        write_text(folder / "file" / "a.md", "text")
    assert caught.value.hint
    assert names(folder) == ["file"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_device_is_never_replaced_by_a_file(tmp_path: Path) -> None:
    (tmp_path / "link.md").symlink_to("/dev/full")
    with pytest.raises(OpenclawError, match="not a regular file"):
        write_text(tmp_path / "link.md", "text")
    assert Path("/dev/full").is_char_device()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limits on a process's files")
def test_a_full_disk_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "there" / "a.md"
    write_text(path, "old")
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from openclaw.errors import OpenclawError\n"
        "from openclaw.files.text import write_text\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: write_text(Path(sys.argv[1]), 'x' * 5000)\n"
        "except OpenclawError as error: print(error, '|', error.hint)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert "cannot write" in done.stdout
    assert "free some space" in done.stdout
    assert path.read_text(encoding="utf-8") == "old"
    assert names(path.parent) == ["a.md"]


@pytest.mark.skipif(os.name == "nt", reason="root is meant: a read-only file on POSIX")
def test_a_read_only_file_stays_as_it_is_for_a_common_user(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        path = tmp_path / "a.md"
        path.write_text("old", encoding="utf-8")
        path.chmod(0o444)
        with pytest.raises(OpenclawError, match="read-only"):
            write_text(path, "new")
        assert path.read_text(encoding="utf-8") == "old"
        return
    code = (
        "import os, sys; from pathlib import Path\n"
        "from openclaw.errors import OpenclawError\n"
        "from openclaw.files.text import write_text\n"
        "folder = Path(sys.argv[1]); folder.chmod(0o777); os.chdir(folder)\n"
        "path = Path('a.md'); path.write_text('old'); path.chmod(0o444)\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "try: write_text(path, 'new')\n"
        "except OpenclawError as error: print(error)\n"
        "print(path.read_text(), os.listdir())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert "read-only" in done.stdout
    assert "old" in done.stdout
    assert ".tmp" not in done.stdout


def test_the_fingerprint_of_a_file_is_that_of_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"hello")
    assert md5(path) == md5(b"hello") == "5d41402abc4b2a76b9719d911017c592"
