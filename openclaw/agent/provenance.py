"""Tracks the source of the words of a turn: the user, the user's files, or somebody else.

A foreign text taints the turn that sees it, and all later turns of its conversation. Then only the
user's own words may be remembered without a yes. Words of the user's files are data as well: they
are remembered only with a yes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from openclaw.errors import OpenclawError
from openclaw.memory.todos import list_names, read_task_page
from openclaw.messages import Image, Material, ToolUse
from openclaw.nlp.classifier import language_of, read_message
from openclaw.nlp.intent import LIST_WORDS, TODO_LABELS
from openclaw.nlp.invented import Said, invented_names, invented_values
from openclaw.nlp.skill_instructions import left_blanks
from openclaw.nlp.words import missing_words, significant_words
from openclaw.receipt import TODO_FILE
from openclaw.security.audit import Audit
from openclaw.security.display import some_of
from openclaw.security.foreign_files import ForeignFiles
from openclaw.security.policy import is_identity
from openclaw.security.untrusted import fence, strip_hidden
from openclaw.sessions.session import FOREIGN, NAMED, Session, SessionState
from openclaw.skills.source_records import read_source_records
from openclaw.storage.home import PROPOSED, Home
from openclaw.storage.new_home import starter_files
from openclaw.storage.safe_open import decode, md5, read_bytes, read_text
from openclaw.tools.results import ResultLimits, as_data, cut_to_limits, fence_cut
from openclaw.tools.shell.named_files import hides_names, named_files, split_words
from openclaw.tools.skill_tools import FOLLOW
from openclaw.tools.tool import Tool
from openclaw.types import Action, CallRecord, Shown, TurnChanges

OWN_FILES = "the user's files"
HERE = "earlier in this conversation"
MAX_CHARS = 200_000
MAX_LOOKED_AT = 200_000
"""Bytes of the files changed by a command that are searched for words of others."""
MAX_IN_A_NAME = 1
"""New names of lists and memories may have so many words that the user has not said; all names
together, as several may be read as a sentence."""
MAX_IN_A_PATH = 2
"""The same for any other file; a name with more is foreign text in a list of files."""
FEWEST_WORDS = 4
"""A text of so many words that also stands in a skill is its example, not something of its own."""
HEAD_PATHS = (
    *(f"workspace/{name}.md" for name in ("SOUL", "USER", "AGENTS")),
    *("memory/MEMORY.md", TODO_FILE),
)
_EMPTY = md5(b"")
_TEXTS = frozenset((".md", ".txt", ".csv", ""))
_SHORT = frozenset(("remember", "todo"))
_NAMES_HAVE_CAPITALS = frozenset(("en", "fr", "es", "it", "nl", "pt"))
_NAME_A_FILE = frozenset(("read_file", "memory_get", "read_skill"))
_SEARCHES = frozenset(("memory_search", "search_sessions"))
_READERS: Mapping[str, str] = {
    "search_files": "files of the home",
    "run_shell": "a command",
    "run_python": "a program",
}
_LASTING = re.compile(r"memory/(?!inbox/)|workspace/USER\.md$", re.IGNORECASE)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_HEAD = re.compile(r"memory/|workspace/(?:SOUL|USER|AGENTS|IDENTITY|TOOLS|HEARTBEAT)\.md$")


@dataclass(slots=True)
class Provenance:
    """Watches one turn (see `openclaw.tools.toolbox.CallWatch`).

    data: the user's files whose text the model got from tools
    seen: pairs of source and text that the model got without a tool or in an earlier turn
    refused_values: of each refused call the values that nobody has said
    may_translate: the settings name a language, or a call was refused for its language
    at: messages of the conversation before the turn, archived ones too
    """

    home: Home
    turn_changes: TurnChanges
    session: Session
    audit: Audit
    data: list[str] = field(default_factory=list)
    seen: list[tuple[str, str]] = field(default_factory=list)
    refused_values: list[list[str]] = field(default_factory=list)
    may_translate: bool = False
    at: int = field(init=False)
    foreign_files: ForeignFiles = field(init=False)
    _names: list[str] = field(default_factory=list)
    _naming: str = ""
    _listed: dict[str, str] = field(default_factory=dict)
    _sums: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.at = self.session.archived + len(self.session.messages)
        self.foreign_files = ForeignFiles(self.home)

    @property
    def turn_name(self) -> str:
        """How a memory names the turn that it is from."""
        return f"session {self.audit.session} turn {self.audit.turn}"

    # -------- the conversation

    def inherit(self) -> None:
        """Take over the sources of earlier turns. They count as long as the conversation goes on:
        what a model has said about a page outlives the page in its window."""
        self._inherit(_foreign_sources(self.session))
        if self.session.compressed_context:
            self.seen.append((HERE, self.session.compressed_context))
        self._names = [*(self.session.state.named or ())]
        for entry in self.session.messages:
            self.seen += [
                (_use_path(use), use.output) for use in entry.tool_calls if _showed_file(use)
            ]

    def _inherit(self, sources: Iterable[str]) -> None:
        self.turn_changes.inherited = tuple(dict.fromkeys((*self.turn_changes.inherited, *sources)))

    def save(self) -> None:
        """Write into the session which files this turn has read, and its foreign sources."""
        changes = self.turn_changes
        kept = dict.fromkeys(changes.inherited, self.at) | _foreign_sources(self.session)
        kept |= dict.fromkeys(changes.foreign, self.at)
        names = self._names if kept else []
        self.session.update_state(
            SessionState(read=dict(changes.read), foreign=kept or None, named=names or None)
        )
        # Not before: a Ctrl-C in between would lose the mark of foreign text.
        self.session.forget(*(key for key, held in ((FOREIGN, kept), (NAMED, names)) if not held))

    # -------- attachments and passages

    def fence_material(
        self, materials: Sequence[Material], limits: ResultLimits
    ) -> tuple[str, list[Shown]]:
        """Return the attachments of a prompt, fenced, and the lines of files that they show. All
        but the user's own files are foreign, also standard input: nobody knows who wrote it."""
        texts: list[str] = []
        shown: list[Shown] = []
        for each in materials:
            # The model sees only both ends of a longer one.
            ends = f"{each.text[:MAX_CHARS]}\n{each.text[MAX_CHARS:][-MAX_CHARS:]}"
            source = each.path and (
                self.foreign_files.source(each.path) or self.foreign_files.known(ends)
            )
            if source or not each.path:
                source = f"{each.label}, {source}" if source else each.label
                cut = cut_to_limits(strip_hidden(each.text), limits, source)
                texts.append(fence_cut(cut, source, self.turn_changes))
            else:
                self._note_own_file(each.path)
                cut = cut_to_limits(each.text, limits)
                marker = self.turn_changes.marker
                texts.append(fence(cut.text, each.label, marker, own=True) + cut.note)
            shown += cut.still_shown({0: each.lines}) if each.lines else []
        return "\n\n".join(texts), shown

    def note_images(self, images: Sequence[Image]) -> None:
        """Note the images of a prompt. An image that is not the user's own is foreign."""
        sources = filter(None, (self._source_of(each.path) for each in images))
        self.turn_changes.foreign += [
            s for s in dict.fromkeys(sources) if s not in self.turn_changes.foreign
        ]

    def fence_passages(self, found: Iterable[tuple[str, str]]) -> list[str]:
        """Return passages (path and shown text) as fenced blocks: those of the user's own files,
        then foreign ones."""
        own: list[str] = []
        others: dict[str, list[str]] = {}
        for path, text in found:
            if source := self._source_of(path) or self.foreign_files.copied(text):
                others.setdefault(source, []).append(text)
            else:
                own.append(text)
                self.seen += [] if _is_own(path) else [(path, text)]
        blocks = [fence("\n".join(own), OWN_FILES, self.turn_changes.marker)] if own else []
        limits = ResultLimits(MAX_CHARS)  # from here on the turn is tainted
        return blocks + [
            as_data("\n".join(texts), by, self.turn_changes, limits) for by, texts in others.items()
        ]

    def fence_archived(self, lines: Sequence[str]) -> list[str]:
        """Return lines of the archived part of the conversation as a fenced block."""
        if not lines:
            return []
        self.seen.append((HERE, "\n".join(lines)))
        return [fence("\n".join(lines), HERE, self.turn_changes.marker)]

    def fence_tools(self, tools: Sequence[Tool], text: str = "") -> str:
        """Return the tool descriptions of servers, fenced. They are foreign, but nobody asked for
        them: the user's words in the same prompt are still the user's."""
        for tool in tools:
            self._listed[tool.name] = f"tools of {tool.foreign}"
        sources = dict.fromkeys(self._listed[tool.name] for tool in tools)
        self._inherit(sources)
        return fence(text, ", ".join(sources), self.turn_changes.marker) if text else ""

    # -------- the source of words

    def origin(self, text: str) -> str:
        """Return the source of the words of a text, "" when they may count as the user's."""
        changes = self.turn_changes
        missing = missing_words(text, changes.request)
        sources = changes.foreign or ((changes.inherited or self.data) if missing else ())
        if sources or not missing:
            return _join_sources(sources)
        said = self._user_words()
        missing = {word for word in missing if missing_words(word, said)}
        return next((by for by, seen in self.seen if missing & significant_words(seen)), "")

    def tainted(self, action: Action, arguments: Mapping[str, Any]) -> bool:
        """Return True when others may be behind a call. For files that every later conversation
        reads the words decide: the user's own words are always trusted."""
        words, self._naming = " ".join(_argument_texts(arguments)), ""
        if action.effect == "write" and action.tool == "todo":
            words += f" {self._new_list(arguments)}"
            missing = bool(missing_words(words, self.turn_changes.request))
            return missing and (self.turn_changes.tainted or bool(self._unasked_source(words)))
        if action.effect == "write" and _LASTING.match(action.target):
            return bool(self.origin(f"{words} {self._new_file(action.target)}"))
        if action.effect == "write" and is_identity(action.target) and self.origin(words):
            return True
        # A server's description may be behind a call of its own tool: that is its purpose.
        own = self._listed.get(action.tool.partition(".")[0])
        return any(source != own for source in self.turn_changes.sources)

    def _new_list(self, arguments: Mapping[str, Any]) -> str:
        """Return the name of a list that a call of `todo` removes, or creates with a name that says
        more than a name does; "" for any other."""
        name = str(arguments.get("list") or "")
        if arguments.get("action") == "remove_list":
            return name or str(arguments.get("item") or "")
        known: list[str] = []
        with suppress(OSError):
            known = list_names(read_task_page(read_text(self.home.root / TODO_FILE)))
        return "" if any(not missing_words(name, each) for each in known) else self._new_name(name)

    def _new_file(self, path: str) -> str:
        """Return the name of a new file of memory when it says more than a name does; "" for any
        other, and for a day's note."""
        file = self.home.root / path
        new = [each.name for each in (file, *file.parents) if not each.exists()]
        name = " ".join(reversed(new)).removesuffix(".md")
        return "" if _DAY.fullmatch(name) else self._new_name(name)

    def _new_name(self, name: str) -> str:
        """Return a new name when it and those before it say more than names do, else ""."""
        missing = missing_words(" ".join((*self._names, name)), self._user_words()) - LIST_WORDS
        self._naming = name if missing & significant_words(name) else ""
        return name if len(missing) > MAX_IN_A_NAME else ""

    def _user_words(self) -> str:
        earlier = (entry.content for entry in self.session.messages if entry.role == "user")
        return "\n".join((*earlier, self.turn_changes.request))

    def _unasked_source(self, words: str) -> str:
        """Return the source of the words of a to-do, "" when the user spoke of to-dos: then the
        user wants them from there."""
        said = self.turn_changes.request
        spoke = LIST_WORDS.intersection(re.findall(r"[\w-]+", said.lower()))
        return "" if spoke or not read_message(said).lacks(*TODO_LABELS) else self.origin(words)

    def invented(self, action: Action, arguments: Mapping[str, Any]) -> Sequence[str]:
        """Return the values in what a call would write into a text of the home that the model can
        have from nowhere: figures, dates and addresses; names only in memories and to-dos, as a
        letter or a list of ideas may hold new ones."""
        if action.effect != "write" or Path(action.target).suffix.lower() not in _TEXTS:
            return ()
        text = "\n".join(_argument_texts(arguments))
        if action.target.endswith(".csv"):
            text = text.replace(",", " ")  # "0,2026-12-01" is no number
        said = replace(self._said(action.target), replaced=str(arguments.get("find", "")))
        found = invented_values(text, said)
        if action.tool in _SHORT and language_of(said.request) in _NAMES_HAVE_CAPITALS:
            found += invented_names(text, said)
        self.refused_values += [found] if found else []
        return found

    def copied(self, action: Action, arguments: Mapping[str, Any]) -> Sequence[str]:
        """Return what a call would write just as it stands in a skill that this turn follows:
        blanks, and as a memory or to-do a text of some words, which is the skill's example."""
        if action.effect != "write" or action.target.startswith(f"{PROPOSED}/"):
            return ()
        turn = self.session.messages[self.at - self.session.archived :]
        uses = (use for entry in turn for use in entry.tool_calls)
        read = [use.output for use in uses if use.tool == "read_skill" and use.ok]
        skill = "\n".join((*read, *(entry.context.partition(FOLLOW)[2] for entry in turn)))
        if not skill.strip():
            return ()
        texts = [*_argument_texts(arguments)]
        found = [blank for text in texts for blank in left_blanks(text, skill)]
        if action.tool in _SHORT:
            said = self.turn_changes.request
            long = (text for text in texts if len(text.split()) >= FEWEST_WORDS)
            found += [t for t in long if _occurs_in(t, skill) and not _occurs_in(t, said)]
        return found

    def translated(self, action: Action, arguments: Mapping[str, Any]) -> Sequence[str]:
        """Return the new to-dos or memories that a call would write in another language than the
        request, which has no more than half of their words; of a turn only the first ones, as the
        user may want them so."""
        is_new = action.tool == "remember" or arguments.get("action") == "add"
        said = self.turn_changes.request
        if action.tool not in _SHORT or not is_new or self.may_translate:
            return ()
        asked, words = language_of(said), significant_words(said)
        found = [
            text
            for text in _argument_texts(arguments)
            if asked and language_of(text) not in ("", asked)
            if len(significant_words(text) & words) * 2 <= len(significant_words(text))
        ]
        self.may_translate = bool(found)
        return found

    def invented_values(self, text: str) -> Sequence[str]:
        """Return the figures, dates and addresses of an answer that the model can have from
        nowhere."""
        return invented_values(text, self._said())

    def _said(self, *files: str) -> Said:
        """Return what the model's texts may be made from: the request, and what it has read."""
        today = self.audit.now().date()
        return Said(self.turn_changes.request, [*self._known_texts(files)], today)

    def _known_texts(self, files: Sequence[str]) -> Iterator[str]:
        """Yield the texts that the model has read, what it has said in earlier turns, and these
        files."""
        yield self.session.compressed_context
        earlier = self.at - self.session.archived
        for at, entry in enumerate(self.session.messages):
            if entry.role == "user" or at < earlier:
                yield from (entry.content, entry.context)
            yield from (use.output for use in entry.tool_calls if use.ok)
        for path in dict.fromkeys((*HEAD_PATHS, *files)):
            with suppress(OSError, OpenclawError):
                yield read_text(self.home.root / path, MAX_CHARS)

    # -------- results of tools

    def source(self, action: Action, text: str) -> str:
        """Return the foreign source of a result, "" for the user's own text, which is recorded."""
        if action.effect == "read-elsewhere":
            return f"file {action.target}"
        path = action.target if action.tool in _NAME_A_FILE else ""
        shown = (
            self._source_of(path)
            or self._printed_source(action)
            or self.foreign_files.source_shown_in(text)
        )
        if source := shown or self._outside_file():
            return source
        if path or action.tool in _READERS:
            self._note_own_file(path or _READERS[action.tool])
        return ""

    def _printed_source(self, action: Action) -> str:
        """Return the foreign source of a file that a program names, whatever it prints of it."""
        if action.tool != "run_shell":
            return self.foreign_files.source_named_in(action.code)
        line = action.target
        files = named_files(self.home.real_root, line)
        if source := next(filter(None, map(self._source_of, files)), ""):
            return source
        if source := self.foreign_files.source_named_in(f"{line}\n{' '.join(split_words(line))}"):
            return source
        # Nobody has seen this line before it ran, and it may name any file.
        unseen = action.effect == "read" and hides_names(line)
        return self.foreign_files.any_source() if unseen else ""

    def _note_own_file(self, path: str) -> None:
        if not _is_own(path) and path not in self.data:
            self.data.append(path)

    def _source_of(self, path: str) -> str:
        if Path(path).is_absolute():
            return f"file {path}"
        if source := self.foreign_files.source(path):
            return source
        if path.startswith("skills/") and not is_trusted_skill_file(self.home, path):
            return f"{path}, which nobody has accepted"
        return ""

    def _outside_file(self) -> str:
        """Return the file outside the home of which a result shows lines."""
        root = os.path.realpath(self.home.root)
        paths = (
            each.path for each in self.turn_changes.shown.values() if Path(each.path).is_absolute()
        )
        real = (path for path in paths if not Path(os.path.realpath(path)).is_relative_to(root))
        return next((f"file {path}" for path in real), "")

    # -------- changes

    def done(self, deed: CallRecord) -> None:
        """Log a call, and note the files that it wrote with foreign words."""
        self.audit.write(deed)
        if self._naming and deed.by != "user":
            self._names.append(self._naming)
        self._naming = ""
        try:
            self._note_changes()
        except (OSError, OpenclawError) as error:
            self.audit.trouble = f"it could not be noted where a file is from: {error}"

    def _note_changes(self) -> None:
        """Note the files that were just changed and hold foreign text: new words, or text that
        stood elsewhere before, as a program may move text without showing it."""
        was: dict[str, str] = {}
        for path, before in self.turn_changes.before.items():
            old = self._sums.get(path, md5((before or "").encode(errors="replace")))
            file = self.home.root / path
            self._sums[path] = md5(file) if file.is_file() else ""
            if self._sums[path] != old:
                was[path] = old
        find = self._new_text if self.turn_changes.tainted else self._moved_text
        if found := [*find(was)]:
            self.foreign_files.note_all(found)

    def _new_text(self, was: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
        """Yield the changed files with new text, in a turn that has seen foreign text: path,
        sources and text."""
        changes, by = self.turn_changes, _join_sources(self.turn_changes.sources)
        own = {  # the user's files that were read or written in this turn
            path: decode(changes.held[mark]).splitlines()
            for path, mark in changes.read.items()
            if mark in changes.held and not self._source_of(path)
        }
        for path in was:
            if _HEAD.match(path) or not self._sums[path]:
                continue
            before = changes.before[path]
            others = (lines for name, lines in own.items() if name != path)
            known = {*(before or "").splitlines()}.union(*others)
            text = read_text(self.home.root / path)
            new = [line for line in text.splitlines() if line not in known]
            missing = missing_words("\n".join(new), changes.request)
            theirs = [line for line in new if missing & significant_words(line)]
            if before is None and self._is_telling_name(path):
                theirs += [path, Path(path).name]
            if changes.foreign or theirs:
                yield path, by, "\n".join(theirs)

    def _is_telling_name(self, path: str) -> bool:
        """Return True when the name of a new file, with those of its new folders, says more than a
        name does."""
        file = self.home.root / path
        names = [file.stem]
        for folder in file.parents:
            if folder == self.home.root or len([*islice(folder.iterdir(), 2)]) > 1:
                break
            names.append(folder.name)
        missing = missing_words(" ".join(names), self._user_words())
        return len([word for word in missing if not word.isdigit()]) > MAX_IN_A_PATH

    def _moved_text(self, was: Mapping[str, str]) -> Iterator[tuple[str, str, None]]:
        """Yield the changed files with foreign text that stood elsewhere before, and its source.
        `was` holds their old MD5 sums. A program does not show what it moves."""
        sources = {old: self._source_of(path) for path, old in was.items() if old != _EMPTY}
        gone = (self._source_of(path) for path in was if not self._sums[path])
        went = next(filter(None, gone), "")
        most = MAX_LOOKED_AT // max(len(was), 1)
        for path in filter(self._sums.get, was):
            now, is_new = self._sums[path], self.turn_changes.before[path] is None
            source = sources.get(now, went) if is_new else ""
            if now not in sources and not _HEAD.match(path):
                source = self.foreign_files.copied(read_text(self.home.root / path, most)) or source
            if source:
                yield path, source, None

    def notices(self) -> list[str]:
        """Return notices about the audit log, and about values that the model insisted on."""
        told = [self.audit.trouble] if self.audit.trouble else []
        if len(self.refused_values) > 1:
            values = ", ".join(dict.fromkeys(each for row in self.refused_values for each in row))
            told.append(f"not written, as nobody has said it: {values}")
        return told


def _is_own(path: str) -> bool:
    """Return True when a file holds the user's own words or decisions: memory, the files of the
    head, the instructions of skills."""
    return bool(_HEAD.match(path)) or path.endswith("/SKILL.md")


def _showed_file(use: ToolUse) -> bool:
    """Return True when a call of an earlier turn gave the model text of a file."""
    readers = use.tool in _READERS or use.tool in (*_NAME_A_FILE, *_SEARCHES)
    skill = use.tool == "read_skill" and not use.input.get("file")
    return readers and not skill and not _is_own(_use_path(use))


def _use_path(use: ToolUse) -> str:
    return str(use.input.get("path") or use.input.get("file") or use.tool)


def _foreign_sources(session: Session) -> dict[str, int]:
    """Return the foreign sources in a session's file, without values an editor has damaged."""
    found = session.extra.get(FOREIGN)
    listed = found.items() if isinstance(found, Mapping) else ()
    return {str(source): at for source, at in listed if isinstance(at, int)}


def foreign_label(session: Session) -> str:
    """Return the source label of a conversation that has seen foreign text, "" for any other; for
    conversations that show parts of it."""
    if not session.is_foreign:
        return ""
    return f"session {session.id}: {_join_sources(list(_foreign_sources(session))) or 'unknown'}"


def _join_sources(sources: Sequence[str]) -> str:
    """Return the first sources as words."""
    return some_of(list(dict.fromkeys(sources)), 2)


def _argument_texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            if name not in ("path", "action", "list"):
                yield from _argument_texts(each)
    elif isinstance(value, Sequence):
        for each in value:
            yield from _argument_texts(each)


def _occurs_in(text: str, whole: str) -> bool:
    """Return True when a text has these words in this order, in any case and on any lines."""
    words, them = (" ".join(each.casefold().split()) for each in (text, whole))
    return words.strip(" .") in them


def is_trusted_skill_file(home: Home, path: str) -> bool:
    """Return True when a file of a skill is trusted. Its SKILL.md is: the user put it into skills/.
    Other files of a skill that nobody installed may be anybody's."""
    if path.startswith(f"{PROPOSED}/"):
        return False
    name, _, inner = path.removeprefix("skills/").partition("/")
    if inner in ("", "SKILL.md"):
        return True
    with suppress(OpenclawError, OSError):
        if name in read_source_records(home.skills):
            return True
        return starter_files().get(path) == read_bytes(home.root / path)
    return False
