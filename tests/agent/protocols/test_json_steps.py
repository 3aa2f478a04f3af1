"""The loop with JSON steps: the schema of each step, the return of results, the ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openclaw.agent.loop import DECLINED
from openclaw.agent.protocols.step_schema import PROGRAMS
from openclaw.events import NewResponse, Thought, ToolEnd
from openclaw.models.base import Chunk, Request, Text
from openclaw.security.policy import Declined
from tests.fakes.scripted import Line, ScriptedModel
from tests.fakes.talk import Talk, done, notices, results, shown, talk
from tests.fakes.talk import answer as native_answer
from tests.fakes.talk import call as native_call

WRITING = {"write_file", "edit_file", "append_file", "remember"}


def call(tool: str, kind: str = "look", **arguments: Any) -> Line:
    return native_call(tool, "json", kind, **arguments)


def answer(text: str) -> Line:
    return native_answer(text, "json")


MORE = '{"kind": "more"}'
READ = call("read_file", path="workspace/SOUL.md")
WRITE = call("write_file", "change", path="workspace/new.md", content="hello\n")


@pytest.fixture
def it(tmp_path: Path) -> Talk:
    return talk(tmp_path / "home", protocol="json")


def options(request: Request) -> list[dict[str, Any]]:
    """Return the steps that a request's schema allows, each as its properties; none without one."""
    return [step["properties"] for step in (request.schema or {"anyOf": []})["anyOf"]]


def tools(request: Request) -> set[str]:
    return {step["tool"]["const"] for step in options(request) if "tool" in step}


# -------- steps


def test_a_native_call_without_text_is_a_step(it: Talk) -> None:
    read = native_call("read_file", path="workspace/SOUL.md")
    happened = it.say("What is in SOUL.md?", read, answer("A soul."))
    assert "workspace/SOUL.md, lines" in results(happened)[0]
    assert notices(happened) == ""
    assert done(happened).answer == "A soul."
    sent = it.requests[1].messages[-2]
    assert sent.role == "assistant"
    assert json.loads(sent.content) == {"tool": "read_file", "path": "workspace/SOUL.md"}


def test_the_answer_streams_while_its_step_is_still_being_made(it: Talk) -> None:
    happened = it.say("Tell me.", answer("The soup is hot and the bread is fresh."))
    assert len([e for e in happened if type(e).__name__ == "Token"]) > 2


def test_a_call_is_run_and_its_result_goes_back_with_the_question(it: Talk) -> None:
    happened = it.say("What is your name?", READ, answer("I am Claw."))
    assert "You are Claw" in results(happened)[0]
    *_, step, last = it.requests[1].messages
    assert (step.role, step.content) == ("assistant", READ)  # as generated, for the cache
    assert last.role == "user"
    assert "You are Claw" in last.content and "What is your name?" in last.content
    assert done(happened).answer == "I am Claw."
    assert shown(happened) == "I am Claw."


def test_after_looking_the_model_may_ask_for_more(it: Talk) -> None:
    more = call("read_file", path="workspace/AGENTS.md")
    happened = it.say("How do you work?", READ, MORE, more, answer("By the house rules."))
    assert len(results(happened)) == 2
    assert done(happened).answer == "By the house rules."
    assert shown(happened) == "By the house rules."


def test_the_older_four_keys_are_understood(it: Talk) -> None:
    old = json.dumps({"thought": "I look.", "action": "read_file", "action_input": "SOUL.md",
                      "answer": ""})  # fmt: skip
    happened = it.say("What is your name?", old, answer("I am Claw."))
    assert "You are Claw" in results(happened)[0]
    assert "I look." in [e.text for e in happened if isinstance(e, Thought)]


def test_plain_words_where_a_step_was_asked_for_are_the_answer(it: Talk) -> None:
    happened = it.say("Say hello.", "Hello, without any JSON.")
    assert done(happened).answer == "Hello, without any JSON."
    assert len(it.requests) == 1


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (call("open_file", path="a.md"), "read_file"),
        (call("read_file", from_line=3), "path"),
        (call("todo", "change", action="finish"), "done"),
        (call("read_file", path="../../etc/passwd"), "outside"),
    ],
)
def test_a_wrong_call_is_answered_with_what_is_valid(wrong: Line, told: str, it: Talk) -> None:
    happened = it.say("Do it for me.", wrong, answer("I could not."))
    assert told in results(happened)[0]
    assert not next(e for e in happened if isinstance(e, ToolEnd)).ok
    assert results(happened)[0] in it.requests[1].messages[-1].content
    # Another step may follow a failure, but not a try to leave the home.
    assert bool(tools(it.requests[1])) == (told != "outside")


# -------- what the schema leaves


def test_only_who_may_want_a_program_gets_one(it: Talk) -> None:
    it.app.ask_user = lambda question: ""
    it.say("run the tests", answer("I may not."))
    it.say("call dr mertens about the crown, dont let me forget", answer("Noted."))
    assert [tools(request) >= PROGRAMS for request in it.requests] == [True, False]


@pytest.mark.parametrize(
    ("order", "lists"),
    [
        ("call dr mertens about the crown, dont let me forget", ["Tasks"]),
        ("put lasagne sheets on shopping", ["Shopping"]),
        ("Begin a packing list with tent and stove", None),
        ("Leg bitte eine Packliste mit Zelt und Kocher an", None),
    ],
)
def test_a_to_do_goes_into_the_list_that_is_named_or_into_tasks(
    order: str, lists: list[str] | None, it: Talk
) -> None:
    (it.root / "memory" / "TODO.md").write_text("## Shopping\n\n- [ ] milk\n", "utf-8")
    it.say(order, answer("Which one?"))
    adds = ({"const": "add"}, {"enum": ["add"]})
    adding = [step for step in options(it.requests[0]) if step.get("action") in adds]
    assert adding and all(step["list"].get("enum") == lists for step in adding)


def test_a_step_is_either_a_call_or_an_answer(it: Talk) -> None:
    it.say("Good morning!", answer("Good morning."))
    for step in options(it.requests[0]):
        assert ("tool" in step) != ("answer" in step)
        assert "kind" in step
    assert it.requests[0].tools == ()


def test_read_only_mode_offers_nothing_that_would_be_refused(tmp_path: Path) -> None:
    it = talk(tmp_path / "home", protocol="json", mode="read-only")
    it.say("Write a poem into poem.md", answer("I may not write here."))
    assert not tools(it.requests[0]) & (WRITING | {"web_search"})


# -------- ends


def test_a_no_of_the_user_ends_the_turn_and_asks_what_else_to_do(it: Talk) -> None:
    it.app.mode, it.app.ask_user = "ask", lambda question: ""
    happened = it.say("Log it.", WRITE)
    end = done(happened)
    assert (end.stop_reason, len(results(happened))) == ("declined", 1)
    assert end.answer == shown(happened) == DECLINED.format(tool="write_file")
    assert it.stored["messages"][-1]["content"] == end.answer
    assert end.refused and not (it.root / "workspace" / "new.md").exists()


def test_words_of_the_user_instead_of_a_yes_go_to_the_model(it: Talk) -> None:
    def ask(question: object) -> str:
        raise Declined("call it log.md")

    it.app.mode, it.app.ask_user = "ask", ask
    happened = it.say("Log it.", WRITE, answer("Shall I?"))
    assert "call it log.md" in results(happened)[0] and done(happened).answer == "Shall I?"


def test_after_a_repeated_call_only_an_answer_is_asked_for(it: Talk) -> None:
    happened = it.say("What is your name?", READ, READ, answer("I am Claw."))
    assert not tools(it.requests[2]) and it.requests[2].tools == ()
    assert "What is your name?" in it.requests[2].messages[-1].content
    assert done(happened).answer == "I am Claw."
    assert "same call" in notices(happened)


def test_a_claim_is_corrected_by_doing_it(it: Talk) -> None:
    happened = it.say(
        "Save a note.", answer("I have saved it."), WRITE, answer("I have saved it now.")
    )
    assert done(happened).unbacked == () and done(happened).receipt
    before = happened[: [type(e) for e in happened].index(NewResponse)]
    assert shown(before) == ""
    assert "write_file" in tools(it.requests[1])


def test_an_interrupt_keeps_the_part_of_the_answer(tmp_path: Path) -> None:
    class Interrupted(ScriptedModel):
        def stream(self, request: Request) -> Iterator[Chunk]:
            for number, chunk in enumerate(super().stream(request)):
                if number == 3 and isinstance(chunk, Text):
                    raise KeyboardInterrupt
                yield chunk

    it = talk(tmp_path / "home", protocol="json")
    it.app.model = Interrupted(answer("Once upon a time there was a cat."))
    happened = it.say("Tell a story.")
    said = done(happened).answer
    assert done(happened).stop_reason == "interrupted"
    assert said and "Once upon a time there was a cat.".startswith(said)
    assert it.app.sessions.load(it.session.id).messages[-1].content == said


# -------- several requests in one


TODO = "# To-dos\n\n## Shopping\n\n- [ ] Bread ^aaaaaaa1\n"
BOTH = "Bread is done but we need butter now."


def test_several_requests_are_done_one_after_the_other(it: Talk) -> None:
    (it.root / "memory" / "TODO.md").write_text(TODO, "utf-8")
    happened = it.say(
        BOTH,
        call("todo", "change", action="done", item="Bread"),
        call("todo", "change", action="add", list="Shopping", items=["butter"]),
        answer("Bread is done, butter is on the list."),
    )
    first, second, last = it.requests
    assert [step["action"]["enum"] for step in options(first)] == [["done"]]
    assert "The user also wants: we need butter now." in second.messages[-1].content
    assert tools(second) == {"todo"}
    assert {str(step["action"]) for step in options(second)} == {"{'enum': ['add']}"}
    assert "Marked done: Bread." in last.messages[-1].content
    assert "Added to Shopping: butter." in last.messages[-1].content
    assert [step["kind"]["const"] for step in options(last)] == ["answer"]
    assert done(happened).answer == "Bread is done, butter is on the list."


def test_to_dos_that_are_named_whole_are_ticked_one_after_the_other(it: Talk) -> None:
    (it.root / "memory" / "TODO.md").write_text(f"{TODO}- [ ] Tea ^aaaaaaa2\n- [ ] Oil\n", "utf-8")
    it.say(
        "got the bread and the tea",
        call("todo", "change", action="done", item="Bread"),
        call("todo", "change", action="done", item="Tea"),
        answer("Bread and tea are done."),
    )
    items = [[step["item"]["enum"] for step in options(request)] for request in it.requests[:2]]
    assert items == [[["Bread"]], [["Tea"]]]
    assert "Marked done: Tea." in it.requests[2].messages[-1].content


def test_the_questions_among_them_are_answered_at_the_end(it: Talk) -> None:
    it.say(
        "When is the dentist, and put floss on the shopping list.",
        call("todo", "change", action="add", list="Shopping", items=["floss"]),
        answer("Floss is on the list; no file says when the dentist is."),
    )
    first, last = it.requests
    assert "Do this first: put floss on the shopping list." in first.messages[-1].content
    assert "When is the dentist" in last.messages[-1].content


def test_a_write_that_failed_is_not_offered_again(it: Talk) -> None:
    write = call("write_file", "change", path="workspace/USER.md", content="x")
    it.say("Write x to workspace/USER.md", write, answer("It was not written."))
    assert "write_file" in tools(it.requests[0])
    assert "write_file" not in tools(it.requests[1])


def test_to_dos_are_not_edited_as_a_file_once_that_failed(it: Talk) -> None:
    (it.root / "memory" / "TODO.md").write_text(TODO, "utf-8")
    write = call("write_file", "change", path="memory/TODO.md", content="- soap")
    happened = it.say("hm, soap", write, answer("Nothing was done."))
    assert "is changed by the tool todo" in results(happened)[0]
    assert tools(it.requests[1]) & WRITING == {"remember"}


def test_a_line_goes_out_of_a_file_whole(it: Talk) -> None:
    path = it.root / "workspace" / "week.md"
    path.write_text("# Week\n\n- Monday: yoga\n- Tuesday: choir\n", "utf-8")
    it.say(
        "The yoga line in week.md can go.",
        call("read_file", "change", path="workspace/week.md"),
        call("edit_file", "change", path="workspace/week.md", find="- Monday: yoga", replace=""),
        answer("The line about yoga is gone."),
    )
    (edit,) = (step for step in options(it.requests[1]) if "find" in step)
    assert edit["find"]["enum"] == ["- Monday: yoga"]
    assert path.read_text("utf-8") == "# Week\n\n- Tuesday: choir\n"
