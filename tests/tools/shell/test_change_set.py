"""What a command changed is what it changed, whatever others do meanwhile: it writes into a layer
over the home (overlayfs), and what stands there is brought into the home afterwards."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from openclaw.config import set_value
from openclaw.memory.todos import TodoFile
from openclaw.storage.home import Home
from openclaw.tools.shell import overlay
from openclaw.tools.shell.process import CommandLimits
from openclaw.tools.shell.shell import ProgramCall, Runner, shell_argv
from openclaw.types import TurnChanges
from tests.fakes.files import write_files

HOME = {
    "openclaw.yaml": "mode: edit\n",
    "workspace/SOUL.md": "# Soul\n",
    "workspace/plan.md": "one\ntwo\nthree\n",
    "workspace/box/lid.md": "lid\n",
    "workspace/box/in/deep.md": "deep\n",
    "memory/TODO.md": "# To do\n",
    "sessions/b.json": "{}\n",
}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    root = write_files(tmp_path / "home", HOME).resolve()
    if not overlay.is_overlay_available(root):
        pytest.skip("there is no overlay here")
    return Home(root)


@pytest.fixture
def runner(home: Home) -> Runner:
    return Runner(home, TurnChanges(), timeout=20)


def sh(runner: Runner, line: str) -> str:
    return runner.run(ProgramCall(shell_argv(line), "sh"))


def layers() -> list[Path]:
    return list(Path(os.environ["XDG_CACHE_HOME"], "openclaw", "commands").iterdir())


def beside(runner: Runner, line: str, act: Callable[[], object]) -> str:
    """Run a command while somebody else does something: after its `touch began`."""

    def waits() -> None:
        until = time.monotonic() + 10
        while time.monotonic() < until:
            if any((layer / "upper" / "began").exists() for layer in layers()):
                break
            time.sleep(0.01)
        act()

    other = threading.Thread(target=waits)
    other.start()
    text = sh(runner, line)
    other.join()
    return text


def tree(home: Home) -> dict[str, str]:
    found = {}
    for path in sorted(home.root.rglob("*")):
        name = path.relative_to(home.root).as_posix()
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file() and not name.startswith(".openclaw/"):
            found[name] = path.read_text()
    return found


# -------- alone


@pytest.mark.parametrize(
    "line",
    [
        "echo four >> workspace/plan.md; echo new > workspace/new.md; mkdir -p a/b; echo 1 > a/b/c",
        "rm -r workspace/box; rm workspace/plan.md",
        "rm -r workspace/box; mkdir workspace/box; echo new > workspace/box/lid2.md",
        "rm -r workspace/box; mkdir -p workspace/box/in/in; echo 1 > workspace/box/in/new.md",
        "rm -r workspace/box; mkdir -p x/in; echo 1 > x/in/new; mv x workspace/box",
        "rm -r workspace/box; echo file > workspace/box",
        "rm workspace/plan.md; mkdir workspace/plan.md; echo 1 > workspace/plan.md/x",
        "mv workspace/box workspace/chest; ln -s chest workspace/box",
        "cd workspace; ln -s plan.md l; ln -sfn nowhere l; ln -f plan.md hard",
        "mkdir empty 'a b,c:d'; touch .hidden 'a b,c:d/\u00e9\"'",
        "mkdir shut; touch shut/x; chmod 500 shut",
        "sed -i s/two/TWO/ workspace/plan.md; rm workspace/box/in/deep.md",
        "mkfifo pipe; rm memory/TODO.md; mkfifo memory/TODO.md",
    ],
)
def test_the_home_becomes_what_the_command_made_of_it(
    home: Home, runner: Runner, line: str, tmp_path: Path
) -> None:
    shutil.copytree(home.root, tmp_path / "copy", symlinks=True)
    os.system(f"cd {tmp_path / 'copy'} && {{ {line}; }}")
    assert sh(runner, line).startswith("Exit code 0.")
    assert tree(home) == tree(Home(tmp_path / "copy"))
    kinds = [
        {
            path.relative_to(root).as_posix(): stat.filemode(path.lstat().st_mode)
            for path in root.rglob("*")
            if ".openclaw" not in path.parts
        }
        for root in (home.root, tmp_path / "copy")
    ]
    assert kinds[0] == kinds[1]
    assert layers() == []


def test_the_command_runs_as_its_user(home: Home, runner: Runner) -> None:
    assert sh(runner, "id -u; id -g") == f"Exit code 0.\n{os.getuid()}\n{os.getgid()}"
    sh(runner, "touch mine")
    assert (home.root / "mine").stat().st_uid == os.getuid()


def test_without_the_programs_for_it_there_is_no_layer(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unshare").write_text("#!/bin/sh\necho not permitted >&2; exit 1\n")
    (tmp_path / "unshare").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    shutil.copytree(home.root, tmp_path / "other")
    other = Home((tmp_path / "other").resolve())
    assert not overlay.is_overlay_available(other.root)
    assert "[Changed: x]" in sh(Runner(other, TurnChanges(), timeout=20), "echo x > x")
    assert (other.root / "x").read_text() == "x\n" and layers() == []


def test_only_what_was_changed_is_told(home: Home, runner: Runner) -> None:
    def status() -> tuple[int, ...]:
        found = (home.workspace / "plan.md").stat()  # not when it was read, which `cat` changes
        return found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns

    before = status()
    text = sh(runner, "touch -d 2020-01-01 workspace/box/lid.md; cat workspace/plan.md; ls -R")
    assert "[" not in text and runner.turn_changes.before == {}
    assert status() == before
    assert (home.workspace / "box/lid.md").stat().st_mtime_ns < before[-1] - 9_000 * 10**9
    text = sh(runner, "chmod +x workspace/plan.md; cp /bin/sh .sh; chmod 6755 .sh")
    assert "[Changed: workspace/plan.md]" in text
    assert (home.workspace / "plan.md").stat().st_mode & 0o100
    assert not (home.root / ".sh").stat().st_mode & (stat.S_ISUID | stat.S_ISGID)


def test_a_folder_moves_by_its_tool_and_the_other_way_is_told(home: Home, runner: Runner) -> None:
    text = sh(runner, 'python3 -c \'import os; os.rename("workspace/box", "workspace/chest")\'')
    assert "moved by mv or shutil.move" in text and (home.workspace / "box/lid.md").exists()


# -------- beside others


def test_what_others_save_meanwhile_is_not_the_commands(home: Home, runner: Runner) -> None:
    def others() -> None:
        (home.workspace / "diary.md").write_text("by hand\n")
        (home.workspace / "plan.md").write_text("one\ntwo\nthree\nby hand\n")
        (home.sessions / "b.json").write_text('{"said": 1}\n')
        TodoFile(home.memory / "TODO.md").add("", ["call the bank"])
        shutil.rmtree(home.workspace / "box")

    line = "touch began; sleep 0.5; echo x > workspace/out.txt"
    assert "[Changed: began, workspace/out.txt]" in beside(runner, line, others)
    assert list(runner.turn_changes.before) == ["began", "workspace/out.txt"]
    assert (home.workspace / "diary.md").read_text() == "by hand\n"
    assert "by hand" in (home.workspace / "plan.md").read_text()
    assert "call the bank" in (home.memory / "TODO.md").read_text()
    assert not (home.workspace / "box").exists()


def test_a_text_that_both_change_has_both_changes(home: Home, runner: Runner) -> None:
    plan = home.workspace / "plan.md"
    line = "sed -i s/one/ONE/ workspace/plan.md; touch began; sleep 0.5"
    text = beside(runner, line, lambda: plan.write_text("one\ntwo\nthree\nby hand\n"))
    assert "others changed it too" in text
    assert plan.read_text() == "ONE\ntwo\nthree\nby hand\n"
    assert runner.turn_changes.before["workspace/plan.md"] == "one\ntwo\nthree\nby hand\n"


def test_what_others_added_first_stays_once(home: Home, runner: Runner) -> None:
    todos = home.memory / "TODO.md"
    line = "touch began; sleep 0.5; echo '- [ ] mine' >> memory/TODO.md"
    beside(runner, line, lambda: todos.write_text("# To do\n- [ ] theirs\n"))
    lines = todos.read_text().splitlines()
    assert sorted(lines) == ["# To do", "- [ ] mine", "- [ ] theirs"]


@pytest.mark.parametrize("theirs", ["by hand\n", "\0\1", None], ids=["text", "bytes", "gone"])
@pytest.mark.parametrize("mine", ["echo mine > {}", "rm {}", "rm {}; mkdir {}; echo 1 > {}/x"])
def test_what_does_not_fit_is_kept_of_both(
    home: Home, runner: Runner, theirs: str | None, mine: str
) -> None:
    plan = home.workspace / "plan.md"

    def others() -> None:
        plan.unlink() if theirs is None else plan.write_text(theirs)

    name = "workspace/plan.md"
    text = beside(runner, f"touch began; {mine.replace('{}', name)}; sleep 0.5", others)
    if theirs is not None:
        assert plan.read_text() == theirs and f"{name}: " in text
    if "echo mine" in mine:
        made = [path.read_text() for path in home.workspace.glob("plan.*") if path != plan]
        assert made == ["mine\n"]


def test_a_folder_that_becomes_a_link_meanwhile_leads_nowhere(
    home: Home, runner: Runner, tmp_path: Path
) -> None:
    (tmp_path / "outside/in").mkdir(parents=True)

    def others() -> None:
        (home.workspace / "box").rename(home.workspace / "chest")
        (home.workspace / "box").symlink_to(tmp_path / "outside")

    line = (
        "touch began; echo evil > workspace/box/evil; echo evil > workspace/box/in/evil; sleep 0.5"
    )
    beside(runner, line, others)
    assert list((tmp_path / "outside").rglob("*")) == [tmp_path / "outside/in"]


# -------- what is fixed, and what is not to be reached


def test_a_fixed_file_that_is_replaced_outside_stays_fixed(home: Home, runner: Runner) -> None:
    def others() -> None:
        set_value(home, "window", "4096")
        new = home.workspace / "new"
        new.write_text("# My soul\n")
        new.replace(home.workspace / "SOUL.md")

    line = (
        "touch began; end=$((SECONDS + 2)); while [ $SECONDS -lt $end ]; do"
        " echo evil >> openclaw.yaml; echo evil >> workspace/SOUL.md;"
        " rm -f workspace/SOUL.md; sleep 0.01; done 2>/dev/null"
    )
    beside(runner, line, others)
    assert "evil" not in (home.root / "openclaw.yaml").read_text()
    assert "window: 4096" in (home.root / "openclaw.yaml").read_text()
    assert (home.workspace / "SOUL.md").read_text() == "# My soul\n"


def test_a_socket_of_the_home_cannot_be_reached(
    home: Home, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home.root)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("dev.sock")
        listener.listen()
        code = 'import socket; socket.socket(socket.AF_UNIX).connect("dev.sock")'
        assert "Connection refused" in sh(runner, f"python3 -c '{code}'")


# -------- too much


def test_nothing_is_kept_of_a_command_that_makes_too_many_files(home: Home) -> None:
    runner = Runner(home, TurnChanges(), timeout=20, limits=CommandLimits(files=200))
    before = tree(home)
    text = sh(runner, "i=0; while :; do i=$((i+1)); : > workspace/$i; done")
    assert text.startswith("Stopped") and "it wrote more than 200 files" in text
    text = sh(runner, "for i in $(seq 300); do mkdir d$i; done")
    assert "nothing of what it wrote was kept" in text and tree(home) == before
    assert runner.turn_changes.before == {} and "Changed" in sh(runner, "echo x > x")


def test_the_layer_of_a_killed_process_is_removed(home: Home, runner: Runner) -> None:
    sh(runner, "true")
    left = Path(os.environ["XDG_CACHE_HOME"], "openclaw", "commands", "0a0a")
    (left / "upper" / "shut").mkdir(parents=True)
    (left / "upper" / "shut").chmod(0)
    sh(runner, "true")
    assert layers() == []
