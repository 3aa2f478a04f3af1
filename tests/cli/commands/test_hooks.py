"""`openclaw hooks` as a user types it, how `hooks:` is read, and what the doctor says of it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from openclaw.cli.commands.chat import ask_for_trust
from openclaw.config import load_settings
from openclaw.config.hook_settings import EVENTS, Hook, read_hooks
from openclaw.errors import UsageError
from openclaw.hooks.hooks import open_hooks
from openclaw.maintenance.doctor.checkup import CHECKS, check_home_files
from openclaw.maintenance.doctor.finding import Check
from openclaw.storage.home import Home
from tests.fakes.command import CommandLine, openclaw
from tests.fakes.hook_home import hooked, of, script
from tests.fakes.ollama_server import FakeOllama
from tests.fakes.talk import new_home

claw = CommandLine("hooks")

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="the user's data folder cannot be moved there"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return new_home(tmp_path / "home")


def put(home: Path, hooks: dict[str, Any]) -> None:
    (home / "openclaw.yaml").write_text(f"hooks: {json.dumps(hooks)}\n", "utf-8")


def doctor(home: Path) -> list[Check]:
    return list(check_home_files(Home(home), checks={"hooks": CHECKS["hooks"]}))


# -------- how they are read


def test_hooks_are_read_in_their_order_with_what_they_say() -> None:
    first: dict[str, Any] = {"run": ["a", "b"], "match": "run_*", "timeout": 5, "required": True}
    hooks, faults = read_hooks({"before_tool": [first, "./x.sh"], "after_turn": "y", "later": None})
    assert hooks == [
        Hook("before_tool", ("a", "b"), ("run_*",), 5.0, required=True),
        Hook("before_tool", "./x.sh"),
        Hook("after_turn", "y"),
    ]
    assert [fault.path for fault in faults] == [("later",)]


@pytest.mark.parametrize(
    ("value", "key", "why"),
    [
        ({"command": "x"}, "command", "unknown key"),
        ({"match": "x"}, "", "no 'run'"),
        ({"run": ""}, "run", "expected a command"),
        ({"run": []}, "run", "expected a command"),
        ({"run": {"a": 1}}, "run", "expected text"),
        ({"run": True}, "run", "expected text"),
        ({"run": "x", "env": False}, "env", "expected text"),
        ({"run": "x", "timeout": 0}, "timeout", "at most 600"),
        ({"run": "x", "timeout": True}, "timeout", "expected seconds"),
        ({"run": "x", "trusted": "yes"}, "trusted", "true or false"),
        ({"run": "x", "required": True}, "required", "too late"),
        ({"run": "x", "match": "run_*"}, "match", "before_tool and after_tool only"),
        (3, "", "expected keys and values"),
    ],
)
def test_a_hook_that_is_written_wrongly_is_left_out_and_told(
    value: object, key: str, why: str
) -> None:
    hooks, (fault,) = read_hooks({"after_turn": [value, "good"]})
    assert [hook.run for hook in hooks] == ["good"]
    assert fault.path == ("after_turn", 0, *filter(None, [key])) and why in fault.text


def test_a_fault_names_its_line(home: Path) -> None:
    text = "model: auto\nhooks:\n  before_turn:\n    - run: x\n    - run: y\n      mach: z\n"
    (home / "openclaw.yaml").write_text(text, "utf-8")
    (fault,) = open_hooks(Home(home), load_settings(Home(home))).faults
    assert fault.text.startswith("openclaw.yaml line 6: hooks.before_turn[2].mach: unknown key")


def test_hooks_that_are_no_keys_and_values_stop_the_settings(home: Path) -> None:
    (home / "openclaw.yaml").write_text("hooks: [a]\n", "utf-8")
    with pytest.raises(UsageError, match=r"line 1: hooks: expected keys and values"):
        load_settings(Home(home))


# -------- list and trust


def test_without_hooks_the_list_says_where_to_name_one(home: Path) -> None:
    assert claw("list") == ""
    assert claw.err == "no hooks yet: name one below `hooks:` in openclaw.yaml\n"
    assert claw.json("list") == []
    refused = claw.error("trust", "--yes", code=2)
    assert "no hooks to allow" in refused and "docs/hooks.md" in refused


def test_a_hook_waits_is_allowed_changes_and_is_taken_back(home: Path) -> None:
    put(home, {"before_turn": {"run": script(home, "one.py", "pass")}})

    def state() -> str:
        (each,) = claw.json("list")
        return str(each["state"])

    assert state() == "new" and "to review" in claw("list")
    out = claw("trust", "--yes")
    assert "  before_turn: " in out and "  hooks/one.py\n" in out
    assert state() == "trusted" and "they run already" in claw("trust")
    (home / "hooks" / "one.py").write_text("import os", "utf-8")
    assert state() == "changed" and "changed, to review" in claw("list")
    claw("trust", "--revoke")
    assert state() == "new"


def test_the_yes_is_kept_outside_of_the_home(home: Path, tmp_path: Path) -> None:
    put(home, {"before_turn": {"run": script(home, "one.py", "pass")}})
    before = set(home.rglob("*"))
    claw("trust", "--yes")
    assert set(home.rglob("*")) == before
    assert len(list((tmp_path / "user").rglob("openclaw-trust.json"))) == 1


def test_without_a_terminal_nobody_can_say_yes_by_accident(home: Path) -> None:
    put(home, {"before_turn": {"run": script(home, "one.py", "pass")}})
    assert "add --yes" in claw.error("trust", code=2)


@pytest.mark.parametrize("name", ["OPENCLAW_RUN", "OPENCLAW_HOOK"])
def test_a_command_of_the_agent_cannot_say_yes(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    put(home, {"before_turn": {"run": script(home, "one.py", "pass")}})
    monkeypatch.setenv(name, "1")
    assert "cannot allow" in claw.error("trust", "--yes", code=7)


def test_files_that_no_hook_names_are_shown_apart(home: Path) -> None:
    put(home, {"before_turn": {"run": script(home, "one.py", "pass"), "timeout": 5}})
    (home / "inside.tar.gz").touch()
    out = claw("trust", "--yes")
    assert "with these files of the home:\n  hooks/one.py\nnobody names these" in out
    assert "look:\n  inside.tar.gz\n" in out
    assert "at most 5 s" in claw("list")


def test_what_is_shown_before_a_yes_hides_nothing(home: Path) -> None:
    put(home, {"before_turn": "echo good\u202e\x1b[2K\nrm -rf x #" + " " * 200 + "tail"})
    out = claw("trust", "--yes")
    assert "\x1b" not in out and "\u202e" not in out
    assert "rm -rf x" in out and "tail" in out


def test_the_question_tells_what_a_hook_is_given_and_how_its_words_count(home: Path) -> None:
    put(home, {"before_turn": {"run": "date", "env": ["AWS_SECRET"], "trusted": True}})
    listed = claw("list")
    assert "words trusted, gets AWS_SECRET" in listed
    out = claw("trust", "--yes")
    assert "gets AWS_SECRET of your environment" in out and "its words count as yours" in out


def test_what_cannot_be_said_yes_to_is_told_with_the_reason(home: Path) -> None:
    put(home, {"before_turn": "make -C workspace"})
    err = claw.error("trust", "--yes", code=7)
    assert "cannot be allowed: a command names all of workspace/" in err
    assert "it cannot be allowed" in claw("list")


# -------- test


def test_a_hook_is_tried_with_a_sample(home: Path) -> None:
    run_ = script(home, "one.py", "print(sorted(facts))\nsys.exit(0)")
    put(home, {event: {"run": run_} for event in EVENTS})
    assert "openclaw hooks trust" in claw.error("test", "before_turn", code=7)
    claw("trust", "--yes")
    for event in EVENTS:
        out = claw("test", event)
        assert "exit code 0" in out and "'event'" in out and "'version'" in out
    (reply,) = claw.json("test", "after_tool")
    assert (reply["code"], reply["failed"]) == (0, "") and "'output'" in reply["text"]


def test_a_trial_tells_a_refusal_and_a_failure(home: Path) -> None:
    refusing = script(home, "one.py", "print('no', file=sys.stderr); sys.exit(2)")
    put(home, {"before_tool": {"run": refusing, "match": "run_*"}, "after_turn": "./hooks/no.sh"})
    claw("trust", "--yes")
    assert "  refuses: no\n" in claw("test", "before-tool")
    assert "failed: ./hooks/no.sh is not there" in claw("test", "after_turn", code=1)
    claw("test", "before_tool", "--tool", "list_files", code=2)
    assert "there are: before_turn" in claw.error("test", "later", code=2)


# -------- a talk asks


@pytest.mark.parametrize(("reply", "state"), [("y", "trusted"), ("", "new"), ("n", "new")])
def test_a_talk_asks_once_and_a_yes_lasts(home: Path, reply: str, state: str) -> None:
    spoken = hooked(home, {"before_turn": {"run": script(home, "one.py", "pass")}}, yes=False)
    told: list[str] = []
    ask_for_trust(spoken.app, lambda question: reply, told.append)
    assert "  hooks/one.py" in told
    assert of(spoken).state(of(spoken).asked()) == state
    if state == "trusted":
        told.clear()
        ask_for_trust(spoken.app, lambda question: pytest.fail("asked again"), told.append)
        assert told == []


def test_the_end_of_the_input_is_a_no(home: Path) -> None:
    spoken = hooked(home, {"before_turn": "true"}, yes=False)

    def end(question: str) -> str:
        raise EOFError

    ask_for_trust(spoken.app, end, lambda line: None)
    assert of(spoken).state(of(spoken).asked()) == "new"


# -------- a prompt


def test_a_prompt_tells_that_hooks_wait_and_leaves_with_7_when_one_refuses(
    home: Path, monkeypatch: pytest.MonkeyPatch, fake_ollama: FakeOllama
) -> None:
    put(home, {"before_turn": {"run": script(home, "one.py", "print('no'); sys.exit(2)")}})
    ask = ["--model", "ollama/fake:1b", "What is new here?"]
    fake_ollama.say("Not much.")
    told = "hooks of this home do not run: you have not allowed it yet (openclaw hooks trust)"
    assert told in openclaw(*ask).stderr
    claw("trust", "--yes")
    refused = openclaw(*ask)
    assert (refused.returncode, refused.stdout) == (7, "")
    assert "this turn was refused by a hook: no" in refused.stderr


# -------- the doctor


def test_the_doctor_has_nothing_to_say_of_sound_hooks(home: Path) -> None:
    assert [result.found for result in doctor(home)] == [""]
    put(home, {"before_turn": {"run": script(home, "one.py", "pass")}})
    claw("trust", "--yes")
    assert [result.found for result in doctor(home)] == [""]


@pytest.mark.parametrize(
    ("hooks", "wanted"),
    [
        (
            {"before_turn": {"run": "true"}},
            [("warning", "not run (1): you have not allowed it yet")],
        ),
        (
            {"before_turn": {"run": "true", "required": True}},
            [("fault", "not run (1): you have not allowed it yet")],
        ),
        ({"later": "true"}, [("warning", "unknown event")]),
        (
            {"before_tool": {"run": "hooks/none.sh"}},
            [
                ("warning", "you have not allowed it yet"),
                ("warning", "hooks/none.sh, which before_tool"),
            ],
        ),
        (
            {"before_tool": {"run": "./hooks/plain.sh"}},
            [
                ("warning", "you have not allowed it yet"),
                ("warning", "hooks/plain.sh may not be run"),
            ],
        ),
        (
            {"before_tool": {"run": "sh hooks/plain.sh"}},
            [("warning", "you have not allowed it yet")],
        ),
    ],
)
def test_the_doctor_tells_what_keeps_hooks_from_running(
    home: Path, hooks: dict[str, Any], wanted: Sequence[tuple[str, str]]
) -> None:
    (home / "hooks").mkdir()
    (home / "hooks" / "plain.sh").write_text("exit 0\n", "utf-8")
    (home / "hooks" / "plain.sh").chmod(0o644)
    put(home, hooks)
    found = doctor(home)
    assert len(found) == len(wanted)
    for result, (state, text) in zip(found, wanted, strict=True):
        assert (result.state, text in result.found) == (state, True), result
        assert result.exit_code == (7 if state == "fault" else 0)
    assert os.access(home / "hooks" / "plain.sh", os.R_OK)
