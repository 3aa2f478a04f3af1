"""The home: how it is found, and that no path leads out of it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import openclaw
from openclaw.errors import Damaged, OpenclawError
from openclaw.storage.home import Home, find_home, holds_notes, name_trouble
from openclaw.storage.new_home import files_of, starter_files
from openclaw.types import ToolProblem
from tests.fakes.files import write_files
from tests.fakes.git_home import git, identity
from tests.fakes.needs import needs_git, posix


@pytest.fixture
def home(tmp_path: Path) -> Home:
    root = tmp_path / "place"
    for folder in ("workspace/deep", "memory", ".openclaw", ".git", "workspace/repo/.git"):
        (root / folder).mkdir(parents=True)
    (root / "workspace" / "SOUL.md").write_text("soul", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    return Home(root)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("workspace/SOUL.md", "workspace/SOUL.md"),
        ("./workspace//deep/../SOUL.md", "workspace/SOUL.md"),
        (r"workspace\SOUL.md", "workspace/SOUL.md"),
        ("workspace/new/folder/file.md", "workspace/new/folder/file.md"),
        ("", "."),
        (".", "."),
        (".gitignore", ".gitignore"),
        ("workspace/~draft.md", "workspace/~draft.md"),
        ("workspace/.github/x.yml", "workspace/.github/x.yml"),
        ("memory/\u65e5\u8a18.md", "memory/\u65e5\u8a18.md"),
    ],
)
def test_a_path_of_the_home_becomes_its_real_path(home: Home, path: str, expected: str) -> None:
    assert home.relative(home.inside(path)) == expected


def test_an_absolute_path_in_the_home_is_understood(home: Home) -> None:
    target = home.root / "workspace" / "SOUL.md"
    assert home.inside(str(target)) == target


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../secret.txt",
        "workspace/../../secret.txt",
        r"..\secret.txt",
        "/etc/passwd",
        "//server/share/x",
        r"\\server\share\x",
        "//?/C:/x",
        "~",
        "~/x",
        "C:/Windows/x",
        r"c:\x",
        "c:x",
        "a\0b",
        "a\x1b[31m.md",
        "a\nb.md",
        "\ud800",
        ".git/config",
        ".GIT/hooks/pre-commit",
        "./.git",
        ".git /config",
        ".git./config",
        ".git. . /config",
        ".git::$INDEX_ALLOCATION/config",
        ".g\u200cit/config",
        "GIT~1/config",
        "OPENCL~2/x",
        ".openclaw",
        ".OpenClaw/cache/x",
        "workspace/../.openclaw/x",
        "workspace/repo/.git/hooks/post-commit",
        "workspace/.openclaw/x",
        "workspace/CON",
        "workspace/nul.txt",
        "memory/com1.md",
    ],
)
def test_a_path_that_leaves_the_home_or_enters_a_closed_folder_is_refused(
    home: Home, path: str
) -> None:
    with pytest.raises(ToolProblem):
        home.inside(path)


def test_a_refusal_says_which_paths_are_valid(home: Home) -> None:
    with pytest.raises(ToolProblem, match=r"outside the home.*workspace/notes\.md"):
        home.inside("../x")


@pytest.mark.parametrize("name", ["notes.md:hidden", "C:", "a:$DATA"])
def test_on_windows_a_colon_is_refused_as_it_opens_a_hidden_stream(name: str) -> None:
    assert name_trouble(name, windows=True)
    assert not name_trouble("10:30.md", windows=False)


def test_a_link_out_of_the_home_is_refused_even_when_its_target_does_not_exist(home: Home) -> None:
    (home.workspace / "out").symlink_to(home.root.parent)
    (home.workspace / "dangling").symlink_to(home.root.parent / "not-yet.txt")
    (home.workspace / "closed").symlink_to(home.root / ".git")
    for path in ("out/secret.txt", "out/new.txt", "dangling", "closed/config", "out/../secret.txt"):
        with pytest.raises(ToolProblem):
            home.inside(f"workspace/{path}")


def test_a_link_that_stays_inside_is_followed(home: Home) -> None:
    (home.memory / "me").symlink_to(home.workspace / "SOUL.md")
    assert home.inside("memory/me") == home.workspace / "SOUL.md"


def test_a_loop_of_links_does_not_hide_a_way_out(home: Home) -> None:
    (home.root / "loop").symlink_to("loop")
    (home.root / "out").symlink_to(home.root.parent)
    with pytest.raises(ToolProblem):
        home.inside("loop/../out/secret.txt")


def test_a_home_that_is_reached_through_a_link_knows_its_files(home: Home) -> None:
    link = home.root.parent / "link"
    link.symlink_to(home.root)
    linked = Home(link)
    real = linked.inside("workspace/SOUL.md")
    assert linked.relative(real) == "workspace/SOUL.md"
    assert linked.relative(link / "memory") == "memory"


PARTS = st.sampled_from(
    ["..", ".", "", "a", "b", "link", "up", "git", ".git", ".Git ", ".openclaw", "x.md", "loop"]
)
LINKS = st.sampled_from(
    ["..", "../..", "/", "/etc", "a", "a/../..", ".git", "link", "b/up", "loop"]
)


@given(
    parts=st.lists(PARTS, max_size=7),
    links=st.dictionaries(
        st.sampled_from(["link", "up", "a/link", "a/up", "b", "loop"]), LINKS, max_size=4
    ),
    separator=st.sampled_from(["/", "\\", "//"]),
    start=st.sampled_from(["", "/", "ROOT", "ROOT/.."]),
)
@example(["loop", "..", "up", "x.md"], {"loop": "loop", "up": ".."}, "/", "")
def test_whatever_the_path_and_the_links_the_result_is_real_and_inside(
    parts: list[str], links: dict[str, str], separator: str, start: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder)) / "home"
        (root / "a").mkdir(parents=True)
        (root / ".git").mkdir()
        for name, target in links.items():
            (root / name).symlink_to(target)
        try:
            real = Home(root).inside(start.replace("ROOT", str(root)) + separator.join(parts))
        except ToolProblem:
            return
        assert real == Path(os.path.realpath(real))
        inner = [part.casefold().rstrip(" .") for part in real.relative_to(root).parts]
        assert not {".git", ".openclaw"} & set(inner)


@given(st.text(max_size=30))
def test_any_text_at_all_is_a_path_inside_or_a_problem_told_to_the_model(text: str) -> None:
    root = Path(os.path.realpath(tempfile.gettempdir())) / "no-such-home"
    try:
        real = Home(root).inside(text)
    except ToolProblem:
        return
    assert real.is_relative_to(root)


def make(root: Path) -> Path:
    (root / "workspace").mkdir(parents=True)
    (root / "workspace" / "SOUL.md").write_text("soul", encoding="utf-8")
    return root


def test_the_home_is_the_flag_then_the_variable_then_upwards_then_the_users(tmp_path: Path) -> None:
    flag, variable, above = (make(tmp_path / name) for name in ("flag", "variable", "above"))
    user = make(tmp_path / "me" / "openclaw").parent
    deep = above / "workspace" / "deep"
    deep.mkdir()
    environ = {"HOME": str(user), "USERPROFILE": str(user), "OPENCLAW_HOME": str(variable)}
    assert find_home(str(flag), deep, environ).root == flag
    assert find_home(None, deep, environ).root == variable
    del environ["OPENCLAW_HOME"]
    assert find_home(None, deep, environ).root == above
    assert find_home(None, tmp_path, environ).root == user / "openclaw"
    assert find_home("../flag", above, environ).root == flag


def test_a_missing_home_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(Damaged, match="there is no openclaw home") as caught:
        find_home(str(tmp_path / "none"), tmp_path, {})
    assert "openclaw init" in caught.value.hint
    assert caught.value.exit_code == 6


def test_a_folder_of_notes_can_be_searched_where_no_home_is(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "a.md").write_text("- x\n", encoding="utf-8")
    nowhere = {"HOME": str(tmp_path / "none"), "USERPROFILE": str(tmp_path / "none")}
    assert find_home(None, tmp_path, nowhere, notes=True).root == tmp_path
    with pytest.raises(Damaged):
        find_home(None, tmp_path, nowhere)


def test_a_file_and_an_empty_folder_are_no_homes(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    for name in ("file", "file/below", "empty"):
        with pytest.raises(Damaged) as caught:
            find_home(str(tmp_path / name), tmp_path, {})
        assert "openclaw init" in caught.value.hint


def test_the_starter_has_the_three_files_of_the_workspace() -> None:
    assert starter_files().keys() >= {f"workspace/{n}.md" for n in ("SOUL", "USER", "AGENTS")}


@needs_git
@posix
def test_a_new_home_has_nothing_of_what_the_clone_has_made_as_a_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = tmp_path / "clone"
    write_files(clone, starter_files())
    (clone / "openclaw").symlink_to(Path(openclaw.__file__).parent)
    monkeypatch.setenv("PYTHONPATH", str(clone))

    def new_home(name: str) -> dict[str, bytes]:
        command = [sys.executable, "-m", "openclaw", "init", str(tmp_path / name)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=clone)
        root = tmp_path / name
        files = (path for path in root.glob("[mws]*/**/*") if path.is_file())
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}

    def live() -> None:
        """Files of his own, and those of the starter with his words in them."""
        for path in ("workspace/diary.md", "workspace/.env", "skills/mine/SKILL.md"):
            (clone / path).parent.mkdir(exist_ok=True)
            (clone / path).write_text("mine", "utf-8")
        for path in ("memory/TODO.md", "memory/MEMORY.md", "workspace/USER.md"):
            (clone / path).write_text("mine", "utf-8")

    git(clone, "init", "-q")
    git(clone, "add", "workspace", "memory", "skills")
    identity(clone)
    git(clone, "commit", "-qm", "first")
    live()
    assert new_home("of-a-clone") == starter_files()
    git(clone, "add", "--all")
    git(clone, "commit", "-qm", "my home")
    assert new_home("of-a-clone-whose-owner-commits") == starter_files()


def test_an_archive_without_git_gives_the_starter_or_names_the_file_that_was_changed(
    tmp_path: Path,
) -> None:
    write_files(tmp_path, starter_files())
    (tmp_path / "workspace" / "diary.md").write_text("mine", "utf-8")
    assert files_of(tmp_path) == starter_files()
    (tmp_path / "memory" / "TODO.md").write_text("mine", "utf-8")
    with pytest.raises(OpenclawError, match=r"TODO\.md is not the file"):
        files_of(tmp_path)


@pytest.mark.parametrize(
    ("names", "holds"),
    [
        ([".obsidian/app.json", "a.png"], True),
        (["logseq/config.edn", "logseq/custom.css", "pages/a.md"], True),
        (["a.md", "Work/b.md"], True),
        (["Work/b.md", ".git/config"], True),
        (["README.md", "main.c"], False),
        (["README.md", "src/main.c"], False),
        (["memory/a.md", "skills/x/SKILL.md"], False),
        ([], False),
    ],
)
def test_a_folder_of_notes_is_known_by_its_files(
    names: list[str], holds: bool, tmp_path: Path
) -> None:
    write_files(tmp_path, dict.fromkeys(names, ""))
    assert holds_notes(tmp_path) is holds
    assert not holds_notes(tmp_path / "missing")


@pytest.mark.parametrize("named", ["~nobody-of-this-name", "~nobody-of-this-name/home"])
def test_the_folder_of_an_unknown_user_is_no_home(named: str, tmp_path: Path) -> None:
    with pytest.raises(Damaged, match=r"no openclaw home at .*~nobody"):
        find_home(named, tmp_path, {})
