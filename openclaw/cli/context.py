"""`openclaw context`: what the next request would be, and where its tokens go."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from openclaw.cli.visible import harmless

if TYPE_CHECKING:
    from openclaw.app import ContextReport
    from openclaw.files.home import Home

BAR = 20


def context(
    ctx: typer.Context,
    words: Annotated[list[str] | None, typer.Argument(metavar="[PROMPT]")] = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="As it would go on.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="As for this model.")
    ] = None,
    no_memory: Annotated[
        bool, typer.Option("--no-memory", help="Leave memory and to-dos out.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Print exactly what would be sent.")] = False,
    cache: Annotated[
        bool,
        typer.Option("--cache", help="Show what of each request so far was read before."),
    ] = False,
) -> None:
    """Show what would be sent with the next prompt, and what each part costs. Nothing is sent."""
    from openclaw.app import App
    from openclaw.cli.common import current_home
    from openclaw.config import load_settings

    home = current_home(ctx)
    if cache:
        _print_cache(home, session or "latest", as_json=as_json)
        return
    app = App.open(home, load_settings(home), model=model, use_memory=not no_memory)
    try:
        talk = app.sessions.load(session) if session else None
        report = app.context(talk, " ".join(words or []))
    finally:
        app.close()
    _print(report, as_json=as_json, raw=raw)


def _print_cache(home: Home, ref: str, *, as_json: bool) -> None:
    from openclaw.cli.cache import cache_json, cache_lines, calls_of
    from openclaw.cli.common import print_json
    from openclaw.sessions.store import SessionStore

    store = SessionStore(home.sessions, home.private / "locks")
    session = store.load(ref)
    calls = calls_of(store.messages(session))
    if as_json:
        print_json(cache_json(session.id, calls))
    else:
        sys.stdout.write("\n".join(cache_lines(session.id, calls)) + "\n")


def _print(report: ContextReport, *, as_json: bool, raw: bool) -> None:
    if raw:
        text = harmless(report.raw) if sys.stdout.isatty() else report.raw
    elif as_json:
        parts = [asdict(part) for part in report.parts]
        shape = {"window": report.window, "used": report.used, "parts": parts}
        text = json.dumps(shape, ensure_ascii=False, indent=2)
    else:
        text = "\n".join(report_lines(report))
    sys.stdout.write(text + "\n")


def report_lines(report: ContextReport) -> list[str]:
    """A line for each part: name, tokens, share of the window as a bar, path."""
    width = max([len(part.name) for part in report.parts] + [len("together")])
    lines = [
        _line(part.name.ljust(width), part.tokens, report.window, part.path, part.cut)
        for part in report.parts
    ]
    lines.append(_line("together".ljust(width), report.used, report.window, "", False))
    return [*lines, f"{'window'.ljust(width)}  {report.window:>7,}"]


def _line(name: str, tokens: int, window: int, path: str, was_cut: bool) -> str:
    share = tokens / window if window else 0.0
    bar = "#" * min(BAR, round(share * BAR) or int(tokens > 0))
    note = f"{path} (cut)" if was_cut else path
    return f"{name}  {tokens:>7,}  {share:>5.1%}  {bar:<{BAR}}  {note}".rstrip()
