"""The tool that searches conversations. The index behind it comes in as a protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from openclaw.frozen import frozen
from openclaw.security.untrusted import break_tokens
from openclaw.tools.results import DEFAULT_LIMITS, ResultLimits, as_data, cut_to_limits
from openclaw.tools.tool import Tool, tool
from openclaw.types import ToolProblem, TurnChanges

RESULTS = 5
SNIPPET = 300
REPLY = 120


@frozen
class FoundMessage:
    """A message that was found. `talk` is the title of its conversation, "" for this one; `reply`
    is the answer to it; `source` names others whose words it may contain, "" for nobody."""

    at: str
    talk: str
    number: int
    role: str
    text: str
    reply: str = ""
    source: str = ""

    def line(self) -> str:
        where = f'"{self.talk}"' if self.talk else "this conversation"
        reply = f" -> assistant: {self.reply[:REPLY]}" if self.reply else ""
        at = self.at[:16].replace("T", " ")
        return f"{at} {where} #{self.number} {self.role}: {self.text}{reply}"


class ConversationSearch(Protocol):
    """The conversations of the home. `find` returns messages about some words: at most `most`, each
    of at most `length` characters. `any` tells whether there is something to find."""

    def find(self, words: str, most: int, length: int, /) -> Sequence[FoundMessage]: ...
    def any(self) -> bool: ...


@frozen
class SessionTools:
    talks: ConversationSearch
    turn_changes: TurnChanges
    limits: ResultLimits = DEFAULT_LIMITS

    def tools(self) -> list[Tool]:
        """One tool. It is in every head, and callable when there is something to find."""
        return [replace(tool(self.search_sessions), available=self.talks.any)]

    def search_sessions(self, words: str) -> str:
        """Search earlier conversations and this one."""
        if not words.strip():
            raise ToolProblem("words is empty: say what to look for.")
        found = self.talks.find(words, RESULTS, SNIPPET)
        if not found:
            return (
                f'Nothing was said about "{words}" earlier. '
                "Try fewer or other words: a name, a number, the name of a file."
            )
        own = "\n".join(break_tokens(said.line()) for said in found if not said.source)
        blocks = [str(cut_to_limits(own, self.limits))]
        for source in dict.fromkeys(said.source for said in found if said.source):
            lines = "\n".join(said.line() for said in found if said.source == source)
            blocks.append(as_data(lines, source, self.turn_changes, self.limits))
        return "\n".join(filter(None, blocks))
