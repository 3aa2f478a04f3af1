"""One archive holds a whole home; what comes out of it is what went in, or nothing."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import stat
import sys
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from openclaw.errors import Damaged, OpenclawError, UsageError
from openclaw.maintenance.backup import MANIFEST, back_up
from openclaw.maintenance.restore import restore
from openclaw.messages import Entry
from openclaw.security.masking import Masker
from openclaw.sessions.store import SessionStore
from openclaw.storage.git import Git
from openclaw.storage.home import Home
from openclaw.storage.safe_open import follow
from tests.fakes.command import CommandLine
from tests.fakes.files import write_files
from tests.fakes.git_home import copy_home
from tests.fakes.git_home import git as run_git
from tests.fakes.needs import posix

claw = CommandLine()

Change = Callable[[dict[str, bytes], dict[str, tarfile.TarInfo]], None]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(copy_home(tmp_path / "home"))
    store = SessionStore(home.sessions)
    session = store.new("talk")
    session.messages += [Entry("user", "hello"), Entry("assistant", "good day")]
    store.save(session)
    (home.workspace / "empty").mkdir()
    (home.workspace / "odd \u00e4 name '\u65e5.txt").write_bytes(b"\0\xff" * 700_000)
    write_files(home.private, dict.fromkeys(("index/x", "cache/x", "locks/x"), "derived"))
    (home.private / "learned.json").write_text("{}", "utf-8")
    return home


@pytest.fixture
def archive(home: Home, tmp_path: Path) -> Path:
    back_up(home, tmp_path / "a.tar.gz")
    return tmp_path / "a.tar.gz"


def tree(root: Path) -> dict[str, object]:
    """Path, kind, mode, time and content of all that is kept."""
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if name.startswith((".openclaw/index", ".openclaw/cache", ".openclaw/locks")):
            continue
        status = path.lstat()
        kind = stat.S_IFMT(status.st_mode)
        content = (
            str(path.readlink())
            if path.is_symlink()
            else hashlib.sha256(path.read_bytes()).hexdigest()
            if path.is_file()
            else ""
        )
        about = () if path.is_symlink() else (stat.S_IMODE(status.st_mode), status.st_mtime)
        found[name] = (kind, content, *about)
    return found


def rewritten(archive: Path, change: Change) -> Path:
    """The archive with other contents and members, its list as it was."""
    with tarfile.open(archive) as tar:
        infos = {info.name: info for info in tar}
        data = {n: f.read() for n, i in infos.items() if (f := tar.extractfile(i))}
    change(data, infos)
    with tarfile.open(archive, "w:gz") as tar:
        for name, info in infos.items():
            info.size = len(data.get(name, b""))
            tar.addfile(info, io.BytesIO(data.get(name, b"")))
    return archive


def refused(archive: Path, tmp_path: Path) -> str:
    """Why the archive is refused; nothing may be left of it."""
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(Damaged) as caught:
        restore(archive, tmp_path / "new")
    assert sorted(tmp_path.rglob("*")) == before
    return str(caught.value)


def test_what_comes_out_is_what_went_in(home: Home, archive: Path, tmp_path: Path) -> None:
    made = restore(archive, tmp_path / "new" / "home")
    assert tree(tmp_path / "new" / "home") == tree(home.root)
    assert made.files > 10 and made.notes == ()
    assert SessionStore(tmp_path / "new" / "home" / "sessions").load("talk").messages


def test_the_history_comes_along_and_git_finds_nothing_changed(
    home: Home, archive: Path, tmp_path: Path
) -> None:
    if not shutil.which("git"):
        pytest.skip("no git here")
    restore(archive, tmp_path / "new")
    new, old = Git(tmp_path / "new"), Git(home.root)
    assert new.run("rev-parse", "HEAD") == old.run("rev-parse", "HEAD")
    assert new.run("status", "--porcelain") == old.run("status", "--porcelain")
    new.run("fsck", "--strict")


def test_what_is_made_again_is_left_out(archive: Path) -> None:
    with tarfile.open(archive) as tar:
        names = tar.getnames()
    assert "home/.openclaw/learned.json" in names
    assert not [name for name in names if "/index/" in name or "/cache/" in name]
    assert not [name for name in names if name.endswith("locks/x")]


def test_secrets_come_along_only_when_that_is_said(home: Home, tmp_path: Path) -> None:
    Masker(home.private / "secrets.json").mask("password: hunter2-Zx81kQ")
    assert (home.private / "secrets.json").exists()
    made = back_up(home, tmp_path / "without.tar.gz")
    assert "--secrets" in made.left_out[".openclaw/secrets.json"]
    assert "--secrets" in restore(tmp_path / "without.tar.gz", tmp_path / "one").notes[0]
    assert not (tmp_path / "one" / ".openclaw" / "secrets.json").exists()
    back_up(home, tmp_path / "with.tar.gz", with_secrets=True)
    restore(tmp_path / "with.tar.gz", tmp_path / "two")
    kept = tmp_path / "two" / ".openclaw" / "secrets.json"
    assert kept.read_bytes() == (home.private / "secrets.json").read_bytes()
    if os.name != "nt":
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600


@posix
def test_only_this_user_may_read_the_archive(archive: Path) -> None:
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600


@posix
def test_links_inside_come_along_and_links_out_are_named(home: Home, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (home.workspace / "in").symlink_to("../memory/MEMORY.md")
    (home.workspace / "dangling").symlink_to("nothing")
    (home.workspace / "out").symlink_to(tmp_path / "elsewhere")
    (home.workspace / "up").symlink_to("../../elsewhere")
    made = back_up(home, tmp_path / "b.tar.gz")
    assert sorted(made.left_out) == ["workspace/out", "workspace/up"]
    done = restore(tmp_path / "b.tar.gz", tmp_path / "new")
    assert len(done.notes) == 2 and "link out of the home" in done.notes[0]
    assert (tmp_path / "new/workspace/in").readlink() == Path("../memory/MEMORY.md")
    assert (tmp_path / "new/workspace/dangling").is_symlink()


@posix
def test_a_place_that_is_a_link_is_kept_as_a_folder_when_the_settings_name_it(
    home: Home, tmp_path: Path
) -> None:
    home.memory.rename(tmp_path / "cloud")
    home.memory.symlink_to(tmp_path / "cloud")
    made = back_up(home, tmp_path / "a.tar.gz")
    assert made.left_out["memory"].startswith("it is a link out of the home")
    follow(home.root, lambda: [str(tmp_path / "cloud")])
    back_up(home, tmp_path / "b.tar.gz")
    restore(tmp_path / "b.tar.gz", tmp_path / "new")
    assert not (tmp_path / "new/memory").is_symlink()
    assert (tmp_path / "new/memory/MEMORY.md").is_file()


@posix
def test_modes_names_and_pipes(home: Home, tmp_path: Path) -> None:
    script = home.workspace / "run\nme.sh"
    script.write_text("#!/bin/sh\n", "utf-8")
    script.chmod(0o755)
    (home.workspace / "in\\out.md").write_text("a name with a backslash\n", "utf-8")
    os.mkfifo(home.workspace / "pipe")
    made = back_up(home, tmp_path / "b.tar.gz")
    assert made.left_out == {"workspace/pipe": "it is no file"}
    restore(tmp_path / "b.tar.gz", tmp_path / "new")
    assert stat.S_IMODE((tmp_path / "new/workspace/run\nme.sh").stat().st_mode) == 0o755
    assert (tmp_path / "new/workspace/in\\out.md").is_file()


@posix
@pytest.mark.parametrize(("mode", "made"), [(0o700, None), (0o755, 0o700), (0o750, 0o755)])
def test_a_home_that_is_closed_to_others_is_so_again(
    home: Home, tmp_path: Path, mode: int, made: int | None
) -> None:
    home.root.chmod(mode)
    back_up(home, tmp_path / "b.tar.gz")
    if made:
        (tmp_path / "new").mkdir()
        (tmp_path / "new").chmod(made)
    restore(tmp_path / "b.tar.gz", tmp_path / "new")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == mode & (made or 0o777)


@posix  # a path of Windows is not that long
def test_folders_that_are_nested_deeply_come_along(home: Home, tmp_path: Path) -> None:
    deep = [home.memory]
    for _ in range(sys.getrecursionlimit() + 100):
        deep.append(deep[-1] / "a")
        deep[-1].mkdir()
    made = back_up(home, tmp_path / "deep.tar.gz")
    assert home.relative(deep[-1]) in made.folders
    for folder in reversed(deep[1:]):  # pytest could not remove them either
        folder.rmdir()


def test_a_file_is_not_written_over_without_force(home: Home, archive: Path) -> None:
    before = archive.read_bytes()
    with pytest.raises(UsageError, match="is there already"):
        back_up(home, archive)
    assert archive.read_bytes() == before
    back_up(home, archive, force=True)
    assert not list(archive.parent.glob(".openclaw-*"))


def test_an_archive_in_the_home_does_not_hold_itself(home: Home, tmp_path: Path) -> None:
    back_up(home, home.root / "b.tar.gz")
    restore(home.root / "b.tar.gz", tmp_path / "new")
    assert not (tmp_path / "new" / "b.tar.gz").exists()
    with pytest.raises(UsageError, match="closed folder"):
        back_up(home, home.private / "b.tar.gz")


def test_a_backup_that_cannot_be_written_leaves_nothing(home: Home, tmp_path: Path) -> None:
    with pytest.raises(OpenclawError):
        back_up(home, tmp_path / "none" / "b.tar.gz")
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="is there already"):
        back_up(home, tmp_path / "folder", force=True)


@pytest.mark.slow
def test_a_backup_made_while_others_write_has_all_that_it_names(home: Home, tmp_path: Path) -> None:
    if not shutil.which("git"):
        pytest.skip("no git here")
    end = threading.Event()
    writer = threading.Thread(target=_write_on, args=(home, end))
    writer.start()
    try:
        for number in range(4):
            back_up(home, tmp_path / f"{number}.tar.gz")
    finally:
        end.set()
        writer.join()
    for number in range(4):
        restore(tmp_path / f"{number}.tar.gz", tmp_path / f"r{number}")
        store = SessionStore(tmp_path / f"r{number}" / "sessions")
        session = store.load("busy") if "busy" in {s.id for s in store.list()} else store.new()
        numbers = [int(entry.content) for _, entry in store.messages(session)]
        assert numbers == list(range(len(numbers))) and store.problems == []
        Git(tmp_path / f"r{number}").run("fsck", "--connectivity-only")


def _write_on(home: Home, end: threading.Event) -> None:
    """Talk, compact, commit and pack, until told to end."""
    store, git, said = SessionStore(home.sessions), Git(home.root), 0
    session = store.new("busy")
    while not end.is_set():
        for _ in range(4):
            session.messages.append(Entry("user", str(said)))
            store.save(session)
            said += 1
        store.compact(session, 2, "before")
        git.run("add", "-A")
        git.run("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "x")
        git.run("gc", "--quiet", "--prune=now")


# -------- restoring


def test_a_folder_with_anything_in_it_is_refused(archive: Path, home: Home, tmp_path: Path) -> None:
    before = tree(home.root)
    with pytest.raises(UsageError, match="not empty"):
        restore(archive, home.root)
    assert tree(home.root) == before
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(UsageError, match="not empty"):
        restore(archive, tmp_path / "file")


def test_an_empty_folder_stays_the_one_that_somebody_is_in(archive: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    before = empty.stat().st_ino
    assert restore(archive, empty).files > 10
    assert empty.stat().st_ino == before and (empty / "workspace" / "SOUL.md").is_file()


def test_a_missing_archive_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no archive"):
        restore(tmp_path / "none.tar.gz", tmp_path / "new")


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.9, 0.999])
def test_an_archive_that_is_cut_off_is_refused(archive: Path, tmp_path: Path, share: float) -> None:
    data = archive.read_bytes()
    archive.write_bytes(data[: int(len(data) * share)])
    assert "cut off" in refused(archive, tmp_path)


@pytest.mark.parametrize("share", [0.1, 0.4, 0.7, 0.99])
def test_a_flipped_byte_is_found(archive: Path, tmp_path: Path, share: float) -> None:
    data = bytearray(archive.read_bytes())
    data[int(len(data) * share)] ^= 0x55
    archive.write_bytes(bytes(data))
    refused(archive, tmp_path)


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_text("hello", "utf-8")
    assert "cut off or damaged" in refused(tmp_path / "x.tar.gz", tmp_path)


def test_a_changed_a_missing_and_an_added_file_are_found(home: Home, tmp_path: Path) -> None:
    def changed(data: dict[str, bytes], infos: dict[str, tarfile.TarInfo]) -> None:
        data["home/workspace/SOUL.md"] = b"obey me\n"

    def missing(data: dict[str, bytes], infos: dict[str, tarfile.TarInfo]) -> None:
        del infos["home/workspace/SOUL.md"]

    def added(data: dict[str, bytes], infos: dict[str, tarfile.TarInfo]) -> None:
        infos["home/skills/x/SKILL.md"] = tarfile.TarInfo("home/skills/x/SKILL.md")

    def unlisted(data: dict[str, bytes], infos: dict[str, tarfile.TarInfo]) -> None:
        del infos[MANIFEST]

    def deep(data: dict[str, bytes], infos: dict[str, tarfile.TarInfo]) -> None:
        data[MANIFEST] = b"[" * 100_000

    def other(data: dict[str, bytes], infos: dict[str, tarfile.TarInfo]) -> None:
        data[MANIFEST] = json.dumps({**json.loads(data[MANIFEST]), "left_out": ["a"]}).encode()

    words = {"was changed": changed, "is missing": missing, "is not on its list": added}
    words |= {"cut off": unlisted, "list of files is damaged": deep, "its list of files": other}
    for said, change in words.items():
        back_up(home, tmp_path / "c.tar.gz", force=True)
        assert said in refused(rewritten(tmp_path / "c.tar.gz", change), tmp_path)


@pytest.mark.parametrize(
    "name",
    ["/etc/x", "home/../x", "home/a/../../x", "x", "home", "home//x"]
    + ["home/a\\..\\x"] * (os.name == "nt"),
)
def test_a_path_that_leads_out_is_refused(archive: Path, tmp_path: Path, name: str) -> None:
    def change(data: dict[str, bytes], infos: dict[str, tarfile.TarInfo]) -> None:
        infos[name] = tarfile.TarInfo(name)

    assert "no path of a home" in refused(rewritten(archive, change), tmp_path)


@pytest.mark.parametrize("target", ["/etc/passwd", "../../x", "C:/x", "sub/../../../x"])
def test_a_link_that_leads_out_is_refused(archive: Path, tmp_path: Path, target: str) -> None:
    def change(data: dict[str, bytes], infos: dict[str, tarfile.TarInfo]) -> None:
        info = infos["home/workspace/l"] = tarfile.TarInfo("home/workspace/l")
        info.type, info.linkname = tarfile.SYMTYPE, target

    assert "leads out of the home" in refused(rewritten(archive, change), tmp_path)


def _link(name: str, target: str, infos: dict[str, tarfile.TarInfo]) -> None:
    info = infos[f"home/{name}"] = tarfile.TarInfo(f"home/{name}")
    info.type, info.linkname = tarfile.SYMTYPE, target


def _listed(data: dict[str, bytes], **links: str) -> None:
    shape = json.loads(data[MANIFEST])
    shape["links"] |= links
    data[MANIFEST] = json.dumps(shape).encode()


@posix
def test_a_link_through_another_link_cannot_come_out_elsewhere(
    archive: Path, tmp_path: Path
) -> None:
    def change(data: dict[str, bytes], infos: dict[str, tarfile.TarInfo]) -> None:
        links = {"workspace/up": "..", "workspace/out": "up/../.."}
        for name, target in links.items():
            _link(name, target, infos)
        _listed(data, **links)

    assert "out of the home" in refused(rewritten(archive, change), tmp_path)


@posix
def test_nothing_is_written_through_a_link(archive: Path, tmp_path: Path) -> None:
    def change(data: dict[str, bytes], infos: dict[str, tarfile.TarInfo]) -> None:
        _link("workspace/sub", "../memory", infos)
        infos["home/workspace/sub/x.md"] = tarfile.TarInfo("home/workspace/sub/x.md")

    refused(rewritten(archive, change), tmp_path)


@pytest.mark.parametrize("kind", [tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.LNKTYPE])
def test_devices_pipes_and_hard_links_are_refused(
    archive: Path, tmp_path: Path, kind: bytes
) -> None:
    def change(data: dict[str, bytes], infos: dict[str, tarfile.TarInfo]) -> None:
        info = infos["home/workspace/d"] = tarfile.TarInfo("home/workspace/d")
        info.type, info.linkname = kind, "home/workspace/SOUL.md"

    assert "neither file nor folder" in refused(rewritten(archive, change), tmp_path)


def test_an_archive_of_a_newer_version_is_refused_in_clear_words(
    archive: Path, tmp_path: Path
) -> None:
    def change(data: dict[str, bytes], infos: dict[str, tarfile.TarInfo]) -> None:
        data[MANIFEST] = json.dumps({"version": 2, "files": [["a", "of another form"]]}).encode()

    assert "has version 2" in refused(rewritten(archive, change), tmp_path)


# -------- the commands


def test_the_commands_say_what_they_did(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "read back and verified" in claw("--home", str(home.root), "backup", "b.tar.gz")
    assert "--force" in claw.error("--home", str(home.root), "backup", "b.tar.gz", code=2)
    claw("restore", "b.tar.gz", code=2)
    assert "doctor" in claw("restore", "b.tar.gz", "back")
    assert tree(tmp_path / "back") == tree(home.root)
    claw("--home", str(tmp_path / "third"), "restore", "b.tar.gz")
    (tmp_path / "b.tar.gz").write_bytes(b"\x1f\x8b")
    assert len(claw.error("restore", "b.tar.gz", "fourth", code=6).splitlines()) == 2


@posix
def test_a_folder_that_cannot_be_listed_makes_no_backup(home: Home, tmp_path: Path) -> None:
    closed = home.workspace / "empty"
    closed.chmod(0)
    if os.access(closed, os.R_OK):
        pytest.skip("this user may list every folder")
    try:
        with pytest.raises(OpenclawError, match=r"cannot read .*empty"):
            back_up(home, tmp_path / "b.tar.gz")
    finally:
        closed.chmod(0o700)
    assert not (tmp_path / "b.tar.gz").exists()


@pytest.mark.skipif(not shutil.which("git"), reason="no git here")
def test_a_copy_of_a_linked_worktree_does_not_commit_on_its_branch(
    home: Home, tmp_path: Path
) -> None:
    run_git(home.root, "worktree", "add", "--quiet", "../side")
    made = back_up(Home(tmp_path / "side"), tmp_path / "b.tar.gz")
    assert "elsewhere" in made.left_out[".git"]
    again = restore(tmp_path / "b.tar.gz", tmp_path / "again")
    assert not (tmp_path / "again" / ".git").exists()
    assert any(note.startswith(".git is not in it") for note in again.notes)
