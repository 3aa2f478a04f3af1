"""benchmarks/long.py: a short run of it holds what the long one aims at, and its judges judge."""

from __future__ import annotations

import re
from typing import Any

import pytest

from benchmarks.long import main
from benchmarks.long_find import holds
from benchmarks.long_measure import same_prefix
from benchmarks.long_plan import Needle, Turn, make_plan, words_of
from benchmarks.long_server import VAGUE, LongServer, instance, kind_of, tokens_in

TURNS = 20
NEEDLE = Needle(1, "user", "9f3ac1e", ("commit",), "Which is the last good commit?")


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [(), ("--native",)])
def test_a_short_run_fits_the_window_and_keeps_rules_and_facts(protocol: tuple[str, ...]) -> None:
    told: list[str] = []
    words = ("--turns", str(TURNS), "--windows", "4096", *protocol)
    (outcome,) = main(words, lambda line: told.append(str(line)))
    table = dict(re.findall(r"^\| (.+?) \| (.+?) \|$", "\n".join(told), re.M))
    assert outcome.talked.errors == []
    assert table["requests over the window (aim 0)"] == "0"
    assert len(outcome.talked.compactions) >= 1
    for name in ("rule of SOUL.md", "rule of AGENTS.md", "persona", "newest message whole"):
        assert table[f"{name} in every request (aim 100 %)"] == "100 %"
    assert len(outcome.found) >= 15
    lost = [each.needle for each in outcome.found if not each.places]
    # In this window a page of a file is short: what stands further down was never shown.
    assert [needle.value for needle in lost if needle.by != "tool"] == []


def test_the_plan_is_the_same_each_time_and_mixes_as_people_do() -> None:
    plan = make_plan(300)
    assert plan == make_plan(300)
    said, answered = words_of(plan.turns)
    assert min(said) < 8 and 100 < max(said) <= 130 and max(answered) <= 160
    assert 80 <= sum(bool(turn.calls) for turn in plan.turns) <= 120
    by = [needle.by for needle in plan.needles]
    assert (by.count("user"), by.count("assistant"), by.count("tool")) == (30, 5, 5)
    sizes = sorted(map(len, plan.files.values()))
    assert sizes[-1] > 40_000


def test_each_fact_is_said_in_the_turn_that_it_names() -> None:
    plan = make_plan(300)
    for needle in plan.needles:
        turn = plan.turns[needle.turn - 1]
        told = {"user": turn.words, "assistant": f"{turn.words} {turn.answer}"}.get(
            needle.by, "\n".join(plan.files.values())
        )
        assert holds(told, needle), needle


def test_a_value_counts_only_beside_its_subject() -> None:
    assert holds("the last good commit was 9f3ac1e, everything", NEEDLE)
    assert holds(f"9f3ac1e {'x' * 150} the Commit", NEEDLE)
    assert not holds(f"9f3ac1e {'x' * 250} the commit", NEEDLE)
    assert not holds("9f3ac1e", NEEDLE) and not holds("the commit", NEEDLE)


def test_the_prefix_ends_where_the_requests_differ() -> None:
    head, one, other = "You are Moss. " * 20, "It is nine o'clock.", "It is ten o'clock."
    assert same_prefix([head, one], [head, one, other]) == tokens_in(head) + tokens_in(one)
    assert tokens_in(head) < same_prefix([head, one], [head, other]) < tokens_in(head + one)
    assert same_prefix([one, head], [other, head]) < tokens_in(one)


def test_a_step_is_told_from_a_question_of_a_compaction() -> None:
    step = {"anyOf": [{"properties": {"kind": {"const": "answer"}}}]}
    summary = {"type": "object", "properties": {"goal": {"type": "string"}}}
    said = [{"role": "user", "content": "Hello."}]
    asked = [{"role": "user", "content": 'Reply with one JSON object: "facts": a list.'}]
    tools = [{"type": "function", "function": {"name": "todo"}}]
    assert kind_of({"messages": said, "format": step}) == "step"
    assert kind_of({"messages": said, "tools": tools}) == "step"
    assert kind_of({"messages": said, "format": summary}) == "aside"
    assert kind_of({"messages": asked, "tools": tools}) == "aside"
    assert kind_of({"messages": said, "format": step, "options": {"num_predict": 1}}) == "warm"


def test_a_poor_summary_has_the_form_that_was_asked_for() -> None:
    line = {"type": "string", "maxLength": 10}
    properties: dict[str, Any] = {"goal": line, "done": {"type": "array", "items": line}}
    schema = {"type": "object", "properties": properties, "required": ["goal", "done"]}
    assert instance(schema, VAGUE) == {"goal": VAGUE[:10], "done": []}


def test_every_fifth_compaction_fails_as_a_whole() -> None:
    ask, tools = 'one JSON object: "goal": what', [{"function": {"name": "todo"}}]
    body = {"messages": [{"role": "user", "content": ask}]}
    step = {"messages": [{"role": "user", "content": "Hi."}], "tools": tools}
    statuses = []
    with LongServer() as server:
        for _ in range(6):
            server.play(make_plan(1).turns[0])
            statuses.append([server.next_answer(body).status for _ in range(2)])
            server.next_answer(step)
    assert statuses == [[200, 200]] * 4 + [[500, 500], [200, 200]]


def test_a_planned_call_waits_while_the_schema_demands_another() -> None:
    def step(*shapes: dict[str, Any]) -> str:
        schema = {"anyOf": [{"type": "object", "properties": shape} for shape in shapes]}
        body = {"messages": [{"role": "user", "content": "Where?"}], "format": schema}
        return str(server.next_answer(body).text)

    look = {"kind": {"const": "look"}}
    read = look | {"tool": {"const": "read_file"}}
    search = look | {"tool": {"const": "search_sessions"}, "words": {"type": "string"}}
    with LongServer() as server:
        plan = Turn(1, "Where is it?", (("search_sessions", {"words": "it"}),), "There.")
        server.play(plan)
        assert "read_file" in step(read)
        assert "search_sessions" in step(search, {"kind": {"const": "answer"}, "answer": {}})
        server.play(plan)
        assert "There." in step(read, {"kind": {"const": "answer"}, "answer": {}})
        assert server.skipped == ["search_sessions"]
