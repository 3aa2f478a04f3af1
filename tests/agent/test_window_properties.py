"""Requests for any history, window and files fit, and keep calls with their results.

The conversations are generated, the program is asked as a user would ask it, and each request that
the model was sent is judged by a count of its own.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from openclaw.errors import ModelFailed, PromptTooLarge
from openclaw.events import Compaction
from openclaw.messages import Material, Message, Usage
from openclaw.models.base import Chunk, ModelCard, Reply, Request
from openclaw.models.token_count import tokenizer
from tests.fakes.conversations import PROSE, Case, cases
from tests.fakes.scripted import Line, ScriptedModel
from tests.fakes.talk import Protocol, Talk, answer, call, talk

PROTOCOLS = get_args(Protocol)
SHARE = 0.75
MOST = 0.9  # of the newest exchange alone, and of a question of a compaction
TEMPLATE = 6  # tokens around a message
RULE = "- Never say the word ZIBELLINE."
RESULT = "Result of "
QUICK = settings(
    max_examples=max(5, settings().max_examples // 5),
    report_multiple_bugs=False,
    phases=(Phase.explicit, Phase.generate),  # making a case smaller takes minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


class Counting(ScriptedModel):
    """A model that says the script's lines, counts tokens as cl100k_base does, and gives poor
    summaries or none."""

    summarises = True

    def stream(self, request: Request) -> Iterator[Chunk]:
        usage = Usage(prompt_tokens=size_of(request), generated_tokens=9, calls=1)
        if is_step(request):
            *_, reply = super().stream(request)
            assert isinstance(reply, Reply)
            yield Reply(reply.text, reply.tool_calls, usage=usage)
            return
        self.requests.append(request)
        if not self.summarises:
            raise ModelFailed("the model has crashed")
        yield Reply('{"goal": "to talk", "facts": []}', usage=usage)


def is_step(request: Request) -> bool:
    """Return True for the request of a step, not of a summary."""
    if request.schema is not None:
        return '"kind"' in json.dumps(request.schema)
    return 'JSON object: "' not in request.messages[-1].content


def size_of(request: Request) -> int:
    """Count the tokens of a request."""
    count = tokenizer()
    calls = (c for message in request.messages for c in message.tool_calls)
    tools = [json.dumps(dict(spec), separators=(",", ":")) for spec in request.tools]
    called = [f"{c.name}{json.dumps(dict(c.arguments), ensure_ascii=False)}" for c in calls]
    said = [message.content for message in request.messages]
    return sum(map(count, (*said, *called, *tools))) + TEMPLATE * len(request.messages)


# -------- what is judged


@dataclass
class Told:
    """The requests of the turns of a case, and how the turns ended."""

    it: Talk
    words: tuple[str, str]
    turns: list[list[Request]]
    cut: list[bool]
    failure: PromptTooLarge | None

    @property
    def all(self) -> list[Request]:
        return [request for turn in self.turns for request in turn]


def played(case: Case, protocol: Protocol, folder: Path) -> Told:
    """Run two turns after the history, the first with calls."""
    card = ModelCard("scripted/model", case.window, True, parameters=1.5)
    it = talk(folder / "home", protocol=protocol, card=card)
    model = Counting(card=card)
    it.app.model = it.model = model
    model.summarises = case.summarises
    furnish(it.root, case)
    it.session.messages[:] = case.history
    it.app.sessions.save(it.session)
    told = Told(it, case.words, [], [], None)
    reads: list[Line] = [
        call("read_file", protocol, path=f"workspace/file{n}.md") for n in range(case.reads)
    ]
    given_along = [Material("notes", case.material)] if case.material else []
    with suppress(PromptTooLarge):
        _turn(told, told.words[0], [*reads, answer("Of the pump.", protocol)], given_along)
        _turn(told, told.words[1], [answer("Of the weather.", protocol)], [])
    return told


def _turn(told: Told, words: str, lines: Sequence[Line], material: Sequence[Material]) -> None:
    model, start, cuts = told.it.model, len(told.it.requests), _cuts(told.it)
    model.script.clear()
    model.say(*lines)
    compacted = False
    try:
        for event in told.it.app.ask(words, told.it.session, material):
            compacted |= isinstance(event, Compaction)
    except PromptTooLarge as error:
        told.failure = error
        raise
    finally:
        told.turns.append(told.it.requests[start:])
        told.cut.append(compacted or _cuts(told.it) != cuts)


def _cuts(it: Talk) -> object:
    """Return the parts of a session that change when older messages are cut."""
    extra = it.session.extra
    return extra.get("shortened"), extra.get("history_from"), len(extra.get("archived") or ())


def furnish(root: Path, case: Case) -> None:
    soul = f"# Soul\n\nYou are Claw.\n{RULE}\n" + "- One more rule.\n" * (case.soul // 17)
    (root / "workspace" / "SOUL.md").write_text(soul, "utf-8")
    memory = "# Memory\n\n" + "- The user owns a pump.\n" * (case.memory // 24)
    (root / "memory" / "MEMORY.md").write_text(memory, "utf-8")
    for number in range(3):
        text = PROSE.replace(". ", ".\n") * (case.file // len(PROSE) + 1)
        (root / "workspace" / f"file{number}.md").write_text(f"{number}\n{text}", "utf-8")


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_request_of_any_conversation_fits_and_keeps_calls_with_their_results(
    protocol: Protocol,
) -> None:
    seen = {"refused": 0, "cut": 0, "repeated": 0}

    @QUICK
    @given(cases())
    def check(case: Case) -> None:
        with tempfile.TemporaryDirectory() as folder:
            told = played(case, protocol, Path(folder))
        each_fits_or_the_refusal_says_why(told, case.window)
        for request in told.all:
            calls_and_results_stay_together(request.messages)
        head_and_newest_message_are_whole(told)
        seen["repeated"] += what_was_not_cut_is_repeated(told)
        seen["refused"] += told.failure is not None
        seen["cut"] += any(told.cut)

    check()
    assert min(seen["cut"], seen["repeated"]) >= 2, seen  # else the cases do not show anything


def each_fits_or_the_refusal_says_why(told: Told, window: int) -> None:
    """Check that requests stay within their share of the window. Only a lone newest exchange may
    take more, and leaves space for the reply."""
    for words, turn in zip(told.words, told.turns, strict=False):
        for request in turn:
            alone = request.messages[1].content.endswith(words)
            share = SHARE if is_step(request) and not alone else MOST
            assert size_of(request) <= share * window
            assert size_of(request) + request.max_tokens <= window or share == SHARE
    if told.failure:
        words = f"{told.failure} {told.failure.hint}"
        assert len(re.findall(r"\d[\d,]*", str(told.failure))) >= 2
        assert str(window) in words.replace(",", "")
        assert re.search(r"\w\.md\b|message|material", words)


def calls_and_results_stay_together(messages: Sequence[Message]) -> None:
    """Check that each call has its result after it, each result its call before it, and that a
    message of the user, no result, follows the head."""
    waiting: list[str] = []
    for before, message in pairwise(messages):
        waiting = [c.id for c in before.tool_calls] or waiting
        if waiting:
            assert (message.role, message.tool_call_id) == ("tool", waiting.pop(0))
        else:
            assert message.role != "tool"
        assert not message.content.startswith(RESULT) or before.role == "assistant"
    assert not waiting and not messages[-1].tool_calls
    assert messages[1].role == "user" and not messages[1].content.startswith(RESULT)


def head_and_newest_message_are_whole(told: Told) -> None:
    """Check that one message ends with the words of the turn, and that the head has the rule.
    Only a cut may change the head, to add edits of the files."""
    for words, turn in zip(told.words, told.turns, strict=False):
        for request in filter(is_step, turn):
            said = [m.content for m in request.messages if m.role == "user"]
            assert sum(text == words or text.endswith(f"\n{words}") for text in said) == 1
    heads = [request.messages[0] for request in told.all]
    assert all(m.role == "system" and RULE in m.content and "# Tools" in m.content for m in heads)
    assert len({head.content for head in heads}) <= 1 + sum(told.cut)


def what_was_not_cut_is_repeated(told: Told) -> bool:
    """Check that in turns without a cut each request begins with the one before it, byte for byte.
    Return True when neither turn was cut."""
    for turn, cut in zip(told.turns, told.cut, strict=True):
        if not cut:
            _grows([request.messages for request in turn])
    if told.failure or told.cut[1]:
        return False
    _grows([told.turns[0][-1].messages, told.turns[1][0].messages])
    return True


def _grows(requests: Sequence[Sequence[Message]]) -> None:
    for before, after in pairwise(requests):
        assert list(after[: len(before)]) == list(before)
