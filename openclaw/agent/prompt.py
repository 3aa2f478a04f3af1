"""The prompt: a head of named parts that stays the same from turn to turn, and a tail."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.home.open_home import OpenHome
from openclaw.models.token_count import count, cut, surely_fits
from openclaw.nlp.relevance import SHORT_ABOUT, Blurb, skills_in_head
from openclaw.sessions.session import Session, SessionState
from openclaw.storage.safe_open import md5, parse_foreign_json, read_bytes, read_text
from openclaw.storage.text import write_text

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
MAX_ABOUT = 1024  # characters of a description; the standard allows no more

COMMENT = re.compile(r"^[ \t]*<!--.*?-->[ \t]*\n?|[ \t]*<!--.*?-->", re.DOTALL | re.MULTILINE)
SUPERSEDED = re.compile(
    r"^[ \t]*[-*+][ \t]+~~(?:(?!~~)[^\n])+~~(?: \([^\n]*\))?[ \t]*(?:\n|\Z)", re.MULTILINE
)
MAX_RULES = 2
HARD_RULE = re.compile(
    r"\b(always|never|every (answer|reply)|must|immer|nie|toujours|jamais|siempre|nunca)\b", re.I
)

SOURCES = {
    "identity": "workspace/IDENTITY.md",
    "soul": "workspace/SOUL.md",
    "agents": "workspace/AGENTS.md",
    "user": "workspace/USER.md",
    "tools_md": "workspace/TOOLS.md",
    "memory": "memory/MEMORY.md",
}
REQUIRED = ("soul", "agents", "user")
REMEMBERED = "memory"  # the part of the head that is memory; the others are instructions
MAX_BYTES = 1_000_000  # bytes read of a file of the head; a window holds far less


@frozen
class HeadPart:
    """A named piece of the prompt. `path` is relative to the home, "" for text that code adds."""

    name: str
    text: str
    path: str = ""
    cut: bool = False


def strip_comments(text: str) -> str:
    """Return a Markdown text without comments, which are for people who edit the file, and without
    struck-through list items, which no longer hold and would mislead a model."""
    return re.sub(r"\n{3,}", "\n\n", SUPERSEDED.sub("", COMMENT.sub("", text))).strip()


def make_head(
    sources: Mapping[str, str],
    tool_rules: str,
    skills: Sequence[Blurb],
    window: int,
    count: Callable[[str], int] = count,
) -> tuple[HeadPart, ...]:
    """Return the parts of the head in order, each cut to its share of the window (tokens).

    `sources` may hold a text for each name of `SOURCES`; missing and empty ones are left out.
    `count` counts tokens.
    """
    parts = [HeadPart("rules", IDENTITY)]
    for name in ("identity", "soul", "agents", "user", "tools_md"):
        parts += _file_parts(name, sources, window, count)
    parts.append(HeadPart("tools", tool_rules))
    if skills:
        room = int(window * SHARES["skills"])
        text, was_cut = _skill_list(skills, room, count)
        parts.append(HeadPart("skills", text, "skills", was_cut))
    parts += _file_parts("memory", sources, window, count)
    return tuple(part for part in parts if part.text)


def _skill_list(
    skills: Sequence[Blurb], room: int, count: Callable[[str], int]
) -> tuple[str, bool]:
    """Return one line a skill in at most `room` tokens, and True when it was cut. Descriptions are
    shortened, then dropped, before a skill is left out. The last line says how many are left out.
    """
    named = skills_in_head(skills)
    rest = len(skills) - len(named)
    for characters in (MAX_ABOUT, 200, 120, SHORT_ABOUT, 0):
        lines = [f"- {skill.line(characters)}" for skill in named]
        lines += [MORE_SKILLS.format(rest)] if rest else []
        text = "\n".join(("# Skills", "", SKILLS_RULE, *lines))
        if surely_fits(text, room) or count(text) <= room:
            return text, False
    return cut(text, room, "`openclaw skills list` names the rest", count)


def _file_parts(
    name: str, sources: Mapping[str, str], window: int, count: Callable[[str], int]
) -> list[HeadPart]:
    text, path = strip_comments(sources.get(name, "")), SOURCES[name]
    if not re.sub(r"^#.*$", "", text, flags=re.M).strip():
        return []  # a file with only headings would waste tokens
    text, was_cut = cut(text, int(window * SHARES[name]), f"read_file {path}", count)
    return [HeadPart(name, text, path, was_cut)]


def sums_of(sources: Mapping[str, str]) -> dict[str, str]:
    """Return the MD5 of the head's files by their paths."""
    return {SOURCES[name]: md5(text.encode()) for name, text in sources.items()}


def render_head(parts: Sequence[HeadPart]) -> str:
    return "\n\n".join(part.text for part in parts)


def hard_rules(sources: Mapping[str, str]) -> tuple[str, ...]:
    """Return the first lines of SOUL.md and USER.md that say always, never or must.

    Small models forget the head when the message is short (docs/small-models.md), so these are
    repeated in the tail.
    """
    found = [
        line.strip().lstrip("-*").strip()
        for name in ("soul", "user")
        if name in sources
        for line in strip_comments(sources[name]).splitlines()
        if HARD_RULE.search(line) and len(line) < 300
    ]
    return tuple(found[:MAX_RULES])


def make_tail(
    now: datetime,
    rules: Sequence[str] = (),
    due: Sequence[str] = (),
    changed: Sequence[str] = (),
    passages: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> str:
    """Return the block in front of the newest message of the user: facts of the moment.
    `passages` about the message are fenced already."""
    lines = [f"Now: {now:%A, %Y-%m-%d %H:%M}"]
    lines += [f"Rule: {rule}" for rule in rules]
    lines += [f"Due to-do: {text}" for text in due]
    lines += [f"Changed file: {text}" for text in changed]
    body = "\n".join([*lines, *notes, *passages])
    return f"<context>\n{body}\n</context>"


@frozen
class HeadCache:
    """Copies of heads by their SHA-256 in a folder that may be deleted at any time."""

    folder: Path

    def find_or_make(
        self,
        session: Session,
        sources: Mapping[str, str],
        make: Callable[[], tuple[HeadPart, ...]],
        protocol: str,
        tools: Sequence[str],
    ) -> tuple[tuple[HeadPart, ...], list[str]]:
        """Return the head that the session began with, and the changes in its files since.

        A conversation keeps its head, so that the model's cache of it stays valid; the tail tells
        of an edit, and the next conversation or compaction takes it into the head. `make` makes a
        head from the present files; `tools` are the names of the native tools.
        """
        sums = sums_of(sources)
        now = {"files": sums, "tools": list(tools)}
        kept = (session.state.head if session.messages else None) or {}
        same = kept.get("protocol") == protocol
        old = self.kept(str(kept.get("sha256", ""))) if same else None
        if old is None:
            fresh = make()
            head = {"sha256": self._save(fresh), "protocol": protocol, **now}
            session.update_state(SessionState(head=head))
            return fresh, []
        files = kept.get("files")
        told = files if isinstance(files, dict) else {}
        changed = [path for path, value in sums.items() if told.get(path) != value]
        fresh = make() if changed else ()
        session.update_state(SessionState(head={**kept, **now}))
        return old, [*filter(None, (_head_diff(path, old, fresh) for path in changed))]

    def _save(self, parts: Sequence[HeadPart]) -> str:
        data = json.dumps([[p.name, p.text, p.path, p.cut] for p in parts], ensure_ascii=False)
        key = hashlib.sha256(data.encode()).hexdigest()
        path = self.folder / f"{key}.json"
        if not path.exists():
            with suppress(OSError, OpenclawError):  # without the copy the head is built anew
                write_text(path, data)
        return key

    def kept(self, key: str) -> tuple[HeadPart, ...] | None:
        """Return the head with this SHA-256, None when no copy is left."""
        path = self.folder / f"{key}.json"
        try:
            return tuple(HeadPart(*part) for part in parse_foreign_json(read_bytes(path)))
        except (OSError, ValueError, TypeError):
            return None


def _head_diff(path: str, old: Sequence[HeadPart], new: Sequence[HeadPart]) -> str:
    def lines(parts: Sequence[HeadPart]) -> list[str]:
        return [line for part in parts if part.path == path for line in part.text.splitlines()]

    diff = list(difflib.unified_diff(lines(old), lines(new), lineterm="", n=0))[2:]
    kept = [line for line in diff if line[:1] in "+-" and line[1:].strip()]
    return "\n".join((path, *kept[:12])) if kept else ""


def read_sources(open_home: OpenHome) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Read the files of the head, MEMORY.md only where memory is used. Return their texts without
    secrets, by the names of `SOURCES`, and the reason for each path that cannot be read."""
    texts, unreadable = {}, {}
    for name, path in SOURCES.items():
        if name == "memory" and not open_home.use_memory:
            continue
        try:
            texts[name] = read_text(open_home.home.root / path, MAX_BYTES)
        except FileNotFoundError:
            continue
        except OSError as error:
            unreadable[path] = error.strerror or str(error)
    return {name: open_home.masker.mask(text) for name, text in texts.items()}, unreadable
