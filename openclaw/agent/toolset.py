"""Makes the toolbox of one turn, and searches past conversations for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from openclaw.agent.provenance import Provenance, foreign_label
from openclaw.agent.window import INPUT_SHARE
from openclaw.errors import OpenclawError
from openclaw.events import Progress
from openclaw.home.open_home import OpenHome
from openclaw.models.token_count import Meter
from openclaw.security.credentials import why_denied, why_name_denied
from openclaw.security.foreign_files import ForeignFiles
from openclaw.security.policy import Policy
from openclaw.security.untrusted import strip_hidden
from openclaw.sessions.session import Session
from openclaw.sessions.session_search import SessionHit, SessionMessages, read_terms, search
from openclaw.storage.home import Home
from openclaw.tools.calculate import calculate
from openclaw.tools.file_tools import FileTools
from openclaw.tools.folders_elsewhere import with_folders
from openclaw.tools.memory_tools import FoundMessage, KnowledgeTools, RecallTools, SessionTools
from openclaw.tools.paths import SPILL
from openclaw.tools.results import MAX_CHARS, PAGE_CHARS, ResultLimits, spill
from openclaw.tools.shell.process import ShowOutput
from openclaw.tools.shell.sandbox import why_unavailable
from openclaw.tools.shell.shell import Runner, ShellTools
from openclaw.tools.skill_tools import ProposeTools, SkillTools, TurnSkills
from openclaw.tools.tool import Tool, tool
from openclaw.tools.toolbox import Toolbox
from openclaw.tools.web.web_tools import WebPages, WebTools
from openclaw.types import BeforeWrite, TurnChanges, record_no_write

if TYPE_CHECKING:
    from openclaw.memory.notes import Notes

USUAL_HEAD = 1_000
"""Tokens of the starter home's first request."""
MOST_RESULT, LEAST_RESULT = 0.3, 0.08
"""Shares of the window that one result may take."""
CHARS_A_TOKEN = 3.5
TAIL_LINES = 3
"""Last lines of a command's output that are shown while it runs."""


def make_toolbox(
    open_home: OpenHome,
    turn_changes: TurnChanges,
    turn_skills: TurnSkills,
    source: str = "",
    provenance: Provenance | None = None,
    meter: Meter | None = None,
) -> Toolbox:
    """Return the tools under the policy. `source` is noted with each memory, `provenance` watches
    the calls, `meter` decides which results fit the window."""
    settings = open_home.settings
    programs: tuple[bool, Sequence[str]] = (False, ())
    if settings.hooks or settings.mcp:  # they may run files of the home
        from openclaw.security.program_trust import home_programs

        programs = home_programs(open_home.home, settings.hooks or {}, settings.mcp or {})
    policy = Policy(
        open_home.mode, open_home.ask_user, open_home.grants, why_unavailable, _denied, *programs
    )
    limits = ResultLimits()
    if meter:
        tokens = result_tokens(window := open_home.model.card.window)
        limits = ResultLimits(
            chars=min(MAX_CHARS, tokens * 4),
            tokens=tokens,
            within=meter.fits,
            keep=lambda text, source: spill_text(open_home.home, text, source),
            page=page_chars(window),
        )
    tools = _home_tools(open_home, turn_changes, turn_skills, source, provenance, limits)
    listed, beyond = tools, None
    if served := open_home.mcp_tools:
        listed, beyond = served.share(tools, turn_skills.request)
        if provenance and beyond:
            beyond.show = provenance.listing
        elif provenance:
            provenance.listing(listed[len(tools) :])
    return Toolbox(
        listed,
        policy,
        turn_changes,
        beyond=beyond,
        limits=limits,
        watch=provenance,
        apart=open_home.masker,
        around=open_home.hooks.around(turn_changes) if open_home.hooks else None,
    )


def _home_tools(
    open_home: OpenHome,
    turn_changes: TurnChanges,
    turn_skills: TurnSkills,
    source: str,
    provenance: Provenance | None,
    limits: ResultLimits,
) -> list[Tool]:
    """The built-in tools in the order of the prompt."""
    home, settings = open_home.home, open_home.settings
    todos, shell, web = open_home.todos, settings.shell, settings.web
    todos.keep = turn_changes.keep
    files = FileTools(home, turn_changes, open_home.masker, limits)
    runner = Runner(
        home,
        turn_changes,
        shell.timeout,
        shell.env,
        shell.network,
        result_limits=limits,
        show=_show_tail(open_home, open_home.progress) if open_home.progress else None,
    )
    looks_up = open_home.use_memory and settings.recall != "off"
    tools = [
        *(with_folders(files, open_home.elsewhere) if open_home.elsewhere else files.tools()),
        *(RecallTools(open_home.recall, turn_changes).tools() if looks_up else ()),
    ]
    if open_home.use_memory:
        talks = PastConversations(open_home, provenance)
        tools += SessionTools(talks, turn_changes, limits).tools()
    origin = provenance.origin if provenance else lambda text: ""
    seen, page = open_home.seen_pages, limits.page * 4 // 3
    return [
        *tools,
        *KnowledgeTools(
            home,
            turn_changes,
            todos,
            lambda: open_notes(open_home, source, turn_changes.keep),
            origin,
        ).tools(),
        *SkillTools(turn_skills, turn_changes).tools(),
        tool(calculate),
        *WebTools(turn_changes, web.region, web.results, open_home.web_search, seen).tools(),
        *WebPages(turn_changes, seen, web.allow_hosts, page_chars=page).tools(),
        *ShellTools(runner, open_home.masker).tools(),
        *ProposeTools(files).tools(),
    ]


def open_notes(open_home: OpenHome, source: str = "", keep: BeforeWrite = record_no_write) -> Notes:
    """Return the notes. A prompt's request does not need them, so they are loaded here."""
    from openclaw.memory.notes import Notes

    def today() -> date:
        return open_home.now().date()

    return Notes(open_home.home.memory, today=today, source=lambda: source, keep=keep)


def _show_tail(open_home: OpenHome, tell: Callable[[Progress], None]) -> ShowOutput:
    """Return a function that shows the last lines of a command's output, without secrets."""

    def show(text: str) -> None:
        with suppress(OpenclawError):  # what cannot be masked is not shown
            lines = [
                line
                for line in open_home.masker.mask_for_display(strip_hidden(text)).split("\n")
                if line.strip()
            ]
            tell(Progress(tail=tuple(lines[-TAIL_LINES:])))

    return show


def page_chars(window: int) -> int:
    """Return the characters of a file that one result shows in a window of so many tokens."""
    return min(PAGE_CHARS, int(result_tokens(window) * CHARS_A_TOKEN))


def result_tokens(window: int) -> int:
    """Return the most tokens of one result: a third of a request without a usual head, so that the
    last two exchanges still fit too."""
    left = (int(window * INPUT_SHARE) - USUAL_HEAD) // 3
    return max(int(window * LEAST_RESULT), min(left, int(window * MOST_RESULT)))


def spill_text(home: Home, text: str, source: str) -> str:
    """Save a text that is too long to be shown; return the path in the home, "" when it cannot be
    saved. `source` names the author when it is not the user."""
    try:
        path = home.relative(spill(home.root / SPILL, text))
    except OpenclawError:
        return ""
    if source:
        ForeignFiles(home).note(path, source, "")
    return path


def material_limits(limits: ResultLimits, window: int, parts: int) -> ResultLimits:
    """Return the limits of each of `parts` attachments: together half of what the head leaves.
    `limits` are those of a result."""
    left = (int(window * INPUT_SHARE) - USUAL_HEAD) // 2
    tokens = max(int(window * LEAST_RESULT), left) // max(1, parts)
    return replace(limits, chars=tokens * 4, tokens=tokens)


def _denied(path: str) -> str:
    """Return why a file is closed, "" if it is not; the folders above the home do not count."""
    return why_denied(Path(path)) if Path(path).is_absolute() else why_name_denied(path)


OTHER_CONVERSATIONS = "earlier conversations"
RECALLED, RECALLED_LENGTH = 2, 240
"""Archived messages that go with a prompt about them, and characters of each."""
MOST_TERMS = 12
"""Telling words of a prompt; of a prompt with more, half must be in a message."""
ALIKE = 20
"""Hits to read for each hit wanted, as many may have the same text."""


@dataclass(slots=True)
class PastConversations:
    """Searches the conversations before one turn: messages of the turn are not searched.

    Text of others in another conversation is marked with its source. Hits in other conversations
    and in results of tools are the user's data, which `provenance` records.
    """

    open_home: OpenHome
    provenance: Provenance | None
    _sources: dict[str, str] = field(default_factory=dict)

    def any(self) -> bool:
        """Return True when there is anything that the model does not see anyway."""
        session = self.provenance.session if self.provenance else None
        if session is not None and (session.archived or session.shortened):
            return True
        return self.open_home.sessions.has_others(session.id if session else "")

    def find(self, words: str, most: int, length: int) -> Sequence[FoundMessage]:
        here = self.provenance.session.id if self.provenance else ""
        asked = ALIKE * most
        hits = search(self._talks(), words, length, first=here, any_word=True, most=asked)
        hits = _unique_texts(hits)[:most]
        if self.provenance and OTHER_CONVERSATIONS not in self.provenance.data:
            foreign = any(hit.id != here or hit.tool for hit in hits)
            self.provenance.data += [OTHER_CONVERSATIONS] if foreign else []
        return [_to_said(hit, here, self._source(hit, here)) for hit in hits]

    def _source(self, hit: SessionHit, here: str) -> str:
        """Return whose words a hit may be; "" for messages of this conversation."""
        return self._sources.get(hit.id, "") if hit.id != here or hit.tool else ""

    def _talks(self) -> Iterator[SessionMessages]:
        session = self.provenance.session if self.provenance else None
        end = self.provenance.at if self.provenance else 0
        for talk, messages in self.open_home.sessions.talks(session):
            self._sources[talk.id] = foreign_label(talk)
            yield talk, ((n, said) for n, said in messages if talk is not session or n <= end)


def find_archived(open_home: OpenHome, session: Session, text: str) -> list[str]:
    """Return the archived messages of a conversation about a prompt, a line each."""
    if not session.archived:
        return []
    end = session.archived
    old = ((n, entry) for n, entry in open_home.sessions.messages(session) if n <= end)
    telling = [term.word for term in read_terms(text) if not term.small]
    hits = search([(session, old)], text, RECALLED_LENGTH, most=RECALLED)
    return [
        f"{hit.tool or hit.role}: {hit.snippet}"
        + (f" -> assistant: {hit.reply}" if hit.reply else "")
        for hit in hits
        if len(telling) <= MOST_TERMS or 2 * len(set(telling) & set(hit.missing)) <= len(telling)
    ]


def _unique_texts(hits: Sequence[SessionHit]) -> list[SessionHit]:
    """Return each text once, with its best hit."""
    return list({hit.snippet.casefold(): hit for hit in reversed(hits)}.values())[::-1]


def _to_said(hit: SessionHit, here: str, source: str) -> FoundMessage:
    talk = "" if hit.id == here else hit.title or hit.id
    role = f"tool {hit.tool}" if hit.tool else hit.role
    return FoundMessage(hit.at, talk, hit.number, role, hit.snippet, hit.reply, source)
