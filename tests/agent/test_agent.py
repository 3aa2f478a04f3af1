"""The agent saves messages, reports the state of the home, checks sizes and shows the context."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from openclaw.agent.agent import Agent
from openclaw.agent.prompt import SHARES
from openclaw.agent.protocols.native import choose_protocol
from openclaw.config import Settings
from openclaw.errors import ModelFailed, PromptTooLarge
from openclaw.events import Notice, Start, Title, Token, ToolEnd
from openclaw.inspection.context import context_report
from openclaw.models.base import ModelCard
from openclaw.storage.home import Home
from tests.fakes.scripted import CARD
from tests.fakes.talk import Protocol, Talk, answer, call, done, notices, talk

PROTOCOLS = get_args(Protocol)


# -------- saving


def test_each_message_is_on_the_disk_before_the_next_thing_happens(it: Talk) -> None:
    seen: dict[str, list[str]] = {}
    for event in it.events("Who are you?", call("list_files"), "I am Claw, and that is all."):
        path = it.app.home.sessions / f"{it.session.id}.json"
        messages = json.loads(path.read_text("utf-8"))["messages"] if path.exists() else []
        seen[type(event).__name__] = [message["role"] for message in messages]
    assert seen["Start"] == []
    assert seen["ToolEnd"] == ["user"]
    assert seen["NewResponse"] == seen["Token"] == ["user", "assistant"]
    assert seen["Done"] == ["user", "assistant", "assistant"]


def test_the_start_names_session_model_window_and_protocol(it: Talk) -> None:
    start = next(e for e in it.say("Hi.", "Hello.") if isinstance(e, Start))
    assert start == Start(it.session.id, "scripted/model", 8192, "native")


def test_a_failing_model_leaves_the_messages_saved(it: Talk) -> None:
    with pytest.raises(ModelFailed):
        it.say("Who are you?", call("list_files"), ModelFailed("cut"))
    assert [m["role"] for m in it.stored["messages"]] == ["user", "assistant"]
    assert done(it.say("And now?", "I am here.")).answer == "I am here."


def test_a_closed_turn_leaves_a_session_that_loads_and_is_free(it: Talk) -> None:
    turn = it.events("Tell me.", "A long story about a cat and a dog.")
    for event in turn:
        if isinstance(event, Token):
            break
    turn.close()  # type: ignore[attr-defined]
    assert [e.role for e in it.app.sessions.load(it.session.id).messages] == ["user"]
    it.model.script.clear()
    assert done(it.say("Again.", "Fine.")).answer == "Fine."


def test_an_interrupt_while_an_event_is_handled_ends_the_turn_in_order(it: Talk) -> None:
    turn = it.events("Tell me.", "A long story about a cat and a dog.")
    events = [next(turn)]
    while not isinstance(events[-1], Token):
        events.append(next(turn))
    events.append(turn.throw(KeyboardInterrupt()))  # type: ignore[attr-defined]
    events.extend(turn)
    assert done(events).stop_reason == "interrupted"
    assert it.stored["messages"][-1]["content"] == done(events).answer != ""


def test_the_title_comes_from_the_first_words_and_only_once(it: Talk) -> None:
    titles = [e.title for e in it.say("Plan my week", "Gladly.") if isinstance(e, Title)]
    assert titles == ["Plan my week"]
    assert not [e for e in it.say("And the next", "Yes.") if isinstance(e, Title)]


def test_messages_of_another_process_are_loaded_too(it: Talk, tmp_path: Path) -> None:
    it.say("First.", "One.")
    other = talk(tmp_path / "home", session=it.session.id)
    other.say("Second.", "Two.")
    it.say("Third.", "Three.")
    said = [m["content"] for m in it.stored["messages"] if m["role"] == "user"]
    assert said == ["First.", "Second.", "Third."]
    assert any("Second." in m.content for m in it.requests[-1].messages)


def test_a_file_that_was_read_in_an_earlier_turn_may_be_replaced(it: Talk, tmp_path: Path) -> None:
    (it.root / "workspace" / "a.md").write_text("old\n", "utf-8")
    replace = call("write_file", path="workspace/a.md", content="new\n")
    it.say("Replace a.md.", replace, "It was not read.")
    assert (it.root / "workspace" / "a.md").read_text("utf-8") == "old\n"
    it.say("Read a.md.", call("read_file", path="workspace/a.md"), "It says old.")
    later = talk(tmp_path / "home", session=it.session.id)
    later.say("Replace a.md.", replace, "It is replaced.")
    assert (it.root / "workspace" / "a.md").read_text("utf-8") == "new\n"


# -------- the home


@pytest.mark.parametrize("name", ["SOUL.md", "USER.md", "AGENTS.md"])
def test_a_missing_file_is_named_and_the_run_goes_on(name: str, it: Talk) -> None:
    (it.root / "workspace" / name).unlink()
    happened = it.say("Hi.", "Hello.")
    assert f"workspace/{name} is missing" in notices(happened)
    assert done(happened).answer == "Hello."


def test_a_missing_optional_file_is_not_mentioned(it: Talk) -> None:
    (it.root / "memory" / "MEMORY.md").unlink()
    (it.root / "memory" / "TODO.md").unlink()
    assert notices(it.say("Hi.", "Hello.")) == ""


def test_a_file_that_had_to_be_cut_is_named_with_its_share(it: Talk) -> None:
    text = "# User\n" + "- one more fact about the user\n" * 300
    (it.root / "workspace" / "USER.md").write_text(text, "utf-8")
    told = notices(it.say("Hi.", "Hello."))
    assert "workspace/USER.md" in told and f"{SHARES['user']:.0%}".replace("%", " %") in told


def test_no_memory_means_neither_memories_nor_todos(it: Talk) -> None:
    (it.root / "memory" / "MEMORY.md").write_text("# Memory\n\n- owns a cat\n", "utf-8")
    (it.root / "memory" / "TODO.md").write_text("- [ ] rent due:2026-11-01\n", "utf-8")
    it.say("Hi.", "Hello.")
    assert "owns a cat" in it.requests[0].messages[0].content
    assert "rent" in it.requests[0].messages[-1].content
    it.app.use_memory = False
    fresh = Talk(it.app, it.model, it.app.sessions.new())
    fresh.say("Hi.", "Hello.")
    assert "owns a cat" not in fresh.requests[1].messages[0].content
    assert "rent" not in fresh.requests[1].messages[-1].content


# -------- what fits


def test_a_message_larger_than_the_window_is_refused_with_the_numbers(it: Talk) -> None:
    with pytest.raises(PromptTooLarge, match=r"needs about \d{5} tokens, the window has 8192") as e:
        it.say("word " * 20_000)
    assert "window" in e.value.hint
    assert not it.requests


# -------- what would be sent


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_context_shows_what_is_really_sent(tmp_path: Path, protocol: Protocol) -> None:
    it = talk(tmp_path / "home", protocol=protocol)
    it.say("Who are you?", call("list_files", protocol), answer("Claw.", protocol))
    before = it.stored
    report = context_report(it.app, it.session, "Say hello.")
    assert it.stored == before and len(it.requests) == 2
    it.say("Say hello.", answer("Hello.", protocol))
    sent = it.requests[-1]
    assert report.request == sent
    assert report.raw == it.model.wire(sent)
    assert report.used == sum(part.tokens for part in report.parts)
    assert report.window == 8192
    assert {p.name for p in report.parts} >= {"soul", "user", "agents", "tools", "history"}


def test_the_context_of_a_new_session_has_no_history(it: Talk) -> None:
    report = context_report(it.app, None, "Say hello.")
    it.say("Say hello.", "Hello.")
    assert report.request.messages == it.requests[0].messages
    assert "history" not in {part.name for part in report.parts}
    assert not [p for p in it.app.home.sessions.glob("*.json") if p.stem != it.session.id]


# -------- choices


@pytest.mark.parametrize(
    ("setting", "card", "chosen"),
    [
        ("auto", ModelCard("ollama/qwen3:8b", 8192, tools=True, parameters=8.2), "native"),
        ("auto", ModelCard("ollama/qwen3:8b", 8192, tools=False, parameters=8.2), "json"),
        ("auto", ModelCard("ollama/llama3.2:1b", 8192, tools=True, parameters=1.2), "json"),
        ("auto", ModelCard("ollama/qwen2.5-coder:7b", 8192, tools=True, parameters=7.6), "json"),
        ("auto", ModelCard("openai/gpt-x", 8192, tools=True), "native"),
        ("native", CARD, "native"),
        ("json", ModelCard("openai/gpt-x", 8192, tools=True), "json"),
    ],
)
def test_the_protocol_is_chosen_by_what_the_model_can(
    setting: str, card: ModelCard, chosen: str
) -> None:
    assert choose_protocol(setting, card).name == chosen


def test_another_model_is_taken_from_the_next_turn_on(it: Talk) -> None:
    it.say("Hi.", "Hello.")
    it.app.use_model("ollama/other")
    assert it.model.closed and it.app.model_name == "ollama/other"


def test_opening_an_app_reads_nothing(tmp_path: Path) -> None:
    app = Agent.open(Home(tmp_path / "nowhere"), Settings(), model="ollama/x")
    assert (app.model_name, app.mode, app.notices) == ("ollama/x", "edit", [])
    app.close()


def test_a_refused_search_is_named_in_the_done_event(it: Talk) -> None:
    happened = it.say("What is new?", call("web_search", query="news"), "I may not search.")
    assert done(happened).refused and "web_search" in done(happened).refused[0]
    assert not next(e for e in happened if isinstance(e, ToolEnd)).ok
    assert not [e for e in happened if isinstance(e, Notice) and "news" in e.text]
