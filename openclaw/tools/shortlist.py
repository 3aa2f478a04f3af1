"""The shortlist: tools that the head of the prompt does not list, a few of many for each request.

A list of a hundred tools costs more than the rest of the prompt, a small model gets lost in it, and
the head must not change with the request. So the head only has a gateway tool, and the user's
message lists the tools that may fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from openclaw.messages import ToolCall
from openclaw.nlp.relevance import SHORTLIST, Blurb, match_tools
from openclaw.security.display import some_of
from openclaw.storage.safe_open import json_or_none
from openclaw.tools.tool import CallForm, Tool, tool_line
from openclaw.types import ToolProblem

MAX_LISTED = 12  # up to so many tools, built in and from servers, are all listed in the head
MAX_FOUND = 6
GATEWAY = "use_tool"
NO_NAME = f"{GATEWAY} needs the name of a tool that more_tools has shown."

Show = Callable[[Sequence[Tool], str], str]
"""Notes that the model sees tools, and prepares the text about them."""


@dataclass(slots=True)
class Shortlist:
    """The tools of servers in one turn. `told` are those that fit the request, best first. Found
    tools may be called like them. All text from a server goes through `show`."""

    tools: Mapping[str, Tool]
    told: Sequence[Tool]
    show: Show = lambda tools, text: text
    _found: list[Tool] = field(default_factory=list)

    def near(self) -> list[Tool]:
        return list({tool.name: tool for tool in (*self.told, *self._found)}.values())

    def named(self, name: str) -> Tool | None:
        """The tool of that name, or the only one with that name on its server."""
        plain = plain_name(name)
        ends = [known for known in self.tools if known.partition("__")[2] == plain]
        found = self.tools.get(plain) or (self.tools[ends[0]] if len(ends) == 1 else None)
        if found:  # an error text about a call shows its right form
            self.show([found], "")
        return found

    def meant(self, call: ToolCall) -> ToolCall:
        """The tool's own call for a call of `use_tool`. Raises ToolProblem for an unknown tool."""
        if plain_name(call.name) != GATEWAY:
            return call
        rest = dict(call.arguments)
        tool = self.named(str(rest.pop("name", "")))
        if tool is None:
            raise ToolProblem(NO_NAME)
        given = rest.get("arguments", rest)
        given = json_or_none(given) if isinstance(given, str) else given
        return ToolCall(call.id, tool.name, given if isinstance(given, Mapping) else {})

    def gateway(self) -> list[Tool]:
        """The two tools in the head that reach the others. A step in JSON only has the first; there
        a found tool is called by its own name."""
        return [
            Tool(
                "more_tools",
                "Find tools of connected programs.",
                _parameters(query="string"),
                (CallForm("read", arguments=("query",)),),
                self._search,
            ),
            Tool(
                GATEWAY,
                "Call a tool that is named beside the request or that more_tools has shown.",
                _parameters(name="string", arguments="object"),
                (),
                _run_nothing,
            ),
        ]

    def lines(self, *, native: bool) -> list[str]:
        """The lines in the user's message about the tools that fit it."""
        told = [tool for tool in self.told if tool.available()]
        if not told:
            return []
        how = f"call them with {GATEWAY}" if native else "call them like the others"
        listed = "\n".join(f"- {tool_line(tool)}" for tool in told)
        return [f"More tools for this, {how}:", self.show(told, listed)]

    def _search(self, query: str) -> str:
        found = [tool for tool in _find_nearest(query, self.tools.values()) if tool.available()]
        if not found:
            groups = sorted({name.partition("__")[0] for name in self.tools})
            raise ToolProblem(
                f'No tool is about "{query}". There are tools for {some_of(groups, 12)}.'
            )
        found = found[:MAX_FOUND]
        self._found += found
        self.show(found, "")
        return "\n".join(map(tool_line, found))


def split_tools(
    built_in: Sequence[Tool], served: Sequence[Tool], request: str
) -> tuple[list[Tool], Shortlist | None]:
    """The tools that the head lists, and a shortlist of the others. With few tools the head lists
    all; with many, the shortlist has all that come from servers."""
    if not served or sum(tool.listed for tool in built_in) + len(served) <= MAX_LISTED:
        return [*built_in, *served], None
    near = _find_nearest(request, served)[:SHORTLIST]
    shortlist = Shortlist({tool.name: tool for tool in served}, near)
    return [*built_in, *shortlist.gateway()], shortlist


def _find_nearest(words: str, tools: Iterable[Tool]) -> list[Tool]:
    """The tools that some words may be about, best first."""
    by_name = {tool.name: tool for tool in tools}
    blurbs = [Blurb(t.name, t.description, tuple(t.parameters["properties"])) for t in tools]
    return [by_name[blurb.name] for blurb in match_tools(words, blurbs)]


def plain_name(name: str) -> str:
    """The name of a tool in the spelling of ours, without the prefixes that models add."""
    return name.strip().casefold().replace("-", "_").rpartition(".")[2]


def _parameters(**kinds: str) -> Mapping[str, object]:
    properties = {name: {"type": kind} for name, kind in kinds.items()}
    return {"type": "object", "properties": properties, "required": list(kinds)}


def _run_nothing(**arguments: object) -> str:
    raise ToolProblem(NO_NAME)
