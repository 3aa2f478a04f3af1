"""The plan of a long conversation: what is said in each turn, which tools are called, which files
there are, and the facts that are said in passing. Seeded, so the same at every window and run.

About a third of the turns call a tool. Messages have 5 to 120 words, answers 10 to 150, files 1 to
40 KB. Some sentences hold a name, a number, a day or an address that nobody will ask for (`NOISE`):
they compete with the facts for room. The facts (`long_data/needles.json`) are said in
turns 1 to 40.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "long_data"
SEED = 20261121
NOISE = 0.08
"""The share of sentences with an identifier that nobody will ask for."""
KB = 1024
FILES = 48
SMALLEST, LARGEST = 1 * KB, 40 * KB
LONG_WORDS = 90
"""Words of a file's line of prose: a paragraph."""

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Needle:
    """A fact: where it is said and by whom ("user", "assistant", "tool"), its exact value, words
    one of which stands near it wherever it is told in a way that can be understood, and the
    question for it. `outdated` is what it was before it was corrected."""

    turn: int
    by: str
    value: str
    about: tuple[str, ...]
    question: str
    outdated: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """What the user says, what the model is made to call, and its answer."""

    number: int
    words: str
    calls: tuple[Call, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Plan:
    """`files` are texts by path in the home; `noise` counts the sentences with an identifier that
    nobody will ask for."""

    turns: tuple[Turn, ...]
    needles: tuple[Needle, ...]
    files: Mapping[str, str]
    noise: int


def make_plan(turns: int = 300, noise: float = NOISE, seed: int = SEED) -> Plan:
    """A plan of so many turns, with the facts that are said in them."""
    writer = _Writer(random.Random(seed), noise)
    files = writer.files(FILES)
    told = json.loads((DATA / "needles.json").read_text("utf-8"))
    said: dict[int, dict[str, Any]] = {}
    needles = []
    for item in told:
        if max(item["turn"], item.get("later", 0)) > turns:
            continue
        needles.append(_needle(item))
        for number, part in _said(item).items():
            said.setdefault(number, {}).update(part)
        if "file" in item:
            path, text = item["file"]
            files[path] = writer.filled(text)
    made = [_turn(n, said.get(n), files, writer) for n in range(1, turns + 1)]
    return Plan(tuple(made), tuple(needles), files, writer.marked)


def _needle(item: Mapping[str, Any]) -> Needle:
    return Needle(
        item.get("later", item["turn"]),
        item["by"],
        item["value"],
        tuple(item["about"]),
        item["question"],
        item.get("before", {}).get("value", ""),
    )


def _said(item: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    """What a needle puts into which turn."""
    parts = {key: item[key] for key in ("said", "calls", "answer") if key in item}
    if "before" in item:
        before = {"said": item["before"]["said"]}
        return {item["before"]["turn"]: before, item["later"]: parts}
    return {item["turn"]: parts}


def _turn(
    number: int, said: Mapping[str, Any] | None, files: Mapping[str, str], writer: _Writer
) -> Turn:
    answer = writer.answer()
    if said is None:
        words, calls = writer.request(number, files) if writer.chance(0.33) else (writer.talk(), [])
        return Turn(number, words, tuple(calls), answer)
    words, calls = said["said"], [(tool, arguments) for tool, arguments in said.get("calls", [])]
    if not calls and number % 5 == 3:
        asked, calls = writer.reading(files)
        words = f"{words} {asked}"
    return Turn(number, words, tuple(calls), said.get("answer", answer))


class _Writer:
    """Makes up what people say and what files hold."""

    def __init__(self, chance: random.Random, noise: float) -> None:
        self._random, self._noise, self.marked = chance, noise, 0
        self._words: dict[str, list[str]] = json.loads((DATA / "words.json").read_text("utf-8"))

    def chance(self, share: float) -> bool:
        return self._random.random() < share

    # -------- talk

    def talk(self) -> str:
        """A message of 5 to 120 words; most are short."""
        return self._sentences(int(5 + 115 * self._random.random() ** 2.5), "plain")

    def answer(self) -> str:
        """An answer of 10 to 150 words."""
        return self._sentences(int(10 + 130 * self._random.random() ** 2), "answers")

    def _sentences(self, most: int, kind: str) -> str:
        """Sentences of so many words in all, at least one."""
        said: list[str] = []
        while not said or len(" ".join(said).split()) < most - 8:
            marked = kind != "prose" and self.chance(self._noise)
            sentence = self._sentence("marked" if marked else kind)
            self.marked += marked
            said += [sentence] * (sentence not in said)
        return " ".join(said)

    def _sentence(self, kind: str) -> str:
        pick, number = self._random.choice, self._random.randint
        return pick(self._words[kind]).format(
            thing=pick(self._words["things"]),
            other=pick(self._words["things"]),
            name=pick(self._words["names"]),
            place=pick(self._words["places"]),
            day=pick(self._words["days"]),
            n=number(3, 480),
            time=f"{number(8, 20)}:{pick(('00', '15', '30', '45'))}",
            money=f"{number(20, 900)}.{number(10, 99)}",
            version=f"{number(0, 9)}.{number(0, 30)}.{number(0, 9)}",
            mail=f"{pick(self._words['parts'])}{number(2, 99)}@post.example",
        )

    # -------- requests for a tool

    def request(self, number: int, files: Mapping[str, str]) -> tuple[str, list[Call]]:
        """A message that wants something done, and the calls for it."""
        kind = self._random.choices(
            ("read", "search", "write", "todo", "append", "remember"), (46, 14, 14, 16, 6, 4)
        )[0]
        thing = self._random.choice(self._words["things"])
        slug = thing.replace(" ", "-")
        if kind == "read":
            words, calls = self.reading(files)
            return f"{self._sentence('plain')} {words}" if self.chance(0.5) else words, calls
        if kind == "search":
            return f"Search the files for {thing}.", [("search_files", {"text": thing})]
        if kind == "write":
            path = f"workspace/notes/{slug}-{number}.md"
            text = f"# {thing.capitalize()}\n\n{self._sentences(60, 'prose')}\n"
            words = f"Write what we have on the {thing} into the new file {path}, please."
            return words, [("write_file", {"path": path, "content": text})]
        if kind == "append":
            words = f"Append a line about the {thing} to the file workspace/notes/diary.md."
            text = self._sentence("prose")
            return words, [("append_file", {"path": "workspace/notes/diary.md", "text": text})]
        if kind == "remember":
            fact = f"the {thing} belongs to {self._random.choice(self._words['names'])}"
            return f"Remember that {fact}.", [("remember", {"fact": fact, "where": "lasting"})]
        name = self._random.choice(("House", "Work", "Garden"))
        item = f"look after the {thing}"
        add = {"action": "add", "list": name, "items": [item]}
        return f"Put {item} on my {name} list.", [("todo", add)]

    def reading(self, files: Mapping[str, str]) -> tuple[str, list[Call]]:
        """A request to read a file, or to compare two."""
        desk = [path for path in files if path.startswith("workspace/desk/")]
        paths = self._random.sample(desk, 2 if self.chance(0.2) else 1)
        words = self._random.choice(
            ("Read {} and tell me what it says.", "Please read {}: anything odd in it?",
             "What is in {}? Read it, please.", "Have a look at {} and sum it up.")
            if len(paths) == 1 else ("Read {} and {} and tell me how they differ.",)
        ).format(*paths)  # fmt: skip
        return words, [("read_file", {"path": path}) for path in paths]

    # -------- files

    def files(self, count: int) -> dict[str, str]:
        """Files of prose, logs, code and tables; the sizes are spread evenly on a log scale."""
        made = {}
        things = self._random.sample(self._words["things"], count)
        kinds = {"md": self._prose, "log": self._log, "py": self._code, "csv": self._table}
        for number, thing in enumerate(things):
            size = int(SMALLEST * (LARGEST / SMALLEST) ** (number / (count - 1)))
            ending = list(kinds)[number % len(kinds)]
            path = f"workspace/desk/{thing.replace(' ', '-')}.{ending}"
            made[path] = _upto(kinds[ending], size)
        return made

    def filled(self, text: str) -> str:
        """A needle's file with small talk around the fact."""
        parts = {"{prose}": self._prose, "{log}": self._log, "{csv}": self._table}
        for mark, make in parts.items():
            while mark in text:
                text = text.replace(mark, _upto(make, KB), 1)
        return text

    def _prose(self) -> str:
        return self._sentences(LONG_WORDS, "prose") + "\n\n"

    def _log(self) -> str:
        number, pick = self._random.randint, self._random.choice
        at = f"2026-{number(8, 10):02}-{number(1, 28):02} {number(0, 23):02}:{number(0, 59):02}"
        what = f"{pick(self._words['things'])} took {number(2, 900)} ms, id {number(10**6, 10**7)}"
        return f"{at}:{number(0, 59):02} {pick(self._words['levels'])} {self._part()}: {what}\n"

    def _code(self) -> str:
        one, two, number = self._part(), self._part(), self._random.randint(2, 99)
        return (
            f"def {one}_{number}({two}: list[int], limit: int = {number * 7}) -> int:\n"
            f'    """The {one} of a {two}."""\n    total = 0\n    for value in {two}:\n'
            f"        if value > limit:\n            total += value % {number}\n"
            "    return total\n\n\n"
        )

    def _table(self) -> str:
        pick, number = self._random.choice, self._random.randint
        name = f"{pick(self._words['names'])};{pick(self._words['things'])}"
        return (
            f"{name};{pick(self._words['places'])};+49 40 {number(1000, 9999)} {number(10, 99)}\n"
        )

    def _part(self) -> str:
        return self._random.choice(self._words["parts"])


def _upto(make: Any, size: int) -> str:
    """Pieces until the text has that many characters."""
    text = ""
    while len(text) < size:
        text += make()
    return text


def words_of(turns: Sequence[Turn]) -> tuple[list[int], list[int]]:
    """Words of the messages and of the answers."""
    return [len(t.words.split()) for t in turns], [len(t.answer.split()) for t in turns]
