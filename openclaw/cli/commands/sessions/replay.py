"""`openclaw sessions replay` and `sessions test`: run a recorded conversation again and compare."""

from __future__ import annotations

import re
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from openclaw.cli.current_home import current_home
from openclaw.cli.formatting import (
    DIFF_COLOURS,
    PIPED_WIDTH,
    line_width,
    paint,
    print_each,
    print_result,
    warn,
)
from openclaw.cli.options import AsJson, ModelName
from openclaw.config import load_settings
from openclaw.errors import UsageError
from openclaw.evals.recorded_turns import recorded_turns
from openclaw.evals.replay import Replay
from openclaw.evals.replay_compare import Piece, ReplayedTurn, TurnDifference, count_verdicts
from openclaw.evals.replay_home import open_replay_home
from openclaw.evals.replay_suite import (
    CheckedTurn,
    SuiteCase,
    add_to_suite,
    check_case,
    files_of,
    read_case,
    suite_json,
)
from openclaw.security.display import count_of, harmless, one_line, some_lines
from openclaw.sessions.store import open_store

Live = Annotated[
    bool,
    typer.Option("--live-tools", help="Run calls that were not recorded, on a copy of the home."),
]


def replay(
    ctx: typer.Context,
    ref: Annotated[
        str,
        typer.Argument(metavar="ID[:TURN]", help="A conversation, or one turn of it; or latest."),
    ],
    model: ModelName = None,
    live: Live = False,
    chained: Annotated[
        bool, typer.Option("--chained", help="Run each turn on the new answers before it.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Run a conversation again with its recorded results and show what comes out otherwise.

    Each turn is run on the recorded conversation before it. Nothing of the home is changed.
    Exits with 1 when something differs.
    """
    home = current_home(ctx)
    store = open_store(home)
    name, _, number = ref.rpartition(":") if re.search(r".:\d+$", ref) else (ref, "", "")
    session = store.load(name)
    turns = [t for t in recorded_turns(store, session) if number in ("", str(t.number))]
    if not turns:
        what = f"there is no turn {number} in {session.id}" if number else "nothing was said in it"
        raise UsageError(what, f"see it: openclaw sessions show {session.id}")
    warn(store.problems)
    if not as_json:
        models = dict.fromkeys(t.model or session.model for t in turns)
        named = ", ".join(filter(None, models))
        about = f"{count_of(len(turns), 'turn')}, recorded with {named}"
        typer.echo(one_line(f"{session.id}  {about}"))
    with _ended(), open_replay_home(home, load_settings(home), model or "", live=live) as stage:
        run = Replay(stage, session, live=live, chained=chained).run(turns)
        told = set[tuple[str, ...]]()
        done = print_each(run, lambda turn: "\n".join(turn_lines(turn, told)), as_json=as_json)
    counts = count_verdicts(done)
    shape = {"id": session.id, **counts, "turns": [turn.as_json() for turn in done]}
    print_result(shape, closing(counts), as_json=as_json)
    return int(counts["differs"] > 0 or all(turn.lost for turn in done))


def test(
    ctx: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder of sessions and their expectations.")
    ],
    model: ModelName = None,
    live: Live = False,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="ID", help="Put a copy of this conversation there first."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Run the sessions of a folder again and check them against ID.expect.md beside each.

    Without such a file every turn is expected to call the same tools. Exits with 1 when a turn is
    not as expected.
    """
    home = current_home(ctx)
    if source is not None:
        store = open_store(home)
        target, notes = add_to_suite(store, source, folder)
        warn([f"wrote {each}" for each in (target, notes) if each])
        return 0
    cases = [read_case(path) for path in files_of(folder)]
    done: list[tuple[SuiteCase, list[CheckedTurn]]] = []
    settings = load_settings(home)
    # Not the recorded model: somebody else's file is not to choose where texts of this home go.
    with _ended(), open_replay_home(home, settings, model or settings.model, live=live) as stage:
        for case in cases:
            if not as_json:
                typer.echo("\n".join(case_lines(case)))
            checked = check_case(stage, case, live=live)
            found = print_each(checked, lambda each: "\n".join(judged_lines(each)), as_json=as_json)
            done.append((case, found))
    shape = suite_json(done)
    print_result(shape, suite_closing(done), as_json=as_json)
    return int(not shape["passed"])


@contextmanager
def _ended() -> Iterator[None]:
    """Let a signal that would kill the program end it cleanly, so that the copy of the home is
    deleted."""

    def end(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise SystemExit(128 + number)

    here = threading.current_thread() is threading.main_thread()
    found = (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP") if here)
    taken = [one for one in found if one and signal.getsignal(one) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


INDENT = " " * 9
MAX_LINES = 24  # lines of a head's diff that are shown
LONGEST_SAME, KEPT = 160, 60
"""Characters of an unchanged piece of a text, and what of a longer one is shown at each end."""
RED, GREEN = DIFF_COLOURS["-"], DIFF_COLOURS["+"]


def turn_lines(turn: ReplayedTurn, told: set[tuple[str, ...]]) -> Iterator[str]:
    """Return a turn and its differences. `told` are the diffs that were shown already; it grows."""
    verdict = turn.verdict
    name = f"turn {turn.recorded.number}"
    shown = paint(f"{verdict:<8}", RED if verdict == "differs" else "")
    room = line_width(sys.stdout, PIPED_WIDTH) - len(name) - 14
    yield f"\n{name}  {shown}  {one_line(turn.recorded.user.content, max(room, 20))}"
    if turn.lost:
        yield _field("why", one_line(turn.lost))
    for each in turn.differences:
        yield from _difference(each, again=each.lines in told)
        told.update({each.lines} if each.lines else ())
    yield from (_field("note", one_line(note)) for note in turn.notes)
    if turn.played is not None and turn.played.missing is None and verdict == "differs":
        then, now = turn.tokens
        read = f"{now.prompt_tokens:,} read, {now.generated_tokens:,} written"
        before = f"{then.prompt_tokens:,} and {then.generated_tokens:,}"
        yield _field("tokens", f"{read} (then {before})")


def closing(counts: Mapping[str, int]) -> str:
    """Return how many turns came out the same."""
    same, differ, lost = counts.values()
    words = f"{same} same, {differ} differ{'s' * (differ == 1)}"
    words += f", {lost} not run" if lost else ""
    return f"\n{count_of(sum(counts.values()), 'turn')}: {words}"


def _difference(each: TurnDifference, *, again: bool) -> Iterator[str]:
    kind = each.kind if each.counts else f"({each.kind})"
    if each.kind == "answer" and each.pieces:
        prefix = "" if each.text == "answer" else f"{each.text}: "
        yield _field(kind, prefix + mark_changes(each.pieces))
        return
    text = one_line(each.text) + (", as above" if again else "")
    yield _field(kind, text + (f" {mark_changes(each.pieces)}" if each.pieces else ""))
    several = sum(line.startswith("@@") for line in each.lines) > 1
    lines = [line for line in each.lines if line[1:].strip() and (several or line[:2] != "@@")]
    shown = [f"  {INDENT}{paint(one_line(line), DIFF_COLOURS.get(line[:1], ''))}" for line in lines]
    yield from () if again else some_lines(shown, MAX_LINES, "more lines (--json shows all)")


def mark_changes(pieces: Sequence[Piece]) -> str:
    """Mark the words that changed from [-before-] to {+now+}, as git does."""
    shown = []
    for kind, text in pieces:
        text = harmless(text)
        if kind == "same":
            cut = len(text) > LONGEST_SAME
            shown.append(f"{text[:KEPT]} ... {text[-KEPT:]}" if cut else text)
        elif kind == "then":
            shown.append(paint(f"[-{text}-]", RED))
        else:
            shown.append(paint(f"{{+{text}+}}", GREEN))
    return "".join(shown)


def _field(name: str, text: str) -> str:
    """A line of its own for a text that is harmless already; the further ones below its first."""
    first, *rest = text.splitlines() or [""]
    return "\n".join((f"  {name:<{len(INDENT)}}{first}", *(f"  {INDENT}{line}" for line in rest)))


# -------- suites


def case_lines(case: SuiteCase) -> Iterator[str]:
    """Describe a conversation of a suite, and what of it cannot be read."""
    title = "" if case.session.title in ("", case.session.id) else f"  {case.session.title}"
    yield one_line(f"{case.session.id}{title}", line_width(sys.stdout, PIPED_WIDTH))
    yield from (one_line(f"  FAIL  {problem}") for problem in case.problems)


def judged_lines(each: CheckedTurn) -> Iterator[str]:
    """Describe a turn of a suite, and where it was not as expected."""
    turn = each.replayed.recorded
    verdict = "ok  " if each.passed else paint("FAIL", RED)
    words = one_line(turn.user.content, max(line_width(sys.stdout, PIPED_WIDTH) - 20, 20))
    yield f"  {verdict}  turn {turn.number}  {words}"
    yield from (f"        {one_line(failure)}" for failure in each.failures)


def suite_closing(done: Sequence[tuple[SuiteCase, Sequence[CheckedTurn]]]) -> str:
    turns = [each for _, found in done for each in found]
    failed = sum(not each.passed for each in turns)
    faults = sum(len(case.problems) for case, _ in done)
    checks = sum(each.checks for each in turns)
    passed = "all turns passed" if turns else "no turn was run"
    words = f"{count_of(failed, 'turn')} failed" if failed else passed
    words += f", {count_of(faults, 'fault')}" if faults else ""
    counts = {"session": len(done), "turn": len(turns), "expectation": checks}
    sizes = ", ".join(count_of(number, what) for what, number in counts.items())
    return f"\n{sizes}: {words}"
