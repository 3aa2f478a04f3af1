"""Files of a home are opened through no link, and only when they are ordinary ones."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from openclaw.errors import OpenclawError
from openclaw.storage import atomic, safe_open
from openclaw.storage.home import Home
from openclaw.storage.lock import hold_lock
from openclaw.storage.merged_save import save_over
from openclaw.storage.safe_open import NotOrdinary, read_plain_file, read_text
from openclaw.storage.text import write_if_same, write_private, write_text

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "real" / "memory").mkdir(parents=True)
    return Home(tmp_path / "real")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    path = tmp_path / "outside"
    path.mkdir()
    (path / "a.md").write_text("mine\n")
    return path


def held(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


Write = Callable[[Path], object]
WRITES: dict[str, Write] = {
    "write_text": lambda path: write_text(path, "theirs\n"),
    "write_private": lambda path: write_private(path, "theirs\n"),
    "write_if_same": lambda path: write_if_same(path, None, b"theirs\n"),
    "save_over": lambda path: save_over(path, None, b"theirs\n"),
    "appending": lambda path: safe_open.appending(path).close(),
    "writing": lambda path: safe_open.writing(path).close(),
    "make_folder": lambda path: safe_open.make_folder(path / "folder"),
    "lock": lambda path: hold_lock(path / "x.lock").__enter__(),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("name", ["memory/linked/a.md", "memory/linked/new.md", "memory/linked"])
def test_nothing_is_written_through_a_linked_folder(
    home: Home, outside: Path, write: Write, name: str
) -> None:
    (home.memory / "linked").symlink_to(outside)
    with pytest.raises((NotOrdinary, OpenclawError), match=r"is a link|regular file|folder"):
        write(home.root / name / "b.md" if name.endswith("linked") else home.root / name)
    assert held(outside) == {"a.md": "mine\n"}


@pytest.mark.parametrize("target", ["a.md", "new.md"])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_nothing_is_written_through_a_linked_file(
    home: Home, outside: Path, write: Write, target: str
) -> None:
    path = home.memory / "a.md"
    path.symlink_to(outside / target)
    try:
        write(path)
    except (OpenclawError, OSError):
        assert path.is_symlink()
    else:  # put in its place
        assert path.read_text() == "theirs\n" and not path.is_symlink()
    assert held(outside) == {"a.md": "mine\n"}


def test_nothing_is_read_through_a_link(home: Home, outside: Path) -> None:
    (home.memory / "file.md").symlink_to(outside / "a.md")
    (home.memory / "folder").symlink_to(outside)
    (home.memory / "inner.md").symlink_to(home.memory / "real.md")
    (home.memory / "real.md").write_text("x")
    for name in ("file.md", "folder/a.md", "inner.md"):
        with pytest.raises(NotOrdinary, match="is a link"):
            read_text(home.memory / name)
        assert not safe_open.is_ordinary(home.memory / name)
    assert read_text(home.memory / "real.md") == "x"
    assert read_text(outside / "a.md") == "mine\n"


def test_pipes_devices_and_sockets_hold_nobody_up(home: Home) -> None:
    os.mkfifo(home.memory / "pipe")
    (home.memory / "zero").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(home.memory)  # the names of sockets are short
        server.bind("socket")
        os.chdir(here)
        for name in ("pipe", "zero", "socket"):
            for access in (
                safe_open.read_bytes,
                atomic.read_settled,
                atomic.current,
                safe_open.appending,
            ):
                with pytest.raises(NotOrdinary):
                    access(home.memory / name)
            with pytest.raises(OpenclawError, match="cannot write"):
                write_text(home.memory / name, "x")
            with pytest.raises(NotOrdinary):
                read_plain_file(home.root, f"memory/{name}", 10)


def test_a_device_node_is_not_read(home: Home) -> None:
    try:
        os.mknod(home.memory / "zero", 0o600 | 0o020000, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes devices")
    with pytest.raises(OSError, match=r"a device|denied|not permitted"):
        read_text(home.memory / "zero")


def test_folders_in_place_of_files_and_files_in_place_of_folders(home: Home) -> None:
    (home.memory / "a.md").mkdir()
    (home.root / "sessions").write_text("x")
    with pytest.raises(IsADirectoryError):
        read_text(home.memory / "a.md")
    with pytest.raises(OpenclawError, match="not a regular file"):
        write_text(home.memory / "a.md", "x")
    with pytest.raises(NotADirectoryError):
        read_text(home.sessions / "a.json")
    with pytest.raises(OpenclawError, match="cannot write"):
        write_text(home.sessions / "a.json", "x")


def test_a_file_that_is_too_large_is_not_taken_into_memory(home: Home) -> None:
    with (home.memory / "a.md").open("wb") as file:
        file.truncate(10**13)
    for access in (read_text, atomic.read_settled, atomic.current):
        with pytest.raises(OSError, match="larger than"):
            access(home.memory / "a.md")
    assert read_text(home.memory / "a.md", 3) == "\0\0\0"


def test_the_home_itself_may_be_reached_through_a_link(home: Home, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(home.root)
    again = Home(tmp_path / "link")
    write_text(again.memory / "a.md", "x\n")
    assert read_text(again.memory / "a.md") == "x\n" == (home.memory / "a.md").read_text()


def test_no_name_leads_out_of_a_folder(home: Home, outside: Path) -> None:
    for name in ("../outside/a.md", f"{outside}/a.md", "memory/../../outside/a.md", ".."):
        with pytest.raises(NotOrdinary):
            read_plain_file(home.root, name, 100)


def test_a_hard_link_is_cut_and_not_written_through(home: Home, outside: Path) -> None:
    path = home.memory / "a.md"
    os.link(outside / "a.md", path)
    for access in (safe_open.appending, safe_open.writing):
        with pytest.raises(NotOrdinary, match="another name"):
            access(path)
    write_text(path, "theirs\n")
    assert held(outside) == {"a.md": "mine\n"} and path.read_text() == "theirs\n"


def test_a_folder_that_is_named_in_the_settings_may_be_linked(home: Home, outside: Path) -> None:
    other = outside.parent / "other"
    other.mkdir()
    (home.root / "sessions").symlink_to(outside)
    (home.root / "skills").symlink_to(other)
    safe_open.follow(home.root, lambda: [str(outside)])
    write_text(home.sessions / "deep" / "new.md", "x\n")
    assert (outside / "deep" / "new.md").read_text() == "x\n"
    assert read_text(home.sessions / "a.md") == "mine\n" and safe_open.is_folder(home.sessions)
    with pytest.raises(OpenclawError):
        write_text(home.skills / "new.md", "x\n")
    (outside / "further").symlink_to(other)
    safe_open.follow(home.root, lambda: ["skills", str(home.skills), str(outside)])  # by the link
    assert not safe_open.is_folder(home.skills)
    assert not safe_open.is_folder(home.sessions / "further")
    assert list(other.iterdir()) == []


def test_what_is_exchanged_while_it_is_written_never_leads_out(home: Home, outside: Path) -> None:
    folder = home.root / "workspace"
    (folder / "d").mkdir(parents=True)
    (folder / "l").symlink_to(outside)
    over = threading.Event()

    def exchange() -> None:
        with safe_open.open_folder(folder) as opened:
            while not over.is_set():
                atomic.exchanged(opened, "d", "l")

    thread = threading.Thread(target=exchange)
    thread.start()
    wrote = 0
    try:
        for number in range(1000):
            with suppress(OpenclawError):
                save_over(folder / "d" / f"x{number}.md", None, b"theirs\n")
                wrote += 1
    finally:
        over.set()
        thread.join()
    assert held(outside) == {"a.md": "mine\n"} and wrote
