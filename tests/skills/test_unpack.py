"""Hostile and damaged archives are refused as a whole; good ones come out as they went in."""

from __future__ import annotations

import gzip
import io
import os
import stat
import struct
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from openclaw.errors import OpenclawError, Refused, UsageError
from openclaw.skills.unpack import MAX_BYTES, MAX_ENTRIES, IntakeCheck, unpack

SKILL = b"---\nname: s\ndescription: Does s.\n---\n"
MB = 1_000_000


def zipped(path: Path, entries: dict[str, bytes], *more: zipfile.ZipInfo) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
        for info in more:
            archive.writestr(info, b"SKILL.md")
    return path


def tarred(path: Path, entries: dict[str, bytes], *more: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, data in entries.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for info in more:
            archive.addfile(info)
    return path


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def refusal(source: Path, into: Path) -> str:
    """Why an archive is refused; nothing was written by then."""
    with pytest.raises(Refused) as caught:
        unpack(source, into)
    assert not into.exists()
    assert caught.value.hint
    return str(caught.value)


MAKERS = [zipped, tarred]
NESTED = {"s/SKILL.md": SKILL, "s/scripts/run.py": b"print()\n", "s/caf\u00e9.txt": b""}


@pytest.mark.parametrize("make", MAKERS)
def test_a_good_archive_comes_out_as_it_went_in(
    tmp_path: Path, make: Callable[[Path, dict[str, bytes]], Path]
) -> None:
    unpack(make(tmp_path / "a", NESTED), tmp_path / "out")
    assert files(tmp_path / "out") == NESTED


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../up.md", "leads out"),
        ("s/../../up.md", "leads out"),
        ("s/..", "leads out"),
        ("/etc/x.md", "absolute"),
        ("//server/share/x.md", "absolute"),
        ("C:/x.md", "colon"),
        ("c:x.md", "colon"),
        ("s/SKILL.md:stream", "colon"),
        ("s\\x.md", "backslash"),
        ("..\\x.md", "backslash"),
        ("s/a\x1b[2Jb", "not plain"),
        ("s/a\nb", "not plain"),
        ("s/.git/hooks/post-checkout", "some system"),
        ("s/.GIT/config", "some system"),
        ("s/git~1/config", "some system"),
        ("s/.openclaw/x", "some system"),
        ("s/con.txt", "some system"),
        ("s/name. ", "some system"),
        ("s/...", "some system"),
        ("s/" + "x" * 300, "too long"),
        ("a/" * 17 + "x", "folders in each other"),
    ],
)
def test_a_dangerous_name_is_refused_before_anything_is_written(
    tmp_path: Path, make: Callable[[Path, dict[str, bytes]], Path], name: str, reason: str
) -> None:
    source = make(tmp_path / "a", {"s/SKILL.md": SKILL, name: b"x"})
    assert reason in refusal(source, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "user"]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("one", "two", "reason"),
    [
        ("s/readme.md", "s/README.md", "one name on some systems"),
        ("s/scripts/a", "s/Scripts/b", "one name on some systems"),
        ("s/caf\u00e9", "s/cafe\u0301", "one name on some systems"),
        ("s/stra\u00dfe", "s/STRASSE", "one name on some systems"),
        ("s/a", "s/a/b", "comes twice"),
        ("s/a/b", "s/a", "comes twice"),
        ("s/a", "s/./a", "comes twice"),
    ],
)
def test_names_that_some_system_holds_for_one_are_refused(
    tmp_path: Path,
    make: Callable[[Path, dict[str, bytes]], Path],
    one: str,
    two: str,
    reason: str,
) -> None:
    source = make(tmp_path / "a", {one: b"1", two: b"2"})
    assert reason in refusal(source, tmp_path / "out")


@pytest.mark.parametrize("make", MAKERS)
def test_a_thousand_entries_are_enough(
    tmp_path: Path, make: Callable[[Path, dict[str, bytes]], Path]
) -> None:
    many = {f"s/{n}": b"" for n in range(MAX_ENTRIES)}
    unpack(make(tmp_path / "a", many), tmp_path / "out")
    assert len(files(tmp_path / "out")) == MAX_ENTRIES
    too_many = make(tmp_path / "b", {**many, "s/one": b""})
    assert "1,000 entries" in refusal(too_many, tmp_path / "no")


@pytest.mark.parametrize("make", MAKERS)
def test_more_than_50_mb_are_refused_however_small_the_archive(
    tmp_path: Path, make: Callable[[Path, dict[str, bytes]], Path]
) -> None:
    zeros = bytes(26 * MB)
    source = make(tmp_path / "a", {"s/SKILL.md": SKILL, "s/1": zeros, "s/2": zeros})
    assert source.stat().st_size < MB
    assert "50 MB" in refusal(source, tmp_path / "out")


def test_a_file_larger_than_the_limit_is_not_even_opened(tmp_path: Path) -> None:
    source = tmp_path / "a.zip"
    with source.open("wb") as file:
        file.write(b"PK\x03\x04")
        file.truncate(MAX_BYTES + 1)
    assert "50 MB" in refusal(source, tmp_path / "out")


def test_a_zip_whose_headers_lie_about_the_size_does_not_get_more_in(tmp_path: Path) -> None:
    source = zipped(tmp_path / "a", {"s/SKILL.md": bytes(60 * MB)})
    data = source.read_bytes().replace(struct.pack("<I", 60 * MB), struct.pack("<I", 100))
    source.write_bytes(data)
    with pytest.raises(OpenclawError):
        unpack(source, tmp_path / "out")
    assert sum(map(len, files(tmp_path / "out").values())) <= 100


def test_a_zip_that_names_the_same_data_a_thousand_times_is_counted(tmp_path: Path) -> None:
    """Each entry of the directory points to the one local entry (an overlap bomb)."""
    source = zipped(tmp_path / "a", {"s": bytes(MB)})
    data = source.read_bytes()
    at = data.index(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    entry, tail = data[at:end], bytearray(data[end:])
    many = entry * 900
    tail[8:20] = struct.pack("<HHII", 900, 900, len(many), at)
    source.write_bytes(data[:at] + many + bytes(tail))
    with pytest.raises(OpenclawError):
        unpack(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_zip_with_a_million_entries_is_refused_before_they_are_read(tmp_path: Path) -> None:
    source = tmp_path / "a"
    source.write_bytes(b"PK\x03\x04" + (b"PK\x01\x02" + bytes(42)) * 1_000_000)
    start = time.process_time()
    assert "1,000 entries" in refusal(source, tmp_path / "out")
    assert time.process_time() - start < 5


def test_a_gzip_bomb_is_stopped_at_the_limit(tmp_path: Path) -> None:
    source = tmp_path / "a.tar.gz"
    info = tarfile.TarInfo("s/big")
    info.size = 8 * 1024**3
    with gzip.open(source, "wb", compresslevel=1) as file:
        file.write(info.tobuf())
        for _ in range(80):
            file.write(bytes(MB))
    assert "50 MB" in refusal(source, tmp_path / "out")


@pytest.mark.parametrize(
    "kind",
    [
        tarfile.SYMTYPE,
        tarfile.LNKTYPE,
        tarfile.CHRTYPE,
        tarfile.BLKTYPE,
        tarfile.FIFOTYPE,
        tarfile.CONTTYPE,
        tarfile.GNUTYPE_SPARSE,
        b"Z",
    ],
)
def test_a_tar_with_anything_but_files_and_folders_is_refused(tmp_path: Path, kind: bytes) -> None:
    info = tarfile.TarInfo("s/link")
    info.type = kind
    info.linkname = "SKILL.md"
    source = tarred(tmp_path / "a", {"s/SKILL.md": SKILL}, info)
    assert "no plain file" in refusal(source, tmp_path / "out")


@pytest.mark.parametrize(
    "kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK]
)
def test_a_zip_with_a_link_or_a_device_is_refused(tmp_path: Path, kind: int) -> None:
    info = zipfile.ZipInfo("s/link")
    info.create_system = 3
    info.external_attr = (kind | 0o777) << 16
    source = zipped(tmp_path / "a", {"s/SKILL.md": SKILL}, info)
    assert "link or a device" in refusal(source, tmp_path / "out")


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    source = zipped(tmp_path / "a", {"s/SKILL.md": SKILL})
    data = bytearray(source.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    source.write_bytes(data)
    assert "encrypted" in refusal(source, tmp_path / "out")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_unusual_compression_is_refused(tmp_path: Path, method: int) -> None:
    source = tmp_path / "a"
    with zipfile.ZipFile(source, "w", method) as archive:
        archive.writestr("s/SKILL.md", SKILL)
    assert "unusual" in refusal(source, tmp_path / "out")


@pytest.mark.parametrize("make", MAKERS)
def test_an_archive_that_was_cut_off_is_an_error_wherever_the_cut(
    tmp_path: Path, make: Callable[[Path, dict[str, bytes]], Path]
) -> None:
    whole = make(tmp_path / "a", {"s/SKILL.md": SKILL, "s/x": os.urandom(5000)}).read_bytes()
    for end in range(5, len(whole) - 1, 97):
        (tmp_path / "cut").write_bytes(whole[:end])
        with pytest.raises(OpenclawError):
            unpack(tmp_path / "cut", tmp_path / f"out{end}")


def test_a_tar_cut_off_before_it_was_zipped_is_an_error(tmp_path: Path) -> None:
    with gzip.open(tarred(tmp_path / "a", {"s/SKILL.md": SKILL, "s/x": b"x" * 5000})) as file:
        whole = file.read().rstrip(b"\0")
    for end in (512, 600, 1024, 1100, 1536, len(whole)):
        with gzip.open(tmp_path / "cut", "wb") as file:
            file.write(whole[:end])
        with pytest.raises(OpenclawError, match="cannot be unpacked"):
            unpack(tmp_path / "cut", tmp_path / "out")


def test_a_broken_header_in_the_middle_is_not_taken_for_the_end(tmp_path: Path) -> None:
    with gzip.open(tarred(tmp_path / "a", {"s/SKILL.md": SKILL, "s/x": b"x"})) as file:
        data = bytearray(file.read())
    data[1024:1030] = b"broken"
    with gzip.open(tmp_path / "b", "wb") as file:
        file.write(data)
    with pytest.raises(OpenclawError, match="cannot be unpacked"):
        unpack(tmp_path / "b", tmp_path / "out")


def test_headers_about_headers_without_end_are_an_error(tmp_path: Path) -> None:
    info = tarfile.TarInfo("x")
    info.type = tarfile.GNUTYPE_LONGNAME
    info.size = 512
    with gzip.open(tmp_path / "a", "wb") as file:
        file.write((info.tobuf() + b"n" * 512) * 5000)
    with pytest.raises(OpenclawError):
        unpack(tmp_path / "a", tmp_path / "out")


@pytest.mark.parametrize("size", [0, 8 * 1024**3, 64 * MB])
def test_a_header_that_claims_a_huge_name_costs_no_memory(tmp_path: Path, size: int) -> None:
    info = tarfile.TarInfo("x")
    info.type = tarfile.GNUTYPE_LONGNAME
    info.size = size
    with gzip.open(tmp_path / "a", "wb") as file:
        file.write(info.tobuf() + bytes(1024))
    with pytest.raises(OpenclawError):
        unpack(tmp_path / "a", tmp_path / "out")


@pytest.mark.parametrize(
    "data", [b"", b"PK", b"PK\x03\x04", b"\x1f\x8b", b"\x1f\x8b" + b"x" * 99, b"7z\xbc\xaf", b"--"]
)
def test_what_is_no_archive_is_an_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(OpenclawError):
        unpack(tmp_path / "a", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_empty_archive_is_an_error_or_gives_nothing(tmp_path: Path) -> None:
    unpack(zipped(tmp_path / "a", {}), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with gzip.open(tmp_path / "b", "wb") as file:
        file.write(b"")
    with pytest.raises(OpenclawError, match="cannot be unpacked"):
        unpack(tmp_path / "b", tmp_path / "out")


def test_a_folder_or_pipe_is_no_archive(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        unpack(tmp_path, tmp_path / "out")
    if sys.platform != "win32":
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(UsageError):
            unpack(tmp_path / "pipe", tmp_path / "out")


def test_names_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "t", "w:gz", format=tarfile.GNU_FORMAT, encoding="latin-1") as tar:
        tar.addfile(tarfile.TarInfo("s/caf\u00e9"))
    assert "not plain UTF-8" in refusal(tmp_path / "t", tmp_path / "out")
    source = zipped(tmp_path / "z", {"s/caf\u00e9": b""})
    raw = source.read_bytes().replace("caf\u00e9".encode(), b"caf\xe9x")
    source.write_bytes(raw)
    with pytest.raises(OpenclawError):
        unpack(source, tmp_path / "out")
    unmarked = bytearray(raw)
    unmarked[7] &= ~8
    unmarked[unmarked.index(b"PK\x01\x02") + 9] &= ~8
    source.write_bytes(unmarked)
    assert "not plain UTF-8" in refusal(source, tmp_path / "out")


def test_an_unmarked_utf8_name_of_a_zip_is_read_as_such(tmp_path: Path) -> None:
    source = zipped(tmp_path / "z", {"s/caf\u00e9": b""})
    data = bytearray(source.read_bytes())
    data[7] &= ~8
    data[data.index(b"PK\x01\x02") + 9] &= ~8
    source.write_bytes(data)
    unpack(source, tmp_path / "out")
    assert files(tmp_path / "out") == {"s/caf\u00e9": b""}


def test_a_name_with_a_nul_byte_is_refused(tmp_path: Path) -> None:
    source = zipped(tmp_path / "z", {"s/SKILL.mdX": SKILL})
    source.write_bytes(source.read_bytes().replace(b"SKILL.mdX", b"SKILL.md\0"))
    assert "not plain" in refusal(source, tmp_path / "out")


def test_what_a_mac_adds_is_left_out(tmp_path: Path) -> None:
    entries = {"s/SKILL.md": SKILL, "__MACOSX/s/._SKILL.md": b"x", "s/.DS_Store": b"x"}
    unpack(zipped(tmp_path / "a", entries), tmp_path / "out")
    assert files(tmp_path / "out") == {"s/SKILL.md": SKILL}


@pytest.mark.skipif(sys.platform == "win32", reason="modes are of POSIX")
def test_only_the_right_to_run_is_taken_over_from_a_mode(tmp_path: Path) -> None:
    info = tarfile.TarInfo("s/run")
    info.mode = 0o6777
    plain = tarfile.TarInfo("s/plain")
    plain.mode = 0o6666
    unpack(tarred(tmp_path / "a", {}, info, plain), tmp_path / "out")
    umask = os.umask(0)
    os.umask(umask)
    modes = [stat.S_IMODE((tmp_path / "out/s" / name).stat().st_mode) for name in ("run", "plain")]
    assert modes == [0o777 & ~umask, 0o666 & ~umask]


def test_dots_for_the_top_folder_are_understood(tmp_path: Path) -> None:
    top = tarfile.TarInfo("./")
    top.type = tarfile.DIRTYPE
    unpack(tarred(tmp_path / "a", {"./SKILL.md": SKILL}, top), tmp_path / "out")
    assert files(tmp_path / "out") == {"SKILL.md": SKILL}
    with pytest.raises(Refused, match="without a name"):
        IntakeCheck().check_entry("./", folder=False)
