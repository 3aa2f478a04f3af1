"""Recorded conversations run again: the same when nothing has changed, and nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from openclaw.agent.agent import Agent
from openclaw.config import Settings
from openclaw.config.settings import Git
from openclaw.errors import ModelFailed, OpenclawError
from openclaw.evals.recorded_turns import recorded_turns
from openclaw.evals.replay import Replay
from openclaw.evals.replay_compare import ReplayedTurn
from openclaw.evals.replay_home import ReplayHome, open_replay_home
from openclaw.events import Token
from openclaw.messages import Material
from openclaw.sessions.session import Session
from openclaw.storage.home import Home
from tests.data.sample import sample
from tests.fakes.git_home import copy_home
from tests.fakes.hashing import CARD, HashingModel, Line
from tests.fakes.search_thread import SearchThread
from tests.fakes.talk import Protocol

TOKEN = "ghp_" + "x7Kq2LmZ9vRt4WpY8sNb3HcJ6dFg1AeUoI5T"
SKILL = """\
---
name: greeter
description: Greets people in the house style. Use when asked to greet somebody.
allowed-tools: read_file
---

# Greeter

Answer with one line: "Well met, NAME."
"""


@dataclass(frozen=True)
class Turn:
    """A prompt, what the model plays for it, and what goes along."""

    prompt: str
    lines: tuple[Line, ...]
    material: tuple[Material, ...] = ()
    skill: str = ""
    stop_at: str = ""


def turn(prompt: str, *lines: Line, **more: Any) -> Turn:
    return Turn(prompt, lines, **more)


def say(text: str, protocol: Protocol) -> str:
    return text if protocol == "native" else '{"kind":"answer","answer":"' + text + '"}'


def kinds(protocol: Protocol) -> dict[str, list[Turn]]:
    """Conversations of many kinds, by a name for each."""
    read: Line = [("read_file", {"path": "workspace/plan.md"})]
    added: Line = [("todo", {"action": "add", "list": "Home", "items": ["buy milk {sum}"]})]
    fine = say("Fine. {sum}", protocol)
    return {
        "small talk": [turn("Hello there.", fine)],
        "a file is read": [turn("What does plan.md say?", read, fine)],
        "a file is missing": [turn("What of x?", [("read_file", {"path": "no.md"})], fine)],
        "to-dos": [
            turn("Add milk to my Home list.", added, fine),
            turn(
                "Mark the second one done and tell me what is left.",
                [("todo", {"action": "done", "item": "call Ana"})],
                [("todo", {"action": "list"})],
                fine,
            ),
        ],
        "a file is written": [
            turn("Write it.", [("write_file", {"path": "a.md", "content": "{sum}"})], fine)
        ],
        "a claim is sent back": [
            turn("Add bread.", say("I have added bread to your list.", protocol), added, fine)
        ],
        "a claim is kept": [
            turn("Add eggs.", say("I have added eggs {sum} to your list.", protocol))
        ],
        "a call comes again": [turn("Look twice.", read, read, read, fine)],
        "it goes on and on": [turn("Never end.", [("list_files", {"path": "{sum}"})])],
        "empty replies": [turn("Say nothing.", "", ""), turn("And now?", "", fine)],
        "interrupted": [
            turn("A long story, please.", say("It was {sum} long ago.", protocol), stop_at="ago"),
            turn("Go on with it.", fine),
        ],
        "something attached": [
            turn("Sum it up.", fine, material=(Material("stdin", "Others wrote\nthis."),))
        ],
        "a skill by name": [turn("Greet Ana.", fine, skill="greeter")],
        "a skill is read": [
            turn("Greet Bo in the house style.", [("read_skill", {"name": "greeter"})], read, fine)
        ],
        "a secret": [turn(f"My token is {TOKEN}, keep it.", fine), turn("Which token?", fine)],
        "it fails": [turn("Break off.", read, ModelFailed("gone")), turn("Once more.", fine)],
        "remembered": [
            turn(
                "Remember that Ana likes tea.",
                [("remember", {"fact": "Ana likes tea", "where": "lasting"})],
                fine,
            ),
            turn("What does she like?", fine),
            turn("Sure?", fine),
        ],
        "several calls": [turn("Both.", [("list_files", {}), ("todo", {"action": "list"})], fine)],
    }


@dataclass
class World:
    """A home with git, in which conversations are recorded and run again."""

    home: Home
    settings: Settings
    model: HashingModel
    ids: list[str] = field(default_factory=list)

    def record(self, turns: list[Turn], **settings: Any) -> Session:
        """A conversation, each turn by a process of its own."""
        found: Session | None = None
        for each in turns:
            found = self._ask(each, found.id if found else "", replace(self.settings, **settings))
        assert found is not None
        self.ids.append(found.id)
        return found

    def app(self) -> Agent:
        return Agent.open(self.home, self.settings)

    def _ask(self, said: Turn, session_id: str, settings: Settings) -> Session:
        prompt = said.prompt.replace(TOKEN, "{{secret:github-token-1}}")
        self.model.plays = {**self.model.plays, prompt: said.lines}
        app = Agent.open(self.home, settings)
        app.model = self.model
        app.recall.launch = SearchThread
        session = app.sessions.load(session_id) if session_id else app.sessions.new(None, CARD.name)
        run = app.ask(said.prompt, session, said.material, said.skill)
        heard = ""
        try:
            for event in run:
                heard += event.text if isinstance(event, Token) else ""
                if said.stop_at and said.stop_at in heard:
                    said = replace(said, stop_at="")
                    run.throw(KeyboardInterrupt())  # type: ignore[attr-defined]
        except OpenclawError:
            assert isinstance(said.lines[-1], ModelFailed)
        app.recall.close()
        return session

    def replay(self, ref: str, **options: Any) -> list[ReplayedTurn]:
        store = self.app().sessions
        session = store.load(ref)
        turns = recorded_turns(store, session)
        live = options.get("live", False)
        model = options.pop("model", self.model)
        with self.stage(live=live) as stage:
            stage.open_home.model = model
            return list(Replay(stage, session, **options).run(turns))

    @contextmanager
    def stage(self, *, live: bool = True) -> Iterator[ReplayHome]:
        """The home of a replay, with the model of the recording."""
        with open_replay_home(self.home, self.settings, "", live=live) as stage:
            stage.open_home.model, stage.open_home.model_name = self.model, CARD.name
            yield stage

    def snapshot(self) -> dict[str, bytes]:
        files = (path for path in self.home.root.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in files}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path / "home")


def new_world(root: Path) -> World:
    copy_home(root)
    (root / "skills" / "greeter").mkdir(parents=True)
    (root / "skills" / "greeter" / "SKILL.md").write_text(SKILL, "utf-8")
    (root / "workspace" / "plan.md").write_text("# Plan\n\nRest.\n", "utf-8")
    (root / "memory" / "TODO.md").write_text("## Home\n\n- [ ] call Ana\n- [ ] sleep\n", "utf-8")
    settings = Settings(recall="tool", max_steps=5)
    return World(Home(root), settings, HashingModel({}))


@pytest.mark.parametrize("protocol", sample(["native", "json"]))
def test_conversations_of_all_kinds_come_out_the_same_and_nothing_is_changed(
    world: World, protocol: Protocol
) -> None:
    told = kinds(protocol)
    in_git = Git(auto_commit=protocol == "json")
    for turns in told.values():
        world.record(turns, protocol=protocol, git=in_git)
    before = world.snapshot()
    for name, session_id in zip(told, world.ids, strict=True):
        for each in world.replay(session_id):
            assert (name, each.verdict, each.differences) == (name, "same", ())
    assert world.snapshot() == before


def test_a_changed_soul_is_a_difference_of_the_head_and_of_what_follows(world: World) -> None:
    session = world.record(kinds("native")["to-dos"])
    soul = world.home.workspace / "SOUL.md"
    soul.write_text(soul.read_text("utf-8") + "\nBe brief.\n", "utf-8")
    for each in world.replay(session.id):
        head, *others = each.differences
        assert (each.verdict, head.kind, head.text) == ("differs", "head", "workspace/SOUL.md")
        assert head.lines == ("@@ workspace/SOUL.md @@", "+", "+Be brief.")
        assert others  # the sum in the calls and in the answer


def test_what_is_remembered_since_is_no_difference(world: World) -> None:
    session = world.record([turn("Hello.", "Fine. {sum}"), turn("Again.", "Fine. {sum}")])
    memory = world.home.memory / "MEMORY.md"
    memory.write_text(memory.read_text("utf-8") + "\n- Ana moved to Leeds\n", "utf-8")
    assert [each.verdict for each in world.replay(session.id)] == ["same", "same"]


def test_a_prompt_that_was_looked_up_comes_out_the_same(world: World) -> None:
    note = "# Boiler\n\nThe boiler man Pavel comes on the third of May.\n"
    (world.home.memory / "2026-05-01.md").write_text(note, "utf-8")
    session = world.record([turn("When does the boiler man come?", "{sum}")], recall="auto")
    assert "Pavel" in session.messages[0].context
    (each,) = world.replay(session.id)
    assert (each.verdict, each.recorded.record.found) == ("same", True)


def test_a_call_that_was_not_recorded_ends_the_turn_as_different(world: World) -> None:
    read: Line = [("read_file", {"path": "workspace/plan.md"})]
    session = world.record([turn("Read it.", read, "Fine.")])
    world.model.plays = {"Read it.": ([("write_file", {"path": "b.md", "content": "x"})], "Done.")}
    (each,) = world.replay(session.id)
    told = [difference.text for difference in each.differences if difference.kind == "call"]
    assert told == [
        'missing: read_file {"path":"workspace/plan.md"}',
        'additional: write_file {"path":"b.md","content":"x"}',
        "write_file was not recorded so; it ends here",
    ]
    assert each.verdict == "differs"
    assert not (world.home.root / "b.md").exists()


def test_live_tools_work_on_a_copy_of_the_home(world: World) -> None:
    session = world.record(
        [turn("Read it.", [("read_file", {"path": "workspace/plan.md"})], "Ok.")]
    )
    world.model.plays = {
        "Read it.": (
            [("write_file", {"path": "b.md", "content": "x"})],
            [("read_file", {"path": "b.md"})],
            [("run_shell", {"command": "curl http://127.0.0.1:9/"})],
            "Done.",
        )
    }
    before = world.snapshot()
    (each,) = world.replay(session.id, live=True)
    assert each.played is not None and each.played.answer == "Done."
    written, read, ran = [use for said in each.played.said for use in said.tool_calls]
    assert (written.ok, read.ok) == (True, True) and "x" in read.output
    assert ran.output.startswith("Refused")
    assert world.snapshot() == before


def test_other_input_of_a_call_is_shown_word_by_word(world: World) -> None:
    session = world.record([turn("Look.", [("search_files", {"text": "old pump"})], "Fine.")])
    world.model.plays = {"Look.": ([("search_files", {"text": "new pump"})], "Fine.")}
    (each,) = world.replay(session.id)
    difference = each.differences[0]
    assert (difference.kind, difference.text) == ("call", "other input: search_files")
    assert ("then", "old") in difference.pieces and ("now", "new") in difference.pieces


def test_another_digest_of_the_same_model_is_a_difference(world: World) -> None:
    session = world.record([turn("Hello.", "Fine.")])
    card = replace(CARD, digest="bb22")
    (each,) = world.replay(session.id, model=HashingModel({"Hello.": ("Fine.",)}, card))
    assert [(d.kind, d.text) for d in each.differences] == [("model", "aa11 -> bb22")]


def test_the_recorded_options_are_used_whatever_the_settings_are_now(world: World) -> None:
    session = world.record([turn("Hello.", "Fine. {sum}")], max_tokens=77, temperature=0.3, seed=5)
    (each,) = world.replay(session.id)
    sent = world.model.requests[-1]
    assert (each.verdict, sent.max_tokens, sent.temperature, sent.seed) == ("same", 77, 0.3, 5)


def test_one_difference_does_not_bring_others_along_unless_turns_are_chained(
    world: World,
) -> None:
    session = world.record([turn("One.", "First."), turn("Two.", "It is {sum}.")])
    world.model.plays = {"One.": ("Other.",), "Two.": ("It is {sum}.",)}
    assert [each.verdict for each in world.replay(session.id)] == ["differs", "same"]
    chained = world.replay(session.id, chained=True)
    assert [each.verdict for each in chained] == ["differs", "differs"]


def test_a_conversation_of_an_older_version_is_run_without_what_it_does_not_know(
    world: World,
) -> None:
    session = world.record([turn("Hello.", "Fine.")])
    session.messages[:] = [replace(said, record_json={}) for said in session.messages]
    world.app().sessions.save(session)
    (each,) = world.replay(session.id)
    assert each.verdict == "same"
    assert "older version" in each.notes[0]


def test_archived_turns_are_run_and_those_that_came_with_a_compaction_are_not(
    world: World,
) -> None:
    turns = [turn(f"Number {n}.", f"Fine {n}. {{sum}}") for n in range(1, 6)]
    session = world.record(turns)
    store = world.app().sessions
    at = ("2026-11-21T10:00:0{}+00:00", "2026-11-21T10:00:0{}.500+00:00")
    for number, said in enumerate(session.messages):
        session.messages[number] = replace(said, at=at[0].format(number // 2 + 1))
    store.save(session)
    store.now = lambda: datetime.fromisoformat(at[1].format(4))  # with the fourth turn
    store.compact(session, 4, "They counted.")
    found = world.replay(session.id)
    assert [each.recorded.number for each in found] == [1, 2, 3, 4, 5]
    assert [each.verdict for each in found] == ["same", "same", "same", "not run", "differs"]
    assert "compaction" in found[3].lost
    assert "They counted." in world.model.requests[-1].messages[1].content


def test_a_part_of_the_archive_that_is_gone_leaves_the_later_numbers_as_they_were(
    world: World,
) -> None:
    session = world.record([turn(f"Number {n}.", "Fine. {sum}") for n in (1, 2, 3)])
    store = world.app().sessions
    store.compact(session, 4, "They counted.")
    (store.folder / "archive" / session.id / "0001.json").unlink()
    assert [each.recorded.number for each in world.replay(session.id)] == [3]


def test_a_claim_that_was_backed_by_a_recorded_change_is_not_sent_back(world: World) -> None:
    write: Line = [("write_file", {"path": "a.md", "content": "x"})]
    session = world.record([turn("Write it.", write, "I have written a.md {sum}.")])
    (each,) = world.replay(session.id)
    assert each.verdict == "same" and each.recorded.end.changed == ("workspace/a.md",)
    nothing = turn("Write it again.", write, "I have written b.md.", "Nothing was written. {sum}")
    again = world.record([nothing])
    assert [each.verdict for each in world.replay(again.id)] == ["same"]


def test_ctrl_c_ends_the_replay_and_not_only_the_turn(world: World) -> None:
    session = world.record([turn("One.", "First."), turn("Two.", "Second.")])
    world.model.plays = {"One.": (KeyboardInterrupt(),), "Two.": ("Second.",)}
    with pytest.raises(KeyboardInterrupt):
        world.replay(session.id)
