"""A conversation in which lines are typed, and what it prints."""

from __future__ import annotations

import io

from openclaw.agent.agent import Agent
from openclaw.cli.chat.chat import Chat
from openclaw.cli.chat.prompt_line import PipedLines
from openclaw.cli.render import PlainText
from openclaw.sessions.session import Session
from tests.fakes.talk import Talk


class Typed(PipedLines):
    """Lines that a person types."""

    interactive = True


def type_into(
    app: Agent,
    session: Session,
    *said: str,
    kind: type[PipedLines] = PipedLines,
    first: tuple[str, str] = ("", ""),
) -> tuple[int, str, Chat]:
    """Type these lines; `first` is the prompt and the skill that it begins with. Returns exit code,
    printed text and the chat."""
    out = io.StringIO()
    lines = kind(io.StringIO("".join(f"{line}\n" for line in said)))
    listener = PlainText(out, out, tools=True, notes=True, dim=False)
    chat = Chat(app, session, lines, listener, lambda line: print(line, file=out))
    return chat.run(*first), out.getvalue(), chat


def type_lines(it: Talk, *said: str, lines: type[PipedLines] = Typed) -> str:
    """Return the output of a talk in which these lines are typed."""
    return type_into(it.app, it.session, *said, kind=lines)[1]
