"""benchmarks/prompt.py counts what a request no longer repeats."""

from __future__ import annotations

from typing import Any

from benchmarks.prompt import lost_tokens


def _body(*said: str, tools: tuple[str, ...] = ()) -> dict[str, Any]:
    roles = ("system", "user", "assistant", "user")
    messages = [{"role": r, "content": c} for r, c in zip(roles, said, strict=False)]
    return {"messages": messages, "tools": [{"name": name} for name in tools]}


def test_a_request_that_goes_on_loses_nothing() -> None:
    before = _body("You are Claw.", "Hello.", tools=("todo",))
    after = _body("You are Claw.", "Hello.", "Hi.", "Bye.", tools=("todo",))
    assert lost_tokens(before, after, head_only=False) == 0


def test_a_clock_in_the_head_loses_what_stands_behind_it() -> None:
    before = _body("It is 10:04. " + "word " * 50, "Hello.")
    after = _body("It is 10:05. " + "word " * 50, "Hello.", "Hi.", "Bye.")
    assert lost_tokens(before, after, head_only=False) > 50
    assert lost_tokens(before, after, head_only=True) > 50


def test_a_tool_that_changes_loses_the_whole_head() -> None:
    before = _body("You are Claw.", "Hello.", tools=("todo",))
    after = _body("You are Claw.", "Hello.", tools=("todos",))
    assert lost_tokens(before, after, head_only=True) > 5


def test_a_new_conversation_is_only_expected_to_repeat_the_head() -> None:
    before = _body("You are Claw.", "Hello.", "Hi.", "Bye.")
    after = _body("You are Claw.", "Good morning.")
    assert lost_tokens(before, after, head_only=True) == 0
    assert lost_tokens(before, after, head_only=False) > 0
