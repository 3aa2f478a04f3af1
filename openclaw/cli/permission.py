"""The question whether a tool may run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from openclaw.cli.visible import one_line, whole_call
from openclaw.tools.grants import Grant, lasting
from openclaw.tools.policy import Ask, Question

MAX_LINES = 60
YES = {"y": "once", "yes": "once", "s": "session", "session": "session", "a": "always"}
Keep = Callable[[Grant, bool], None]


class Permission:
    """Asks a person before a tool runs.

    `read` shows a question and returns the reply; `say` prints a line; `pause` clears the screen of
    what is drawn only for the moment; `keep` notes what is granted, for good when the second value
    is true. No reply (end of input) means no.
    """

    def __init__(
        self,
        read: Callable[[str], str],
        say: Callable[[str], None],
        pause: Callable[[], None],
        keep: Keep,
    ) -> None:
        self._read, self._say, self._pause, self._keep = read, say, pause, keep

    def __call__(self, question: Question) -> str:
        self._pause()
        lines = shown(question)
        self._show(lines[:MAX_LINES], len(lines) - MAX_LINES)
        self._show(_why(question), 0)
        choices = {"session": question.offers, "always": tuple(filter(lasting, question.offers))}
        while True:
            reply = self._reply(_choices(choices, len(lines) > MAX_LINES))
            if reply == "v":
                self._show(lines, 0)
            elif reply in ("", "n", "no"):
                return ""
            elif (how := YES.get(reply, reply)) == "once":
                return how
            elif choices.get(how) and (grant := self._which(choices[how], how)):
                self._keep(grant, how == "always")
                return how

    def _which(self, grants: Sequence[Grant], how: str) -> Grant | None:
        """The grant that is meant when there are several; None to ask anew."""
        if len(grants) == 1:
            return grants[0]
        for number, grant in enumerate(grants, 1):
            self._say(f"  {number} = {one_line(_named(grant))}")
        numbers = [str(number) for number in range(1, len(grants) + 1)]
        reply = self._reply(f"Which one {how}? {', '.join(numbers)} [none] ")
        return grants[int(reply) - 1] if reply in numbers else None

    def _show(self, lines: Sequence[str], hidden: int) -> None:
        for line in lines:
            self._say(line)
        if hidden > 0:
            self._say(f"[{hidden} more lines are not shown]")

    def _reply(self, question: str) -> str:
        try:
            return self._read(question).strip().lower()
        except EOFError:
            return ""


def shown(question: Question) -> list[str]:
    """What would run, in full: the tool, its arguments, and what they come down to."""
    action = question.action
    lines = whole_call(action.tool, question.arguments).splitlines()
    said = "\n".join(str(value) for value in question.arguments.values())
    text = "" if action.text in question.reason else action.text
    meant = dict.fromkeys(each for each in (action.target, text) if each not in said)
    return lines + [f"  = {one_line(each)}" for each in meant]


def _why(question: Question) -> list[str]:
    lines = [f"Asked because {one_line(question.reason)}."]
    if question.sources:
        lines.append(f"Untrusted text came from {one_line(', '.join(question.sources))}.")
    return lines


def _choices(choices: dict[str, tuple[Grant, ...]], more: bool) -> str:
    words = ["y = once"]
    for how, said in (("session", "s = this session"), ("always", "a = always")):
        if grants := choices[how]:
            narrow = f" ({one_line(_named(grants[0]), 60)})" if len(grants) == 1 else ""
            words.append(said + narrow)
    words += ["v = view all of it"] if more else []
    return f"Allow? {', '.join(words)}, n = no [n] "


def _named(grant: Grant) -> str:
    rest = " and plain words behind it" if grant.kind == "prefix" else ""
    return f"{grant.kind} {grant.value}{rest}"


def beforehand(otherwise: Ask | None, say: Callable[[str], None]) -> Ask:
    """The replies of `--yes`. It was said before the text of others was read, and is no yes to what
    they may be behind: then `otherwise` is asked, or nobody."""

    def reply(question: Question) -> str:
        if not question.sources:
            return "--yes"
        if otherwise is not None:
            return otherwise(question)
        say(f"--yes does not count for {question.action.tool}: {question.reason}")
        return ""

    return reply
