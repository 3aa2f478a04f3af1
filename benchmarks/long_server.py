"""The model of the long conversation: a script behind a loopback server that speaks Ollama's API.

It does what the plan says, within the schema that a request brings: a planned call where the schema
has it, an answer where it has not. It counts the tokens of a request as cl100k_base times 1.12, as
most local models need more tokens than that one; the program can only learn the factor from the
counts. Asked for anything but a step (a summary, a list of facts) it gives the poorest reply that
has the right form, and fails with HTTP 500 in every fifth compaction.
"""

from __future__ import annotations

import functools
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from benchmarks.long_plan import Call, Turn
from openclaw.models.token_count import tokenizer
from tests.fakes.ollama_server import Answer, FakeModel, FakeOllama

FACTOR = 1.12
FAILS_EVERY = 5
VAGUE = "They talked about several things and made some progress."
NOTHING = "nothing special"
MAX_STEPS = 8
MODEL = FakeModel("bench:8b", parameter_size="8B", family="qwen3", context_length=131072)

ASKED = re.compile(r'JSON object: "\w+":')
"""How a question of a compaction ends that comes without a schema."""

Kind = Literal["step", "aside", "warm"]
Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sent:
    """A chat request as the server got it: in which turn (0: none), a step of it or something aside
    (a compaction), its tokens, the seconds that the script took, and what it answered."""

    turn: int
    kind: Kind
    body: Body
    tokens: int
    seconds: float
    answer: Answer


@dataclass
class LongServer(FakeOllama):
    """Plays the turn that is set; `sent` are the chat requests, `skipped` planned calls that the
    schema did not allow beside an answer, `forced` calls that it demanded first."""

    models: list[FakeModel] = field(default_factory=lambda: [MODEL])
    sent: list[Sent] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    forced: list[str] = field(default_factory=list)
    compactions: int = 0
    replaying: list[Answer] = field(default_factory=list)
    _turn: Turn | None = None
    _left: list[Call] = field(default_factory=list)
    _steps: int = 0
    _aside: int = 0

    def play(self, turn: Turn) -> None:
        """The turn that the next requests belong to."""
        self._turn, self._left, self._steps = turn, list(turn.calls), 0

    def prompt_tokens(self, body: Body) -> int:
        return tokens_of(body)

    def next_answer(self, body: dict[str, Any]) -> Answer:
        began = time.perf_counter()
        if self.replaying:
            return self.replaying.pop(0)
        kind, tokens = kind_of(body), tokens_of(body)
        said = self._said(body, kind)
        answer = Answer(**{**_fields(said), "prompt_tokens": tokens})
        number = self._turn.number if self._turn else 0
        seconds = time.perf_counter() - began
        self.sent.append(Sent(number, kind, body, tokens, seconds, answer))
        return answer

    def _said(self, body: Body, kind: Kind) -> Answer:
        if kind == "warm":
            return Answer("")
        if kind == "aside":
            return self._summary(body)
        self._aside = 0
        if self._turn is None:
            raise AssertionError("a step was asked for before a turn was set")
        self._steps += 1
        if self._steps > MAX_STEPS:
            self._left.clear()
        return self._native(body) if body.get("tools") else self._step(body)

    def _summary(self, body: Body) -> Answer:
        """A poor reply of the right form; requests without a step between them are one
        compaction."""
        if not self._aside:
            self.compactions += 1
        self._aside += 1
        if self.compactions % FAILS_EVERY == 0:
            return Answer(status=500, error="the model has crashed")
        if isinstance(schema := body.get("format"), dict):
            return Answer(_json(instance(schema, VAGUE)))
        keys = re.findall(r'"(\w+)":', str(body["messages"][-1]["content"]))
        return Answer(_json({key: VAGUE if key == "goal" else [] for key in keys}))

    def _native(self, body: Body) -> Answer:
        assert self._turn is not None
        names = {tool["function"]["name"] for tool in body["tools"]}
        while self._left:
            tool, arguments = self._left.pop(0)
            if tool in names:
                return Answer(calls=[(tool, arguments)])
            self.skipped.append(tool)
        return Answer(self._turn.answer)

    def _step(self, body: Body) -> Answer:
        """One JSON step: the planned call when the schema allows it, more when it must be asked
        for first, else the answer; what the schema demands when it leaves no choice."""
        assert self._turn is not None
        steps = [shape["properties"] for shape in body["format"]["anyOf"]]
        if self._left:
            tool, arguments = self._left[0]
            if call := _fitting(steps, tool, arguments):
                self._left.pop(0)
                return Answer(_json(call))
            if any(_const(step, "kind") == "more" for step in steps):
                return Answer(_json({"kind": "more"}))
            if any("answer" in step for step in steps):
                self.skipped.append(tool)
                self._left.pop(0)
        for step in steps:
            if "answer" in step:
                kind = _const(step, "kind") or "answer"
                return Answer(_json({"kind": kind, "answer": self._turn.answer}))
        self.forced.append(str(_const(steps[0], "tool")))
        return Answer(_json(instance(body["format"]["anyOf"][0], NOTHING)))


def kind_of(body: Body) -> Kind:
    """What a chat request wants: only to be read, a step of a turn, or something aside."""
    if (body.get("options") or {}).get("num_predict") == 1:
        return "warm"
    if ASKED.search(str(body["messages"][-1].get("content"))):
        return "aside"
    if body.get("tools"):
        return "step"
    shapes = (body.get("format") or {}).get("anyOf", ())
    return "step" if any("kind" in shape.get("properties", {}) for shape in shapes) else "aside"


def _fitting(
    steps: Sequence[Mapping[str, Any]], tool: str, arguments: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The call in the form of the first step that has this tool and all its arguments."""
    for step in steps:
        action = _const(step, "action")
        fits = _const(step, "tool") == tool and action in (None, arguments.get("action"))
        if fits and set(arguments) <= set(step):
            return {"kind": _const(step, "kind"), "tool": tool, **arguments}
    return None


def _const(step: Mapping[str, Any], key: str) -> Any:
    shape = step.get(key) or {}
    return shape.get("const", (shape.get("enum") or [None])[0])


def instance(schema: Mapping[str, Any], text: str) -> Any:
    """The emptiest value that a JSON schema allows, with this text for texts."""
    if "const" in schema or "enum" in schema:
        return schema.get("const", next(iter(schema.get("enum", [None]))))
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return instance(schema[union][0], text)
    match schema.get("type"):
        case "object":
            wanted = schema.get("required", schema.get("properties", {}))
            return {name: instance(schema["properties"][name], text) for name in wanted}
        case "array":
            return [instance(schema["items"], text)] * schema.get("minItems", 0)
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return False
    return text[: schema.get("maxLength", len(text))]


def segments(body: Body) -> list[str]:
    """What a server reads, in its order: the tools, then each message in ChatML."""
    tools = [_json(body["tools"])] if body.get("tools") else []
    return tools + [
        f"<|im_start|>{m['role']}\n{m.get('content') or ''}"
        f"{_json(m['tool_calls']) if m.get('tool_calls') else ''}<|im_end|>\n"
        for m in body["messages"]
    ]


@functools.lru_cache(maxsize=100_000)
def tokens_in(text: str) -> int:
    """Tokens of a text in cl100k_base."""
    return tokenizer()(text)


def tokens_of(body: Body) -> int:
    """Tokens of a request as this server counts them."""
    return int(FACTOR * sum(map(tokens_in, segments(body))))


def _fields(answer: Answer) -> dict[str, Any]:
    return {name: getattr(answer, name) for name in answer.__dataclass_fields__}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
