"""The loop with native tool calls: a scripted model, the real tools, a home of its own."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from openclaw.agent.loop import EMPTY, Loop, is_stuck
from openclaw.agent.protocols.base import RunningTurn
from openclaw.agent.protocols.native import Native
from openclaw.errors import OpenclawError, PromptTooLarge
from openclaw.events import (
    Event,
    NewResponse,
    Notice,
    Progress,
    ReceiptMade,
    Thought,
    Token,
    ToolEnd,
    ToolStart,
)
from openclaw.messages import Entry, Usage, Waiting
from openclaw.models.base import Chunk, Reply, Request, Text
from openclaw.receipt import Receipt
from openclaw.security.policy import Policy
from openclaw.tools.tool import tool
from openclaw.tools.toolbox import Toolbox
from openclaw.types import Effect, TurnChanges
from tests.data.sample import sample
from tests.fakes.scripted import CARD, Line, ScriptedModel
from tests.fakes.talk import Talk, call, calls, done, notices, results, shown, talk

READ = call("read_file", path="workspace/SOUL.md")
WRITE = call("write_file", path="workspace/new.md", content="hello\n")


def as_it_is(turn: RunningTurn, request: Request) -> Generator[Event, None, Request]:
    """A request of the turn alone."""
    said = [message for entry in turn.entries for message in Native().to_messages(entry)]
    yield from ()
    return replace(request, messages=tuple(said))


# -------- answers and calls


def test_a_plain_answer_is_one_model_call(it: Talk) -> None:
    happened = it.say("Say hello.", "Hello there.")
    assert len(it.requests) == 1
    assert shown(happened) == done(happened).answer == "Hello there."
    assert done(happened).stop_reason == "answer"
    assert done(happened).usage.calls == 1


def test_a_call_is_run_and_its_result_goes_back(it: Talk) -> None:
    happened = it.say("Who are you?", READ, "I am Claw.")
    names = [type(event) for event in happened]
    assert names.index(ToolStart) < names.index(ToolEnd) < names.index(NewResponse)
    assert "You are Claw" in results(happened)[0]
    *_, asked, result = it.requests[1].messages
    assert asked.tool_calls[0].name == "read_file"
    assert (result.role, result.tool_name) == ("tool", "read_file")
    assert "You are Claw" in result.content
    assert done(happened).answer == "I am Claw." and done(happened).usage.calls == 2


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "read_file", "arguments": {"path": "workspace/SOUL.md"}}',
        '```json\n{"name": "read_file", "arguments": {"path": "workspace/SOUL.md"}}\n```',
        '<tool_call>{"name": "read_file", "arguments": {"path": "workspace/SOUL.md"}}</tool_call>',
    ],
)
def test_a_call_printed_as_text_is_run_and_not_shown(text: str, it: Talk) -> None:
    happened = it.say("Who are you?", text, "I am Claw.")
    assert "You are Claw" in results(happened)[0]
    assert shown(happened) == "I am Claw."


def test_a_call_after_some_words_is_run_and_only_the_words_are_shown(it: Talk) -> None:
    text = 'I look. {"name": "read_file", "arguments": {"path": "workspace/SOUL.md"}}'
    happened = it.say("Who are you?", text, "I am Claw.")
    before = happened[: [type(e) for e in happened].index(NewResponse)]
    assert "You are Claw" in results(happened)[0]
    assert shown(before).strip() == "I look."
    assert "{" not in shown(happened) and done(happened).answer == "I am Claw."


@pytest.mark.parametrize(
    "text",
    [
        'Put this into it:\n\n```json\n{"port": 8080}\n```\n\nThen start it.',
        "So:\n\n```python\nprint({1: 2})\n```\nIt prints a dict.",
        "```\nmake check\n```",
        'An empty one is {"a": []}, with braces.',
        "[1] The first note says <b>so</b>.",
    ],
)
def test_code_in_an_answer_arrives_whole(text: str, it: Talk) -> None:
    happened = it.say("What goes into it?", text)
    assert shown(happened) == done(happened).answer == text
    assert it.stored["messages"][-1]["content"] == text and len(it.requests) == 1


def test_several_calls_of_one_reply_are_all_run(it: Talk) -> None:
    both = calls(("list_files", {}), ("todo", {"action": "list"}), text="I look.")
    happened = it.say("What is there?", both, "Files and to-dos.")
    assert len(results(happened)) == 2 and len(it.requests) == 2
    assert len({use["id"] for use in it.stored["messages"][1]["tool_calls"]}) == 2


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (call("open_file", path="a.md"), "read_file"),
        (call("read_file", from_line=3), "path"),
        (call("read_file", path="workspace/SUOL.md"), "SOUL.md"),
        (call("todo", action="finish"), "done"),
        (call("read_skill", name="garden"), "plan-day"),
        (call("read_file", path="../../etc/passwd"), "outside"),
    ],
)
def test_a_wrong_call_is_answered_with_what_is_valid(wrong: Line, told: str, it: Talk) -> None:
    happened = it.say("Read it.", wrong, "I could not.")
    assert told in results(happened)[0]
    assert not next(e for e in happened if isinstance(e, ToolEnd)).ok
    assert it.requests[1].messages[-1].content == results(happened)[0]
    assert done(happened).stop_reason == "answer"


def test_an_error_that_only_the_user_can_fix_is_raised_after_the_finished_calls() -> None:
    def good() -> str:
        """Work."""
        return "worked"

    def full() -> str:
        """Fail."""
        raise OpenclawError("the disk is full")

    box = Toolbox([tool(good), tool(full)], Policy("full"), TurnChanges())
    model = ScriptedModel(calls(("good", {}), ("full", {})))
    loop = Loop(model, Native(), box, as_it_is, Receipt)
    happened: list[object] = []
    run = loop.run(RunningTurn(Entry("user", "Do it.")))
    with pytest.raises(OpenclawError, match="full"):
        while True:
            happened.append(next(run))
    entry = next(e for e in reversed(happened) if isinstance(e, Entry))
    assert [(use.tool, use.output) for use in entry.tool_calls] == [("good", "worked")]


# -------- no end in sight


def test_the_same_call_for_ever_ends_with_what_is_known(it: Talk) -> None:
    happened = it.say("Who are you?", *[READ] * 5)
    assert done(happened).stop_reason == "repeated"
    assert len(it.requests) <= 5
    assert "You are Claw" in done(happened).answer
    assert it.stored["messages"][-1]["content"] == done(happened).answer
    assert "same call" in notices(happened)


def test_only_the_step_that_repeats_a_call_is_told_of_it(it: Talk) -> None:
    happened = it.say("Who are you?", READ, READ, call("read_file", path="USER.md"), "Claw.")
    assert notices(happened).count("same call") == 1


def test_a_repeated_call_is_not_run_again_and_says_so(it: Talk) -> None:
    write = call("append_file", path="workspace/log.md", text="one line")
    happened = it.say("Log it.", write, write, "It is logged.")
    assert (it.root / "workspace" / "log.md").read_text("utf-8") == "one line\n"
    assert results(happened)[0].splitlines()[0] in results(happened)[1]
    assert done(happened).stop_reason == "answer"


def test_reading_again_after_a_change_is_no_repetition(it: Talk) -> None:
    read = call("read_file", path="workspace/new.md")
    edit = call("edit_file", path="workspace/new.md", find="hello", replace="bye")
    happened = it.say("Write, read, change, read.", WRITE, read, edit, read, "It says bye.")
    assert "bye" in results(happened)[3] and "same call" not in notices(happened)


def test_a_write_that_was_refused_unread_succeeds_after_reading(it: Talk) -> None:
    write = call("write_file", path="workspace/SOUL2.md", content="new\n")
    read = call("read_file", path="workspace/SOUL2.md")
    (it.root / "workspace" / "SOUL2.md").write_text("old\n", "utf-8")
    happened = it.say("Replace SOUL2.md.", write, read, write, "I have replaced it.")
    refused, _, replaced = results(happened)
    assert "was not read" in refused and replaced.startswith("Replaced workspace/SOUL2.md")
    assert (it.root / "workspace" / "SOUL2.md").read_text("utf-8") == "new\n"
    assert "same call" not in notices(happened) and done(happened).unbacked == ()


@pytest.mark.parametrize(
    ("effect", "ran"), [("run", 2), ("get", 2), ("read", 2), ("send", 1), ("write-elsewhere", 1)]
)
def test_a_command_may_be_run_again_once_something_was_changed_and_nothing_is_sent_twice(
    effect: Effect, ran: int
) -> None:
    made: list[str] = []

    def test() -> str:
        """Test it."""
        made.append("tested")
        return f"{len(made)} failures"

    def mend() -> str:
        """Mend it."""
        return "mended"

    tools = [tool(test, effect=effect), tool(mend, effect="write")]
    twice = calls(("test", {}), ("test", {}))
    model = ScriptedModel(twice, calls(("mend", {}), ("test", {})), "There are 2.")
    box = Toolbox(tools, Policy("full"), TurnChanges())
    list(Loop(model, Native(), box, as_it_is, Receipt).run(RunningTurn(Entry("user", "Go on."))))
    assert len(made) == ran


def test_a_failed_call_is_not_run_again_while_nothing_else_succeeded(it: Talk) -> None:
    lost = call("read_file", path="workspace/zebra.md")
    happened = it.say("Read it.", lost, lost, "There is no such file.")
    assert results(happened)[1].startswith("Tried before in this turn")
    assert not [e for e in happened if isinstance(e, ToolEnd)][1].ok
    assert "same call" in notices(happened)


def test_the_cap_of_steps_gives_what_is_known_and_why_it_stopped(tmp_path: Path) -> None:
    it = talk(tmp_path / "home", max_steps=3)
    pages = [call("search_files", text=f"word{n}") for n in range(2)]
    happened = it.say("Search.", *pages, READ)
    assert done(happened).stop_reason == "steps"
    assert len(it.requests) == 3
    assert "3 steps" in done(happened).answer and "You are Claw" in done(happened).answer
    assert shown(happened).endswith(done(happened).answer)


def test_an_empty_reply_is_repeated_once_and_then_reported(it: Talk) -> None:
    happened = it.say("Say hello.", "", " \n")
    assert (done(happened).stop_reason, done(happened).answer) == ("empty", EMPTY)
    first, again = it.requests
    assert first.messages == again.messages
    assert again.temperature > first.temperature  # what came out empty would come out empty again


def test_a_reply_that_goes_in_circles_is_stopped_and_asked_for_again(it: Talk) -> None:
    happened = it.say("Tell me.", "Well: " + "the cat sat on the mat, " * 200, "It ends.")
    assert done(happened).answer == "It ends."
    assert "repeats itself" in notices(happened)
    assert len(shown(happened)) < 1000
    first, again = it.requests
    assert first.messages == again.messages and again.temperature > first.temperature


@pytest.mark.parametrize(
    "piece", ["\u8d2d\u7269\u6e05\u5355" * 5,
              "the cat sat on the mat, ", "- Buy milk on Monday\n", "x = compute(x, y) + 1; ",
              "A whole sentence that says one thing, and then says it all over again. " * 2]
)  # fmt: skip
def test_the_same_words_four_times_over_are_a_circle(piece: str) -> None:
    assert is_stuck("It begins. " + piece * 4)
    assert not is_stuck("It begins. " + piece * 2 + "And then it ends.")


def test_a_row_of_few_signs_that_does_not_end_is_a_circle() -> None:
    """A small model wrote the bars of a front matter to its last token."""
    assert is_stuck('{"content": "name: garden' + r"\n---" * 170)


ROWS = "".join(f"| item {n} | {n * 7} EUR | in stock | ships on day {n % 9} |\n" for n in range(80))


@pytest.mark.parametrize(
    "text",
    sample(
        [
            "# Title\n" + "-" * 400 + "\nText below a rule.",
            "| a | b |\n|" + "-" * 300 + "|" + "-" * 300 + "|\n",
            "ha" * 60,
            "| name | price | state | when |\n|---|---|---|---|\n" + ROWS,
            "\n".join(f"{n}. Step {n} of the way, which differs by its number." for n in range(90)),
            " ".join(f"Word{n * n} stands beside word{n}." for n in range(120)),
        ],
        4,
    ),
)
def test_long_texts_and_tables_are_no_circle(text: str, it: Talk) -> None:
    assert not is_stuck(text)
    happened = it.say("Tell me.", text)  # every beginning of it is looked at, too
    assert done(happened).answer == text.strip() and not notices(happened)


def test_an_empty_reply_that_is_followed_by_an_answer_is_forgotten(it: Talk) -> None:
    happened = it.say("Say hello.", "", "Hello.")
    assert (done(happened).stop_reason, done(happened).answer) == ("answer", "Hello.")
    assert [m["content"] for m in it.stored["messages"]] == ["Say hello.", "Hello."]


# -------- claims


def test_a_false_claim_gets_one_correction_and_is_then_marked(it: Talk) -> None:
    happened = it.say("Save a note.", "I have saved it.", "I have saved the note.")
    assert len(it.requests) == 2
    assert "I have saved it." in it.requests[1].messages[-1].content
    assert done(happened).unbacked == ("I have saved the note.",)
    made = next(event for event in happened if isinstance(event, ReceiptMade))
    assert made.unbacked == done(happened).unbacked and not made.receipt


def test_a_corrected_claim_is_done_or_taken_back(it: Talk) -> None:
    happened = it.say("Save a note.", "I have saved it.", WRITE, "I have saved it now.")
    assert done(happened).unbacked == ()
    assert done(happened).receipt.files[0].action == "created"
    happened = it.say("Save another.", "I have saved it.", "I could not save it.")
    assert done(happened).unbacked == ()


def test_a_promised_action_must_be_done_in_the_turn(it: Talk) -> None:
    happened = it.say("Would you mind saving a note?", "Sure, I'll save a note.", WRITE, "Saved.")
    assert "Sure, I'll save a note." in it.requests[1].messages[-1].content
    assert done(happened).unbacked == () and done(happened).receipt
    assert "I'll" not in shown(happened)
    happened = it.say("Could you save a note?", "Sure, I'll save it.", "I will save the note.")
    assert done(happened).unbacked == ("I will save the note.",)


def test_a_promise_for_a_later_day_need_not_be_done(it: Talk) -> None:
    happened = it.say("Check the oven on Friday.", "I'll check the oven on Friday.")
    assert len(it.requests) == 1 and done(happened).unbacked == ()


def test_a_true_claim_passes_at_once(it: Talk) -> None:
    happened = it.say("Write new.md.", WRITE, "I have written workspace/new.md.")
    assert len(it.requests) == 2 and done(happened).unbacked == ()
    assert shown(happened) == "I have written workspace/new.md."


def test_a_claim_is_not_shown_before_it_is_checked(it: Talk) -> None:
    happened = it.say("Save a note.", "Sure. I have saved it.", "Sorry, nothing was saved.")
    before = happened[: [type(e) for e in happened].index(NewResponse)]
    assert shown(before).strip() == "Sure."
    assert "I have" not in shown(happened)


def test_a_failed_write_backs_no_claim(it: Talk) -> None:
    fail = call("edit_file", path="workspace/SOUL.md", find="no such words", replace="x")
    happened = it.say("Edit it.", fail, "I have changed it.", "I have changed it.")
    assert done(happened).unbacked


# -------- what the server does


def test_an_answer_comes_in_pieces(it: Talk) -> None:
    happened = it.say("Tell me.", "The soup is hot and the bread is fresh.")
    assert len([event for event in happened if isinstance(event, Token)]) > 2


def test_thoughts_before_a_call_are_no_part_of_the_history(it: Talk) -> None:
    thinking = calls(("list_files", {}), text="<think>Which files?</think>I look.")
    it.say("What is here?", thinking, "Nothing.")
    [said] = [m for m in it.requests[1].messages if m.tool_calls]
    assert said.content == "I look."


def test_model_loading_is_a_progress_event_and_no_notice(tmp_path: Path) -> None:
    class Reading(ScriptedModel):
        def stream(self, request: Request) -> Iterator[Chunk]:
            yield Waiting("reading 900 tokens")
            yield Waiting("reading 900 tokens", 0.5)
            yield from super().stream(request)

    it = talk(tmp_path / "home")
    it.app.model = Reading("Hello.")
    happened = it.say("Good morning.")
    assert [e.share for e in happened if isinstance(e, Progress)] == [0.5]
    assert [e.text for e in happened if isinstance(e, Notice)].count("reading 900 tokens") == 1


def test_thoughts_and_waiting_are_separate_from_the_answer(tmp_path: Path) -> None:
    class Slow(ScriptedModel):
        def stream(self, request: Request) -> Iterator[Chunk]:
            yield Waiting("loading model")
            yield from super().stream(request)

    it = talk(tmp_path / "home")
    it.app.model = Slow(Reply("Hello.", thinking="They greet me."))
    happened = it.say("Hi.")
    assert "loading model" in notices(happened)
    thoughts = "".join(e.text for e in happened if isinstance(e, Thought))
    assert thoughts == "They greet me." and shown(happened) == "Hello."


class Interrupted(ScriptedModel):
    """Ctrl-C comes after the second piece of a text."""

    def stream(self, request: Request) -> Iterator[Chunk]:
        for number, chunk in enumerate(super().stream(request)):
            if number == 2 and isinstance(chunk, Text):
                raise KeyboardInterrupt
            yield chunk


def test_an_interrupt_keeps_text_and_finished_calls(tmp_path: Path) -> None:
    it = talk(tmp_path / "home")
    it.app.model = Interrupted(WRITE, "Once upon a time there was a cat in a castle.", card=CARD)
    happened = it.say("Write new.md and tell a story.")
    said = "Once upon a time there was a cat"
    assert (done(happened).stop_reason, done(happened).answer) == ("interrupted", said)
    assert done(happened).receipt.files[0].path == "workspace/new.md"
    loaded = it.app.sessions.load(it.session.id)
    assert [e.content for e in loaded.messages][-1] == said
    assert loaded.messages[1].tool_calls[0].tool == "write_file"


def test_an_interrupt_before_the_first_word_does_not_repeat_an_older_one(tmp_path: Path) -> None:
    class AtOnce(ScriptedModel):
        def stream(self, request: Request) -> Iterator[Chunk]:
            if len(self.requests):
                raise KeyboardInterrupt
            yield from super().stream(request)

    it = talk(tmp_path / "home")
    it.app.model = AtOnce(calls(("list_files", {}), text="Let me look. "))
    happened = it.say("What is there?")
    assert done(happened).answer == ""
    assert [m["content"] for m in it.stored["messages"]] == ["What is there?", "Let me look."]


def test_a_reply_at_its_limit_is_reported_as_cut(tmp_path: Path) -> None:
    it = talk(tmp_path / "home", max_tokens=7)
    happened = it.say("Tell me.", Reply("Once upon", stop_reason="length"))
    assert "cut at 7 tokens" in notices(happened)
    assert it.requests[0].max_tokens == 7


def test_a_server_that_read_far_less_than_was_sent_is_not_believed(it: Talk) -> None:
    with pytest.raises(PromptTooLarge, match=r"read only 40 of about \d+ tokens") as caught:
        it.say("Say hello.", Reply("Hello.", usage=Usage(prompt_tokens=40, calls=1)))
    assert "8192" in caught.value.hint
    assert it.stored["messages"][0]["content"] == "Say hello."


@pytest.mark.parametrize("counted", [0, 100_000])
def test_a_server_without_a_count_or_with_a_larger_one_is_believed(counted: int, it: Talk) -> None:
    reply = Reply("Hello.", usage=Usage(prompt_tokens=counted, calls=1))
    assert done(it.say("Say hello.", reply)).answer == "Hello."


def test_the_tools_and_no_schema_go_to_the_model(it: Talk) -> None:
    it.say("Say hello.", "Hello.")
    names = [spec["function"]["name"] for spec in it.requests[0].tools]
    assert {"read_file", "todo", "remember", "web_search"} <= set(names)
    assert it.requests[0].schema is None
    assert json.dumps([dict(spec) for spec in it.requests[0].tools])
