"""`openclaw policy`, as a user types it, and a yes that lasts, typed on a real terminal."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from openclaw.security.policy import EFFECTS, TABLE
from openclaw.storage.home import Home
from openclaw.storage.trust_store import trust_home
from tests.fakes.command import CommandLine
from tests.fakes.ollama_server import Answer, FakeOllama
from tests.fakes.terminal import exit_code, on_terminal, terminals

claw = CommandLine()


def today() -> str:
    """Asked in each test: a run may begin before midnight."""
    return date.today().isoformat()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "home" / "workspace").mkdir(parents=True)
    trust_home(Home(tmp_path / "home"))
    return tmp_path / "home"


def shown() -> dict[str, Any]:
    value: dict[str, Any] = claw.json("policy", "show")
    return value


def lines(root: Path) -> list[str]:
    return (root / "openclaw.yaml").read_text("utf-8").splitlines()


def test_the_table_the_rules_and_the_sandbox_are_shown(root: Path) -> None:
    for words in (["policy"], ["policy", "show"]):
        said = claw(*words)
        rows = [line.split() for line in said.splitlines()]
        assert ["EFFECT", *TABLE] in rows
        for effect in EFFECTS:
            assert [effect, *(TABLE[mode][effect] for mode in TABLE)] in rows
        assert "Mode: ask in a chat, edit for a single prompt" in said
        assert "openclaw.yaml" in said and "No grants." in said
        assert "Commands run " in said and "sandbox" in said


def test_programs_read_the_same_as_json(root: Path) -> None:
    (root / "openclaw.yaml").write_text("mode: full\n", encoding="utf-8")
    found = shown()
    assert (found["mode"], found["grants"], found["modes"]) == ("full", [], TABLE)
    assert [rule["name"] for rule in found["rules"]] == [
        "credentials", "identity", "notes-program", "hooked", "lasting", "outward", "committed",
    ]  # fmt: skip
    assert found["sandbox"]["available"] == (not found["sandbox"]["reason"])


def test_a_grant_is_given_listed_and_taken_back(root: Path) -> None:
    assert claw("policy", "allow", "prefix", "git", "log") == f"granted: {today()} prefix git log\n"
    claw("policy", "allow", "command", "make", "-j4", "test")
    claw("policy", "allow", "host", "Docs.Python.org.")
    claw("policy", "allow", "tool", "notes__search")
    assert lines(root) == [
        "grants:",
        f"  - {today()} prefix git log",
        f"  - {today()} command make -j4 test",
        f"  - {today()} host docs.python.org",
        f"  - {today()} tool notes__search",
    ]
    grant = shown()["grants"][1]
    assert grant == {
        "number": 2,
        "since": today(),
        "kind": "command",
        "value": "make -j4 test",
        "line": f"{today()} command make -j4 test",
        "problem": "",
    }
    assert claw("policy", "revoke", "2") == f"revoked: {today()} command make -j4 test\n"
    claw("policy", "revoke", "git", "log")
    claw("policy", "revoke", "tool notes__search")
    claw("policy", "revoke", f"{today()} host docs.python.org")
    assert lines(root) == ["grants: []"]
    assert shown()["grants"] == []


def test_what_is_granted_already_is_not_written_twice(root: Path) -> None:
    (root / "openclaw.yaml").write_text("grants:\n  - 2020-01-01 host a.test\n", encoding="utf-8")
    assert claw("policy", "allow", "host", "A.test") == "granted already: 2020-01-01 host a.test\n"
    assert len(lines(root)) == 2


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["allow", "everything", "x"], "'everything' is none of command, prefix, host, tool"),
        (["allow", "prefix", "git log;"], "only plain words"),
        (["allow", "host", "https://a.test/"], "no scheme, port or path"),
        (["allow", "command", "a\nb"], "a character that is not shown"),
        (["allow", "command"], "VALUE"),
        (["revoke", "7"], "no grant '7'"),
        (["revoke", "a.test"], "no grant 'a.test'"),
        (["revoke"], "NUMBER|VALUE"),
    ],
)
def test_wrong_words_are_wrong_usage(root: Path, words: list[str], why: str) -> None:
    assert why in claw.error("policy", *words, code=2)
    assert not (root / "openclaw.yaml").exists()


def test_a_value_that_is_several_grants_asks_for_a_number(root: Path) -> None:
    text = "grants:\n  - 2026-11-21 command make test\n  - 2026-11-21 prefix make test\n"
    (root / "openclaw.yaml").write_text(text, encoding="utf-8")
    assert "1, 2" in claw.error("policy", "revoke", "make test", code=2)
    claw("policy", "revoke", "prefix make test")
    assert lines(root) == ["grants:", "  - 2026-11-21 command make test"]


def test_a_damaged_line_is_shown_with_its_fault_and_may_be_taken_away(root: Path) -> None:
    text = "grants:\n  - {a: b}\n  - all\u202e of it\n  - 2026-11-21 host a.test\n"
    (root / "openclaw.yaml").write_text(text, encoding="utf-8")
    rows = shown()["grants"]
    assert [bool(row["problem"]) for row in rows] == [True, True, False]
    assert "line 2" in rows[0]["value"]
    assert "all<U+202E> of it" in claw("policy")
    assert claw("policy", "revoke", "2") == "revoked: all<U+202E> of it\n"
    claw("policy", "revoke", "1")
    assert lines(root) == ["grants:", "  - 2026-11-21 host a.test"]


def typed(*replies: str) -> tuple[int, str]:
    """What a prompt in mode ask ends with on a terminal where these replies are given, and what is
    said after the last of them."""
    words = ("--mode", "ask", "--no-memory", "write it down")
    terminal = on_terminal("-m", "openclaw", *words)
    for reply in replies:
        terminal.expect(r"Allow\?.*instead\) ")
        terminal.sendline(reply)
    return exit_code(terminal), str(terminal.before)


def writing(*names: str) -> Answer:
    made = [("write_file", {"path": f"workspace/{name}.md", "content": "x"}) for name in names]
    return Answer(calls=made)


@terminals
def test_a_lasting_yes_on_a_terminal_is_written_and_asks_no_more(
    home: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(writing("a"), "No.", writing("b"), "Done.", writing("c"), "Done.")
    code, said = typed("n")
    assert code == 7 and "the user said no" in said
    assert typed("a")[0] == typed()[0] == 0
    written = [(home / "workspace" / f"{name}.md").exists() for name in "abc"]
    assert written == [False, True, True]
    assert f"  - {today()} tool write_file" in lines(home)


@terminals
def test_where_settings_cannot_be_written_a_lasting_yes_is_one_for_the_session(
    home: Path, fake_ollama: FakeOllama
) -> None:
    with (home / "openclaw.yaml").open("a", encoding="utf-8") as file:
        file.write("grants: &all\n  - 2026-11-21 host a.test\nskills:\n  off: *all\n")
    before = (home / "openclaw.yaml").read_bytes()
    fake_ollama.say(writing("a", "b"), "Done.")
    code, said = typed("a")
    assert code == 0 and "for this session only" in said
    assert (home / "workspace" / "b.md").exists()
    assert (home / "openclaw.yaml").read_bytes() == before
