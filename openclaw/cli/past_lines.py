"""Puts entries of the history into lines: of a list, in full, as a diff."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from openclaw.cli.said import message_words, said
from openclaw.cli.visible import harmless, one_line

if TYPE_CHECKING:
    from openclaw.history.difference import Difference
    from openclaw.history.history import History
    from openclaw.history.turn import Turn
    from openclaw.sessions.store import SessionStore

MINUTES = len("2026-11-21T15:30")
TALK = "sessions/"
KINDS = {"outside": "edited outside"}
_COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m", "d": "\x1b[1m"}
_HEADS = ("+++ ", "--- ", "new file", "deleted file", "Binary files")


class Past(Protocol):
    """What is asked of an open home here; see openclaw.app.App."""

    @property
    def history(self) -> History: ...
    @property
    def sessions(self) -> SessionStore: ...


def minute(at: str) -> str:
    return at[:MINUTES].replace("T", " ")


def kind_of(turn: Turn) -> str:
    """The kind of an entry in words; a turn without a conversation is that of a command."""
    if turn.kind == "turn" and not turn.session:
        return "command"
    return KINDS.get(turn.kind, turn.kind)


def place_of(turn: Turn) -> str:
    """Session and number of a turn as `openclaw show` takes them, "" without a session."""
    return f"{turn.session}:{turn.number}" if turn.session and turn.number else turn.session


def marks(turn: Turn, waiting: str = "") -> str:
    """What is to be known of an entry: taken back, broken off, not yet committed."""
    taken = {None: "", "all": "undone", "files": "files undone", "talk": "talk undone"}
    found = [taken[turn.undone], turn.state if turn.state != "done" else ""]
    found.append("not committed" if waiting and not turn.commit else "")
    return ", ".join(filter(None, found))


def file_line(each: Difference) -> str:
    """A changed file on one line; of a conversation how many messages."""
    path = one_line(each.path)
    if each.path.startswith(TALK) and each.path.endswith(".json"):
        return f"{path}: {message_words(each.before, each.after)}"
    if each.path.startswith(TALK):
        return f"{path}: notes of the conversation"
    if not each.known:
        return f"{path} {each.action} (its content was not kept)"
    if each.binary:
        return f"{path} {each.action} (no text)"
    added, removed = each.counts()
    return f"{path} {each.action} (+{added} -{removed})"


def diff_lines(found: Iterable[Difference], *, whole: bool = False) -> Iterator[str]:
    """The diff of files; a conversation is one line, unless the `whole` is asked for."""
    for each in found:
        if each.path.startswith(TALK) and not whole:
            yield file_line(each)
        else:
            yield from each.unified()


def head_lines(turn: Turn, waiting: str = "") -> Iterator[str]:
    """What an entry of the history is: a line of what it is, then its facts by name."""
    noted = marks(turn, waiting)
    name = turn.id or turn.commit[:8] or "not named"
    yield f"{kind_of(turn)} {name}" + (f"  ({noted})" if noted else "")
    facts = {
        "Subject": turn.subject,
        "Date": minute(turn.at),
        "Session": turn.session + (f", turn {turn.number}" if turn.number else ""),
        "Model": turn.model,
        "Tools": ", ".join(turn.tools),
        "Takes back": " ".join(turn.of) + (f" ({turn.scope} only)" if turn.scope != "all" else ""),
        "Commit": turn.commit,
    }
    if not turn.of:
        del facts["Takes back"]
    elif turn.kind == "redo":
        facts["Puts back"] = facts.pop("Takes back")
    yield from (f"{name + ':':<12}{one_line(value)}" for name, value in facts.items() if value)


def show_lines(app: Past, turn: Turn) -> Iterator[str]:
    """All of one entry: what it is, what was said, the files, and the diff."""
    history = app.history
    yield from head_lines(turn, history.waiting)
    spoken = said(turn, history, app.sessions)
    for name, text in (("Prompt", spoken.prompt), ("Answer", spoken.answer)):
        if text:
            yield from ("", f"{name}:", *(f"    {line}" for line in harmless(text).splitlines()))
    if spoken.calls:
        yield from ("", "Calls:", *(f"    {call}" for call in spoken.calls))
    found = of_turn(history, turn)
    yield from ("", "Files:" if found else "no files", *(f"    {file_line(f)}" for f in found))
    files = [each for each in found if not each.path.startswith(TALK)]
    if files:
        yield ""
        yield from diff_lines(files)


def of_turn(history: History, turn: Turn) -> list[Difference]:
    """What an entry changed, the files of conversations last."""
    from openclaw.history.difference import differences

    found = differences(turn.steps, history.read)
    return sorted(found, key=lambda each: each.path.startswith(TALK))


def turn_json(turn: Turn, found: Iterable[Difference], *, diff: bool = False) -> dict[str, Any]:
    """An entry as JSON: its fields, and `files` with action and counts, and the diff if wanted."""
    fields = asdict(turn)
    del fields["steps"]
    return fields | {"files": [_file_json(each, diff=diff) for each in found]}


def _file_json(each: Difference, *, diff: bool) -> dict[str, Any]:
    added, removed = each.counts()
    found = {"path": each.path, "action": each.action, "added": added, "removed": removed}
    found |= {"binary": each.binary, "known": each.known}
    return found | ({"diff": readable("\n".join([*each.unified(), ""]))} if diff else {})


def readable(line: str) -> str:
    """A line of a diff with U+FFFD for bytes that are no UTF-8."""
    return line.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def colours(out: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether a stream shows colours, and the user wants them (https://no-color.org)."""
    return out.isatty() and environ.get("TERM") != "dumb" and not environ.get("NO_COLOR")


def coloured(lines: Iterable[str]) -> Iterator[str]:
    """Lines of a diff in git's colours; what is before the first one stays as it is."""
    inside = False
    for line in lines:
        inside = inside or line.startswith("diff --git ")
        head = line.startswith(_HEADS)
        colour = _COLOURS["d"] if head else _COLOURS.get(line[:1], "")
        yield f"{colour}{line}\x1b[m" if inside and colour else line


def fit(lines: Iterable[str]) -> Iterator[str]:
    """Lines made harmless for a terminal, and coloured where that is wanted; as they are for
    anything else, so that a diff can be applied."""
    if sys.stdout.isatty():
        lines = (harmless(readable(line)) for line in lines)
    return coloured(lines) if colours(sys.stdout, os.environ) else iter(lines)
