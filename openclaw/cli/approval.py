"""The questions whether a tool may run, and whether a home may be trusted."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from difflib import unified_diff
from typing import TYPE_CHECKING, Protocol

from openclaw.cli.formatting import DIFF_COLOURS
from openclaw.cli.questions import is_yes
from openclaw.errors import OpenclawError
from openclaw.security.display import fold_blanks, one_line, rows, whole_call
from openclaw.security.grants import Grant, may_last
from openclaw.security.policy import Ask, Declined, PermissionQuestion
from openclaw.security.untrusted import show_hidden
from openclaw.types import Change

if TYPE_CHECKING:
    from openclaw.cli.render import Listener


LEAST_ROWS = 4
WHY_ROWS = 3
CONTEXT_LINES = 2
GRANT_WIDTH = 200
YES_LETTERS = {"y": "once", "yes": "once", "s": "session", "session": "session", "a": "always"}


class GrantStore(Protocol):
    """Stores grants, as an open home does."""

    def grant(self, grant: Grant, *, lasting: bool) -> None: ...


class Permission:
    """Asks a person before a tool runs. The end of the input means no; a reply that says what to do
    instead is raised as Declined.

    read: shows a question and returns the reply
    say: prints a line
    listener: pauses what it draws only for the moment
    grants: stores what is granted
    colours: show the lines of a change in colours
    """

    def __init__(
        self,
        read: Callable[[str], str],
        say: Callable[[str], None],
        listener: Listener,
        grants: GrantStore,
        *,
        colours: bool = False,
    ) -> None:
        self._read, self._say = read, say
        self._listener, self._grants, self._colours = listener, grants, colours

    def __call__(self, question: PermissionQuestion) -> str:
        self._listener.pause()
        try:
            return self._ask(question)
        finally:
            self._listener.resume()

    def _ask(self, question: PermissionQuestion) -> str:
        width, height = screen_size()
        call: list[str] = []
        for line in call_lines(question):
            colour = DIFF_COLOURS.get(line[:1], "") if question.change and self._colours else ""
            call += (f"{colour}{row}\x1b[m" if colour else row for row in rows(line, width))
        lasting_ones = tuple(filter(may_last, question.offers))
        choices = {"session": question.offers, "always": lasting_ones}
        lines = _why_lines(question, choices)
        why = [row for line in lines for row in [*rows(line, width)][:WHY_ROWS]]
        below = len(why) + len([*rows(_choices_line(choices, more=True), width)])
        room = max(LEAST_ROWS, height - 1 - below)
        more = len(call) > room
        self._show([*(_first_and_last(call, room) if more else call), *why])
        while True:
            # A call that was not seen whole is allowed only once.
            said = self._reply(_choices_line({} if more else choices, more=more))
            reply = said.lower()
            how = YES_LETTERS.get(reply, reply)
            if reply == "v" and more:
                more = not self._page(call, room)
                self._show(why)
            elif reply in ("", "n", "no"):
                return ""
            elif how == "once":
                return how
            elif how in choices:
                if not more and choices[how] and (grant := self._which(choices[how], how)):
                    self._keep(grant, lasting=how == "always")
                    return how
            elif _is_instruction(reply):
                raise Declined(said)
            else:
                self._say("Type one of the letters, or say in words what to do instead.")

    def _which(self, grants: Sequence[Grant], how: str) -> Grant | None:
        """Ask which of several grants is meant; None to ask the whole question again."""
        if len(grants) == 1:
            return grants[0]
        for number, grant in enumerate(grants, 1):
            self._say(f"  {number} = {one_line(fold_blanks(_describe(grant)), GRANT_WIDTH)}")
        numbers = [str(number) for number in range(1, len(grants) + 1)]
        reply = self._reply(f"Which one {how}? {', '.join(numbers)} [none] ")
        return grants[int(reply) - 1] if reply in numbers else None

    def _keep(self, grant: Grant, *, lasting: bool) -> None:
        """Store a grant; only for this session when openclaw.yaml cannot be written."""
        try:
            self._grants.grant(grant, lasting=lasting)
        except OpenclawError as error:
            self._say(f"It is granted for this session only: {error}")
            self._grants.grant(grant, lasting=False)

    def _show(self, lines: Sequence[str]) -> None:
        for line in lines:
            self._say(line)

    def _page(self, lines: Sequence[str], height: int) -> bool:
        """Show the lines screen by screen. Return True when all of them were seen."""
        for end in range(height, len(lines) + height, height):
            self._show(lines[end - height : end])
            asked = f"{end:,} of {len(lines):,} rows. Enter = go on, q = back "
            if end < len(lines) and self._reply(asked).lower() in ("q", "n", "no"):
                return False
        return True

    def _reply(self, question: str) -> str:
        try:
            return self._read(question).strip()
        except EOFError:
            return ""


def call_lines(question: PermissionQuestion) -> list[str]:
    """The call in full: the tool, its arguments, and the target and text that they stand for. A
    change to a file is shown as the lines that change."""
    action = question.action
    if question.change and (changed := _change_lines(question.change)):
        new = " (a new file)" if question.change.before is None else ""
        return [f"{one_line(action.tool)} {one_line(question.change.path)}{new}", *changed]
    lines = fold_blanks(whole_call(action.tool, question.arguments)).split("\n")
    said = "\n".join(str(value) for value in question.arguments.values())
    text = "" if action.text in question.reason else action.text
    meant = dict.fromkeys(each for each in (action.target, text) if each not in said)
    return lines + [f"  = {fold_blanks(one_line(each))}" for each in meant]


def _change_lines(change: Change) -> list[str]:
    """The change as a diff; empty when only the end of the last line differs."""
    before, after = (
        text.removesuffix("\n").split("\n") if text else []
        for text in (change.before, change.after)
    )
    lines = [*unified_diff(before, after, n=CONTEXT_LINES, lineterm="")][2:]
    return [fold_blanks(show_hidden(line)) for line in lines]


def screen_size() -> tuple[int, int]:
    """Columns and rows of the terminal. It is asked itself, as the environment may be out of date.
    The last column is left free, because some terminals begin a new row after it."""
    for stream in (sys.stderr, sys.stdout):
        with suppress(OSError, ValueError, AttributeError):
            size = os.get_terminal_size(stream.fileno())
            if all(size):
                return size.columns - 1, size.lines
    size = shutil.get_terminal_size()
    return size.columns - 1, size.lines


def _first_and_last(lines: Sequence[str], room: int) -> list[str]:
    """The first and the last lines, and between them a line that counts those left out."""
    last = room // 2
    first = room - 1 - last
    left_out = len(lines) - first - last
    return [*lines[:first], f"[{left_out:,} rows are not shown here]", *lines[-last:]]


def _why_lines(question: PermissionQuestion, choices: Mapping[str, tuple[Grant, ...]]) -> list[str]:
    """Why it is asked, and what the letters s and a allow from now on. When there are several
    grants, a second question asks which one, so they are not listed here."""
    reason = one_line(question.reason)
    by_mode = reason.startswith("mode ")
    lines = [f"M{reason[1:]}." if by_mode else f"Asked because {reason}."]
    if question.sources:
        lines.append(f"Untrusted text came from {one_line(', '.join(question.sources))}.")
    single = {how: grants[0] for how, grants in choices.items() if len(grants) == 1}
    if single:
        letters = " and ".join(f"[{how[0]}]" for how in single)
        name = one_line(_describe(next(iter(single.values()))), 60)
        lines.append(f"{letters} from now on: {name}")
    return lines


def _choices_line(choices: Mapping[str, tuple[Grant, ...]], *, more: bool) -> str:
    words = ["[y]es", *(f"[{how[0]}]{how[1:]}" for how, grants in choices.items() if grants)]
    words += ["[v]iew all"] if more else []
    return f"Allow? {'  '.join(words)}  [N]o  (or say what to do instead) "


def _is_instruction(reply: str) -> bool:
    """Return True when a reply says what to do instead. A single key, which may be hit by mistake,
    does not, and neither do words that begin with a yes."""
    words = re.findall(r"[^\W\d_]+", reply)
    return bool(words) and len(reply) > 1 and reply.isprintable() and not is_yes(words[0])


def _describe(grant: Grant) -> str:
    rest = " and plain words behind it" if grant.kind == "prefix" else ""
    return f"{grant.kind} {grant.value}{rest}"


def yes_unless_untrusted(otherwise: Ask | None, say: Callable[[str], None]) -> Ask:
    """The replies of `--yes`. The user gave it before the text of others was read, so it does not
    count for calls that such text may have caused: for these `otherwise` is asked, or nobody."""

    def reply(question: PermissionQuestion) -> str:
        if not question.sources:
            return "--yes"
        if otherwise is not None:
            return otherwise(question)
        say(f"--yes does not count for {question.action.tool}: {question.reason}")
        return ""

    return reply
