"""What /context, /usage, /why and /expect do in a talk: they look inside, and ask no model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from openclaw.cli.render import unfenced
from openclaw.cli.visible import harmless, main_argument, one_line
from openclaw.errors import OpenclawError, UsageError
from openclaw.files.text import read_text
from openclaw.safety.hidden import strip
from openclaw.tools.paths import SPILL

if TYPE_CHECKING:
    from openclaw.app import App, ContextReport
    from openclaw.cli.why import Asked
    from openclaw.files.home import Home
    from openclaw.sessions.store import Session, SessionStore
    from openclaw.shapes import Material

Say = Callable[[str], None]
MOST_LINES = 2_000
_KEPT = re.compile(rf"^\[All[\w ]*: read_file ({re.escape(SPILL)}/[0-9a-f]+\.txt),", re.MULTILINE)
YES = frozenset("yes y yes,please yesplease ja ja,bitte jabitte oui sí si sì".split())


def is_yes(text: str) -> bool:
    """Whether an input says yes to an offer."""
    return "".join(text.casefold().split()).rstrip(".!") in YES


def is_command(text: str) -> bool:
    """Whether an input is a /command; a path such as /etc/hosts is not."""
    word = text.split(maxsplit=1)[0]
    return word.startswith("/") and "/" not in word[1:]


class InsideApp(Protocol):
    """What is asked of an open home here; see openclaw.app.App."""

    @property
    def home(self) -> Home: ...
    @property
    def sessions(self) -> SessionStore: ...
    def context(
        self, session: Session | None, text: str = "", material: Sequence[Material] = ()
    ) -> ContextReport: ...


def context(app: InsideApp, session: Session, rest: str, say: Say) -> None:
    """What the next request costs, as it would be with the words of `rest`; with --cache what of
    each request so far the model had read before, with --diff what has changed in the head."""
    if rest in ("--cache", "--diff"):
        _say_all(_cache(app, session) if rest == "--cache" else _diff(app, session), say)
        return
    if rest.startswith("-"):
        raise UsageError(f"what is '{one_line(rest)}'?", "/context [PROMPT], or --cache or --diff")
    from openclaw.cli.attach import attach
    from openclaw.cli.context_picture import report_lines
    from openclaw.cli.plots import canvas

    material = attach(rest, "", Path.cwd(), app.home.root)
    _say_all(report_lines(app.context(session, rest, material), canvas()), say)


def usage(app: InsideApp, session: Session, rest: str, say: Say) -> None:
    """What the turns of this talk have cost; with --all those of all conversations."""
    from openclaw.app.usage import all_turns, turns_of
    from openclaw.cli.plots import canvas
    from openclaw.cli.usage import session_lines, usage_lines

    if rest not in ("", "--all"):
        raise UsageError(f"what is '{one_line(rest)}'?", "/usage [--all]")
    if rest:
        _say_all(usage_lines(all_turns(app.sessions), canvas()), say)
    else:
        turns = turns_of(app.sessions, session)
        _say_all(session_lines(session.id, turns, canvas()), say)


def why(app: Asked, session: Session, rest: str, say: Say) -> None:
    """What the last answer is made of, or the turn that is named; --full shortens nothing."""
    from openclaw.cli.why import in_talk

    in_talk(app, session, rest, say)


def output(app: InsideApp, session: Session, rest: str, say: Say) -> None:
    """What a tool gave back, the last one or the one that many calls ago. What was too long for the
    model is read from the file that keeps it."""
    uses = [use for entry in session.messages for use in entry.tool_calls]
    if not uses:
        raise UsageError("no tool was run in this conversation yet")
    if not (rest or "1").isdecimal() or not 1 <= (ago := int(rest or "1")) <= len(uses):
        raise UsageError(f"there is no call '{one_line(rest)}'", f"there are {len(uses)}")
    use = uses[-ago]
    say(f"{one_line(use.tool)} {main_argument(use.input)}".rstrip())
    text = unfenced(use.output)
    if kept := _KEPT.search(text):
        with suppress(OpenclawError, OSError):  # of many files the old ones are gone
            whole = read_text(app.home.root / kept[1])
            text = cast("App", app).vault.veiled(strip(whole))
    lines = text.splitlines()
    _say_all((f"  {harmless(line)}" for line in lines[:MOST_LINES]), say)
    if len(lines) > MOST_LINES:
        say(f"[{len(lines) - MOST_LINES:,} more lines{f': {kept[1]}' if kept else ''}]")


def forgotten(session: Session, prompt: str) -> list[str]:
    """The offer to test that memory answers the question before, when the user complains that it
    was forgotten. Nothing is written."""
    from openclaw.agent.complaints import is_complaint

    question = question_of(session) if is_complaint(prompt) else ""
    shown = one_line(question, 60)
    what = f'to test from now on that memory answers "{shown}":'
    return [f"{what} /expect FILE:LINE or WORDS"] if question else []


def expect(app: InsideApp, session: Session, rest: str, say: Say) -> None:
    """Make a memory test of the question before: its answer stands where `rest` says."""
    from openclaw.cli.memory_test import add_case

    question = question_of(session)
    if not question:
        raise UsageError("nothing was asked yet", "ask first, then /expect FILE:LINE or WORDS")
    if not rest:
        raise UsageError(
            f'where does the answer to "{one_line(question, 60)}" stand?',
            "/expect FILE:LINE, or words that the passage has",
        )
    line = add_case(app.home, question, rest)
    say(f"added memory/TESTS.md:{line}; try it: /memory test")


def question_of(session: Session) -> str:
    """What the user asked last, complaints about the answer left aside; "" when nothing."""
    from openclaw.agent.complaints import is_complaint

    asked = (entry.content for entry in reversed(session.messages) if entry.role == "user")
    return next((" ".join(text.split()) for text in asked if not is_complaint(text)), "")


def _cache(app: InsideApp, session: Session) -> Iterable[str]:
    from openclaw.cli.cache import cache_lines, calls_of
    from openclaw.cli.plots import canvas

    return cache_lines(session.id, calls_of(app.sessions.messages(session)), canvas())


def _diff(app: InsideApp, session: Session) -> Iterable[str]:
    from openclaw.app.head_changes import head_changes
    from openclaw.cli.context_changes import change_lines
    from openclaw.cli.past_lines import fit

    return fit(change_lines(head_changes(cast("App", app), session)))


def _say_all(lines: Iterable[str], say: Say) -> None:
    for line in lines:
        say(line)
