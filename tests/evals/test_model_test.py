"""Testing how a model fits: the probes, the tasks, and the table."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openclaw.cli.commands.models.test import blocks
from openclaw.evals.model_probes import (
    JSON_QUESTIONS,
    Found,
    ProbedModel,
    ProbeLimits,
    make_request,
    measure_speeds,
    passage,
    probe_json_replies,
    probe_schema_enforcement,
    probe_thinking,
    probe_tool_calls,
)
from openclaw.evals.model_test import TASKS, WORDS, TaskOutcome
from openclaw.messages import ToolCall, Usage, Waiting
from openclaw.models.base import Chunk, Profile, Reply, Request, Score, Text, matches_schema
from openclaw.stopping import check_stop
from tests.fakes.scripted import ScriptedModel

CALLS = (
    ToolCall("1", "find_bus", {"stop": "Old Bridge", "line": "14"}),
    ToolCall("2", "set_alarm", {"time": "06:30", "label": "ferry"}),
    ToolCall("3", "convert_money", {"amount": 250, "source": "NOK", "target": "EUR"}),
)


def _last(found: Iterator[Found]) -> dict[str, Any]:
    """All that a probe has found in the end."""
    known: dict[str, Any] = {}
    for each in found:
        known |= each
    return known


class Endless(ScriptedModel):
    """Never stops, whatever it is asked."""

    def stream(self, request: Request) -> Iterator[Chunk]:
        while True:
            yield Text("and on ")


class Slow(ScriptedModel):
    """Says nothing, until it is stopped."""

    def stream(self, request: Request) -> Iterator[Chunk]:
        while True:
            check_stop()
            time.sleep(0.001)
            yield Waiting("")


# -------- probes


def test_native_calls_are_counted_when_the_tool_and_its_arguments_are_right() -> None:
    wrong = replace(CALLS[1], name="find_bus")
    replies: list[str | Reply] = [
        Reply("", (CALLS[0],)),
        Reply("", (wrong,)),
        Reply("", (CALLS[2],)),
        "Good morning!",
    ]
    found = _last(probe_tool_calls(ProbedModel(ScriptedModel(*replies))))
    expected = {"native": Score(2, 3), "calls": "native", "call_shape": "", "needless": False}
    assert found == expected


@pytest.mark.parametrize(
    ("form", "shape"),
    [
        ("{}", "bare JSON"),
        ("```json\n{}\n```", "fenced JSON"),
        ("<tool_call>\n{}\n</tool_call>", "tags"),
        ("I will do that. {}", "JSON in words"),
    ],
)
def test_calls_printed_as_text_are_told_with_their_shape(form: str, shape: str) -> None:
    texts = [
        form.replace("{}", json.dumps({"name": call.name, "arguments": dict(call.arguments)}))
        for call in CALLS
    ]
    found = _last(probe_tool_calls(ProbedModel(ScriptedModel(*texts, texts[0]))))
    assert (found["calls"], found["call_shape"], found["needless"]) == ("text", shape, True)
    assert found["native"] == Score(0, 3)


def test_json_is_counted_with_and_without_a_constraint() -> None:
    good = [
        {"town": "Tovik", "books": 3, "maps": 2, "day": "Friday"},
        {"person": {"name": "Adeyemi", "age": 52}, "member": True, "boats": ["Heron"]},
        {"action": "note", "text": "the lamp in the hall is broken"},
    ]
    fenced = [f"```json\n{json.dumps(value)}\n```" for value in good]
    lines = [json.dumps(good[0]), fenced[0], json.dumps(good[1]), "Here it is", "{", fenced[2]]
    model = ScriptedModel(*lines)
    found = _last(probe_json_replies(ProbedModel(model)))
    expected = {"json_forced": Score(2, 3), "json_free": Score(2, 3), "json_fenced": True}
    assert found == expected
    assert [bool(request.schema) for request in model.requests] == [True, False] * 3


@pytest.mark.parametrize(
    ("reply", "holds"), [('{"code":"k7-q2"}', True), ("Hello!", False), ('{"code":"a"}', False)]
)
def test_whether_a_schema_holds_is_told_by_what_nobody_would_say(reply: str, holds: bool) -> None:
    model = ScriptedModel(reply)
    assert _last(probe_schema_enforcement(ProbedModel(model))) == {"schema_holds": holds}
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ({"kind": "answer", "answer": "x"}, True),
        ({"kind": "answer", "answer": "x", "sure": None}, True),
        ({"kind": "more"}, True),
        ({"kind": "change", "tool": "web_search"}, False),
        ({"kind": "answer"}, False),
        ("answer", False),
    ],
)
def test_a_union_of_objects_is_understood(value: object, fits: bool) -> None:
    answer = {"kind": {"const": "answer"}, "answer": {"type": "string"}}
    answer["sure"] = {"type": ["boolean", "null"]}  # type: ignore[dict-item]
    schema = {
        "anyOf": [
            {"type": "object", "properties": answer, "required": ["kind", "answer"]},
            {"type": "object", "properties": {"kind": {"const": "more"}}, "required": ["kind"]},
        ]
    }
    assert matches_schema(value, schema) is fits


@pytest.mark.parametrize(
    "value",
    [
        {"town": "Tovik", "books": "3", "maps": 2, "day": "Friday"},
        {"town": "Tovik", "books": True, "maps": 2, "day": "Friday"},
        {"town": "Tovik", "books": 3, "maps": 2, "day": "friday"},
        {"town": "Tovik", "books": 3, "day": "Friday"},
        {"town": "Tovik", "books": 3, "maps": 2, "day": "Friday", "by": "ship"},
        ["Tovik"],
    ],
)
def test_what_does_not_fit_a_schema_is_found_out(value: object) -> None:
    assert not matches_schema(value, JSON_QUESTIONS[0][1])


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        ((Reply("18 jars."),), {"thinking": "none", "think_off": None, "only_thinks": False}),
        (
            (Reply("18", thinking="21 - 5 + 2"), Reply("18")),
            {"thinking": "field", "think_off": True, "only_thinks": False},
        ),
        (
            (Reply("<think>21 - 5", stop_reason="length"), Reply("<think>\n\n</think>18")),
            {"thinking": "tags", "think_off": True, "only_thinks": True},
        ),
        (
            (Reply("18", thinking="so", usage=Usage(calls=2)), Reply("18", thinking="so")),
            {"thinking": "field", "think_off": False, "only_thinks": True},
        ),
    ],
)
def test_thinking_is_found_where_it_stands(
    replies: tuple[Reply, ...], expected: dict[str, Any]
) -> None:
    model = ScriptedModel(*replies)
    assert _last(probe_thinking(ProbedModel(model))) == expected
    assert [request.think for request in model.requests] == [None, False][: len(replies)]


def test_a_model_that_talks_without_thinking_is_not_heard_out() -> None:
    model = ScriptedModel("First there are three rows of seven jars, which makes 21. " * 20)
    probed = ProbedModel(model)
    assert _last(probe_thinking(probed))["thinking"] == "none"
    assert not probed.endless


def test_speeds_are_medians_of_what_was_really_read() -> None:
    usages = [
        Usage(300, 100, 31, 2.0, 5.0, 1, 2.0),
        Usage(300, 0, 31, 3.0, 6.0, 1, 3.0),
        Usage(300, 0, 61, 0.5, 2.5, 1, 0.5),
    ]
    model = ScriptedModel(*(Reply("It rained.", usage=usage) for usage in usages))
    found = _last(measure_speeds(ProbedModel(model)))
    assert found == {"read_rate": 100.0, "write_rate": 10.0}
    starts = {request.messages[0].content[:10] for request in model.requests}
    assert len(starts) == 3


def test_passages_have_no_beginning_in_common() -> None:
    assert len({passage(number)[:4] for number in range(6)}) == 6


def test_a_model_that_never_stops_is_broken_off_and_found_out() -> None:
    probed = ProbedModel(Endless())
    said = probed.ask(make_request("Say yes.", 4))
    assert probed.endless
    assert not said.is_whole
    assert said.reply.text.count("and on") < 20


def test_a_reply_that_is_only_slow_tells_nothing_of_the_model() -> None:
    probed = ProbedModel(Slow(), ProbeLimits(reply=0.01))
    assert _last(probe_tool_calls(probed)) == {}
    assert _last(probe_json_replies(probed)) == {}
    assert not probed.endless


def test_a_ctrl_c_is_no_reply_that_came_too_late() -> None:
    def press(_: Request) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ProbedModel(ScriptedModel(press)).ask(make_request("Say yes.", 4))


# -------- tasks


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        (
            "right tool",
            TaskOutcome("Ostrowski did.", "answer", ["read_file"]),
            TaskOutcome("Ostrowski did.", "answer"),
        ),
        ("given text", TaskOutcome("In C17.", "answer"), TaskOutcome("In A4 or C17.", "answer")),
        (
            "rule of SOUL.md",
            TaskOutcome("To warn, captain.", "answer"),
            TaskOutcome("To warn.", "answer"),
        ),
        (
            "exact to-do",
            TaskOutcome(
                "ok", "answer", todos=f"- [ ] empty the rain barrel ^1\n- [ ] {WORDS} ^2\n"
            ),
            TaskOutcome(
                "ok", "answer", todos="- [ ] empty the rain barrel ^1\n- [ ] call him ^2\n"
            ),
        ),
        (
            "no false claim",
            TaskOutcome("No, I have not sent it, Captain.", "answer"),
            TaskOutcome("I have already sent it.", "answer"),
        ),
    ],
)
def test_a_task_tells_good_from_bad(name: str, good: TaskOutcome, bad: TaskOutcome) -> None:
    task = next(task for task in TASKS if task.name == name)
    assert task.check(good)
    assert not task.check(bad)


# -------- the table


def test_models_that_do_not_fit_beside_each_other_stand_below(tmp_path: Path) -> None:
    profiles = [Profile(f"ollama/model-{n}:7b", "ab", read_rate=10.0 * n) for n in range(1, 5)]
    for width, columns in ((80, 2), (140, 4), (40, 1)):
        text = blocks(profiles, width)
        assert max(map(len, text.splitlines())) <= max(width, 47)
        assert text.count("\n\n") == 4 // columns - 1
        assert all(profile.model in text for profile in profiles)


def test_what_a_model_is_called_cannot_give_the_terminal_orders() -> None:
    text = blocks([Profile("ollama/\x1b[2Jbad", "ab", tasks={"right tool": True})], 80)
    assert "\x1b" not in text
    assert "done" in text
