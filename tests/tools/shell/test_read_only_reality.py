"""What is judged to only read is run: real shells, a folder full of traps, and nothing changes.

Programs that would do harm stand in PATH as traps that leave a mark, and the folder holds files
whose names are options, so that a line which is read differently by a shell than by us is found.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, assume, event, given, settings
from hypothesis import strategies as st

from openclaw.tools.shell.command_rules import PROGRAMS
from openclaw.tools.shell.parser import Unsafe, parse_commands
from openclaw.tools.shell.read_only import read_line

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="lines are for POSIX shells")

SHELLS = [found for name in ("sh", "bash") if (found := shutil.which(name))]
REAL = sorted({*PROGRAMS, "find", "sed", "date", "xxd", "["})
TRAPS = ["touch", "rm", "mv", "tee", "evil", "awk", "python3", "xargs", "x", "E", "pr"]
FILES = {
    "notes.md": "- milk\n- bread\nE\n",
    "todo.md": "$(touch made)\n`touch made`\n; touch made\n",
    "data.json": '{"a": [1, 2]}',
    "-delete": "",
    "-o": "x",
    "-omade": "",
    "--output=made": "",
    "-exec": "",
    "-i": "",
    "-ni": "",
    "x;touch made": "",
    "$(touch made)": "",
    "out": "kept",
    "made\n": "",
}

SAFE = st.sampled_from(
    [
        "ls", "ls -l", "cat notes.md", "cat *", "cat ./*", "grep -n milk notes.md", "wc -l *.md",
        "sort notes.md", "uniq notes.md", "find . -name '*.md'", "sed -n '1,2p' notes.md",
        "sed 's/a/b/g' notes.md", "echo *", "echo 'a; touch made'", 'echo "$HOME"', "head -n 2 *",
        "printf '%s\\n' x", "date +%F", "[ -f out ]", "test -e out", "xxd out", "jq . data.json",
        "tr a b", "cut -c1-3 notes.md", "true", "! false", "pwd", "cat <<E\ntouch made\nE\n",
        "cat <<'E'\n$(touch made)\nE\n", "cat <<< 'touch made'", "echo \"$(cat todo.md)\"",
        "echo $(cat todo.md)", "echo a\\;touch made", "echo x # touch made", "(ls; pwd)",
        "{ ls; pwd; }", "cd . && ls", "base64 out", "od -c out", "comm notes.md todo.md",
    ]
)  # fmt: skip
HARM = st.sampled_from(
    [
        "touch made", "rm out", "mv out made", "evil", "sort -o out notes.md", "sort * notes.md",
        "uniq notes.md out", "xxd -bl 5 out", "xxd notes.md out", "find . -delete", "find * -empty",
        "find . -exec touch made \\;", "sed -i s/a/b/ notes.md", "sed 'w made' notes.md",
        "sed '1e touch made' notes.md", "tee made", "echo $(touch made)", "echo `touch made`",
        "printf -v x y", "[ -v 'a[$(touch made)]' ]", "x=$(touch made)", "eval touch made",
        "echo ${x:=$(touch made)}", "tree -o made", "cat <<E\n$(touch made)\nE\n", "evil() { x; }",
        "echo {a,$(touch made)}", "cat <(touch made)", "$'touch' made", "t\\ouch made", "'evil'",
        "sort [-]om* notes.md", "find [-]dele*", "ls &>/dev/null touch made", "ls 2>&1 & evil",
    ]
)  # fmt: skip
JOINTS = st.sampled_from(
    [
        "; ", " && ", " || ", " | ", "\n", " & ", " |& ", "\\\n", " \\\n", "&", " > out ",
        " >made ",
        " 2>&1 ", " >/dev/null ", " 2>/dev/null; ", " &>/dev/null ", " < notes.md ", ";;", " # ",
        " <<E\n", "\nE\n", ")", "(", "}", "{ ", " -o out ", " out ", ' "', '"', "'", " '", " -- ",
        "",
    ]
)  # fmt: skip
PIECES = st.sampled_from(
    [
        "ls", "cat", "echo", "sort", "uniq", "find", "sed", "grep", "evil", "touch made",
        "notes.md",
        "out", "made", " ", " ", " ", "\n", ";", "&", "|", "<", ">", "(", ")", "{", "}", "'", '"',
        "`", "$(", "$", "\\", "#", "*", "?", "[", "]", "!", "~", "=", "-", "--", "-o", "-exec",
        "<<E",
        "<<'E'", "E", "\nE\n", "<<<", "2>&1", ">/dev/null", "1", "x", "$x", "${x}", "$HOME", "\t",
        "$((1+1))", ",", "a", "é", "/", ".", ":", "%", "@", "+", "^",
    ]
)  # fmt: skip


def lines() -> st.SearchStrategy[str]:
    whole = st.tuples(SAFE, st.lists(st.tuples(JOINTS, st.one_of(SAFE, SAFE, HARM)), max_size=4))
    inside = st.builds('echo "$({})" {}'.format, SAFE, st.one_of(SAFE, HARM, PIECES))
    joined = whole.map(lambda parts: parts[0] + "".join(a + b for a, b in parts[1]))
    soup = st.lists(PIECES, min_size=1, max_size=14).map(lambda parts: "ls " + "".join(parts))
    cut = st.tuples(joined, st.integers(0, 60), PIECES).map(
        lambda it: it[0][: it[1]] + it[2] + it[0][it[1] :]
    )
    return st.one_of(joined, cut, soup, inside)


@dataclass(frozen=True)
class Place:
    """A home, what lies beside it, and the folder with all programs there are."""

    root: Path
    home: Path
    programs: Path

    def state(self) -> dict[str, tuple[int, bytes]]:
        found = {}
        for top, _, names in os.walk(self.root):
            found[top] = (Path(top).stat().st_mtime_ns, b"")
            for name in names:
                path = Path(top, name)
                found[str(path)] = (path.stat().st_mtime_ns, path.read_bytes())
        return found

    def run(self, shell: str, line: str) -> None:
        subprocess.run(
            [shell, "-c", line],
            cwd=self.home,
            env={"PATH": str(self.programs), "HOME": str(self.home), "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=20,
        )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    root = tmp_path_factory.mktemp("reality")
    home, programs = root / "home", root / "programs"
    home.mkdir()
    programs.mkdir()
    for name in REAL:
        if real := shutil.which(name):
            (programs / name).symlink_to(real)
    for name in TRAPS:
        (programs / name).write_text(f"#!/bin/sh\n: > '{root}/trap-{name}'\n")
        (programs / name).chmod(0o755)
    for name, text in FILES.items():
        (home / name).write_text(text)
    yield Place(root, home, programs)


def unharmed(place: Place, line: str) -> bool:
    before = place.state()
    for shell in SHELLS:
        place.run(shell, line)
    return place.state() == before


def test_a_trap_and_a_write_are_noticed(place: Place) -> None:
    assert unharmed(place, "ls")
    for line in ("evil", "echo x > made", ": > out", "uniq notes.md out"):
        copy = place.root.with_name(f"{place.root.name}-{abs(hash(line))}")
        shutil.copytree(place.root, copy, symlinks=True)
        other = Place(copy, copy / "home", place.programs)
        before = other.state(), place.state()
        other.run(SHELLS[0], line)
        assert (other.state(), place.state()) != before
        for mark in place.root.glob("trap-*"):
            mark.unlink()
        shutil.rmtree(copy)


@settings(
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow],
)
@given(lines())
def test_a_line_judged_to_only_read_changes_nothing(place: Place, line: str) -> None:
    reading = read_line(line, home=str(place.home))
    event("safe" if reading.safe else "not safe")
    if reading.safe:
        assert unharmed(place, line)


WORDS = st.sampled_from(
    [
        *"abE019 \t\\\\'\"\"~#=:{}[]!^%@+,./-*?$&;|<>()\n", "é", "à", "ü", " a", "$HOME", "${HOME}",
        "~/", "\\ ", "\\\n", "''", '""', "'a b'", '"a b"', '"$', "$x", "$(", "{}", "{a}", "[a]",
        "2>&1", "#a",
    ]
)  # fmt: skip


@settings(
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(st.lists(WORDS, max_size=12).map("".join))
def test_the_words_are_those_that_a_shell_sees(place: Place, text: str) -> None:
    line = f"printf '<%s>\\0' {text}"
    try:
        (command,) = parse_commands(line, str(place.home))
    except (Unsafe, ValueError):
        assume(False)
    assume(all(word.known for word in command.words) and not command.inputs)
    assume("<<<" not in text)  # a syntax error to dash, which then runs nothing
    words = [word.text for word in command.words[2:]] or [""]
    expected = "".join(f"<{word}>\0" for word in words).encode()
    for shell in SHELLS:
        found = subprocess.run(
            [shell, "-c", line],
            cwd=place.home,
            env={"PATH": str(place.programs), "HOME": str(place.home), "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
        )
        assert (found.stdout, found.stderr) == (expected, b""), shell
