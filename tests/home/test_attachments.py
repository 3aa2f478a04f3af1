"""Text that is piped in or named with @ becomes material, and nothing else does."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from openclaw.errors import UsageError
from openclaw.home.attachments import MAX_BYTES, attach, mentions, missing_files, read_stdin
from tests.fakes.pdf import pdf


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """(current folder, home), each with files of its own."""
    cwd, home = tmp_path / "cwd", tmp_path / "home"
    for folder in (cwd, home / "memory"):
        folder.mkdir(parents=True)
    (cwd / "notes.md").write_text("".join(f"line {n}\n" for n in range(1, 13)), encoding="utf-8")
    (cwd / "a b.md").write_text("blank in the name\n", encoding="utf-8")
    (home / "memory" / "MEMORY.md").write_text("likes tea\n", encoding="utf-8")
    return cwd, home


def attached(prompt: str, folders: tuple[Path, Path], piped: str = "") -> str:
    return "\n\n".join(f"{m.label}:\n{m.text}" for m in attach(prompt, piped, *folders))


def test_a_named_file_is_attached_whole(folders: tuple[Path, Path]) -> None:
    material = attached("sum up @notes.md please", folders)
    assert material.startswith("file notes.md:\nline 1\n")
    assert material.endswith("line 12\n")


def test_a_range_attaches_only_these_lines(folders: tuple[Path, Path]) -> None:
    assert attached("@notes.md:3-4", folders) == "file notes.md, lines 3-4:\nline 3\nline 4\n"
    assert "lines 5-5:\nline 5\n" in attached("see @notes.md:5.", folders)


def test_a_range_past_the_end_is_clipped_to_it(folders: tuple[Path, Path]) -> None:
    assert "lines 11-12:\nline 11\nline 12\n" in attached("@notes.md:11-99", folders)


@pytest.mark.parametrize("words", ["@notes.md:13-14", "@notes.md:4-2", "@notes.md:0-3"])
def test_a_range_that_is_none_is_refused(words: str, folders: tuple[Path, Path]) -> None:
    with pytest.raises(UsageError, match=r"notes\.md"):
        attached(words, folders)


def test_the_home_is_searched_after_the_current_folder(folders: tuple[Path, Path]) -> None:
    assert "likes tea" in attached("what is in @memory/MEMORY.md?", folders)
    (folders[0] / "memory").mkdir()
    (folders[0] / "memory" / "MEMORY.md").write_text("nearer", encoding="utf-8")
    assert "nearer" in attached("what is in @memory/MEMORY.md?", folders)


@pytest.mark.parametrize("around", ["({})", "see {}.", "'{}'", "{}, then", "is it {}?!"])
def test_punctuation_around_a_path_is_not_part_of_it(
    around: str, folders: tuple[Path, Path]
) -> None:
    found = mentions(around.format("@notes.md"), *folders)
    assert [mention.name for mention in found] == ["notes.md"]


def test_a_quoted_path_may_hold_blanks_and_a_range(folders: tuple[Path, Path]) -> None:
    assert "blank in the name" in attached('read @"a b.md"', folders)
    assert "lines 1-1" in attached('read @"a b.md":1', folders)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="modes do not bind root")
def test_a_folder_that_may_not_be_read_is_no_help(folders: tuple[Path, Path]) -> None:
    (folders[0] / "closed").mkdir(mode=0o300)
    with pytest.raises(UsageError, match=r"there is no file 'closed/a\.md'"):
        attached("see @closed/a.md", folders)


@pytest.mark.parametrize(
    "prompt",
    [
        "mail ann@notes.md now",
        "ask @bob",
        "a@b.de",
        "@",
        "x@",
        "pip install x@notes.md",
        f"@id:{'9' * 5000}",
    ],
)
def test_addresses_and_names_stay_text(prompt: str, folders: tuple[Path, Path]) -> None:
    assert attached(prompt, folders) == ""


@pytest.mark.parametrize(
    ("prompt", "name", "advice"),
    [
        ("sum up @note.md.", "note.md", "did you mean @notes.md?"),
        ("see @nothere:3-9.", "nothere:3-9", ""),
        ('read @"no.md"', "no.md", ""),
        ("see @a.md", "a.md", 'did you mean @"a b.md"?'),
        ("see @memory/MEMRY.md:3", "memory/MEMRY.md:3", "did you mean @memory/MEMORY.md?"),
        ("see @MEMRY.md", "MEMRY.md", "did you mean @memory/MEMORY.md?"),
        ("see @memry/MEMORY.md", "memry/MEMORY.md", "did you mean @memory/MEMORY.md?"),
        ("see @memory/nothing", "memory/nothing", "looked in "),
        ("is @photo.jpg nice?", "photo.jpg", "a blank behind the @ makes it plain words"),
        ("see @./x and @~/y", "./x", "looked in "),
        ("see @other.xyz", "other.xyz", "did you mean @another.xyz?"),
    ],
)
def test_what_can_only_be_a_path_must_be_there(
    prompt: str, name: str, advice: str, folders: tuple[Path, Path]
) -> None:
    (folders[0] / "another.xyz").touch()
    with pytest.raises(UsageError) as wrong:
        attach(prompt, "", *folders)
    assert str(wrong.value) == f"there is no file '{name}'"
    assert advice in wrong.value.hint


def test_one_folder_is_named_once(folders: tuple[Path, Path]) -> None:
    with pytest.raises(UsageError) as wrong:
        attach("see @no.pdf", "", folders[0], folders[0])
    assert wrong.value.hint.count(str(folders[0])) == 1


@pytest.mark.parametrize(
    ("prompt", "names"),
    [
        ("what does @app.get do?", ["app.get"]),
        ("who is @example.org?", ["example.org"]),
        ("explain @property, @angular/core, @alice and ann@example.md", []),
        ("see @notes.md, ask @bob or ann@example.org", []),
    ],
)
def test_what_may_be_something_else_is_only_told(
    prompt: str, names: list[str], folders: tuple[Path, Path]
) -> None:
    attach(prompt, "", *folders)
    assert missing_files(prompt, *folders) == names


def test_a_folder_gives_its_listing(folders: tuple[Path, Path]) -> None:
    (folders[0] / "sub").mkdir()
    assert attached("what is in @.", folders) == "folder .:\na b.md\nnotes.md\nsub/"


def test_a_file_named_twice_is_attached_once(folders: tuple[Path, Path]) -> None:
    assert attached("@notes.md and @notes.md", folders).count("line 12") == 1


def test_a_file_outside_both_folders_may_be_named(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "else.txt").write_text("from elsewhere", encoding="utf-8")
    assert "from elsewhere" in attached(f"@{tmp_path / 'else.txt'}", folders)


def test_a_binary_attachment_is_refused(folders: tuple[Path, Path]) -> None:
    (folders[0] / "image.bin").write_bytes(b"\x7fELF\0\0")
    with pytest.raises(UsageError, match=r"'image\.bin' is binary"):
        attached("@image.bin", folders)


def test_of_a_pdf_the_text_is_attached(folders: tuple[Path, Path]) -> None:
    (folders[0] / "bill.pdf").write_bytes(pdf("The rent is 900 euros", "Due on Monday"))
    whole = "[page 1]\nThe rent is 900 euros\n\n[page 2]\nDue on Monday\n"
    assert attached("what is in @bill.pdf?", folders) == f"file bill.pdf:\n{whole}"
    assert attached("@bill.pdf:5-5", folders) == "file bill.pdf, lines 5-5:\nDue on Monday\n"


def test_a_pdf_without_text_is_refused(folders: tuple[Path, Path]) -> None:
    for data, why in ((pdf("x", password="y"), "encrypted"), (b"%PDF-1.7 no more", "damaged")):
        (folders[0] / "bill.pdf").write_bytes(data)
        with pytest.raises(UsageError, match=rf"'bill\.pdf' is an? {why} PDF"):
            attached("@bill.pdf", folders)


def test_only_what_lies_in_the_home_is_told_as_a_file_of_the_home(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    cwd, home = folders
    (tmp_path / "else.txt").write_text("from elsewhere", encoding="utf-8")
    (home / "link.txt").symlink_to(tmp_path / "else.txt")
    named = f"@notes.md @memory/MEMORY.md @memory @{tmp_path / 'else.txt'} @link.txt @{home}"
    paths = [material.path for material in attach(named, "from the pipe", cwd, home)]
    assert paths == ["", "", "memory/MEMORY.md", "memory", "", "", ""]


def test_piped_text_stands_first(folders: tuple[Path, Path]) -> None:
    material = attached("compare with @notes.md", folders, "from the pipe\n")
    assert material.startswith("standard input:\nfrom the pipe\n\n\nfile notes.md:")


def test_piped_text_that_fits_is_taken_byte_for_byte() -> None:
    text = "grüße\n" * 1000
    assert read_stdin(io.BytesIO(text.encode())) == text


@pytest.mark.parametrize("size", [MAX_BYTES + 1, MAX_BYTES + 70_000, 5_000_000])
def test_a_long_pipe_keeps_both_ends_and_says_what_is_missing(size: int) -> None:
    lines = [f"{n:07d} {'x' * 41}" for n in range(size // 50 + 1)]
    data = "\n".join(lines).encode()
    text = read_stdin(io.BytesIO(data))
    assert text.startswith(lines[0]) and text.endswith(lines[-1])
    assert len(text) <= MAX_BYTES + 100
    notice = next(line for line in text.splitlines() if "are cut here" in line)
    missing = int(notice[1:].split()[0].replace(",", ""))
    assert len(data) - missing == len(text) - len(notice) - len("\n\n")
    assert set(text.splitlines()) <= {*lines, notice, ""}


def test_a_pipe_that_drips_is_read_to_its_end() -> None:
    class Dripping(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(min(size or 1, 7))

    assert read_stdin(Dripping(b"a slow log, in small pieces")) == "a slow log, in small pieces"


def test_invalid_utf8_is_replaced_and_binary_is_refused() -> None:
    assert read_stdin(io.BytesIO(b"caf\xe9\n")) == "caf\ufffd\n"
    with pytest.raises(UsageError, match="standard input is binary"):
        read_stdin(io.BytesIO(b"\x7fELF\0\0\0"))


def test_the_utf16_of_a_windows_pipe_is_understood() -> None:
    assert read_stdin(io.BytesIO("grüße\r\n".encode("utf-16"))) == "grüße\n"
    assert read_stdin(io.BytesIO(b"\xef\xbb\xbfwith a mark")) == "with a mark"
