"""Imports from folders that are odd, hostile or half broken, and imports that are broken off."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from openclaw.config import starter_text
from openclaw.errors import UsageError
from openclaw.maintenance.importers.plan import ImportPlan, carry_out, plan_import
from openclaw.maintenance.importers.source import MAX_BYTES
from openclaw.maintenance.importers.steps import ImportStep
from openclaw.storage.home import Home
from openclaw.types import Unrecorded
from tests.cli.commands.test_import import SAMPLES, sample, state
from tests.fakes.git_home import copy_home
from tests.fakes.needs import linux, posix
from tests.fakes.process import common, limited, started


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(copy_home(tmp_path / "home", starter_text()))


@pytest.fixture
def masker(tmp_path: Path) -> Path:
    """A folder with one note."""
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "plain.md").write_text("# Plain\n", encoding="utf-8")
    return folder


def taken(home: Home, folder: Path) -> dict[str, ImportStep]:
    """Import a folder; its steps by their source."""
    return {step.item.path: step for step in carry_out(plan_import(home, folder)).steps}


def test_a_line_that_stands_under_two_headings_comes_in_under_both(
    home: Home, masker: Path
) -> None:
    text = "## Project A\n\n- Status: active\n\n## Project B\n\n- Status: active\n"
    (masker / "MEMORY.md").write_text(text, encoding="utf-8")
    assert taken(home, masker)["MEMORY.md"].detail == "2 new entries"
    kept = (home.memory / "MEMORY.md").read_text(encoding="utf-8")
    assert "### Project B\n\n- Status: active\n" in kept and kept.count("Status: active") == 2
    assert taken(home, masker)["MEMORY.md"].deed == "known"


@posix
def test_no_title_is_read_through_a_link_out(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "claw" / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    said = {"type": "message", "id": "m", "message": {"role": "user", "content": "hello"}}
    (folder / "one.jsonl").write_text(json.dumps(said), encoding="utf-8")
    (tmp_path / "mine.json").write_text('{"a": {"sessionId": "one", "label": "secret"}}', "utf-8")
    (folder / "sessions.json").symlink_to(tmp_path / "mine.json")
    carry_out(plan_import(home, tmp_path / "claw"))
    assert '"title": "hello"' in (home.sessions / "openclaw-one.json").read_text(encoding="utf-8")


def test_the_titles_of_all_conversations_are_read_once(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "claw" / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    said = {"type": "message", "id": "m", "message": {"role": "user", "content": "hello"}}
    (folder / "one.jsonl").write_text(json.dumps(said), encoding="utf-8")
    titles = {"agent:main:one": {"sessionId": "one", "label": "The first"}}
    (folder / "sessions.json").write_text(json.dumps(titles), encoding="utf-8")
    plan = plan_import(home, tmp_path / "claw")
    (folder / "sessions.json").unlink()
    carry_out(plan)
    kept = json.loads((home.sessions / "openclaw-one.json").read_text(encoding="utf-8"))
    assert kept["title"] == "The first"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("Grüße\n".encode("utf-16"), "Grüße\n"),
        (b"\xfe\xff" + "Grüße\n".encode("utf-16-be"), "Grüße\n"),
        ("Grüße\n".encode("utf-8-sig"), "Grüße\n"),
        ("Grüße, 5 \u20ac\n".encode("cp1252"), "Grüße, 5 \u20ac\n"),
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        (b"one\rtwo", "one\ntwo"),
    ],
)
def test_any_encoding_becomes_utf_8(home: Home, masker: Path, data: bytes, text: str) -> None:
    (masker / "note.md").write_bytes(data)
    assert taken(home, masker)["note.md"].deed == "write"
    assert (home.workspace / "notes" / "note.md").read_bytes() == text.encode()
    assert taken(home, masker)["note.md"].deed == "known"


def test_what_is_no_text_or_too_large_or_empty_is_named(home: Home, masker: Path) -> None:
    (masker / "binary.md").write_bytes(b"a\0b")
    (masker / "empty.md").write_bytes(b"\n")
    with (masker / "huge.md").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    steps = taken(home, masker)
    assert {name: steps[name].detail for name in ("binary.md", "empty.md", "huge.md")} == {
        "binary.md": "no text: it holds NUL bytes",
        "empty.md": "it is empty",
        "huge.md": "larger than 10 MB",
    }
    assert steps["plain.md"].deed == "write"


@posix
def test_links_lead_no_further_than_the_folder(home: Home, masker: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("outside\n", encoding="utf-8")
    (masker / "out.md").symlink_to(outside / "secret.md")
    (masker / "in.md").symlink_to(masker / "plain.md")
    (masker / "gone.md").symlink_to(masker / "nothing.md")
    (masker / "tree").symlink_to(outside)
    (masker / "loop").symlink_to(masker)
    steps = taken(home, masker)
    assert "not followed" in steps["out.md"].detail
    assert "not followed" in steps["tree"].detail
    assert "not followed" in steps["loop"].detail
    assert "cannot be read" in steps["gone.md"].detail
    assert steps["in.md"].deed == "write"
    assert "outside" not in "".join(p.read_text("utf-8") for p in home.workspace.rglob("*.md"))


@posix
def test_a_linked_workspace_is_named_not_followed(home: Home, tmp_path: Path) -> None:
    source = sample(tmp_path, "openclaw")
    (source / "workspace").rename(tmp_path / "clawd")
    (source / "workspace").symlink_to(tmp_path / "clawd")
    steps = taken(home, source)
    assert steps["workspace"].detail == "a link: import where it leads"
    assert not [step for step in steps.values() if step.item.kind == "identity"]
    assert taken(home, tmp_path / "clawd")["SOUL.md"].deed == "write"


@posix
def test_the_folder_itself_may_be_a_link(home: Home, masker: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(masker)
    assert taken(home, tmp_path / "link")["plain.md"].deed == "write"
    with pytest.raises(UsageError, match="lies in the home"):
        (tmp_path / "to-home").symlink_to(home.workspace)
        plan_import(home, tmp_path / "to-home")


@posix
def test_pipes_are_not_waited_for(home: Home, masker: Path) -> None:
    os.mkfifo(masker / "pipe.md")
    assert taken(home, masker)["pipe.md"].detail == "no regular file"


@posix
def test_what_may_not_be_read_is_named(home: Home, masker: Path) -> None:
    (masker / "mine.md").write_text("x\n", encoding="utf-8")
    (masker / "mine.md").chmod(0)
    (masker / "closed").mkdir(mode=0)
    done = common("--home", str(home.root), "import", str(masker), "--yes", "--json")
    (masker / "closed").chmod(0o700)
    assert done.returncode == 0, done.stderr
    steps = {step["source"]: step for step in json.loads(done.stdout)["steps"]}
    assert steps["mine.md"]["detail"] == "cannot be read: no permission"
    assert steps["closed/"]["detail"] == "cannot be opened: Permission denied"
    assert steps["plain.md"]["deed"] == "write"


@posix
def test_what_cannot_be_written_is_named_and_a_second_import_completes(
    home: Home, masker: Path
) -> None:
    (masker / "long.md").write_text("long line\n" * 9000, encoding="utf-8")
    words = ("--home", str(home.root), "import", str(masker), "--yes")
    done = limited(50_000, *words)
    assert done.returncode == 1
    assert "imported 1, 0 there already, 0 left, 1 failed" in done.stdout
    assert "larger than this system allows" in done.stdout
    assert not (home.workspace / "notes" / "long.md").exists()
    assert "imported 1, 1 there already" in started(*words).stdout


def test_keys_are_not_even_opened(home: Home, masker: Path) -> None:
    for name in ("id_rsa.md", "server.key", "prod.env"):
        (masker / name).write_text("# unheard-of\n", encoding="utf-8")
    (masker / ".ssh").mkdir()
    (masker / ".ssh" / "notes.md").write_text("# unheard-of\n", encoding="utf-8")
    steps = taken(home, masker)
    assert steps["id_rsa.md"].detail == "not read: a private key"
    texts = [path.read_text("utf-8") for path in home.root.rglob("*.md")]
    assert not [text for text in texts if "unheard-of" in text]


@linux
def test_odd_names_become_names_for_every_system(home: Home, masker: Path) -> None:
    for name in ("con.md", "a:b?.md", "tab\there.md", "end. ", "x" * 240 + ".md", "Ünïcode.md"):
        (masker / name).write_text(f"# {name}\n", encoding="utf-8")
    (masker / os.fsdecode(b"\xff.md")).write_text("# byte\n", encoding="utf-8")
    steps = taken(home, masker)
    made = {step.target.rpartition("/")[2] for step in steps.values() if step.deed == "write"}
    assert made >= {"note-con.md", "a-b-.md", "tab-here.md", "Ünïcode.md", "plain.md"}
    assert not [step for step in steps.values() if step.deed == "failed"]
    assert all(len(name.encode()) <= 200 for name in made)


@linux
def test_names_that_some_systems_hold_for_one_both_come(home: Home, masker: Path) -> None:
    (masker / "Note.md").write_text("upper\n", encoding="utf-8")
    (masker / "note.md").write_text("lower\n", encoding="utf-8")
    steps = taken(home, masker)
    assert steps["Note.md"].target == "workspace/notes/Note.md"
    assert steps["note.md"].target == "workspace/notes/note-2.md"


def test_an_other_note_of_the_name_is_not_overwritten(home: Home, masker: Path) -> None:
    own = home.workspace / "notes" / "plain.md"
    own.parent.mkdir()
    own.write_text("mine\n", encoding="utf-8")
    assert taken(home, masker)["plain.md"].target == "workspace/notes/plain-2.md"
    assert own.read_text("utf-8") == "mine\n"


def test_broken_lines_of_a_conversation_are_counted(home: Home, tmp_path: Path) -> None:
    source = sample(tmp_path, "nanobot")
    path = source / "workspace" / "sessions" / "cli_direct.jsonl"
    with path.open("a", encoding="utf-8") as file:
        file.write('{"role": "user", "cont')
    (path.parent / "none.jsonl").write_text("[]\nnonsense\n", encoding="utf-8")
    (path.parent / "deep.jsonl").write_text("[" * 100_000, encoding="utf-8")
    steps = taken(home, source)
    told = steps["workspace/sessions/cli_direct.jsonl"]
    assert (told.deed, told.detail) == ("write", "3 messages; 1 lines could not be read")
    assert steps["workspace/sessions/none.jsonl"].detail == "it holds no messages"
    assert steps["workspace/sessions/deep.jsonl"].detail == "it holds no messages"


def test_sqlite_is_left_and_nothing_is_made_beside_it(home: Home, tmp_path: Path) -> None:
    source = sample(tmp_path, "hermes")
    (source / "state.db").write_bytes(b"SQLite format 3")
    before = state(source)
    assert taken(home, source)["state.db"].detail == "SQLite, which is not read"
    assert state(source) == before


def test_a_long_memory_becomes_a_file_that_is_searched(home: Home, tmp_path: Path) -> None:
    source = sample(tmp_path, "openclaw")
    facts = "".join(f"- Fact number {n}: {'word ' * 20}\n" for n in range(200))
    (source / "workspace" / "MEMORY.md").write_text(facts, encoding="utf-8")
    before = (home.memory / "MEMORY.md").read_bytes()
    steps = taken(home, source)
    assert steps["workspace/MEMORY.md"].target == "memory/notes/imported-memory.md"
    assert (home.memory / "MEMORY.md").read_bytes() == before
    assert (home.memory / "notes" / "imported-memory.md").read_text("utf-8") == facts


def test_a_to_do_that_is_too_long_is_named_and_the_others_come(home: Home, masker: Path) -> None:
    (masker / "TODO.md").write_text(f"- [ ] {'long ' * 200}\n- [ ] short\n", encoding="utf-8")
    plan = carry_out(plan_import(home, masker))
    (step,) = [step for step in plan.steps if step.item.kind == "to-dos"]
    assert "not imported, too long: long long" in step.detail
    assert "- [ ] short ^" in (home.memory / "TODO.md").read_text("utf-8")


class Broken(Exception):
    """What ends a process, for a test."""


class BreakingRecorder(Unrecorded):
    """The recorder of a process that ends before it writes more files than so many."""

    def __init__(self, most: int) -> None:
        self._left = most

    def keep(self, path: Path, before: bytes | None, after: bytes | None) -> Callable[[], None]:
        self._left -= 1
        if self._left < 0:
            raise Broken
        return Unrecorded.keep(path, before, after)


def broken_off(plan: ImportPlan, after: int) -> None:
    with pytest.raises(Broken):
        carry_out(plan, BreakingRecorder(after))


@pytest.mark.parametrize("after", [1, 4, 8, 10, 11])
def test_an_import_that_was_broken_off_is_completed_by_the_next(
    home: Home, tmp_path: Path, after: int
) -> None:
    whole = Home(copy_home(tmp_path / "whole", starter_text()))
    taken(whole, SAMPLES / "openclaw")
    broken_off(plan_import(home, SAMPLES / "openclaw"), after)
    taken(home, SAMPLES / "openclaw")
    assert texts(home) == texts(whole)


def texts(home: Home) -> dict[str, str]:
    """All files of a home but what is drawn by lot or tells the time."""
    found = {}
    for folder in (home.workspace, home.memory, home.skills):
        for path in folder.rglob("*"):
            if path.is_file() and path.name != ".sources.yaml":
                found[home.relative(path)] = path.read_text("utf-8")
    talks = [path for path in home.sessions.iterdir() if path.suffix == ".json"]
    return found | {
        path.name: str([m["content"] for m in json.loads(path.read_text("utf-8"))["messages"]])
        for path in talks
    }


def test_a_file_that_comes_meanwhile_is_not_overwritten(home: Home, masker: Path) -> None:
    plan = plan_import(home, masker)
    own = home.workspace / "notes" / "plain.md"
    own.parent.mkdir()
    own.write_text("mine\n", encoding="utf-8")
    (result,) = carry_out(plan).steps
    assert result.deed == "failed"
    assert "meanwhile" in result.detail
    assert own.read_text("utf-8") == "mine\n"


def test_a_memory_that_comes_meanwhile_stays(home: Home) -> None:
    plan = plan_import(home, SAMPLES / "openclaw")
    path = home.memory / "MEMORY.md"
    path.write_text("# Memory\n\n- Ines prefers short answers.\n- New.\n", encoding="utf-8")
    carry_out(plan)
    text = path.read_text("utf-8")
    assert text.startswith("# Memory\n\n- Ines prefers short answers.\n- New.\n")
    assert text.count("short answers") == 1
    assert "Tomas" in text


def test_one_step_that_fails_does_not_end_the_others(home: Home, masker: Path) -> None:
    (masker / "z.md").write_text("last\n", encoding="utf-8")
    plan = plan_import(home, masker)
    (masker / "plain.md").unlink()
    result = {step.item.path: step for step in carry_out(plan).steps}
    assert result["plain.md"].deed == "failed"
    assert "cannot be read" in result["plain.md"].detail
    assert (home.workspace / "notes" / "z.md").is_file()


@pytest.mark.parametrize("end", ["```\nls\n", "<!-- not closed\n"])
def test_nothing_is_added_inside_of_code_or_a_comment(home: Home, tmp_path: Path, end: str) -> None:
    memory = home.memory / "MEMORY.md"
    memory.write_text(f"# Memory\n\n- a\n\n{end}", "utf-8")
    before = memory.read_bytes()
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / "SOUL.md").write_text("s", "utf-8")
    (folder / "MEMORY.md").write_text("- likes tea\n", "utf-8")
    step = taken(home, folder)["MEMORY.md"]
    assert (step.deed, step.target) == ("write", "memory/notes/imported-memory.md")
    assert "close it" in step.detail and memory.read_bytes() == before
    assert taken(home, folder)["MEMORY.md"].deed == "known"


TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        (".env", "TOKEN=x\n", "it holds .env (an environment file"),
        ("keys/id_rsa", "x\n", "it holds keys/id_rsa (a private key)"),
        ("notes.md", f"Use {TOKEN} with curl.\n", "notes.md holds a secret (github-token)"),
    ],
)
def test_a_skill_with_keys_or_secrets_is_left(
    home: Home, tmp_path: Path, name: str, text: str, why: str
) -> None:
    skill = tmp_path / "ws" / "skills" / "deploy"
    (skill / name).parent.mkdir(parents=True)
    (tmp_path / "ws" / "SOUL.md").write_text("s", "utf-8")
    head = "---\nname: deploy\ndescription: Deploys the site when asked to.\n---\nDeploy.\n"
    (skill / "SKILL.md").write_text(head, "utf-8")
    (skill / name).write_text(text, "utf-8")
    step = taken(home, tmp_path / "ws")["skills/deploy"]
    assert step.deed == "leave" and step.detail.startswith(why)
    assert not (home.skills / "deploy").exists()
    (skill / name).unlink()
    assert taken(home, tmp_path / "ws")["skills/deploy"].deed == "install"
