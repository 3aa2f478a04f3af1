"""Each check of the doctor finds its fault in a damaged home; --fix repairs it and keeps a copy."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from openclaw.errors import OpenclawError
from openclaw.maintenance.doctor.checkup import CHECKS, check_home_files
from openclaw.maintenance.doctor.finding import Check, Finding, View
from openclaw.maintenance.doctor.home_files import network_place, of_mounts, rights, space
from openclaw.maintenance.doctor.prerequisites import check_memory
from openclaw.memory.todos import TodoFile
from openclaw.retrieval.database import connect
from openclaw.security.foreign_files import ForeignFiles
from openclaw.security.masking import Masker
from openclaw.storage.home import Home
from tests.fakes.files import write_file
from tests.fakes.git_home import copy_home, make_repository
from tests.fakes.needs import needs_git, posix

YEAR = 366 * 24 * 3600.0


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(copy_home(tmp_path / "home"))


def look(home: Home, name: str, *, fix: bool = False, deep: bool = False) -> list[Check]:
    """What one check says, without what was kept."""
    found = check_home_files(home, fix=fix, deep=deep, checks={name: CHECKS[name]})
    return [result for result in found if result.name == name]


def one(home: Home, name: str) -> Check:
    (result,) = look(home, name)
    return result


def repaired(home: Home, name: str) -> Check:
    """The one finding of a check, repaired; the check is then silent."""
    before = snapshot(home)
    (found,) = look(home, name)
    assert found.state in ("warning", "fault") and "--fix" in found.advice
    assert snapshot(home) == before, "looking has changed something"
    (result,) = look(home, name, fix=True)
    assert (result.state, result.exit_code) == ("ok", 0) and result.fixed
    (again,) = look(home, name)
    assert again.state == "ok" and not again.advice
    return result


def snapshot(home: Home) -> dict[str, tuple[int, bytes]]:
    return {
        str(path): (path.lstat().st_mode, path.read_bytes())
        for path in home.root.rglob("*")
        if path.is_file() and not path.is_symlink() and ".git" not in path.parts
    }


def kept(home: Home) -> dict[str, bytes]:
    """What was kept, by its path in the home."""
    found = {}
    for path in (home.private / "kept").glob("*/**/*"):
        if path.is_file():
            found["/".join(path.relative_to(home.private / "kept").parts[1:])] = path.read_bytes()
    return found


def put(home: Home, path: str, data: str | bytes) -> Path:
    return write_file(home.root / path, data)


def test_a_new_home_is_sound(home: Home) -> None:
    results = list(check_home_files(home, deep=True))
    assert {result.name for result in results} == set(CHECKS)
    assert [result for result in results if result.state != "ok"] == []
    assert not (home.private / "kept").exists()


def test_a_check_that_fails_is_a_fault_of_its_own(home: Home) -> None:
    def broken(view: View) -> Iterable[Finding]:
        yield Finding("something")
        raise RecursionError("too deep")

    results = list(check_home_files(home, checks={"broken": broken, "disk": CHECKS["disk"]}))
    assert [(r.name, r.state, r.exit_code) for r in results[-2:]] == [
        ("broken", "fault", 1),
        ("disk", "ok", 0),
    ]
    assert "RecursionError: too deep" in results[-2].found


def test_a_repair_that_fails_leaves_the_finding(home: Home) -> None:
    def repair(kept: object) -> str:
        raise OpenclawError("it is in use")

    def check(view: View) -> Iterable[Finding]:
        yield Finding("wrong", fix="mends it", repair=repair, exit_code=6)

    (result,) = check_home_files(home, fix=True, checks={"x": check})
    assert (result.state, result.exit_code, result.fixed) == ("fault", 6, "")
    assert result.advice == "not repaired: it is in use"


def test_copies_are_told_where_they_are(home: Home) -> None:
    put(home, "memory/a.md", b"caf\xe9\n")
    last = list(check_home_files(home, fix=True))[-1]
    assert last.name == "kept"
    folder = home.root / last.found.rpartition(" ")[2]
    assert (folder / "memory" / "a.md").read_bytes() == b"caf\xe9\n"


# -------- texts


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ("\ufeffGrün\n".encode("utf-16-le"), "UTF-16"),
        ("\ufeffGrün\n".encode("utf-16-be"), "UTF-16"),
        ("Grün und mehr\n".encode("utf-16-le"), "UTF-16"),
        ("\ufeffGrün\n".encode("utf-32-le"), "UTF-32"),
        ("Grün\n".encode("latin-1"), "Latin-1"),
        ("Grün\n".encode() + "Grün\n".encode("cp1252"), "Latin-1"),
    ],
)
def test_other_encodings_become_utf_8(home: Home, data: bytes, name: str) -> None:
    path = put(home, "memory/note.md", data)
    assert name in one(home, "encoding").found
    repaired(home, "encoding")
    text = path.read_text("utf-8")
    assert text.startswith("Grün") and "\ufffd" not in text
    assert kept(home) == {"memory/note.md": data}


def test_one_strange_byte_does_not_change_the_letters_beside_it(home: Home) -> None:
    path = put(home, "memory/note.md", "Zo\u00eb in Z\u00fcrich: ".encode() + b"\x80 paid\n")
    repaired(home, "encoding")
    assert path.read_text("utf-8") == "Zo\u00eb in Z\u00fcrich: \u20ac paid\n"


def test_the_beginning_of_a_character_at_the_end_is_dropped(home: Home) -> None:
    path = put(home, "memory/note.md", "gr\u00f6\u00dfer als \u00fc".encode()[:-1])
    assert one(home, "encoding").found == "memory/note.md is broken-off UTF-8"
    repaired(home, "encoding")
    assert path.read_text("utf-8") == "gr\u00f6\u00dfer als "
    path.write_bytes(b"caf\xe9")
    look(home, "encoding", fix=True)
    assert path.read_text("utf-8") == "caf\u00e9"


def test_bytes_that_are_no_text_are_told_and_left(home: Home) -> None:
    data = b"# A note\n" + b"\0" * 40
    path = put(home, "memory/note.md", data)
    result = one(home, "encoding")
    assert "no text" in result.found and "--fix" not in result.advice
    look(home, "encoding", fix=True)
    assert path.read_bytes() == data


def test_other_people_s_repositories_and_packages_are_passed_over(home: Home) -> None:
    put(home, "workspace/clone/.git/HEAD", "ref: refs/heads/main\n")
    put(home, "workspace/clone/a.md", b"\xff")
    put(home, "workspace/app/node_modules/a.md", b"\xff")
    assert one(home, "encoding").state == "ok"


def test_conflict_markers_are_told_with_their_lines_and_never_decided(home: Home) -> None:
    text = "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> other\nd\n"
    for path in ("memory/MEMORY.md", "skills/x/notes.yaml", "workspace/deep/down/data.json"):
        put(home, path, text)
    found = look(home, "conflicts")
    assert sorted(result.found for result in found) == [
        "memory/MEMORY.md has conflict markers in line 2",
        "skills/x/notes.yaml has conflict markers in line 2",
        "workspace/deep/down/data.json has conflict markers in line 2",
    ]
    look(home, "conflicts", fix=True)
    assert (home.memory / "MEMORY.md").read_text("utf-8") == text


def test_half_a_marker_is_no_conflict(home: Home) -> None:
    put(home, "memory/note.md", "<<<<<<< HEAD\nb\n=======\n\n<<<<<<< x\n=======\nmore\n")
    put(home, "memory/rule.md", "Title\n=======\n>>>>>>> quoted seven times\n")
    assert one(home, "conflicts").state == "ok"


def test_to_dos_with_one_id_get_one_each(home: Home) -> None:
    text = "# Mine\n\n- [ ] a ^1111aaaa\n- [x] b ^1111aaaa\n  prose\n- [ ] c ^2222bbbb\n"
    path = put(home, "memory/TODO.md", text)
    assert one(home, "to-dos").found == "memory/TODO.md: the id of another to-do in line 4"
    repaired(home, "to-dos")
    todos = TodoFile(path).items()
    assert [(todo.text, todo.done) for todo in todos] == [("a", False), ("b", True), ("c", False)]
    assert len({todo.id for todo in todos}) == 3 and todos[0].id == "1111aaaa"
    assert kept(home) == {"memory/TODO.md": text.encode()}


def test_a_skill_that_is_not_loaded_is_told_with_the_reason(home: Home) -> None:
    put(home, "skills/broken/SKILL.md", "---\nname: broken\ndescription: [a\n---\nx\n")
    put(home, "skills/headless/SKILL.md", "no head\n")
    broken, headless = look(home, "front matter")
    assert broken.found.startswith("skills/broken/SKILL.md can only just be read: ")
    assert headless.found.startswith("skills/headless/SKILL.md is not loaded: ")
    assert "skills validate skills/headless/SKILL.md" in headless.advice


def test_what_is_judged_are_the_files_that_are_read_as_skills(home: Home) -> None:
    put(home, "skills/good/SKILL.md", "---\nname: good\ndescription: d\n---\nx\n")
    put(home, "skills/good/templates/SKILL.md", "no head\n")
    assert one(home, "front matter").state == "ok"
    put(home, "skills/low/skill.md", "no head\n")
    assert one(home, "front matter").found.startswith("skills/low/skill.md is not loaded: ")


def test_secrets_are_looked_for_in_all_of_the_memory(home: Home) -> None:
    put(home, "memory/people/ann.md", "# Ann\n\n- password: hunter2-Zx81kQ\n")
    assert "memory/people/ann.md:3" in check_memory(home).found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("---\ntitle: x\nno end\n", "is never closed"),
        ("---\ntitle: x\nmore: [1, 2\n---\ntext\n", "is no YAML: line"),
        ("---\ntitle: a: b\n---\ntext\n", "is no YAML: line 2"),
    ],
)
def test_a_broken_head_of_a_memory_is_told(home: Home, text: str, said: str) -> None:
    put(home, "memory/2026-11-21.md", text)
    assert said in one(home, "front matter").found


@pytest.mark.parametrize("text", ["---\n\ntext\n", "---\ntitle: x\n---\n", "text\n---\na: [\n"])
def test_a_sound_head_and_a_rule_are_no_fault(home: Home, text: str) -> None:
    put(home, "memory/2026-11-21.md", text)
    assert one(home, "front matter").state == "ok"


# -------- below the files


@posix
@pytest.mark.parametrize(
    ("path", "mode"),
    [
        ("memory/MEMORY.md", 0o444),
        ("memory/MEMORY.md", 0o000),
        ("workspace/SOUL.md", 0o200),
        ("sessions", 0o500),
        ("workspace", 0o600),
    ],
)
def test_access_is_given_back(home: Home, path: str, mode: int) -> None:
    (home.root / path).chmod(mode)
    found = look(home, "access")
    assert any(path in result.found for result in found)
    look(home, "access", fix=True)
    assert one(home, "access").state == "ok"
    assert stat.S_IMODE((home.root / path).stat().st_mode) & 0o600 == 0o600


@posix
def test_a_file_of_the_workspace_may_be_read_only(home: Home) -> None:
    (home.workspace / "SOUL.md").chmod(0o444)
    assert one(home, "access").state == "ok"
    assert list(rights(View(home))) == []


@pytest.mark.parametrize(
    ("free", "states"), [(2e9, []), (100e6, []), (99e6, ["warning"]), (9e6, ["fault"])]
)
def test_a_disk_that_is_nearly_full_is_told(free: float, states: list[str]) -> None:
    found = list(space(int(free)))
    assert [finding.state for finding in found] == states
    assert all(finding.advice for finding in found)


def test_files_from_the_future_mean_a_wrong_clock(home: Home) -> None:
    path = home.memory / "MEMORY.md"
    later = path.stat().st_mtime + YEAR
    os.utime(path, (later, later))
    result = one(home, "clock")
    assert "memory/MEMORY.md" in result.found and "set the clock" in result.advice


def test_a_session_from_the_future_means_so_too(home: Home) -> None:
    put(home, "sessions/x.json", '{"version": 2, "updated_at": "2199-01-01T00:00:00+00:00"}')
    assert "sessions/x.json" in one(home, "clock").found


def test_half_written_files_are_taken_away_when_they_are_old(home: Home) -> None:
    old = [put(home, f"{place}.openclaw-0011aabbccdd.tmp", "half") for place in ("", "memory/")]
    young = put(home, "sessions/.openclaw-0011aabbccdd.tmp", "half")
    other = put(home, "workspace/mine.tmp", "mine")
    for path in [*old, other]:
        os.utime(path, (1e9, 1e9))
    repaired(home, "leftovers")
    assert not any(path.exists() for path in old)
    assert young.exists() and other.exists()
    assert set(kept(home)) == {".openclaw-0011aabbccdd.tmp", "memory/.openclaw-0011aabbccdd.tmp"}


# -------- what is derived, what is private


def index_with_a_file(home: Home) -> Path:
    path = home.private / "index" / "index.sqlite"
    path.parent.mkdir(parents=True)
    with closing(connect(path, 1.0)) as db:
        db.execute(
            "INSERT INTO files (path, chunks) VALUES ('memory/MEMORY.md', 1)",
        )
        db.execute("INSERT INTO file_rows VALUES (1, ?)", (b"\0" * 20,))
        db.execute("INSERT INTO chunks (id, text) VALUES (?, 'x')", (1 << 24,))
    return path


def test_a_sound_index_is_told_by_its_size(home: Home) -> None:
    index_with_a_file(home)
    assert "bytes" in one(home, "index").found and one(home, "index").state == "ok"


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM file_rows",
        "UPDATE file_rows SET rows = x'00'",
        "DELETE FROM chunks",
        "DROP TABLE file_rows",
        "PRAGMA user_version = 99",
    ],
)
def test_an_index_that_lists_what_it_has_not_is_dropped(home: Home, statement: str) -> None:
    path = index_with_a_file(home)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(statement)
    repaired(home, "index")
    assert not path.exists()


def test_an_index_that_is_no_database_is_dropped(home: Home) -> None:
    put(home, ".openclaw/index/index.sqlite", b"rubbish " * 600)
    repaired(home, "index")


def test_secrets_that_can_be_read_are_saved(home: Home) -> None:
    path = home.private / "secrets.json"
    masker = Masker(path)
    names = [masker.mask(f"password: {value}") for value in ("hunter2-Zx81kQ", "zebra9-Qp73vY")]
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b"zebra9")])
    assert look(home, "private")[0].state == "fault"
    repaired(home, "private")
    fresh = Masker(path)
    assert "hunter2-Zx81kQ" in fresh.reveal(names[0])
    assert kept(home)[".openclaw/secrets.json"] == data[: data.index(b"zebra9")]
    new = fresh.mask("password: koala4-Lm55tR")
    assert new not in names and fresh.reveal(names[1]) == names[1]


def test_secrets_that_a_prompt_has_moved_aside_are_put_back(home: Home) -> None:
    path = home.private / "secrets.json"
    first = Masker(path).mask("password: hunter2-Zx81kQ")
    path.write_bytes(path.read_bytes()[:-4])
    second = Masker(path).mask("password: zebra9-Qp73vY")
    assert "{{" in Masker(path).reveal(first)
    assert "1 secrets are only in" in repaired(home, "private").found
    fresh = Masker(path)
    assert "hunter2-Zx81kQ" in fresh.reveal(first) and "zebra9-Qp73vY" in fresh.reveal(second)


@posix
def test_secrets_that_others_may_read_are_closed(home: Home) -> None:
    Masker(home.private / "secrets.json").mask("password: hunter2-Zx81kQ")
    (home.private / "secrets.json").chmod(0o644)
    repaired(home, "private")
    assert stat.S_IMODE((home.private / "secrets.json").stat().st_mode) == 0o600


def test_lines_of_learned_json_that_can_be_read_are_saved(home: Home) -> None:
    put(home, "workspace/a.md", "x")
    put(home, "workspace/b.md", "x")
    ForeignFiles(home).note("workspace/a.md", "web: a.test\u2028")
    ForeignFiles(home).note("workspace/b.md", "web: b.test")
    path = home.private / "learned.json"
    path.write_bytes(path.read_bytes()[:-20])
    assert "no longer known" in repaired(home, "private").fixed
    assert ForeignFiles(home).source("workspace/a.md") == "web: a.test\u2028"


@pytest.mark.parametrize("name", ["secrets.json", "learned.json"])
def test_private_files_of_a_newer_version_are_left_alone(home: Home, name: str) -> None:
    path = put(home, f".openclaw/{name}", json.dumps({"version": 9, "what": {"is": "this"}}))
    path.chmod(0o600)
    data = path.read_bytes()
    (result,) = look(home, "private", fix=True)
    assert (result.state, result.exit_code) == ("fault", 6)
    assert "version 9" in result.found and "newer openclaw" in result.advice
    assert path.read_bytes() == data


# -------- folders


@needs_git
def test_a_folder_that_git_has_comes_back(home: Home) -> None:
    todos = (home.memory / "TODO.md").read_bytes()
    (home.memory / "later.md").write_text("not committed", encoding="utf-8")
    shutil.rmtree(home.memory)
    (found,) = look(home, "folders")
    assert (found.state, found.found) == (
        "warning",
        "memory/ is not there; the last commit has 2 files of it",
    )
    (fixed,) = look(home, "folders", fix=True)
    assert fixed.fixed == "memory/ is back with 2 files"
    assert (home.memory / "TODO.md").read_bytes() == todos
    assert look(home, "folders") == [Check("folders", "ok")]


@posix
@needs_git
def test_a_program_that_comes_back_may_run(home: Home) -> None:
    script = write_file(home.root / "skills" / "run.sh", "#!/bin/sh\n")
    script.chmod(0o755)
    make_repository(home.root)
    shutil.rmtree(home.root / "skills")
    look(home, "folders", fix=True)
    assert os.access(script, os.X_OK)


def test_a_folder_that_was_never_there_is_missed_if_it_is_the_memory(tmp_path: Path) -> None:
    root = tmp_path / "bare"
    (root / "workspace").mkdir(parents=True)
    assert "nothing is remembered" in one(Home(root), "folders").found
    assert look(Home(root), "folders", fix=True)[0].fixed == "made memory/"
    assert (root / "memory").is_dir()


# ---- where locks may not hold

MOUNTS = {
    "/": "ext4",
    "/mnt/share": "nfs4",
    "/mnt/share/my disk": "ext4",
    "/home/me/remote": "fuse.sshfs",
    "/Volumes/My Share": "smbfs",
}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/home/me/openclaw", ""),
        ("/mnt/share", "nfs4"),
        ("/mnt/share/home", "nfs4"),
        ("/mnt/shared/home", ""),
        ("/mnt/share/my disk/home", ""),
        ("/home/me/remote/home", "fuse.sshfs"),
        ("/Volumes/My Share/home", "smbfs"),
    ],
)
@posix
def test_a_network_file_system_is_known_by_its_mount(path: str, name: str) -> None:
    assert of_mounts(MOUNTS, Path(path)) == name


def test_a_folder_of_this_computer_is_on_no_network(tmp_path: Path) -> None:
    assert network_place(tmp_path / "not" / "there") == ""
