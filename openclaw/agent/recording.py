"""Records a turn while it runs, and commits it to the history at its end."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from openclaw import events
from openclaw.agent import prompt
from openclaw.agent.loop import TurnLimits
from openclaw.agent.request import RequestBuilder
from openclaw.events import Done
from openclaw.history.journal import Journal, new_turn
from openclaw.history.turns import State
from openclaw.home.open_home import OpenHome
from openclaw.messages import NO_RECORD, Entry, TurnRecord
from openclaw.models.base import ModelCard
from openclaw.models.token_count import compact_json
from openclaw.nlp.intent import Cues
from openclaw.security.masking import map_texts
from openclaw.sessions.session import Session
from openclaw.storage.text import decode
from openclaw.types import Change, FileContent, TurnChanges

SHOWN = 3
NOT_SAVED = "(a prompt that was not saved)"
"""The subject of a turn that changed files while conversations are not saved."""
REMEMBERED = "memory"
"""The part of the head that is memory; the others are instructions."""
MOST_SHOWN = 200_000
"""Bytes of a file before and after a change; a change of more is not shown."""


class Recording:
    """The record of the running turn."""

    def __init__(self, open_home: OpenHome, session: Session, journal: Journal) -> None:
        self._open_home, self._session, self.journal = open_home, session, journal
        self._began_as = session.id
        self._open = True

    def hear(self, event: object) -> None:
        """Note each call before it is made; no calls when conversations are not saved."""
        if not self._open_home.saving:
            return
        mask = self._open_home.masker.mask
        if isinstance(event, events.ToolStart):
            self.journal.call(event.id, event.tool, map_texts(event.input, mask))
        elif isinstance(event, events.ToolEnd):
            self.journal.ended(event.id, mask(event.output), event.ok)

    def close(self, state: State) -> list[str]:
        """Commit the turn at its end; return notices for the user."""
        if not self._open:
            return []
        self._open = False
        if self._session.id != self._began_as:  # another program has taken the file
            self.journal.forget_talk()
        self.journal.finish(state, self._open_home.sessions.files_of(self._session.id))
        return list(filter(None, [self._unkept_notice(), self._open_home.history.publish()]))

    def _unkept_notice(self) -> str:
        names = self.journal.unknown
        if not names:
            return ""
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        return f"not kept as before, so undo leaves it alone: {', '.join(names[:SHOWN])}{more}"


@contextmanager
def record_turn(
    open_home: OpenHome,
    session: Session,
    turn_changes: TurnChanges,
    request: str,
    number: int,
    commit: str,
) -> Iterator[Recording]:
    """Record the work inside as one turn of `session`, whose lock the caller holds; `commit` is the
    home's newest commit. A recording that is not closed at the end was interrupted."""
    turn = new_turn(
        request if open_home.saving else NOT_SAVED,
        session=session.id,
        number=number,
        model=session.model,
    )
    journal = Journal.begin(open_home.home, turn, commit)
    turn_changes.keeper, turn_changes.altered = journal.writes, journal.changed
    if open_home.on_change is not None:
        _show_changes(open_home, open_home.on_change, turn_changes)
    recording = Recording(open_home, session, journal)
    try:
        journal.talk(open_home.sessions.files_of(session.id))
        yield recording
    finally:
        recording.close("interrupted")


def _show_changes(
    open_home: OpenHome, show: Callable[[Change], None], turn_changes: TurnChanges
) -> None:
    """Call `show` with the change of each file, in text without secrets, before it is recorded."""
    keeper, altered = turn_changes.keeper, turn_changes.altered

    def show_text(name: str, before: bytes | None, after: bytes | None) -> None:
        whole = (before or b"") + (after or b"")
        if len(whole) > MOST_SHOWN or b"\0" in whole or name.startswith(".openclaw/"):
            return
        mask = open_home.masker.mask_for_display
        was, new = (data if data is None else mask(decode(data)) for data in (before, after))
        if was != new:
            show(Change(name, was, new))

    def write(path: Path, before: bytes | None, after: bytes | None) -> Callable[[], None]:
        name = str(path)
        with suppress(ValueError):  # a file elsewhere keeps its whole path
            name = open_home.home.relative(path)
        show_text(name, before, after)
        return keeper(path, before, after)

    def alter(
        names: Iterable[str],
        before: Callable[[str], FileContent],
        after: Callable[[str], FileContent],
    ) -> Callable[[str], None]:
        listed = list(names)
        for name in listed:
            was, new = before(name), after(name)
            if None not in (was and was[0], new and new[0]) or None in (was, new):
                show_text(name, was and was[0], new and new[0])
        return altered(listed, before, after)

    turn_changes.keeper, turn_changes.altered = write, alter


def request_record(card: ModelCard, builder: RequestBuilder, limits: TurnLimits) -> TurnRecord:
    """The model, the options and the sums of head and tools, and what was cut."""
    return replace(
        fit_record(builder),
        model=card.name,
        digest=card.digest,
        protocol=builder.protocol.name,
        window=card.window,
        options={
            "temperature": limits.temperature,
            "max_tokens": limits.max_tokens,
            "max_steps": limits.max_steps,
            "seed": limits.seed,
            "think": limits.think,
        },
        tools=sha256_of(compact_json([dict(spec) for spec in builder.tools])),
    )


def fit_record(builder: RequestBuilder) -> TurnRecord:
    """Return the part of the record that a compaction within the turn changes."""
    return TurnRecord(head=sha256_of(builder.head), cut=_cut(builder.session, builder))


def renew_fit_record(session: Session, builder: RequestBuilder) -> None:
    """Note on the turn's message of the user how it was fitted in the end."""
    for at in range(len(session.messages) - 1, -1, -1):
        entry = session.messages[at]
        if entry.role == "user":
            session.messages[at] = entry.with_record(fit_record(builder))
            return


def cues_json(seen: Cues) -> dict[str, Any]:
    """Return the cues that were found in the request, without the empty ones."""
    nothing = Cues()
    found = {item.name: getattr(seen, item.name) for item in fields(seen)}
    told = {name: each for name, each in found.items() if each != getattr(nothing, name)}
    if "errands" in told:
        errands = told["errands"]
        told["errands"] = {item.name: getattr(errands, item.name) for item in fields(errands)}
    return told


def _cut(session: Session, builder: RequestBuilder) -> list[dict[str, str]]:
    """Return the files of the head that were cut, and how much of the conversation was."""
    rules = [
        {"part": part.name, "path": part.path, "rule": f"{head_share(part)} of the window"}
        for part in builder.parts
        if part.cut
    ]
    path = f"sessions/{session.id}.json"
    if session.archived:
        rule = f"{session.archived} messages are archived, a summary stands for them"
        rules.append({"part": "history", "path": path, "rule": rule})
    if session.shortened:
        rule = f"results in the first {session.shortened} messages are given in one line"
        rules.append({"part": "results", "path": path, "rule": rule})
    return rules


def sha256_of(text: str) -> str:
    """Return the SHA-256 in hex, as recorded for heads and tools."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def head_share(part: prompt.HeadPart) -> str:
    """Return the share of the window that a part of the head may take."""
    return f"{round(100 * prompt.SHARES.get(part.name, 0))} %"


def may_cite(builder: RequestBuilder, session: Session, answer: str) -> bool:
    """Return True when an answer may have citations or sources; most short answers have none, and
    the first search costs some milliseconds."""
    if "." in answer and (":" in answer or "line" in answer) and any(c.isdigit() for c in answer):
        return True
    given = any(part.name == REMEMBERED for part in builder.parts)
    turn = newest_turn(session.messages)
    return given or any(e.record_json.get("offered") or e.record_json.get("shown") for e in turn)


def with_citations(done: Done, session: Session) -> Done:
    """Return the end of a turn with the citations and sources of its last message."""
    record = session.messages[-1].record if session.messages else NO_RECORD
    cited, places = record.citations or (), record.sources or ()
    return replace(done, citations=tuple(cited), sources=tuple(places))


def newest_turn(messages: Sequence[Entry]) -> Sequence[Entry]:
    """Return the messages of the newest turn."""
    starts = [at for at, entry in enumerate(messages) if entry.role == "user"]
    return messages[starts[-1] :] if starts else ()
