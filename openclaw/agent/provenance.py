"""Where the words of a turn come from: the user, the user's files, or somebody else.

A text of somebody else's taints the turn that sees it, and all later turns of its conversation.
What a model then wants to keep for good is the user's own only when the
user said it. Words of the user's files are data as well: they are kept for good only with a yes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from openclaw.errors import OpenclawError
from openclaw.nlp.intent import DONE_WORDS, LIST_WORDS
from openclaw.nlp.words import missing_words, telling_words
from openclaw.security.audit import Audit
from openclaw.security.policy import is_identity
from openclaw.security.untrusted import Learned, fence
from openclaw.sessions.session import FOREIGN, Session
from openclaw.skills.sources import sources
from openclaw.storage.home import PROPOSED, Home, starter_files
from openclaw.storage.safe_open import read_bytes
from openclaw.storage.text import decode, md5, read_text
from openclaw.tools.results import Room, as_data, cut
from openclaw.tools.tool import Tool
from openclaw.types import Action, Deed, Image, Ledger, Material, ToolUse

KEY = FOREIGN
NAMED = "named"
"""Key of the session's file: the names in words of its own that the model wanted unasked since text
of others was seen."""
OWN_FILES = "the user's files"
HERE = "earlier in this conversation"
MOST_CHARS = 200_000
MOST_LOOKED_AT = 200_000
"""Bytes of the files that a command changed which are looked at for words of others."""
MOST_IN_A_NAME = 1
"""Words that the names of lists and memories may have which the user has not said; together, as
several names may be read as a sentence."""
MOST_IN_A_PATH = 2
"""The same for one other file; what has more is text of others, to who lists the files."""
TODO_FILE = "TODO.md"
_EMPTY = md5(b"")
_NAME_A_FILE = frozenset(("read_file", "memory_get", "read_skill"))
_NAME_PLACES = frozenset(("memory_search", "search_files"))
_SEARCHES = frozenset(("memory_search", "search_sessions"))
_READERS: Mapping[str, str] = {
    "search_files": "files of the home",
    "run_shell": "a command",
    "run_python": "a program",
}
_LASTING = re.compile(r"memory/(?!inbox/)|workspace/USER\.md$", re.IGNORECASE)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_HEAD = re.compile(r"memory/|workspace/(?:SOUL|USER|AGENTS|IDENTITY|TOOLS|HEARTBEAT)\.md$")
_ELSEWHERE = re.compile(r"^(?P<path>(?:/|[A-Za-z]:[\\/])[^\n:]{1,300}):\d+(?:-\d+)?:", re.MULTILINE)


@dataclass(slots=True)
class Provenance:
    """Looks on while one turn runs (see `openclaw.tools.toolbox.Watch`).

    `room` is how much of what goes along with a prompt is shown; `data` are the user's files whose
    text the tools gave the model, `seen` texts that it was given without a tool or in an earlier
    turn, by their source.
    """

    home: Home
    ledger: Ledger
    session: Session
    audit: Audit
    room: Room = Room(2 * MOST_CHARS)
    data: list[str] = field(default_factory=list)
    seen: list[tuple[str, str]] = field(default_factory=list)
    _names: list[str] = field(default_factory=list)
    _naming: str = ""
    _at: int = 0
    _listed: dict[str, str] = field(default_factory=dict)
    _sums: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._at = self.session.archived + len(self.session.messages)

    @property
    def learned(self) -> Learned:
        return Learned(self.home)

    # -------- the conversation

    def inherit(self) -> None:
        """Take over what earlier turns brought along. Their sources count as long as the
        conversation goes on: what a model has said of a page outlives the page in its window."""
        self._inherit(_kept(self.session))
        if self.session.compressed_context:
            self.seen.append((HERE, self.session.compressed_context))
        names = self.session.extra.get(NAMED)
        self._names = [*map(str, names)] if isinstance(names, list) else []
        for entry in self.session.messages:
            self.seen += [(_place(use), use.output) for use in entry.tool_calls if _shows(use)]

    def _inherit(self, sources: Iterable[str]) -> None:
        self.ledger.inherited = tuple(dict.fromkeys((*self.ledger.inherited, *sources)))

    def save(self) -> None:
        """Write into the session what this turn has seen of others."""
        kept = dict.fromkeys(self.ledger.inherited, self._at) | _kept(self.session)
        kept |= dict.fromkeys(self.ledger.foreign, self._at)
        names = self._names if kept else []
        for key, value in ((KEY, kept), (NAMED, names)):
            if value:
                self.session.extra[key] = value
            else:
                self.session.extra.pop(key, None)

    # -------- what the user or the search hands over

    def materials(self, materials: Sequence[Material]) -> str:
        """What goes along with a prompt, fenced. What is not the user's own file is foreign, also
        standard input: nobody knows who wrote it."""
        return "\n\n".join(self._material(each) for each in materials)

    def _material(self, material: Material) -> str:
        if not material.path:
            return as_data(material.text, material.label, self.ledger, self.room)
        # Of a longer one no more than both ends are shown.
        ends = f"{material.text[:MOST_CHARS]}\n{material.text[MOST_CHARS:][-MOST_CHARS:]}"
        if source := self.learned.source(material.path) or self.learned.known(ends):
            label = f"{material.label}, {source}"
            return as_data(material.text, label, self.ledger, self.room)
        self._read(material.path)
        text, note = cut(material.text, self.room)
        return fence(text, material.label, self.ledger.marker, own=True) + note

    def images(self, images: Sequence[Image]) -> None:
        """Images go along as they are. What stands in one that is not the user's own is foreign."""
        sources = filter(None, (self._source_of(each.path) for each in images))
        self.ledger.foreign += [s for s in dict.fromkeys(sources) if s not in self.ledger.foreign]

    def passages(self, found: Iterable[tuple[str, str]]) -> list[str]:
        """Passages, each a path and what is shown of it, as fenced blocks: those of the user's own
        files, then those of others."""
        own: list[str] = []
        others: dict[str, list[str]] = {}
        for path, text in found:
            if source := self._source_of(path) or self.learned.copied(text):
                others.setdefault(source, []).append(text)
            else:
                own.append(text)
                self.seen += [] if _is_mine(path) else [(path, text)]
        blocks = [fence("\n".join(own), OWN_FILES, self.ledger.marker)] if own else []
        return blocks + [self.foreign("\n".join(texts), by) for by, texts in others.items()]

    def earlier(self, lines: Sequence[str]) -> list[str]:
        """What was said in the archived part of the conversation, as a fenced block."""
        text = "\n".join(lines)
        self.seen += [(HERE, text)] if text else []
        return [fence(text, HERE, self.ledger.marker)] if text else []

    def listing(self, tools: Sequence[Tool], text: str = "") -> str:
        """What servers say of their tools, fenced. It is text of others, but nobody has asked for
        it: what the user says beside it is still the user's."""
        for tool in tools:
            self._listed[tool.name] = f"tools of {tool.foreign}"
        sources = dict.fromkeys(self._listed[tool.name] for tool in tools)
        self._inherit(sources)
        return fence(text, ", ".join(sources), self.ledger.marker) if text else ""

    def foreign(self, text: str, source: str) -> str:
        """A text of others, fenced; from here on the turn is tainted."""
        return as_data(text, source, self.ledger, Room(MOST_CHARS))

    # -------- whose words they are

    def origin(self, text: str) -> str:
        """Where the words of a text come from, "" when they may be taken for the user's."""
        if self.ledger.foreign:
            return _named(self.ledger.foreign)
        missing = missing_words(text, self.ledger.request)
        if not missing:
            return ""
        if self.ledger.inherited:
            return _named(self.ledger.inherited)
        if self.data:
            return _named(self.data)
        said = self._said()
        missing = {word for word in missing if missing_words(word, said)}
        return next((by for by, seen in self.seen if missing & telling_words(seen)), "")

    def tainted(self, action: Action, arguments: Mapping[str, Any]) -> bool:
        """Whether a call is to be judged as one that others may be behind. For what every later
        conversation reads the words decide: those of the user are always his."""
        words, self._naming = " ".join(_texts(arguments)), ""
        if action.effect == "write" and action.tool == "todo":
            words += f" {self._new_list(arguments)}"
            missing = bool(missing_words(words, self.ledger.request))
            return missing and (self.ledger.tainted or bool(self._unasked(words)))
        if action.effect == "write" and _LASTING.match(action.target):
            return bool(self.origin(f"{words} {self._new_file(action.target)}"))
        if action.effect == "write" and is_identity(action.target) and self.origin(words):
            return True
        # What a server says of its tools may well be behind a call of one: it is made for that.
        own = self._listed.get(action.tool.partition(".")[0])
        return any(source != own for source in (*self.ledger.foreign, *self.ledger.inherited))

    def _new_list(self, arguments: Mapping[str, Any]) -> str:
        """The name of the list that a call of `todo` removes, or makes and that says more than a
        name does; "" for any other."""
        from openclaw.memory.markdown import scan
        from openclaw.memory.todos import list_names

        name = str(arguments.get("list") or "")
        if arguments.get("action") == "remove_list":
            return name or str(arguments.get("item") or "")
        known: list[str] = []
        with suppress(OSError):
            known = list_names(scan(read_text(self.home.memory / TODO_FILE)))
        return "" if any(not missing_words(name, each) for each in known) else self._new_name(name)

    def _new_file(self, path: str) -> str:
        """The name of a file of memory that is not there yet, when it says more than a name does;
        "" for any other, and for a day's."""
        file = self.home.root / path
        new = [each.name for each in (file, *file.parents) if not each.exists()]
        name = " ".join(reversed(new)).removesuffix(".md")
        return "" if _DAY.fullmatch(name) else self._new_name(name)

    def _new_name(self, name: str) -> str:
        """A name that is to be made, when it and those before it say more than names do."""
        missing = missing_words(" ".join((*self._names, name)), self._said()) - LIST_WORDS
        self._naming = name if missing & telling_words(name) else ""
        return name if len(missing) > MOST_IN_A_NAME else ""

    def _said(self) -> str:
        """What the user has said in this conversation."""
        earlier = (entry.content for entry in self.session.messages if entry.role == "user")
        return "\n".join((*earlier, self.ledger.request))

    def _unasked(self, words: str) -> str:
        """The file that the words of a to-do come from, "" when the user spoke of to-dos: then he
        wants them from there."""
        said = self.ledger.request
        spoke = LIST_WORDS.intersection(re.findall(r"[\w-]+", said.lower()))
        return "" if spoke or DONE_WORDS.search(said) else self.origin(words)

    # -------- what the tools give

    def source(self, action: Action, text: str) -> str:
        """Whose text a result shows, "" for what is the user's own; that is taken down as data."""
        if action.effect == "read-elsewhere":
            return f"file {action.target}"
        path = action.target if action.tool in _NAME_A_FILE else ""
        shown = self._source_of(path) or self._printed(action) or self.learned.shown_in(text)
        if source := shown or self._elsewhere(action, text):
            return source
        if path or action.tool in _READERS:
            self._read(path or _READERS[action.tool])
        return ""

    def _printed(self, action: Action) -> str:
        """Whose text a program shows that names its file, in whatever form it comes out."""
        if action.tool != "run_shell":
            return self.learned.named_in(action.code)
        from openclaw.tools.shell.read_only import named

        files = named(self.home, action.target)
        if files is None:
            return self.learned.named_in(action.target)
        return next(filter(None, map(self._source_of, files)), "")

    def _read(self, path: str) -> None:
        """Take down a file of the user's."""
        if not _is_mine(path) and path not in self.data:
            self.data.append(path)

    def _source_of(self, path: str) -> str:
        if Path(path).is_absolute():
            return f"file {path}"
        if source := self.learned.source(path):
            return source
        if path.startswith("skills/") and not accepted(self.home, path):
            return f"{path}, which nobody has accepted"
        return ""

    def _elsewhere(self, action: Action, text: str) -> str:
        """The file outside the home that a search names as the place of a line."""
        root = os.path.realpath(self.home.root)
        places = _ELSEWHERE.finditer(text) if action.tool in _NAME_PLACES else ()
        paths = (found["path"] for found in places)
        real = (path for path in paths if not Path(os.path.realpath(path)).is_relative_to(root))
        return next((f"file {path}" for path in real), "")

    # -------- what was done

    def done(self, deed: Deed) -> None:
        """Put a call on record, and note the files that it wrote with words of others."""
        self.audit.write(deed)
        if self._naming and deed.by != "user":
            self._names.append(self._naming)
        self._naming = ""
        try:
            self._note_changes()
        except (OSError, OpenclawError) as error:
            self.audit.trouble = f"it could not be noted where a file is from: {error}"

    def _note_changes(self) -> None:
        """Note the files that were just changed: for words that are new in them, or, as a program
        may move what it does not show, for those that stood elsewhere before."""
        was: dict[str, str] = {}
        for path, before in self.ledger.before.items():
            old = self._sums.get(path, md5((before or "").encode(errors="replace")))
            self._sums[path] = now = self._sum(path)
            if now != old:
                was[path] = old
        find = self._new_in if self.ledger.tainted else self._moved_to
        if found := [*find(was)]:
            self.learned.note_all(found)

    def _new_in(self, was: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
        """What is new in files that were changed in a turn that has seen words of others: each path
        with the sources and the text."""
        by = _named((*self.ledger.foreign, *self.ledger.inherited))
        own = dict(self._own_lines())
        for path in was:
            if _HEAD.match(path) or not self._sums[path]:
                continue
            before = self.ledger.before[path]
            others = (lines for name, lines in own.items() if name != path)
            known = {*(before or "").splitlines()}.union(*others)
            text = read_text(self.home.root / path)
            new = [line for line in text.splitlines() if line not in known]
            missing = missing_words("\n".join(new), self.ledger.request)
            theirs = [line for line in new if missing & telling_words(line)]
            if before is None and self._tells(path):
                theirs += [path, Path(path).name]
            if self.ledger.foreign or theirs:
                yield path, by, "\n".join(theirs)

    def _tells(self, path: str) -> bool:
        """Whether the name of a file that was just made says something, with those of the folders
        that were made for it."""
        file = self.home.root / path
        names = [file.stem]
        for folder in file.parents:
            if folder == self.home.root or len([*islice(folder.iterdir(), 2)]) > 1:
                break
            names.append(folder.name)
        missing = missing_words(" ".join(names), self._said())
        return len([word for word in missing if not word.isdigit()]) > MOST_IN_A_PATH

    def _own_lines(self) -> Iterator[tuple[str, list[str]]]:
        """The lines of the user's files that were read or written in this turn."""
        for path, mark in self.ledger.read.items():
            if mark in self.ledger.held and not self._source_of(path):
                yield path, decode(self.ledger.held[mark]).splitlines()

    def _moved_to(self, was: Mapping[str, str]) -> Iterator[tuple[str, str, None]]:
        """Changed files that hold what stood elsewhere before, each with whose text that is; `was`
        are the sums of what they held. A program does not show what it moves."""
        sources = {old: self._source_of(path) for path, old in was.items() if old != _EMPTY}
        gone = (self._source_of(path) for path in was if not self._sums[path])
        went = next(filter(None, gone), "")
        most = MOST_LOOKED_AT // max(len(was), 1)
        for path in filter(self._sums.get, was):
            now, is_new = self._sums[path], self.ledger.before[path] is None
            source = sources.get(now, went) if is_new else ""
            if now not in sources and not _HEAD.match(path):
                source = self.learned.copied(read_text(self.home.root / path, most)) or source
            if source:
                yield path, source, None

    def news(self) -> list[str]:
        """What the user should know about the record."""
        return [self.audit.trouble] if self.audit.trouble else []

    def _sum(self, path: str) -> str:
        file = self.home.root / path
        return md5(file) if file.is_file() else ""


def _is_mine(path: str) -> bool:
    """Whether a file holds the user's own words or decisions: what is remembered, the files of the
    head, the instructions of skills."""
    return bool(_HEAD.match(path)) or path.endswith("/SKILL.md")


def _shows(use: ToolUse) -> bool:
    """Whether a call of an earlier turn gave the model text of a file."""
    readers = use.tool in _READERS or use.tool in (*_NAME_A_FILE, *_SEARCHES)
    skill = use.tool == "read_skill" and not use.input.get("file")
    return readers and not skill and not _is_mine(_place(use))


def _place(use: ToolUse) -> str:
    return str(use.input.get("path") or use.input.get("file") or use.tool)


def _kept(session: Session) -> dict[str, int]:
    """What a session's file says; an editor may have been at it."""
    value = session.extra.get(KEY)
    found = value.items() if isinstance(value, dict) else ()
    return {str(source): at for source, at in found if isinstance(at, int)}


def brought_along(session: Session) -> str:
    """Whose words a conversation may hold beside the user's, "" when nobody else's; for what others
    are shown of it."""
    if not session.extra.get(KEY):
        return ""
    return f"session {session.id}: {_named(list(_kept(session))) or 'unknown'}"


def _named(sources: Sequence[str]) -> str:
    """A few sources in words."""
    different = list(dict.fromkeys(sources))
    more = f" and {len(different) - 2} more" if len(different) > 2 else ""
    return ", ".join(different[:2]) + more


def _texts(value: Any) -> Iterable[str]:
    """The texts of a call's arguments."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            if name not in ("path", "action", "list"):
                yield from _texts(each)
    elif isinstance(value, Sequence):
        for each in value:
            yield from _texts(each)


def accepted(home: Home, path: str) -> bool:
    """Whether a file of a skill may be believed. Its SKILL.md may: it stands in skills/ because the
    user put it there to be followed. Other files of a skill that nobody installed may be anybody's.
    """
    if path.startswith(f"{PROPOSED}/"):
        return False
    name, _, inner = path.removeprefix("skills/").partition("/")
    if inner in ("", "SKILL.md"):
        return True
    with suppress(OpenclawError, OSError):
        if name in sources(home.skills):
            return True
        return starter_files().get(path) == read_bytes(home.root / path)
    return False
