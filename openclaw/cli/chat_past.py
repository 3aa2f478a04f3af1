"""What /undo, /redo, /log, /diff, /show and /blame do in a talk."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from openclaw.cli.visible import one_line
from openclaw.errors import UsageError

if TYPE_CHECKING:
    from openclaw.app.past import TakenBack
    from openclaw.files.home import Home
    from openclaw.history.history import History
    from openclaw.history.turn import Scope
    from openclaw.sessions.store import Session, SessionStore

Say = Callable[[str], None]
SHOWN_TURNS = 10
UNDO_OPTIONS = ("--files", "--talk", "--keep")


class PastApp(Protocol):
    """What is asked of an open home here; see openclaw.app.App."""

    @property
    def home(self) -> Home: ...
    @property
    def sessions(self) -> SessionStore: ...
    @property
    def history(self) -> History: ...
    def undo(
        self, count: int = 1, scope: Scope = "all", session: str = "", keep: bool = False
    ) -> TakenBack: ...
    def redo(self, count: int = 1, session: str = "", keep: bool = False) -> TakenBack: ...


def undo(app: PastApp, session: Session, rest: str, say: Say) -> Session:
    """Take back turns of this talk; returns the session that it goes on with."""
    from openclaw.cli.undo import scope_of

    count, options = _words("undo", rest, UNDO_OPTIONS)
    scope = scope_of(files="--files" in options, talk="--talk" in options)
    taken = app.undo(count, scope, session.id, "--keep" in options)
    return _told(app, session, taken, "undo", say)


def redo(app: PastApp, session: Session, rest: str, say: Say) -> Session:
    """Put back what was taken back of this talk; returns the session that it goes on with."""
    count, options = _words("redo", rest, ("--keep",))
    taken = app.redo(count, session.id, "--keep" in options)
    return _told(app, session, taken, "redo", say)


def log(app: PastApp, rest: str, say: Say) -> None:
    """The newest turns of the home, of all talks."""
    from openclaw.cli.log import log_lines

    count, _ = _words("log", rest, (), default=SHOWN_TURNS)
    _say_all(log_lines(app.history, islice(app.history.turns(), count)) or ["no turns yet"], say)


def diff(app: PastApp, rest: str, say: Say) -> None:
    """What a turn changed, the newest one without words."""
    from openclaw.cli.past_lines import diff_lines, fit, of_turn

    turn = app.history.find(rest)
    found = of_turn(app.history, turn)
    _say_all(fit(diff_lines(found)) if found else [f"{turn.id} changed no files"], say)


def show(app: PastApp, rest: str, say: Say) -> None:
    """All of a turn."""
    from openclaw.cli.past_lines import fit, show_lines

    _say_all(fit(show_lines(app, app.history.find(rest))), say)


def blame(app: PastApp, rest: str, say: Say) -> None:
    """Who wrote the lines of a file."""
    from openclaw.cli.blame_lines import blame_lines, blamed
    from openclaw.cli.past_lines import fit

    if not rest:
        raise UsageError("which file?", "/blame FILE:LINE")
    _say_all(fit(blame_lines(app, *blamed(app, rest))), say)


def _words(
    name: str, rest: str, options: tuple[str, ...], default: int = 1
) -> tuple[int, list[str]]:
    """The number and the options behind a /command."""
    words = rest.split()
    found = [word for word in words if word in options]
    numbers = [word for word in words if word not in options]
    if not numbers:
        return default, found
    if len(numbers) > 1 or not numbers[0].isascii() or not numbers[0].isdigit():
        usage = " ".join((f"/{name} [N]", *(f"[{option}]" for option in options)))
        raise UsageError(f"what is '{one_line(rest)}'?", usage)
    if not int(numbers[0]):
        raise UsageError("that would be none")
    return int(numbers[0]), found


def _told(app: PastApp, session: Session, taken: TakenBack, verb: str, say: Say) -> Session:
    from openclaw.cli.undo import conflict_lines, refused, taken_lines

    if not refused(taken):
        _say_all(taken_lines(taken, verb, again=f"/{'redo' if verb == 'undo' else 'undo'}"), say)
    if taken.conflicts:
        _say_all(conflict_lines(taken, verb, again=f"/{verb} --keep"), say)
    return session if refused(taken) else _gone_on_with(app, session, say)


def _gone_on_with(app: PastApp, session: Session, say: Say) -> Session:
    """The session as it is now. One whose first turn was taken back is no more: a new one gets its
    name, and the next redo brings the old one back."""
    if (app.sessions.folder / f"{session.id}.json").exists():
        app.sessions.refresh(session)
        return session
    if not session.stamp:
        return session
    say("nothing is left of this conversation; the next words begin it anew")
    return app.sessions.new(session.id, session.model)


def _say_all(lines: Iterable[str], say: Say) -> None:
    for line in lines:
        say(line)
