"""What a model is asked before the older part of a conversation leaves the window.

Both questions stand behind the conversation as it was sent, so that a server has read all but the
question already. What comes back is held against what was said; without a good reply the working
notes serve alone.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from openclaw.agent import events
from openclaw.agent.identifiers import holds, identifiers
from openclaw.agent.meter import Meter
from openclaw.agent.outline import SENTENCE, Outline, checked, read_outline, schema
from openclaw.agent.window import Wire, messages
from openclaw.agent.words import denies, missing_words
from openclaw.errors import OpenclawError
from openclaw.models.base import Model, Reply, Request, Waiting
from openclaw.shapes import Entry, Message

SUMMARY_TOKENS = 400
FACTS_TOKENS = 300
SHARE_OF_REPLY = 0.2
"""The most of the window that a reply may take."""
MARGIN = 32
MOST_FACTS = 4
SHORTEST, LONGEST = 10, 300
SHORTEST_QUOTE = 8
MOST_NEW_WORDS = 2
"""Words of a fact that the user need not have said: "The user prefers ..."."""

ASK_SUMMARY = """\
The conversation has become too long. Write down what must be known to go on with it, and reply \
with one JSON object: "goal": what the user wants; "done": what was done; "decisions": what was \
decided; "open": what is still to do; "identifiers": exact names, paths and numbers that matter. \
Short lines, nothing that was not said."""
FOCUS = " What matters most: {focus}"
ASK_FACTS = """\
Which lasting facts did the user state about himself, his people, his things or his rules? Reply \
with one JSON object: "facts": a list of at most 4, each with "fact", one sentence, and "quote", \
the user's own words for it. An empty list when there are none. No tasks, no questions."""


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation as it was last sent: entries, those before `short` with results in one line,
    behind the head and what is known of earlier parts. `tools` are those of native calls."""

    head: str
    entries: tuple[Entry, ...]
    short: int
    earlier: str
    tools: tuple[Any, ...] = ()
    session: str = ""


@dataclass(frozen=True, slots=True)
class Asking:
    """Asks a model about a talk, in requests that fit its window."""

    model: Model
    wire: Wire
    meter: Meter
    constrained: bool

    def summary(self, talk: Talk, focus: str = "") -> Generator[events.Event, None, Outline]:
        """The outline as the model fills it in, checked; an empty one when it fails."""
        words = ASK_SUMMARY + (FOCUS.format(focus=focus) if focus else "")
        text = yield from self._ask(talk, words, schema(), SUMMARY_TOKENS)
        said = "\n".join((talk.earlier, *(entry.content for entry in talk.entries), focus))
        return checked(read_outline(text), said, _shown(talk.entries))

    def facts(self, talk: Talk) -> Generator[events.Event, None, tuple[str, ...]]:
        """Lasting facts that the user stated, each proved by a quotation of his words."""
        text = yield from self._ask(talk, ASK_FACTS, _facts_schema(), FACTS_TOKENS)
        said = "\n".join(entry.content for entry in talk.entries if entry.role == "user")
        return proved(text, said)

    def _ask(
        self, talk: Talk, words: str, wanted: dict[str, Any], tokens: int
    ) -> Generator[events.Event, None, str]:
        """The text of the reply, "" when there is none."""
        window = self.model.card.window
        tokens = min(tokens, int(window * SHARE_OF_REPLY))
        request = Request(
            self._messages(talk, words, window - tokens - MARGIN),
            talk.tools,
            wanted if self.constrained else None,
            tokens,
            think=False if self.model.card.thinking else None,
            session=talk.session,
        )
        try:
            for chunk in self.model.stream(request):
                if isinstance(chunk, Waiting):
                    yield events.waited(chunk)
                elif isinstance(chunk, Reply):
                    return chunk.text
        except OpenclawError as error:
            yield events.Notice(f"the model gave no summary ({error}); the notes serve alone")
        return ""

    def _messages(self, talk: Talk, words: str, most: int) -> tuple[Message, ...]:
        """The talk and the question within so many tokens: as it was sent, else with all results in
        one line, else without its oldest exchanges."""
        system, asked = Message("system", talk.head), Message("user", words)
        most -= self.meter.cost([system, asked]) + self.meter.tools(talk.tools)
        entries, short = talk.entries, talk.short
        while True:
            said = messages(entries, short, talk.earlier, self.wire)
            if not entries or self.meter.cost(said) <= most:
                return (system, *_asked(said, asked))
            if short < len(entries):
                short = len(entries)
            else:
                starts = [at for at, entry in enumerate(entries) if at and entry.role == "user"]
                entries = entries[starts[len(starts) // 4] :] if starts else ()
                short = len(entries)


def proved(reply: str, said: str) -> tuple[str, ...]:
    """The facts of a reply that quote words of the user and add nothing to what he said."""
    from pydantic_core import from_json

    begin = reply.find("{")
    try:
        data = from_json(reply[begin:], allow_partial=True) if begin >= 0 else {}
    except ValueError:
        return ()
    items = data.get("facts") if isinstance(data, dict) else None
    found = [_proved(item, said) for item in items] if isinstance(items, list) else []
    return tuple(dict.fromkeys(filter(None, found)))[:MOST_FACTS]


def _proved(item: Any, said: str) -> str:
    if not isinstance(item, dict):
        return ""
    fact, quote = " ".join(str(item.get("fact")).split()), str(item.get("quote"))
    words = _plain(quote)
    if len(words) < SHORTEST_QUOTE or " " not in words:
        return ""
    source = next((each for each in SENTENCE.split(said) if words in _plain(each)), "")
    if not source or not SHORTEST <= len(fact) <= LONGEST or fact.endswith("?"):
        return ""
    if denies(fact) != denies(source):
        return ""
    folded = said.casefold()
    if any(not holds(folded, each.casefold()) for each in identifiers(fact)):
        return ""
    return fact if len(missing_words(fact, said)) <= MOST_NEW_WORDS else ""


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _asked(said: Sequence[Message], asked: Message) -> tuple[Message, ...]:
    """The question behind the talk; templates of some models want user and assistant by turns."""
    if said and said[-1].role == "user":
        last = said[-1]
        return (*said[:-1], replace(last, content=f"{last.content}\n\n{asked.content}"))
    return (*said, asked)


def _shown(entries: Sequence[Entry]) -> str:
    """What came with the messages, and what tools were called for and gave back."""
    uses = (f"{dict(use.input)}\n{use.output}" for e in entries for use in e.tool_calls)
    return "\n".join((*(entry.context for entry in entries), *uses))


def _facts_schema() -> dict[str, Any]:
    fact = {
        "type": "object",
        "properties": {
            "fact": {"type": "string", "minLength": SHORTEST, "maxLength": 200},
            "quote": {"type": "string", "minLength": SHORTEST_QUOTE, "maxLength": 200},
        },
        "required": ["fact", "quote"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"facts": {"type": "array", "items": fact, "maxItems": MOST_FACTS}},
        "required": ["facts"],
        "additionalProperties": False,
    }
