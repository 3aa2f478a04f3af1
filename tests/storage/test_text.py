"""Text files keep their manner and are never left half written."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from openclaw.errors import OpenclawError
from openclaw.storage.atomic import _taken_in, read_settled
from openclaw.storage.merge import Conflict
from openclaw.storage.merged_save import SaveConflict, save_over
from openclaw.storage.safe_open import md5, read_text
from openclaw.storage.text import unwritable, write_if_same, write_text


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
        "from openclaw.storage.text import write_text\n"
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
        "from openclaw.storage.text import write_text\n"
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


# ---- others at the same time


def test_a_swap_writes_only_over_what_was_read(tmp_path: Path) -> None:
    path = tmp_path / "here" / "a.md"
    path.parent.mkdir()
    path.write_bytes(b"mine\n")
    assert not write_if_same(path, b"older\n", b"new\n")
    assert not write_if_same(path, None, b"new\n")
    assert path.read_bytes() == b"mine\n"
    assert write_if_same(path, b"mine\n", b"new\n")
    assert path.read_bytes() == b"new\n"
    assert names(path.parent) == ["a.md"]


def test_a_swap_can_ask_for_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.md"
    assert not write_if_same(path, b"gone", b"new\n")
    assert write_if_same(path, None, b"new\n")
    assert path.read_bytes() == b"new\n"
    assert names(path.parent) == ["a.md"]


def test_saves_of_others_are_merged_into_ours(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"one\r\ntwo\r\nthree\r\nfour\r\n")
    saved = save_over(path, b"one\r\ntwo\r\nthree\r\n", b"ONE\r\ntwo\r\nthree\r\n")
    assert saved.merged
    assert saved.before == b"one\r\ntwo\r\nthree\r\nfour\r\n"
    assert path.read_bytes() == saved.after == b"ONE\r\ntwo\r\nthree\r\nfour\r\n"


def test_a_save_over_what_was_read_is_no_merge(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    assert not save_over(path, None, b"one\n").merged
    assert not save_over(path, b"one\n", b"two\n").merged
    before = path.stat()
    assert not save_over(path, b"one\n", b"two\n").merged
    assert path.stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize("now", [b"mine\n", b"one\0\n", None])
def test_what_cannot_be_merged_is_told_and_nothing_written(
    tmp_path: Path, now: bytes | None
) -> None:
    path = tmp_path / "a.md"
    if now is not None:
        path.write_bytes(now)
    with pytest.raises(SaveConflict, match="was changed meanwhile") as caught:
        save_over(path, b"one\n", b"two\n")
    assert caught.value.hint
    assert (path.read_bytes() if path.exists() else None) == now


def test_a_conflict_says_what_stands_there_now(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"mine\n")
    with pytest.raises(SaveConflict, match="same lines") as caught:
        save_over(path, b"one\n", b"two\n")
    assert caught.value.merged
    assert caught.value.merged.conflicts == (Conflict(0, ("one\n",), ("mine\n",), ("two\n",)),)


def test_a_save_in_place_that_is_under_way_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"")
    writer = threading.Timer(0.05, path.write_bytes, (b"whole\n",))
    writer.start()
    found = read_settled(path)
    writer.join()
    assert found == b"whole\n"


def test_an_empty_file_that_nobody_writes_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"")
    assert read_settled(path) == b""
    assert read_settled(tmp_path / "none") is None


EDITOR = """
import os, sys, time
from pathlib import Path
path = Path(sys.argv[1])
for number in range(60):
    while True:
        seen = path.stat()
        old = path.read_bytes()
        time.sleep(0.002)  # nobody is quicker; what stands there for less is not built upon
        beside = path.with_name("beside")
        beside.write_bytes(b"theirs %d\\n" % number + old)
        now = path.stat()
        same = ("st_ino", "st_mtime_ns", "st_ctime_ns")
        if all(getattr(now, name) == getattr(seen, name) for name in same):
            break
    os.replace(beside, path)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs the exchange of two files")
def test_no_save_of_an_editor_is_lost_however_close_ours_comes(tmp_path: Path) -> None:
    path = tmp_path / "here" / "a.md"
    path.parent.mkdir()
    path.write_bytes(b"begin\n")
    with subprocess.Popen([sys.executable, "-c", EDITOR, str(path)]) as editor:
        while editor.poll() is None:
            time.sleep(0.004)  # else the editor never finds the file as it has read it
            old = path.read_bytes()
            if b"ours" not in old:
                write_if_same(path, old, old + b"ours\n")
            else:
                write_if_same(path, old, old.replace(b"ours\n", b""))
    lines = path.read_bytes().splitlines()
    assert [line for line in lines if line.startswith(b"theirs")] == [
        b"theirs %d" % number for number in reversed(range(60))
    ]
    assert names(path.parent) == ["a.md"]


# ---- what a file keeps


@pytest.mark.parametrize("link_to", ["deep/target.md", "second.md"])
def test_relative_links_and_links_to_links_are_followed(tmp_path: Path, link_to: str) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "target.md").write_bytes(b"old\n")
    (tmp_path / "second.md").symlink_to("deep/target.md")
    link = tmp_path / "link.md"
    link.symlink_to(link_to)
    write_text(link, "new\n")
    assert link.is_symlink()
    assert (tmp_path / "second.md").is_symlink()
    assert (tmp_path / "deep" / "target.md").read_bytes() == b"new\n"
    assert not (tmp_path / "deep" / "target.md").is_symlink()


def test_a_link_to_nothing_gets_what_it_points_to(tmp_path: Path) -> None:
    link = tmp_path / "link.md"
    link.symlink_to("later/target.md")
    write_text(link, "new\n")
    assert link.is_symlink()
    assert (tmp_path / "later" / "target.md").read_bytes() == b"new\n"


def test_a_link_to_itself_is_an_error(tmp_path: Path) -> None:
    link = tmp_path / "link.md"
    link.symlink_to("link.md")
    with pytest.raises(OpenclawError, match="cannot write"):
        write_text(link, "new\n")


@pytest.mark.skipif(not hasattr(os, "link"), reason="needs hard links")
def test_another_name_of_a_file_keeps_what_it_held(tmp_path: Path) -> None:
    path, backup = tmp_path / "a.md", tmp_path / "backup.md"
    path.write_bytes(b"old\n")
    os.link(path, backup)
    write_text(path, "new\n")
    assert (path.read_bytes(), backup.read_bytes()) == (b"new\n", b"old\n")


@pytest.mark.skipif(sys.platform != "linux", reason="only kept on Linux")
def test_extended_attributes_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"old\n")
    try:
        os.setxattr(path, "user.tag", b"important")
    except OSError:
        pytest.skip("this file system has no such attributes")
    write_text(path, "new\n")
    assert write_if_same(path, b"new\n", b"newer\n")
    assert os.getxattr(path, "user.tag") == b"important"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_a_swap_keeps_the_mode(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"old\n")
    path.chmod(0o640)
    assert write_if_same(path, b"old\n", b"new\n")
    assert path.stat().st_mode & 0o777 == 0o640


def test_old_line_ends_of_the_macintosh_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"a\rb\r")
    write_text(path, "a\nc\n")
    assert path.read_bytes() == b"a\rc\r"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf_16_is_refused_and_stays(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.md"
    data = "\ufeffold".encode("utf-16-be") if encoding == "utf-16-be" else "old".encode("utf-16")
    path.write_bytes(data)
    with pytest.raises(OpenclawError, match="UTF-16") as caught:
        write_text(path, "new\n")
    assert "iconv" in caught.value.hint
    assert path.read_bytes() == data


def test_a_name_that_is_too_long_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    with pytest.raises(OpenclawError, match="cannot write"):
        write_text(tmp_path / "here" / ("n" * 300), "new\n")
    assert names(tmp_path / "here") == []


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (errno.EIO, "disk reports an error"),
        (errno.ENOSPC, "disk is full"),
        (errno.EROFS, "read-only"),
        (errno.ENAMETOOLONG, "cannot write"),
    ],
)
def test_errors_of_the_system_are_told_with_advice(tmp_path: Path, code: int, said: str) -> None:
    error = unwritable(tmp_path / "a.md", OSError(code, os.strerror(code)))
    assert said in str(error)
    assert error.hint


def test_an_attempt_is_told_before_and_taken_back_when_it_failed(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    told: list[object] = []

    def keep(target: Path, before: bytes | None, after: bytes | None) -> Callable[[], None]:
        told.append((target.name, before, after))
        return lambda: told.append("not written")

    assert write_if_same(path, None, b"one\n", keep)
    assert not write_if_same(path, b"other\n", b"two\n", keep)
    assert told == [("a.md", None, b"one\n"), ("a.md", b"other\n", b"two\n"), "not written"]


def test_a_large_file_that_is_written_in_pieces_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"line\n" * 1000 + b"li")
    writer = threading.Timer(0.05, path.write_bytes, (b"line\n" * 1001,))
    writer.start()
    found = read_settled(path)
    writer.join()
    assert found == b"line\n" * 1001


def test_a_save_over_ours_takes_in_the_one_that_both_had_displaced(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    before = b"one\ntwo\nthree\nfour\n"
    path.write_bytes(b"one\ntwo\nthree\nfour\nours\nlater\n")
    _taken_in(path, before, b"ONE\ntwo\nthree\nfour\n")
    assert path.read_bytes() == b"ONE\ntwo\nthree\nfour\nours\nlater\n"


@pytest.mark.skipif(sys.platform != "linux", reason="needs the exchange of two files")
def test_what_could_not_be_flushed_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "here" / "a.md"
    path.parent.mkdir()
    path.write_bytes(b"old\n")
    flush = os.fsync

    def fsync(number: int) -> None:
        if stat.S_ISDIR(os.fstat(number).st_mode):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        flush(number)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OpenclawError, match="disk reports an error"):
        write_if_same(path, b"old\n", b"new\n")
    assert path.read_bytes() == b"old\n" and names(path.parent) == ["a.md"]
