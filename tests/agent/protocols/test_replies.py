"""Calls and answers are read from every form that models print."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.agent.protocols.base import ModelStep
from openclaw.agent.protocols.replies import partial_answer, read_step

TOOLS = {
    "read_file": ("path", "from_line"),
    "write_file": ("path", "content"),
    "read_skill": ("name",),
    "todo": ("action", "list", "items", "item"),
}
A = {"path": "a.md"}
CALL = '{"tool": "read_file", "path": "a.md"}'


def calls(text: str) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, dict(call.arguments)) for call in read_step(text, TOOLS).calls]


# -------- one call


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        '{"kind": "look", "tool": "read_file", "path": "a.md"}',
        '{"name": "read_file", "arguments": {"path": "a.md"}}',
        '{"name": "read_file", "parameters": {"path": "a.md"}}',
        '{"name": "read_file", "arguments": "{\\"path\\": \\"a.md\\"}"}',
        '{"function": {"name": "read_file", "arguments": "{\\"path\\": \\"a.md\\"}"}}',
        '{"type": "function", "function": {"name": "read_file", "parameters": {"path": "a.md"}}}',
        '{"function": "read_file", "arguments": {"path": "a.md"}}',
        '{"tool_calls": [{"id": "1", "function": {"name": "read_file", "arguments": '
        '"{\\"path\\": \\"a.md\\"}"}}]}',
        '[{"name": "read_file", "arguments": {"path": "a.md"}}]',
        '{"thought": "t", "action": "read_file", "action_input": "a.md", "answer": ""}',
        '{"thought": "t", "action": "read_file", "action_input": {"path": "a.md"}}',
        '{"thought": "t", "action": "read_file", "action_input": "{\\"path\\": \\"a.md\\"}"}',
        f"```json\n{CALL}\n```",
        f"```\n{CALL}\n```",
        f"```tool_call\n{CALL}\n```",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"<tool_call>{CALL}",
        f"<function_call>{CALL}</function_call>",
        f"<tool_call>\n```json\n{CALL}\n```\n</tool_call>",
        f"<think>Let me see: {{}}</think>\n{CALL}",
    ],
)
def test_a_call_is_found_in_every_shape(text: str) -> None:
    assert calls(text) == [("read_file", A)]
    assert read_step(text, TOOLS).answer == ""


def test_an_unknown_argument_is_not_passed_on() -> None:
    text = '{"kind": "look", "thought": "I look.", "tool": "read_file", "path": "a.md", "id": "7"}'
    step = read_step(text, TOOLS)
    assert dict(step.calls[0].arguments) == A
    assert (step.kind, step.thought) == ("look", "I look.")


def test_an_argument_may_have_the_name_of_a_key_of_the_step() -> None:
    assert calls('{"tool": "read_skill", "name": "plan-day"}') == [
        ("read_skill", {"name": "plan-day"})
    ]
    assert calls('{"tool": "todo", "action": "add", "items": ["tea"]}') == [
        ("todo", {"action": "add", "items": ["tea"]})
    ]
    assert calls('{"action": "todo", "action_input": "list"}') == [("todo", {"action": "list"})]


def test_arguments_that_are_null_are_none() -> None:
    assert calls('{"tool": "read_file", "arguments": null}') == [("read_file", {})]


@pytest.mark.parametrize("content", ['{"a": {"b": [1, {"c": 2}]}}', "```py\nx\n```", 'say "hi"\n'])
def test_braces_fences_and_quotes_in_an_argument_arrive_whole(content: str) -> None:
    call = json.dumps({"tool": "write_file", "path": "a.md", "content": content})
    wanted = [("write_file", {"path": "a.md", "content": content})]
    for text in (call, f"```json\n{call}\n```", f"I write it:\n{call}"):
        assert calls(text) == wanted


def test_an_unescaped_newline_is_read_as_a_newline() -> None:
    assert calls('{"tool": "write_file", "path": "a", "content": "one\ntwo"}') == [
        ("write_file", {"path": "a", "content": "one\ntwo"})
    ]


# -------- several calls, words around


@pytest.mark.parametrize(
    "form",
    ["[{0}, {1}]", "{0}\n{1}", "```json\n{0}\n```\n```json\n{1}\n```", "<tool_call>{0}</tool_call>"
     "<tool_call>{1}</tool_call>", "```json\n[{0}, {1}]\n```"],
)  # fmt: skip
def test_several_calls_are_all_taken_in_order(form: str) -> None:
    other = '{"name": "todo", "arguments": {"action": "list"}}'
    step = read_step(form.format(CALL, other), TOOLS)
    assert [call.name for call in step.calls] == ["read_file", "todo"]
    assert step.answer == ""


def test_words_around_a_call_are_kept() -> None:
    for form in ("I look.\n{0}\nWait.", "I look.\n```json\n{0}\n```\nWait."):
        step = read_step(form.format(CALL), TOOLS)
        assert step.answer.split() == ["I", "look.", "Wait."]
        assert [call.name for call in step.calls] == ["read_file"]


def test_a_code_block_next_to_a_call_is_kept() -> None:
    text = f"So:\n```python\nx = {{1: 2}}\n```\n```json\n{CALL}\n```"
    step = read_step(text, TOOLS)
    assert step.answer == "So:\n```python\nx = {1: 2}\n```"
    assert len(step.calls) == 1


# -------- answers


@pytest.mark.parametrize(
    "text",
    [
        "Hello.",
        "Use {braces} and [brackets].",
        '{"name": "Bob", "age": 3}',
        '{"name": "delete_everything", "arguments": {"path": "/"}}',
        '{"status": 200, "answer": 42}',
        "[1, 2, 3]",
        "42",
        "null",
        "{}",
        "[]",
        '{"tool": "read_file", "path": "a.md',
        "{" * 300,
        "Here it is:\n```python\nprint({'a': 1})\n```\nIt prints a dict.",
        'The settings:\n```json\n{"name": "demo", "port": 80}\n```',
        "read_file(path='a.md')",
    ],
)
def test_text_without_a_call_of_our_tools_is_the_answer(text: str) -> None:
    assert read_step(text, TOOLS) == ModelStep(answer=text)


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "answer", "answer": "Four."}',
        '{"thought": "easy", "action": "none", "action_input": "", "answer": "Four."}',
        '{"final_answer": "Four."}',
        '```json\n{"answer": "Four."}\n```',
        "<think>2 + 2</think>\n\nFour.",
    ],
)
def test_the_answer_of_a_step_is_the_answer(text: str) -> None:
    step = read_step(text, TOOLS)
    assert (step.answer, step.calls) == ("Four.", ())


def test_a_number_as_answer_becomes_text() -> None:
    assert read_step('{"kind": "answer", "answer": 42}', TOOLS).answer == "42"


@pytest.mark.parametrize(
    "text", ['{"kind": "answer", "answer": ""}', '{"action": "none", "answer": null}',
             "<think>never", " \n"],
)  # fmt: skip
def test_a_step_that_says_nothing_is_empty(text: str) -> None:
    step = read_step(text, TOOLS)
    assert (step.answer, step.calls) == ("", ())


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "look", "tool": "open_file", "path": "a.md"}',
        '{"thought": "t", "action": "open_file", "action_input": "a.md"}',
    ],
)
def test_a_wrong_tool_name_in_a_clear_step_is_a_call_to_be_refused(text: str) -> None:
    assert [name for name, _ in calls(text)] == ["open_file"]


# -------- unfinished steps


def test_each_beginning_of_a_step_gives_a_beginning_of_its_answer() -> None:
    answer = 'Caf\u00e9 "M\u00fcller"\n\topens at 9 {daily} \\ \U0001f600'
    for ascii_only in (True, False):
        step = json.dumps({"kind": "answer", "answer": answer}, ensure_ascii=ascii_only)
        parts = [partial_answer(step[:end]) for end in range(len(step) + 1)]
        assert all(answer.startswith(part) for part in parts)
        assert parts[-1] == answer
        assert len(set(parts)) > len(answer) // 2  # it grows with the text


@pytest.mark.parametrize(
    "text", ["", "hello", CALL, '{"thought": "the \\"answer\\" is', "[1", "{{"]
)
def test_a_step_without_an_answer_gives_none(text: str) -> None:
    assert partial_answer(text) == ""


# -------- anything

PIECES = st.sampled_from(
    ['{"tool": ', '"read_file"', '{"answer": ', '"hi"', "}", "{", "[", "]", ",", "```json\n", "```",
     "<tool_call>", "</tool_call>", "<think>", "</think>", '"action": ', '"function": ', ": ", "\\",
     '"arguments": ', "null", "1e999", "9" * 5000, "\ud83d", "\0", "words "]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(PIECES, max_size=12).map("".join)))
def test_no_text_is_too_strange_to_be_read(text: str) -> None:
    step = read_step(text, TOOLS)
    assert isinstance(step.answer, str)
    assert all(call.name in TOOLS or '"' in text for call in step.calls)
    assert isinstance(partial_answer(text), str)


def test_endless_nesting_is_read_as_text() -> None:
    text = '{"a":' * 3000
    assert read_step(text, TOOLS) == ModelStep(answer=text)
    assert partial_answer('{"answer": ' + "[" * 3000) == ""
