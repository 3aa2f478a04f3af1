"""What a request may hold is judged by the server's own count where it has given one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from openclaw.agent.protocols.native import choose_protocol
from openclaw.agent.request import RequestBuilder
from openclaw.agent.turn import start_provenance
from openclaw.messages import Entry, Prompt
from tests.fakes.scripted import CARD, ScriptedModel
from tests.fakes.talk import Talk, talk

PROSE = "The pump on the second floor was asked for its state and said nothing. " * 400
"""A text whose bytes do not show whether it fits: a token may have two of them, or eight."""


@pytest.fixture
def it(tmp_path: Path) -> Talk:
    it = talk(tmp_path / "home", card=replace(CARD, window=16_384))
    it.say(PROSE, "So it is.")
    return it


def builder(it: Talk) -> RequestBuilder:
    protocol = choose_protocol("native", it.app.model.card)
    return RequestBuilder.make(
        it.app,
        it.session,
        protocol,
        it.app.turn_skills("more"),
        start_provenance(it.app, Prompt("more"), it.session),
    )


def is_counted(it: Talk) -> bool:
    """Return True when the tokens of the next request had to be counted."""
    made = builder(it)
    return bool(made.plan([*it.session.messages, Entry("user", "more")])[0].tokens)


def test_a_conversation_that_the_server_has_counted_is_not_counted_again(it: Talk) -> None:
    assert not is_counted(it)


def test_a_count_that_is_small_for_the_text_proves_nothing(it: Talk) -> None:
    last = it.session.messages[-1]
    assert last.usage
    it.session.messages[-1] = replace(last, usage=replace(last.usage, prompt_tokens=30))
    assert is_counted(it)


def test_the_count_of_another_model_proves_nothing(it: Talk) -> None:
    it.app.model = ScriptedModel(card=replace(it.app.model.card, name="other:7b"))
    assert is_counted(it)


def test_what_has_come_since_is_added_to_the_count(it: Talk) -> None:
    made = builder(it)
    entries = [*it.session.messages, Entry("user", PROSE)]
    assert made.plan(entries)[0].tokens
