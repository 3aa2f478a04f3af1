"""Compares a replayed turn with the recorded one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, field
from typing import Any, Literal

from openclaw.agent import prompt
from openclaw.agent.request import RequestBuilder, sha256_of
from openclaw.evals.playback import call_key
from openclaw.evals.recorded_turns import RecordedTurn, answer_of
from openclaw.frozen import frozen
from openclaw.messages import Entry, ToolCall, ToolUse, TurnRecord, Usage
from openclaw.models.base import ModelCard
from openclaw.models.token_count import compact_json

Kind = Literal["head", "tools", "model", "window", "protocol", "options", "call", "answer", "stop"]
Piece = tuple[Literal["same", "then", "now"], str]
WORDS = re.compile(r"\s+|\w+|[^\w\s]")


@frozen
class TurnDifference:
    """A difference from the recorded turn.

    lines: a diff by lines
    pieces: a diff by words
    count: False for an intended difference; the turn still counts as the same
    """

    kind: Kind
    text: str
    lines: tuple[str, ...] = ()
    pieces: tuple[Piece, ...] = ()
    counts: bool = True


@frozen
class ReplayResult:
    """The result of a replayed turn. `missing` is the call without a recorded result that ended it;
    `played` are the recorded calls that the model made again."""

    said: tuple[Entry, ...]
    stop: str
    missing: ToolCall | None = None
    played: tuple[ToolUse, ...] = ()

    @property
    def answer(self) -> str:
        return answer_of(self.said)

    @property
    def calls(self) -> list[tuple[str, Mapping[str, Any]]]:
        """All calls, the missing one at the end."""
        made = [(use.tool, use.input) for entry in self.said for use in entry.tool_calls]
        last = [(self.missing.name, self.missing.arguments)] if self.missing else []
        return made + [call for call in last if call not in made[-1:]]


@frozen
class ReplayedTurn:
    """A turn and its result, or why it was not run (`lost`). `seconds` of wall-clock time."""

    recorded: RecordedTurn
    played: ReplayResult | None = None
    differences: tuple[TurnDifference, ...] = ()
    notes: tuple[str, ...] = ()
    lost: str = ""
    seconds: float = field(default=0.0, compare=False)

    @property
    def verdict(self) -> Literal["same", "differs", "not run"]:
        if self.played is None:
            return "not run"
        return "differs" if any(each.counts for each in self.differences) else "same"

    @property
    def tokens(self) -> tuple[Usage, Usage]:
        """The usage of the recorded turn, and of this one."""
        return total_usage(self.recorded.said), total_usage(self.played.said if self.played else ())

    def as_json(self) -> dict[str, Any]:
        then, now = self.tokens
        recorded, played = self.recorded, self.played
        made = [(use.tool, use.input) for use in recorded.uses]
        return {
            "turn": recorded.number,
            "prompt": recorded.user.content,
            "verdict": self.verdict,
            "why": self.lost,
            "differences": [asdict(each) for each in self.differences],
            "notes": list(self.notes),
            "recorded": _said_json(recorded, made, then),
            "replayed": played and _said_json(played, played.calls, now),
            "seconds": round(self.seconds, 3),
        }


def _said_json(
    said: RecordedTurn | ReplayResult, calls: Sequence[tuple[str, Mapping[str, Any]]], cost: Usage
) -> dict[str, Any]:
    return {
        "answer": said.answer,
        "calls": [[tool, dict(given)] for tool, given in calls],
        "stop": said.stop,
        "prompt_tokens": cost.prompt_tokens,
        "generated_tokens": cost.generated_tokens,
    }


def count_verdicts(done: Sequence[ReplayedTurn]) -> dict[str, int]:
    """Return the number of turns that are the same, differ and were not run."""
    verdicts = [turn.verdict for turn in done]
    return {
        "same": verdicts.count("same"),
        "differs": verdicts.count("differs"),
        "not_run": verdicts.count("not run"),
    }


def compare(
    recorded: RecordedTurn,
    played: ReplayResult,
    builder: RequestBuilder,
    card: ModelCard,
    then: Sequence[prompt.HeadPart],
    *,
    other: bool,
) -> ReplayedTurn:
    """Compare a replayed turn with the recorded one. `then` are the parts of the recorded head,
    empty when they are lost; with `other` differences due to another model do not count."""
    found = [
        *_request_differences(recorded.record, builder, card, then, other=other),
        *_calls(recorded, played),
        *_texts(recorded, played),
    ]
    notes = []
    if not recorded.has_record:
        notes.append("recorded by an older version: without its head, options and cues")
    if recorded.broke_off:
        notes.append("the recorded turn broke off; compared as far as it went")
    return ReplayedTurn(recorded, played, tuple(found), tuple(notes))


def total_usage(said: Sequence[Entry]) -> Usage:
    return sum((entry.usage for entry in said if entry.usage), Usage())


# -------- the request


def _request_differences(
    record: TurnRecord,
    builder: RequestBuilder,
    card: ModelCard,
    then: Sequence[prompt.HeadPart],
    *,
    other: bool,
) -> Iterator[TurnDifference]:
    facts: list[tuple[Kind, Any, Any]] = [
        ("model", record.model, card.name),
        ("model", record.digest, card.digest),
        ("window", record.window, card.window),
        ("protocol", record.protocol, builder.protocol.name),
    ]
    for kind, was, now in facts:
        if was is not None and was != now:
            yield TurnDifference(
                kind, f"{was or 'unknown'} -> {now or 'unknown'}", counts=not other
            )
    if record.head not in (None, sha256_of(builder.head)):
        changed = diff_head(then, builder.parts) if then else {}
        text = ", ".join(changed) or "changed (no copy of the recorded one is left to compare with)"
        lines = [line for path, diff in changed.items() for line in (f"@@ {path} @@", *diff)]
        # Under another protocol only files of the user count, and not text that code adds.
        counts = not other or any(path.endswith(".md") for path in changed)
        yield TurnDifference("head", text, tuple(lines), counts=counts)
    tools = sha256_of(compact_json([dict(spec) for spec in builder.tools]))
    if record.tools not in (None, tools):
        yield TurnDifference("tools", "the description of the tools has changed", counts=not other)


def diff_head(
    then: Sequence[prompt.HeadPart], now: Sequence[prompt.HeadPart]
) -> dict[str, list[str]]:
    """Return the lines that each changed part of a head lost and gained, by its path or name."""
    old, new = ({part.name: part for part in parts} for parts in (then, now))
    found = {}
    for name, part in {**old, **new}.items():
        before, after = (
            head[name].text.splitlines() if name in head else [] for head in (old, new)
        )
        if before != after:
            diff = list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]
            found[part.path or name] = [line for line in diff if not line.startswith("@@")]
    return found


# -------- calls and texts


def _calls(recorded: RecordedTurn, played: ReplayResult) -> Iterator[TurnDifference]:
    then = [(use.tool, use.input) for use in recorded.uses]
    now = played.calls
    if recorded.broke_off:
        now = now[: len(then)]
    before, after = ([call_key(*call) for call in calls] for calls in (then, now))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for op, a, b, c, d in matcher.get_opcodes():
        if op != "equal":
            yield from _changed_calls(then[a:b], now[c:d])
    if played.missing is not None and not recorded.broke_off:
        yield TurnDifference("call", f"{played.missing.name} was not recorded so; it ends here")


def _changed_calls(then: Sequence[Any], now: Sequence[Any]) -> Iterator[TurnDifference]:
    """Yield the differences of calls at one place: the same tool with other input, else missing and
    additional calls."""
    left = list(now)
    for tool, given in then:
        twin = next((call for call in left if call[0] == tool), None)
        if twin is None:
            yield TurnDifference("call", f"missing: {tool} {compact_json(dict(given))}")
            continue
        left.remove(twin)
        pieces = tuple(word_diff(compact_json(dict(given)), compact_json(dict(twin[1]))))
        yield TurnDifference("call", f"other input: {tool}", pieces=pieces)
    for tool, given in left:
        yield TurnDifference("call", f"additional: {tool} {compact_json(dict(given))}")


def _texts(recorded: RecordedTurn, played: ReplayResult) -> Iterator[TurnDifference]:
    if played.missing is not None:
        return
    if recorded.broke_off:
        if not played.answer.startswith(recorded.answer):
            yield _answer("answer", recorded.answer, played.answer[: len(recorded.answer)])
        return
    if recorded.stop and played.stop != recorded.stop:
        yield TurnDifference("stop", f"{recorded.stop} -> {played.stop}")
    then, now = (_interim_texts(said) for said in (recorded.said, played.said))
    if then != now:
        yield _answer("said on the way", "\n".join(then), "\n".join(now))
    if recorded.answer != played.answer:
        yield _answer("answer", recorded.answer, played.answer)


def _interim_texts(said: Sequence[Entry]) -> list[str]:
    """Return the texts beside calls, and answers that were sent back."""
    return [entry.content for entry in said if entry.content and (entry.tool_calls or entry.hint)]


def _answer(name: str, then: str, now: str) -> TurnDifference:
    return TurnDifference("answer", name, pieces=tuple(word_diff(then, now)))


def word_diff(then: str, now: str) -> Iterator[Piece]:
    """Yield a word diff of two texts; adjacent words of the same kind are one piece."""
    old, new = WORDS.findall(then), WORDS.findall(now)
    for op, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if op == "equal":
            yield "same", "".join(old[a:b])
            continue
        if b > a:
            yield "then", "".join(old[a:b])
        if d > c:
            yield "now", "".join(new[c:d])
