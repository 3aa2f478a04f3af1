"""`openclaw sessions replay` and `sessions test`: whether a recorded conversation comes out the
same."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openclaw.cli.common import current_home, print_json, warn

if TYPE_CHECKING:
    from openclaw.app.replay_compare import Replayed
    from openclaw.app.replay_stage import Stage
    from openclaw.app.replay_suite import Case, Judged
    from openclaw.app.replay_turns import Recorded
    from openclaw.sessions.session import Session
    from openclaw.sessions.store import SessionStore

Model = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="NAME", help="Not the model that it was recorded with."),
]
Tested = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="NAME", help="Not the model of the home's settings."),
]
Live = Annotated[
    bool,
    typer.Option("--live-tools", help="Run calls that were not recorded, on a copy of the home."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def replay(
    ctx: typer.Context,
    ref: Annotated[
        str,
        typer.Argument(metavar="ID[:TURN]", help="A conversation, or one turn of it; or latest."),
    ],
    model: Model = None,
    live: Live = False,
    chained: Annotated[
        bool, typer.Option("--chained", help="Run each turn on the new answers before it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a conversation again with its recorded results and show what comes out otherwise.

    Each turn is run on the recorded conversation before it. Nothing of the home is changed.
    Exits with 1 when something differs.
    """
    from openclaw.app.replay import Replay
    from openclaw.app.replay_stage import staged
    from openclaw.app.replay_turns import recorded_turns
    from openclaw.cli.replay_lines import closing, heading, replay_json
    from openclaw.config import load_settings
    from openclaw.sessions.store import SessionStore

    home = current_home(ctx)
    store = SessionStore(home.sessions, home.private / "locks")
    session, number = _named(store, ref)
    turns = _wanted(recorded_turns(store, session), session, number)
    warn(store.problems)
    if not as_json:
        typer.echo(heading(session, turns))
    with _ended(), staged(home, load_settings(home), model or "", live=live) as stage:
        run = Replay(stage, session, live=live, chained=chained).run(turns)
        done = _shown(run, as_json)
    if as_json:
        print_json(replay_json(session, done))
    else:
        typer.echo(closing(done))
    if any(turn.verdict == "differs" for turn in done) or all(turn.lost for turn in done):
        raise typer.Exit(1)


def _shown(run: Iterable[Replayed], as_json: bool) -> list[Replayed]:
    """All turns; each is shown as it comes, for a model takes its time."""
    from openclaw.cli.replay_lines import turn_lines

    done: list[Replayed] = []
    told: set[tuple[str, ...]] = set()
    for turn in run:
        done.append(turn)
        if not as_json:
            typer.echo("\n".join(turn_lines(turn, told)))
    return done


def test(
    ctx: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder of sessions and their expectations.")
    ],
    model: Tested = None,
    live: Live = False,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="ID", help="Put a copy of this conversation there first."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run the sessions of a folder again and check them against ID.expect.md beside each.

    Without such a file every turn is expected to call the same tools. Exits with 1 when a turn is
    not as expected.
    """
    from openclaw.app.replay_stage import staged
    from openclaw.app.replay_suite import files_of, put, read_case
    from openclaw.cli.replay_lines import suite_closing, suite_json
    from openclaw.config import load_settings
    from openclaw.sessions.store import SessionStore

    home = current_home(ctx)
    if source is not None:
        store = SessionStore(home.sessions, home.private / "locks")
        target, notes = put(store, source, folder)
        warn([f"wrote {each}" for each in (target, notes) if each])
        return
    cases = [read_case(path) for path in files_of(folder)]
    done: list[tuple[Case, list[Judged]]] = []
    settings = load_settings(home)
    # Not the recorded model: somebody else's file is not to choose where texts of this home go.
    with _ended(), staged(home, settings, model or settings.model, live=live) as stage:
        for case in cases:
            done.append((case, _judged(stage, case, live, as_json)))
    if as_json:
        print_json(suite_json(done))
    else:
        typer.echo(suite_closing(done))
    if any(case.problems or not all(j.passed for j in found) for case, found in done):
        raise typer.Exit(1)


def _judged(stage: Stage, case: Case, live: bool, as_json: bool) -> list[Judged]:
    """All turns of a case; each is shown as it comes, for a model takes its time."""
    from openclaw.app.replay_suite import judged
    from openclaw.cli.replay_lines import case_lines, judged_lines

    found: list[Judged] = []
    if not as_json:
        typer.echo("\n".join(case_lines(case)))
    for each in judged(stage, case, live=live):
        found.append(each)
        if not as_json:
            typer.echo("\n".join(judged_lines(each)))
    return found


@contextmanager
def _ended() -> Iterator[None]:
    """Let a signal that would kill the program end it cleanly: the copy of the home goes then."""

    def end(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise SystemExit(128 + number)

    found = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]
    usual = [one for one in found if one and signal.getsignal(one) is signal.SIG_DFL]
    here = threading.current_thread() is threading.main_thread()
    taken = usual if here else []
    for number in taken:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _named(store: SessionStore, ref: str) -> tuple[Session, int]:
    """The session that ID[:TURN] names, and the turn, 0 for all."""
    name, colon, number = ref.rpartition(":")
    if colon and name and number.isdecimal():
        return store.load(name), int(number)
    return store.load(ref), 0


def _wanted(turns: list[Recorded], session: Session, number: int) -> list[Recorded]:
    from openclaw.errors import UsageError

    found = [turn for turn in turns if number in (0, turn.number)]
    if not found:
        what = f"there is no turn {number} in {session.id}" if number else "nothing was said in it"
        raise UsageError(what, f"see it: openclaw sessions show {session.id}")
    return found
