"""Events of a turn as an editor gets them, in the words of the protocol."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from openclaw import events
from openclaw.events import Event
from openclaw.messages import Entry, ToolUse, Usage
from openclaw.receipt import Receipt
from openclaw.server.wire import event_to_json
from openclaw.storage.home import Home
from tests.fakes.late import Late
from tests.fakes.needs import needs_acp

if TYPE_CHECKING:
    from openclaw.server.acp.updates import TurnUpdates, replay, stop_reason
else:
    TurnUpdates, replay, stop_reason = (
        Late("openclaw.server.acp.updates", name)
        for name in ("TurnUpdates", "replay", "stop_reason")
    )

pytestmark = needs_acp

HOME = Home(Path("/home/ann/notes"))


def done(answer: str = "Yes.", stop_reason: str = "answer", **more: Any) -> events.Done:
    return events.Done(answer, Usage(), stop_reason, "talk", "fake", Receipt(), **more)


def read(updates: TurnUpdates, *happened: Event) -> list[dict[str, Any]]:
    return [
        update.model_dump(mode="json", by_alias=True, exclude_none=True)
        for event in happened
        for update in updates.read(event_to_json(event))
    ]


def texts(updates: list[dict[str, Any]]) -> list[str]:
    return [each["content"]["text"] for each in updates]


def test_found_passages_are_a_search_with_their_places() -> None:
    passage = {"path": "memory/MEMORY.md", "start_line": 3, "end_line": 4, "text": "- likes tea"}
    [found] = read(TurnUpdates(HOME, "run"), events.Retrieval((passage,)))
    assert (found["kind"], found["status"]) == ("search", "completed")
    assert found["title"] == "found memory/MEMORY.md:3"
    assert found["locations"] == [{"path": "/home/ann/notes/memory/MEMORY.md", "line": 3}]
    assert found["content"][0]["content"]["text"] == "```\nmemory/MEMORY.md:3\n- likes tea\n```"
    assert read(TurnUpdates(HOME, "run"), events.Retrieval(())) == []


@pytest.mark.parametrize(
    ("ended", "reason"),
    [
        ("answer", "end_turn"),
        ("repeated", "end_turn"),
        ("interrupted", "cancelled"),
        ("steps", "max_turn_requests"),
        ("full", "max_tokens"),
    ],
)
def test_the_end_of_a_turn_has_its_reason(ended: str, reason: str) -> None:
    assert stop_reason(done(stop_reason=ended)) == reason


def test_what_was_not_streamed_is_told_at_the_end() -> None:
    updates = TurnUpdates(HOME, "run")
    told = read(updates, events.Token("The boat "), done("The boat is Tern."))
    assert texts(told) == ["The boat ", "is Tern."]
    assert {each["messageId"] for each in told} == {"run.0"}
    more = read(updates, events.NewResponse(2), events.Token("So"), done("Another."))
    assert texts(more) == ["So", "Another."]
    assert [each["messageId"] for each in more] == ["run.1", "run.2"]


def test_what_is_not_true_is_told_behind_the_answer() -> None:
    told = read(TurnUpdates(HOME, "run"), done(unbacked=("I sent the mail",)))
    assert texts(told) == [
        "Yes.",
        "\n\n(not true, nothing of the kind happened: I sent the mail)",
    ]


def test_a_running_program_shows_its_last_lines() -> None:
    start = events.ToolStart("call_1_1", "run_shell", {"command": "make"})
    end = events.ToolEnd("call_1_1", "run_shell", "```\ndone", True, 0.1)
    updates = TurnUpdates(HOME, "run")
    begun, shown, ended = read(updates, start, events.Progress("make", None, ("cc a.c",)), end)
    assert (begun["kind"], begun["title"]) == ("execute", "run_shell make")
    assert shown["content"][0]["content"]["text"] == "```\ncc a.c\n```"
    assert ended["content"][0]["content"]["text"] == "````\n```\ndone\n````"
    assert {each["toolCallId"] for each in (begun, shown, ended)} == {"run.call_1_1"}
    assert read(updates, events.Progress("loading", 0.5)) == []


def test_half_a_character_is_never_sent() -> None:
    start = events.ToolStart("1", "write_file", {"path": "a\ud83d.md", "content": "\ud83d"})
    [begun, token] = read(TurnUpdates(HOME, "run"), start, events.Token("So \ud83d"))
    assert begun["rawInput"] == {"path": "a?.md", "content": "?"}
    assert token["content"]["text"] == "So ?"


def test_a_stored_conversation_is_told_in_its_order() -> None:
    use = ToolUse("1", "todo", {"action": "add"}, "Added.", True)
    said = [
        Entry("user", "Put tea on my list."),
        Entry("assistant", "", tool_calls=(use, use), thought="A to-do."),
        Entry("assistant", "It is there."),
    ]
    told = [each.model_dump(by_alias=True) for each in replay(HOME, enumerate(said, 1))]
    assert [each["sessionUpdate"] for each in told] == [
        "user_message_chunk",
        "agent_thought_chunk",
        "tool_call",
        "tool_call",
        "agent_message_chunk",
    ]
    assert len({each["toolCallId"] for each in told[2:4]}) == 2
