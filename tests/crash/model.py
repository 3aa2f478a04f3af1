"""The model of the harness: it does what the prompt says, whoever was killed before.

A prompt ends in `steps: [["write_file", {...}], ...]`. The n-th reply to it is the n-th call, then
comes an answer. Nothing is remembered from request to request, so that a dead process leaves no
trace here. A request behind the conversation (for a summary) is answered with an outline.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.fakes.ollama_server import Answer, FakeOllama, last_words

MARK = "steps: "
ANSWER = "Understood."
OUTLINE = {"goal": "to see what lasts", "done": [], "decisions": [], "open": [], "identifiers": []}
Step = tuple[str, Mapping[str, Any]]


def prompt(words: str, steps: Sequence[Step] = ()) -> str:
    """A prompt that tells the model what to do."""
    return f"{words} {MARK}{json.dumps([list(step) for step in steps], ensure_ascii=False)}"


class Obedient(FakeOllama):
    """A server whose model does so."""

    def next_answer(self, body: dict[str, Any]) -> Answer:
        del self.requests[:-10]
        if "reply with one JSON object" in last_words(body) or _asks_for_facts(body):
            return Answer(json.dumps(OUTLINE | {"facts": []}))
        steps, done = _where(body.get("messages") or [])
        if done < len(steps):
            name, arguments = steps[done]
            return Answer(calls=[(name, arguments)])
        return Answer(ANSWER)


def _asks_for_facts(body: Mapping[str, Any]) -> bool:
    return "user's own words for it" in last_words(body)


def _where(messages: Sequence[Mapping[str, Any]]) -> tuple[list[Step], int]:
    """The steps of the newest prompt, and how many replies there were to it."""
    said = 0
    for message in reversed(messages):
        if message.get("role") == "assistant":
            said += 1
        text = str(message.get("content", ""))
        if message.get("role") == "user" and MARK in text:
            begin = text.index(MARK) + len(MARK)
            steps, _ = json.JSONDecoder().raw_decode(text[begin:])
            return [(name, arguments) for name, arguments in steps], said
    return [], said
