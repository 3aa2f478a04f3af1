"""How well code tells what of a message is worth keeping, beside a plain list of key words.

    python -m benchmarks.capture [NAME ...]

Each line of benchmarks/capture_data/NAME.jsonl is a message as a user writes it: `keep` holds the
words that are worth keeping (none in half of the messages) and their category, `also` words that
may be kept or not. `last` is written to mislead; `unseen` are single sentences of three made-up
people, two thirds of them look-alikes. The model of words is trained on none of them
(docs/capture.md). A candidate is right when it shares most of its words with what is to be kept.
Aims: precision 0.92, recall 0.8.

The reference is the list of triggers that other agents capture by (preferences, decisions, e-mail
addresses and numbers, "my ... is", absolutes), sentence by sentence, 10 to 500 characters.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from openclaw.nlp.statements import find_candidates, lasting_facts

DATA = Path(__file__).resolve().parent / "capture_data"
SETS = ("tuned", "held", "fresh", "last")
ALL = (*SETS, "unseen")
SHARED = 0.6
"""The part of the words of the shorter of two texts that both must have."""

_TRIGGER = re.compile(
    r"\b(?:prefer|like|love|hate|want|resolved|decided|will use|is called|always|never|important)\b"
    r"|[\w.-]+@[\w.-]+\.\w+|\+\d{10,}|\bmy \w+ is\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")

Find = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Message:
    """What a user wrote; what of it is to be kept, of which kind; what may be kept or not."""

    text: str
    keep: tuple[tuple[str, str], ...]
    also: tuple[str, ...]


@dataclass(slots=True)
class Score:
    """Counts over a set. `wrong` and `missed` are (message, words)."""

    found: int
    right: int
    wanted: int
    hit: int
    wrong: list[tuple[str, str]]
    missed: list[tuple[str, str]]

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        return self.hit / self.wanted if self.wanted else 1.0


def messages(name: str) -> list[Message]:
    """The messages of one set."""
    lines = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [_message(json.loads(line)) for line in lines]


def by_code(text: str) -> list[str]:
    """What openclaw keeps of a message."""
    return [candidate.text for candidate in find_candidates(text)]


def by_triggers(text: str) -> list[str]:
    """What a list of key words keeps of it."""
    sentences = (sentence.strip() for sentence in _SENTENCE.split(text))
    return [s for s in sentences if 10 <= len(s) <= 500 and _TRIGGER.search(s)]


def score(said: Sequence[Message], find: Find) -> Score:
    """How often what is found is right, and what is wanted is found."""
    total = Score(0, 0, 0, 0, [], [])
    for message in said:
        found = find(message.text)
        wanted = [words for _, words in message.keep]
        counted = [one for one in found if not any(alike(one, also) for also in message.also)]
        right = [one for one in counted if any(alike(one, words) for words in wanted)]
        hit = [words for words in wanted if any(alike(one, words) for one in found)]
        total.found += len(counted)
        total.right += len(right)
        total.wanted += len(wanted)
        total.hit += len(hit)
        total.wrong += [(message.text, one) for one in counted if one not in right]
        total.missed += [(message.text, words) for words in wanted if words not in hit]
    return total


def alike(left: str, right: str) -> bool:
    """Whether two texts share most of the words of the shorter one."""
    words = [re.findall(r"\w+", text.casefold()) for text in (left, right)]
    shorter, longer = sorted(words, key=len)
    return bool(shorter) and sum(word in longer for word in shorter) >= SHARED * len(shorter)


def table(names: Sequence[str]) -> str:
    """Precision and recall of each set, as a Markdown table."""
    rows = ["| messages | by | kept | precision | recall |", "|---|---|---|---|---|"]
    for name in names:
        said = messages(name)
        for by, find in (("openclaw", by_code), ("key words", by_triggers)):
            got = score(said, find)
            rows.append(
                f"| {name}, {len(said)} | {by} | {got.found} "
                f"| {got.precision:.2f} | {got.recall:.2f} |"
            )
    return "\n".join(rows)


def milliseconds(said: Sequence[Message]) -> float:
    """Median time of one message, the model loaded before."""
    lasting_facts.cache_clear()
    times = []
    for message in said:
        began = time.perf_counter()
        find_candidates(message.text)
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


def _message(row: dict[str, object]) -> Message:
    keep, also = row["keep"], row.get("also", [])
    assert isinstance(keep, list)
    assert isinstance(also, list)
    pairs = tuple((str(one["kind"]), str(one["words"])) for one in keep)
    return Message(str(row["text"]), pairs, tuple(map(str, also)))


def main() -> None:
    names = sys.argv[1:] or ALL
    print(table(names))
    said = [message for name in names for message in messages(name)]
    print(f"\n{milliseconds(said):.2f} ms a message (median)")


if __name__ == "__main__":
    main()
