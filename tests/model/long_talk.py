"""A talk of 30 turns at a window of 4,096 tokens with a real model.

    python -m tests.model.long_talk [--model NAME] [--verbose]

The user states five facts early on, then there are to-dos, files and small talk until the beginning
has long left the window; in the end he asks for the facts and for the agent's name. A rule of
SOUL.md is to be kept in every answer.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from openclaw.agent.agent import Agent
from openclaw.config import Settings
from openclaw.errors import OpenclawError
from openclaw.events import Compaction, Done, ToolStart
from openclaw.models.base import Model
from openclaw.models.registry import open_one
from openclaw.sessions.session import Session
from openclaw.storage.home import Home
from openclaw.storage.new_home import create_home

WINDOW = 4096
MAX_TOKENS = 160
NAME = "Marten"
SOUL = f"""\
# Soul

You are Captain {NAME}, a lighthouse keeper: friendly and brief.

- Always end every answer with the word Ahoy.
- Answer in one or two sentences.
"""
RULE = re.compile(r"\bahoy\W*$", re.I)
PEOPLE = ("Olsen", "Berg", "Haugen", "Lie", "Dahl")


def _harbour() -> str:
    """About 10 KB of prose with one thing to find near its beginning."""
    lines = [
        f"Berth {n} is kept by {PEOPLE[n % 5]} and is {8 + n % 7} metres long." for n in range(180)
    ]
    lines.insert(6, "The crane is looked after by Solveig Moe, who has the key.")
    return "# The harbour\n\n" + "\n".join(lines) + "\n"


def _weather() -> str:
    lines = [
        f"2026-{3 + n // 28:02}-{n % 28 + 1:02} wind {(n * 7) % 9 + 1} m/s, {n % 14} degrees, dry"
        for n in range(200)
    ]
    lines[9] = "2026-03-10 wind 31 m/s, 4 degrees, storm, the ferry stayed in the port"
    return "\n".join(lines) + "\n"


FILES = {
    "workspace/SOUL.md": SOUL,
    "workspace/harbour.md": _harbour(),
    "workspace/weather.log": _weather(),
}
STORY = (
    "Good morning!",
    "I would like to tell you that my sister is called Annika.",
    "Put buy rope on my Boat list.",
    "By the way, my boat has the registration FK-208.",
    "I cannot eat walnuts, they make me ill.",
    "Put paint the hull on my Boat list.",
    "Our meeting with the bank is on 14 May.",
    "We have decided to sell the old motor for 350 euros.",
    "Read workspace/harbour.md and tell me who looks after the crane.",
    "What is the capital of Norway?",
    "It is cold today, and the coffee is weak.",
    "What is on my Boat list?",
    "Read workspace/weather.log and tell me on which day there was a storm.",
    "That must have been quite a night.",
    "What is a good dinner when it is cold?",
    "I am a little tired of the rain.",
    "Put call the harbour office on my Boat list.",
    "What is 17 * 23?",
    "Why is the sea salty?",
    "Read workspace/harbour.md and tell me who keeps berth 12.",
    "The gulls are loud this morning.",
    "What would you plant in a windy garden?",
    "I have bought the rope, tick it off.",
    "Tell me something about lighthouses.",
)


@dataclass(frozen=True)
class Question:
    """Asked in the end; `right` is what the answer must hold."""

    words: str
    right: str


FACTS = (
    Question("What is the name of my sister?", r"\bAnnika\b"),
    Question("What is the registration of my boat?", r"\bFK-?208\b"),
    Question("What can I not eat?", r"\bwalnuts?\b"),
    Question("When is the meeting with the bank?", r"\b14(?:th)?(?: of)? May\b|\bMay 14(?:th)?\b"),
    Question("For how much do we sell the old motor?", r"\b350\b"),
)
WHO = Question("What is your name?", rf"\b{NAME}\b")


@dataclass(frozen=True)
class Said:
    """A turn: the user's words, the answer, the tools that were called, how often the conversation
    was compacted, seconds."""

    words: str
    answer: str
    tools: tuple[str, ...]
    compactions: int
    seconds: float

    @property
    def keeps_rule(self) -> bool:
        return bool(RULE.search(self.answer))


@dataclass(frozen=True)
class Outcome:
    turns: Sequence[Said]

    def right(self, question: Question) -> bool:
        """Whether the newest answer to a question is right."""
        said = next(turn for turn in reversed(self.turns) if turn.words == question.words)
        return bool(re.search(question.right, said.answer, re.I))

    @property
    def rule_share(self) -> float:
        return sum(turn.keeps_rule for turn in self.turns) / len(self.turns)

    @property
    def compactions(self) -> int:
        return sum(turn.compactions for turn in self.turns)

    @property
    def seconds(self) -> float:
        return sum(turn.seconds for turn in self.turns)


def settings() -> Settings:
    return Settings(window=WINDOW, max_tokens=MAX_TOKENS, recall="tool", embedding="none")


def run(model: Model, *, verbose: bool = False) -> Outcome:
    """Play the talk in a fresh home and print a line for each turn."""
    turns = []
    with tempfile.TemporaryDirectory(prefix="openclaw-long-", ignore_cleanup_errors=True) as folder:
        home = Home(Path(folder).resolve())
        create_home(home.root)
        for path, text in FILES.items():
            (home.root / path).write_text(text, "utf-8")
        app = Agent.open(home, settings(), mode="edit")
        app.model = model
        session = app.sessions.new(None, "")
        questions = [question.words for question in (*FACTS, WHO)]
        print("\n| turn | s | compacted | rule | tools | answer |\n|---:|---:|---:|---|---|---|")
        for number, words in enumerate((*STORY, *questions), 1):
            turns.append(said := _say(app, session, words))
            shown = said.answer.replace("\n", " ")[:70]
            rule, tools = "kept" if said.keeps_rule else "BROKEN", ", ".join(said.tools)
            print(
                f"| {number} | {said.seconds:.1f} | {said.compactions or ''} | {rule} | {tools} "
                f"| {shown} |",
                flush=True,
            )
            if verbose and said.compactions:
                print(session.compressed_context, flush=True)
    return Outcome(turns)


def _say(app: Agent, session: Session, words: str) -> Said:
    answer, tools, compactions, began = "", [], 0, time.monotonic()
    try:
        for event in app.ask(words, session):
            if isinstance(event, ToolStart):
                tools.append(event.tool)
            elif isinstance(event, Compaction):
                compactions += 1
            elif isinstance(event, Done):
                answer = event.answer
    except OpenclawError as error:
        answer = f"error: {error}"
    return Said(words, answer, tuple(tools), compactions, time.monotonic() - began)


def report(outcome: Outcome) -> None:
    """Print what was kept."""
    print("\n| kept | |\n|---|---|")
    for question in (*FACTS, WHO):
        print(f"| {question.words} | {'right' if outcome.right(question) else 'WRONG'} |")
    print(f"| rule | {outcome.rule_share:.0%} of the answers |")
    print(f"| compactions | {outcome.compactions} |\n| seconds in all | {outcome.seconds:.0f} |")


def main() -> int:
    words = argparse.ArgumentParser(description="A talk of 30 turns with a real model.")
    words.add_argument("--model", default="embedded/qwen2.5-coder-1.5b-instruct")
    words.add_argument("--verbose", action="store_true", help="print each summary")
    said = words.parse_args()
    with tempfile.TemporaryDirectory(prefix="openclaw-kv-") as states:
        model = open_one(said.model, settings(), kv_folder=Path(states))
        try:
            report(run(model, verbose=said.verbose))
        finally:
            model.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
