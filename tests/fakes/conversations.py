"""Conversations as hypothesis makes them up: any roles, calls, results, scripts and sizes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from hypothesis import strategies as st

from openclaw.messages import Entry, ToolUse

WINDOWS = (2048, 2048, 3000, 4096, 4096, 8192, 32768, 131072)
"""Tokens; the small ones more often, as there is more to be cut at them."""
QUESTIONS = ("What was the last thing that we spoke of?", "And before that?")
PROSE = "The pump on the second floor was asked for its state and said nothing. "


@dataclass(frozen=True)
class Case:
    """A conversation so far, a window (tokens), sizes of home files (characters), and a turn."""

    history: tuple[Entry, ...]
    window: int
    soul: int
    memory: int
    file: int
    reads: int
    material: str
    said: str
    summarises: bool

    @property
    def words(self) -> tuple[str, str]:
        """What the user says in the two turns that are judged."""
        return f"{self.said}\n{QUESTIONS[0]}" if self.said.strip() else QUESTIONS[0], QUESTIONS[1]


def texts(most: int) -> st.SearchStrategy[str]:
    """Short texts of any letters, long prose, one long line, digits, other scripts."""
    sizes = st.integers(0, most)
    return st.one_of(
        st.text(max_size=80),
        sizes.map(lambda n: (PROSE * (n // len(PROSE) + 1))[:n]),
        sizes.map(lambda n: "\n".join(f"{k} {k * 7919}" for k in range(n // 12))),
        sizes.map(lambda n: "ab3-" * (n // 4)),
        sizes.map(lambda n: "\u65e5\u672c\u8a9e\u306e\u6587\u3002" * (n // 24)),
        sizes.map(lambda n: "\u0391\u03b2\u0301\U0001f9a6 " * (n // 20)),
    )


@st.composite
def uses(draw: st.DrawFn) -> ToolUse:
    tool, given = draw(
        st.sampled_from(
            (
                ("read_file", {"path": "workspace/a.md"}),
                ("search_files", {"text": "pump"}),
                ("write_file", {"path": "workspace/b.md", "content": PROSE * 30}),
                ("todo", {"action": "list"}),
            )
        )
    )
    output = draw(texts(30_000))
    return ToolUse(f"call_{draw(st.integers(1, 99))}", tool, given, output, draw(st.booleans()))


@st.composite
def exchanges(draw: st.DrawFn) -> list[Entry]:
    context = "<context>\nNow: Saturday\n</context>"
    if draw(st.integers(0, 5)) == 0:
        context += f"\n\n{draw(texts(20_000))}"
    entries = [Entry("user", draw(texts(2_000)) or "Go on.", context=context)]
    for made in draw(st.lists(uses(), max_size=3)):
        hint = draw(st.sampled_from(("", "Answer now.")))
        entries.append(Entry("assistant", "", tool_calls=(made,), hint=hint))
    if draw(st.integers(0, 9)):
        entries.append(Entry("assistant", draw(texts(3_000)) or "Yes."))
    return entries


def cases() -> st.SearchStrategy[Case]:
    return st.builds(
        Case,
        history=st.lists(exchanges(), max_size=12).map(lambda some: tuple(chain(*some))),
        window=st.sampled_from(WINDOWS),
        soul=st.sampled_from((0, 500, 20_000)),
        memory=st.sampled_from((0, 500, 20_000)),
        file=st.sampled_from((10, 4_000, 40_000)),
        reads=st.integers(0, 3),
        material=st.one_of(st.just(""), st.just(""), texts(30_000)),
        said=st.one_of(st.just(""), st.just(""), texts(3_000), texts(40_000)),
        summarises=st.booleans(),
    )
