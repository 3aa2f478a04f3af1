"""The prompt: named parts become a head that stays the same from turn to turn, and a tail."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from openclaw.agent.budget import count, cut, surely_fits
from openclaw.agent.shortlist import SHORTEST, Blurb, listed

IDENTITY = """\
You are a personal agent. You live in a folder of Markdown files on the user's own machine.
You act only through tools. Code checks every claim that something was done."""

SHARES: Mapping[str, float] = {
    "soul": 0.06,
    "agents": 0.08,
    "user": 0.05,
    "identity": 0.03,
    "tools_md": 0.05,
    "skills": 0.06,
    "memory": 0.06,
}
"""The largest share of the window that each part of the head may take."""

SKILLS_RULE = (
    "When the request fits one of these, call read_skill with its name first, then do what it says."
)
MORE_SKILLS = (
    "{} more skills are not listed. Those that may fit a request are named beside it; find_skill "
    "looks for others."
)
MOST_ABOUT = 1024
"""Characters of a description, the most that the standard allows."""

COMMENT = re.compile(r"^[ \t]*<!--.*?-->[ \t]*\n?|[ \t]*<!--.*?-->", re.DOTALL | re.MULTILINE)
SUPERSEDED = re.compile(
    r"^[ \t]*[-*+][ \t]+~~(?:(?!~~)[^\n])+~~(?: \([^\n]*\))?[ \t]*(?:\n|\Z)", re.MULTILINE
)
HARD_RULE = re.compile(
    r"\b(always|never|every (answer|reply)|must|immer|nie|toujours|jamais|siempre|nunca)\b", re.I
)


@dataclass(frozen=True, slots=True)
class Part:
    """A named piece of the prompt. `path` is relative to the home, empty for what code adds."""

    name: str
    text: str
    path: str = ""
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """A file of the home that goes into the head."""

    path: str
    text: str


def visible(text: str) -> str:
    """A Markdown text without its comments, which are for the people who edit the file, and without
    list items that are struck through: what no longer holds would only mislead a model."""
    return re.sub(r"\n{3,}", "\n\n", SUPERSEDED.sub("", COMMENT.sub("", text))).strip()


def head(
    sources: Mapping[str, Source],
    tool_rules: str,
    skills: Sequence[Blurb],
    window: int,
) -> tuple[Part, ...]:
    """The parts of the head, in their order, each cut to its share of the window (tokens).

    `sources` may hold identity, soul, agents, user, tools_md and memory; what is missing or empty
    is left out.
    """
    parts = [Part("rules", IDENTITY)]
    for name in ("identity", "soul", "agents", "user", "tools_md"):
        parts += _from_file(name, sources, window)
    parts.append(Part("tools", tool_rules))
    if skills:
        room = int(window * SHARES["skills"])
        text, was_cut = _skill_list(skills, room)
        parts.append(Part("skills", text, "skills", was_cut))
    parts += _from_file("memory", sources, window)
    return tuple(part for part in parts if part.text)


def _skill_list(skills: Sequence[Blurb], room: int) -> tuple[str, bool]:
    """One line a skill in so many tokens; descriptions get shorter, and none at all, before a skill
    is left out. The last line says how many are."""
    named = listed(skills)
    rest = len(skills) - len(named)
    for characters in (MOST_ABOUT, 200, 120, SHORTEST, 0):
        lines = [f"- {skill.line(characters)}" for skill in named]
        lines += [MORE_SKILLS.format(rest)] if rest else []
        text = "\n".join(("# Skills", "", SKILLS_RULE, *lines))
        if surely_fits(text, room) or count(text) <= room:
            return text, False
    return cut(text, room, "`openclaw skills list` names the rest")


def _from_file(name: str, sources: Mapping[str, Source], window: int) -> list[Part]:
    source = sources.get(name)
    text = visible(source.text) if source else ""
    if not source or not re.sub(r"^#.*$", "", text, flags=re.M).strip():
        return []  # nothing but a heading would only cost tokens
    text, was_cut = cut(text, int(window * SHARES[name]), f"read_file {source.path}")
    return [Part(name, text, source.path, was_cut)]


def render(parts: Sequence[Part]) -> str:
    """The head as one text."""
    return "\n\n".join(part.text for part in parts)


def hard_rules(sources: Mapping[str, Source], most: int = 2) -> tuple[str, ...]:
    """The first lines of SOUL.md and USER.md that say always, never or must.

    Small models forget the head when the message is short (docs/small-models.md), so these are
    repeated in the tail.
    """
    found = [
        line.strip().lstrip("-*").strip()
        for name in ("soul", "user")
        if name in sources
        for line in visible(sources[name].text).splitlines()
        if HARD_RULE.search(line) and len(line) < 300
    ]
    return tuple(found[:most])


def tail(
    now: datetime,
    rules: Sequence[str] = (),
    due: Sequence[str] = (),
    changed: Sequence[str] = (),
    found: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> str:
    """The block that goes in front of the newest message of the user: what is true just now.
    `found` are passages about it, already fenced."""
    lines = [f"Now: {now:%A, %Y-%m-%d %H:%M}"]
    lines += [f"Rule: {rule}" for rule in rules]
    lines += [f"Due to-do: {text}" for text in due]
    lines += [f"Changed file: {text}" for text in changed]
    body = "\n".join([*lines, *notes, *found])
    return f"<context>\n{body}\n</context>"
