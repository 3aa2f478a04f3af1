"""Entries of the history as lines: short, in full, as a diff, and the writers of lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from openclaw.errors import OpenclawError
from openclaw.history.differences import Difference, turn_differences
from openclaw.history.turns import TALK, Turn
from openclaw.home.open_home import OpenHome
from openclaw.inspection.blame import Line, writer_of
from openclaw.inspection.why import find_exchange, parse_session
from openclaw.security.display import count_of, first_line, harmless, minute, one_line

KINDS = {"outside": "edited outside"}
OF = {"redo": "Puts back", "sync": "Came in"}
_SUBJECT_WIDTH = 40


def kind_of(turn: Turn) -> str:
    """The kind of an entry in words; a turn without a conversation comes from a command."""
    if turn.kind == "turn" and not turn.session:
        return "command"
    return KINDS.get(turn.kind, turn.kind)


def place_of(turn: Turn) -> str:
    """Session and number of a turn as `openclaw show` takes them, "" without a session."""
    return f"{turn.session}:{turn.number}" if turn.session and turn.number else turn.session


def state_words(turn: Turn, waiting: str = "") -> str:
    """Notes on an entry: taken back, broken off, not yet committed."""
    taken = {None: "", "all": "undone", "files": "files undone", "talk": "talk undone"}
    found = [taken[turn.undone], turn.state if turn.state != "done" else ""]
    found.append("not committed" if waiting and not turn.commit else "")
    return ", ".join(filter(None, found))


def file_line(each: Difference) -> str:
    """A changed file on one line; for a conversation the number of messages."""
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
    """The diff of files; without `whole` a conversation is only one line."""
    for each in found:
        if each.path.startswith(TALK) and not whole:
            yield file_line(each)
        else:
            yield from each.unified()


def head_lines(turn: Turn, waiting: str = "") -> Iterator[str]:
    """The head of an entry: its kind and name, then its facts, one a line."""
    noted = state_words(turn, waiting)
    name = turn.id or turn.commit[:8] or "not named"
    yield f"{kind_of(turn)} {name}" + (f"  ({noted})" if noted else "")
    only = f" ({turn.scope} only)" if turn.scope != "all" else ""
    facts = {
        "Subject": turn.subject,
        "Date": minute(turn.at),
        "Session": turn.session + (f", turn {turn.number}" if turn.number else ""),
        "Model": turn.model,
        "Tools": ", ".join(turn.tools),
        OF.get(turn.kind, "Takes back"): " ".join(turn.of) + only if turn.of else "",
        "Commit": turn.commit,
    }
    yield from (f"{name + ':':<12}{one_line(value)}" for name, value in facts.items() if value)


def show_lines(open_home: OpenHome, turn: Turn) -> Iterator[str]:
    """All of one entry: head, prompt and answer, calls, files, and the diff."""
    history = open_home.history
    yield from head_lines(turn, history.waiting)
    spoken = find_exchange(open_home, turn)
    for name, text in (("Prompt", spoken.prompt), ("Answer", spoken.answer)):
        if text:
            yield from ("", f"{name}:", *(f"    {line}" for line in harmless(text).splitlines()))
    if spoken.calls:
        yield from ("", "Calls:", *(f"    {call}" for call in spoken.calls))
    found = turn_differences(history, turn)
    yield from ("", "Files:" if found else "no files", *(f"    {file_line(f)}" for f in found))
    files = [each for each in found if not each.path.startswith(TALK)]
    if files:
        yield ""
        yield from diff_lines(files)


def blame_lines(
    open_home: OpenHome, path: str, lines: Sequence[Line], show: str = "openclaw show"
) -> Iterator[str]:
    """Each line with its writer in front. For a single line its turn, and the command `show` that
    shows the turn in full."""
    if len(lines) == 1 and lines[0].turn is not None:
        yield from _line_report(open_home, path, lines[0], lines[0].turn, show)
        return
    rows = [_writer(line.turn) for line in lines]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    digits = len(str(lines[-1].number)) if lines else 0
    for row, line in zip(rows, lines, strict=True):
        cells = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield f"{cells}  {line.number:>{digits}}| {harmless(line.text)}"


def blamed_turn_lines(open_home: OpenHome, lines: Sequence[Line]) -> Iterator[str]:
    """Show in full each turn that wrote one of the lines. Raises OpenclawError when no turn did."""
    turns: dict[str, Turn] = {}
    for line in lines:
        if line.turn is not None:
            turns.setdefault(line.turn.id or line.turn.commit, line.turn)
    if not turns:
        raise OpenclawError("these lines are not in the history yet", "the next turn records them")
    for number, turn in enumerate(turns.values()):
        yield from ("",) * (number > 0)
        yield from show_lines(open_home, turn)


def _writer(turn: Turn | None) -> tuple[str, str, str, str]:
    """The turn that wrote a line: id, time, conversation, and beginning of its prompt."""
    if turn is None:
        return writer_of(turn), "", "", ""
    place = "" if turn.kind == "outside" else one_line(place_of(turn))
    return writer_of(turn), minute(turn.at), place, first_line(turn.subject, _SUBJECT_WIDTH)


def _line_report(
    open_home: OpenHome, path: str, line: Line, turn: Turn, show: str
) -> Iterator[str]:
    yield f"{one_line(path)}:{line.number}  {harmless(line.text)}"
    if turn.kind == "outside":
        yield f"  by you, {minute(turn.at)}: {one_line(turn.subject)}"
        yield f"  commit {turn.commit}" if turn.commit else "  not in a commit yet"
        return
    kind = kind_of(turn)
    if kind == "command":
        yield f"  by command {turn.id}, {minute(turn.at)}: {one_line(turn.subject)}"
        yield f"  all of it: {show} {turn.id}"
        return
    yield f"  by {kind} {turn.id}, {minute(turn.at)}, {one_line(turn.model) or 'no model'}"
    if turn.session:
        yield f"  in {one_line(turn.session)}" + (f", turn {turn.number}" if turn.number else "")
    prompt = find_exchange(open_home, turn).prompt or turn.subject
    first, *rest = harmless(prompt).splitlines() or [""]
    yield from (f"  prompt: {first}", *(f"          {each}" for each in rest))
    yield f"  all of it: {show} {turn.id}"


def message_words(before: bytes | None, after: bytes | None) -> str:
    """How many messages a session's file gained or lost, e.g. "2 messages"."""
    sessions = [parse_session(data, "") for data in (before, after)]
    # A compaction puts messages into the archive, and removes none.
    old, new = (each.archived + len(each.messages) if each else 0 for each in sessions)
    return (
        count_of(new - old, "message") if new >= old else f"{count_of(old - new, 'message')} less"
    )
