"""Grants: lines that a person reads, what each covers, and what a lasting yes could be."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.security.grants import Grant, make_grant, offered_grants, read_grant, read_grants
from openclaw.types import Action, Effect

# -------- what a lasting yes could be


@pytest.mark.parametrize(
    ("effect", "target", "offered"),
    [
        ("run", "make test", ["command make test"]),
        ("run", "git log -5", ["command git log -5", "prefix git log"]),
        ("run", "git log", ["command git log"]),
        ("run", "npm run build -- --watch", ["command npm run build -- --watch", "prefix npm run"]),
        ("run", "make", ["command make"]),
        ("run", "ls -l workspace", ["command ls -l workspace"]),
        ("run", "sudo apt install x", ["command sudo apt install x"]),
        ("run", "bash run x", ["command bash run x"]),
        ("run", "rm workspace x", ["command rm workspace x"]),
        ("run", "./tool sub x", ["command ./tool sub x"]),
        ("run", "git log; rm x", ["command git log; rm x"]),
        ("run", "git log --output=x", ["command git log --output=x"]),
        ("run", "git  log x", ["command git  log x"]),
        ("run", "python3.11 tool x", ["command python3.11 tool x"]),
        ("run", "make test -C workspace", ["command make test -C workspace"]),
        ("run", "", ["tool it"]),
        ("get", "Docs.Python.org.", ["host docs.python.org"]),
        ("send", "api.test", ["host api.test"]),
        ("get", "", ["tool it"]),
        ("send", "", ["tool it"]),
        ("write", "workspace/a.md", ["tool it"]),
        ("read-elsewhere", "/srv/a", []),
        ("write-elsewhere", "/srv/a", []),
    ],
)
def test_what_a_lasting_yes_could_be(effect: Effect, target: str, offered: list[str]) -> None:
    action = Action("it", effect, target)
    assert [str(grant) for grant in offered_grants(action)] == offered
    assert all(grant.covers(action) for grant in offered_grants(action))


# -------- grants as lines


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-21 command make test",
        "2026-11-21 command echo 'a: b' | sort > out.txt",
        "2026-11-21 prefix git log",
        "2026-11-21 host docs.python.org",
        "2026-11-21 host ::1",
        "2026-11-21 host xn--bcher-kva.example",
        "2026-11-21 tool notes__search",
    ],
)
def test_a_grant_is_the_line_that_it_is_read_from(line: str) -> None:
    assert str(read_grant(line)) == line


def test_a_host_is_written_down_in_one_spelling() -> None:
    assert (
        str(read_grant("2026-11-21  host  Docs.Python.ORG.")) == "2026-11-21 host docs.python.org"
    )


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "begin with a day"),
        ("host docs.python.org", "begin with a day"),
        ("2026-13-41 host docs.python.org", "begin with a day"),
        ("yesterday host docs.python.org", "begin with a day"),
        ("2026-11-21", "'' is none of command, prefix, host, tool"),
        ("2026-11-21 everything", "'everything' is none of"),
        ("2026-11-21 Host a.test", "'Host' is none of"),
        ("2026-11-21 host", "names no host"),
        ("2026-11-21 host https://a.test/x", "no scheme, port or path"),
        ("2026-11-21 host a.test:8000", "no scheme, port or path"),
        ("2026-11-21 host a.test/x", "no scheme, port or path"),
        ("2026-11-21 host me@a.test", "no scheme, port or path"),
        ("2026-11-21 host *.test", "no scheme, port or path"),
        ("2026-11-21 host *", "no scheme, port or path"),
        ("2026-11-21 host a b", "no scheme, port or path"),
        ("2026-11-21 prefix git log;", "only plain words"),
        ("2026-11-21 prefix git  log", "only plain words"),
        ("2026-11-21 prefix git log | sh", "only plain words"),
        ("2026-11-21 prefix $(x)", "only plain words"),
        ("2026-11-21 command", "names no command"),
        ("2026-11-21 command make\nrm x", "a character that is not shown"),
        ("2026-11-21 command make\u202etset", "a character that is not shown"),
        ("2026-11-21 command make\x1b[2K", "a character that is not shown"),
        (f"2026-11-21 command {'x' * 400}", "longer than 300"),
        ("2026-11-21 prefix bash", "may start any other program"),
        ("2026-11-21 prefix python3 -m http.server", "may start any other program"),
        ("2026-11-21 prefix /usr/bin/python3.12", "may start any other program"),
        ("2026-11-21 prefix sudo apt", "may start any other program"),
        ("2026-11-21 prefix env", "may start any other program"),
        ("2026-11-21 tool run_shell", "as kind command or prefix"),
        ("2026-11-21 tool fetch_url", "as kind host"),
        ("2026-11-21 tool web_search", "as kind host"),
        ("2026-11-21 tool a b", "one word"),
        ("2026-11-21 tool", "names no tool"),
    ],
)
def test_a_damaged_line_says_what_is_wrong_with_it(line: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        read_grant(line)


def test_one_damaged_line_leaves_the_others_as_they_are() -> None:
    lines = ("2026-11-21 host a.test", "oops", "2026-11-22 tool run_python")
    grants, notices = read_grants(lines)
    assert [str(grant) for grant in grants] == [lines[0], lines[2]]
    assert len(notices) == 1 and "'oops'" in notices[0] and "openclaw.yaml" in notices[0]


def test_make_grant_refuses_what_read_grant_refuses() -> None:
    assert make_grant("host", " A.test ").value == "a.test"
    with pytest.raises(ValueError, match="none of"):
        make_grant("anything", "x")


# -------- a prefix


@pytest.mark.parametrize(
    ("prefix", "line", "covered"),
    [
        ("make test", "make test -j4 -k", True),
        ("make test", "make test -f workspace/evil.mk", False),
        ("make test", "make test -kf workspace/evil.mk", False),
        ("make test", "make test -C workspace", False),
        ("make test", "make test -sCworkspace", False),
        ("make test", "make test --file=workspace/evil.mk", False),
        ("make test", "make test --makef workspace/evil.mk", False),
        ("make test", "make test --dir workspace", False),
        ("make test", "make test -E x", False),
        ("cargo test", "cargo test --release", True),
        ("cargo test", "cargo test --manifest-path workspace/Cargo.toml", False),
        ("npm run", "npm run x", True),
        ("npm run", "npm run x --prefix workspace", False),
        ("npm run", "npm run x --script-shell=workspace/sh", False),
        ("pytest -q", "pytest -q tests/test_a.py -x", True),
        ("pytest -q", "pytest -q -p workspace.evil", False),
        ("pytest -q", "pytest -qpworkspace.evil", False),
        ("pytest -q", "pytest -q -xpworkspace.evil", False),
        ("pytest -q", "pytest -q --rootdir workspace", False),
        ("uv run", "uv run pytest -p workspace.evil", False),
        ("git log", "git log -p --stat --pretty=oneline", True),
        ("git", "git -C workspace log", False),
        ("git", "git --git-dir=workspace/x log", False),
        ("git", "git --work-tree workspace status", False),
        ("go test", "go test -toolexec=workspace/x", False),
    ],
)
def test_a_prefix_does_not_cover_what_names_another_script(
    prefix: str, line: str, covered: bool
) -> None:
    assert make_grant("prefix", prefix).covers(Action("run_shell", "run", line)) == covered


@given(rest=st.text(max_size=30))
def test_a_prefix_never_covers_more_than_plain_words(rest: str) -> None:
    line = f"git log{rest}"
    if Grant("prefix", "git log").covers(Action("it", "run", line)):
        assert line.isascii() and line.isprintable()
        assert not set(line) & set("\"'`$;&|<>(){}[]*?!#~\\^")
        assert line.split()[:2] == ["git", "log"]


@given(rest=st.text(st.sampled_from("ab -;&|<>$(){}`'\"\\\n\r\t*?~#!=/.\u00a0\u2028"), max_size=12))
def test_no_sign_of_a_shell_slips_behind_a_prefix(rest: str) -> None:
    line = f"git log {rest}"
    if Grant("prefix", "git log").covers(Action("it", "run", line)):
        assert set(rest) <= set("ab -=/.")
