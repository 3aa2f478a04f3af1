"""`openclaw context`: what the next request would be, where its tokens go, what has changed."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from openclaw.cli.ask import (
    Continue,
    ModelName,
    ModeName,
    Modes,
    NoMemory,
    SessionName,
    SkillName,
    Yes,
)
from openclaw.cli.common import can_ask
from openclaw.cli.visible import harmless
from openclaw.errors import UsageError

if TYPE_CHECKING:
    from openclaw.app import App, ContextReport
    from openclaw.files.home import Home
    from openclaw.tools.policy import Question


def context(
    ctx: typer.Context,
    words: Annotated[list[str] | None, typer.Argument(metavar="PROMPT", show_default=False)] = None,
    continue_: Continue = False,
    session: SessionName = None,
    model: ModelName = None,
    yes: Yes = False,
    mode: ModeName = None,
    no_memory: NoMemory = False,
    skill: SkillName = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Print exactly what would be sent, byte for byte.")
    ] = False,
    cache: Annotated[
        bool,
        typer.Option("--cache", help="Show what of each request so far was read before."),
    ] = False,
    diff: Annotated[
        bool,
        typer.Option("--diff", help="Show what changed in the head since then, and who did it."),
    ] = False,
) -> None:
    """Show what would be sent with this prompt, and what each part costs. Nothing is sent.

    Files that the prompt names with @, and what is piped in, go along as with `openclaw ask`.
    --cache and --diff are about the latest conversation, or that of --session.
    """
    if raw + cache + diff > 1 or (raw and as_json):
        raise UsageError("--raw, --cache and --diff exclude each other, and --raw is no JSON")
    from openclaw.cli.common import current_home

    home = current_home(ctx, reading=True)
    if cache:
        _print_cache(home, session or "latest", as_json=as_json)
        return
    with closing(_open(home, model, mode, yes=yes, no_memory=no_memory)) as app:
        if diff:
            given = {"mode": mode, "asked": yes, "memory": no_memory}
            named = [name for name, value in given.items() if value]
            _print_diff(app, session or "latest", named, as_json=as_json)
            return
        report = _report(app, words or [], (continue_, session), skill)
    _print(report, as_json=as_json, raw=raw)


def _open(home: Home, model: str | None, mode: Modes | None, *, yes: bool, no_memory: bool) -> App:
    """The app that `openclaw ask` would open. Which tools a model is told of depends on what they
    may do, and so on whether somebody could be asked."""
    from openclaw.app import App
    from openclaw.config import load_settings

    return App.open(
        home,
        load_settings(home),
        model=model,
        mode=mode.value if mode else None,
        ask=_not_asked if yes or can_ask() else None,
        use_memory=not no_memory,
    )


def _not_asked(question: Question) -> str:
    raise AssertionError("no tool runs where a request is only shown")


def _report(
    app: App, words: list[str], which: tuple[bool, str | None], skill: str
) -> ContextReport:
    """The report on what `openclaw ask` would send for the same words and options."""
    from openclaw.cli.ask import material_of
    from openclaw.cli.piped import piped_in
    from openclaw.cli.turn import by_name, open_session

    piped = piped_in(None) if words else ""  # a bare look waits for nobody
    prompt = " ".join(words).strip() or (by_name(skill) if skill else "")
    material = material_of(prompt, piped, app.home, quiet=False)
    session = open_session(app.sessions, *which, app.model_name)
    return app.context(session, prompt, material, skill)


def _print_cache(home: Home, ref: str, *, as_json: bool) -> None:
    from openclaw.cli.cache import cache_json, cache_lines, calls_of
    from openclaw.cli.common import print_json
    from openclaw.cli.plots import canvas
    from openclaw.sessions.store import SessionStore

    store = SessionStore(home.sessions, home.private / "locks")
    session = store.load(ref)
    calls = calls_of(store.messages(session))
    if as_json:
        print_json(cache_json(session.id, calls))
    else:
        sys.stdout.write("\n".join(cache_lines(session.id, calls, canvas())) + "\n")


def _print_diff(app: App, ref: str, given: list[str], *, as_json: bool) -> None:
    from openclaw.app.head_changes import head_changes
    from openclaw.cli.common import print_json
    from openclaw.cli.context_changes import change_lines, changes_json
    from openclaw.cli.past import put

    found = head_changes(app, app.sessions.load(ref), given)
    if as_json:
        print_json(changes_json(found))
    else:
        put(change_lines(found))


def _print(report: ContextReport, *, as_json: bool, raw: bool) -> None:
    from openclaw.cli.common import print_json
    from openclaw.cli.context_picture import report_json, report_lines
    from openclaw.cli.plots import canvas

    if raw and not sys.stdout.isatty():
        sys.stdout.flush()
        sys.stdout.buffer.write(report.raw)
    elif raw:
        sys.stdout.write(harmless(report.raw.decode(errors="replace")) + "\n")
    elif as_json:
        print_json(report_json(report))
    else:
        sys.stdout.write("\n".join(report_lines(report, canvas())) + "\n")
