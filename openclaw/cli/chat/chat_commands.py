"""The /commands of a conversation, except those for turns of the history (turn_commands.py).

/todo, /memory, /skills, /policy and /sessions run the commands that have these names in the shell.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from textwrap import dedent
from typing import TextIO

import typer

from openclaw.agent.agent import Agent
from openclaw.cli import dispatch
from openclaw.cli.chat.prompt_line import SHELL_MARK
from openclaw.cli.command_line import DEFAULT_COMMANDS
from openclaw.cli.commands.context import cache_lines, canvas, change_lines, report_lines
from openclaw.cli.commands.memory.test import add_case
from openclaw.cli.commands.usage import session_lines, usage_lines
from openclaw.cli.error_report import explain
from openclaw.cli.formatting import for_stdout
from openclaw.errors import OpenclawError, UsageError
from openclaw.home.attachments import attach
from openclaw.inspection.context import context_report, head_changes
from openclaw.inspection.turn_lines import strip_fences
from openclaw.inspection.usage import all_turns, calls_of, turns_of
from openclaw.messages import Material
from openclaw.nlp.statements import is_complaint
from openclaw.security.display import harmless, main_argument, minute, one_line, some_lines
from openclaw.security.untrusted import strip_hidden
from openclaw.sessions.export import export_markdown
from openclaw.sessions.session import Session, SessionSummary
from openclaw.sessions.store import SessionStore
from openclaw.storage.program import expand_tilde
from openclaw.storage.safe_open import read_text
from openclaw.tools.paths import SPILL

GROUPS = {"todo": "", "memory": "search", "skills": "show", "policy": "", "sessions": "search"}
"""The command of each group that runs with words that do not begin with a command of the group."""
SHELL_NAMES = ("undo", "redo", "log", "diff", "show", "blame", "why", "context", "usage", *GROUPS)
_COMMAND = re.compile(rf"\bopenclaw ({'|'.join(SHELL_NAMES)})\b")
Say = Callable[[str], None]
MAX_LINES = 2_000
_SPILL_LINE = re.compile(
    rf"^\[All[\w ]*: read_file ({re.escape(SPILL)}/[0-9a-f]+\.txt),", re.MULTILINE
)
MAX_OUTPUT = 1_000_000  # characters that are kept of an output, from its end
CODE = "code"
NUMBER_COLUMNS = 5  # columns of the number in front of a line
_CODE_BLOCK = re.compile(r"^ *(`{3,}|~{3,})[^\n]*\n(.*?)^ *\1[`~]* *$", re.MULTILINE | re.DOTALL)


def run_group(name: str, rest: str, home: Path) -> int:
    """Run a command of a group in this home; it prints to the terminal. Returns its exit code."""
    try:
        words = shlex.split(rest)
    except ValueError:  # an apostrophe is not a quote: /todo add don't forget
        words = rest.split()
    command = dispatch.load(name)
    with_words = GROUPS[name]
    known = getattr(command, "commands", {})
    if not words:
        words = [DEFAULT_COMMANDS[name]]
    elif words[0] not in known and not words[0].startswith("-"):
        if not with_words:
            raise UsageError(f"/{name} has no command {words[0]}", f"it has: {', '.join(known)}")
        words = [with_words, *words]
    sys.stdout.flush()
    try:
        with command.make_context(f"/{name}", words, obj=str(home)) as context:
            code = command.invoke(context)
    except typer.Exit as end:
        code = end.exit_code
    except OpenclawError:
        raise
    except Exception as error:
        message, hint, _ = explain(error)
        if hint is None:
            raise
        raise UsageError(message, hint) from error
    return code if isinstance(code, int) else 0


def replace_shell_commands(text: str) -> str:
    """The text for the user with /commands instead of the shell's commands."""
    return _COMMAND.sub(r"/\1", text)


def is_command(text: str) -> bool:
    """Return True for a /command; a path such as /etc/hosts is none."""
    word = text.split(maxsplit=1)[0]
    return word.startswith("/") and "/" not in word[1:]


def context(agent: Agent, session: Session, rest: str) -> Iterable[str]:
    """What the next request costs, with the words of `rest` as its prompt. With --cache how much of
    each request the model had read before, with --diff how the head has changed."""
    if rest == "--cache":
        return cache_lines(session.id, calls_of(agent.sessions.messages(session)))
    if rest == "--diff":
        return for_stdout(change_lines(head_changes(agent, session)))
    if rest.startswith("-"):
        raise UsageError(f"what is '{one_line(rest)}'?", "/context [PROMPT], or --cache or --diff")
    material = attach(rest, "", Path.cwd(), agent.home.root)
    return report_lines(context_report(agent, session, rest, material), canvas(sys.stdout))


def usage(agent: Agent, session: Session, rest: str) -> Iterable[str]:
    """What the turns of this conversation have cost; with --all those of every one."""
    if rest not in ("", "--all"):
        raise UsageError(f"what is '{one_line(rest)}'?", "/usage [--all]")
    if rest:
        return usage_lines(all_turns(agent.sessions))
    return session_lines(session.id, turns_of(agent.sessions, session))


def output(agent: Agent, session: Session, rest: str) -> Iterable[str]:
    """The output of the last tool call, or of the Nth call from the end. An output that was
    too long for the model is read from the file that keeps it."""
    uses = [use for entry in session.messages for use in entry.tool_calls]
    if not uses:
        raise UsageError("no tool was run in this conversation yet")
    if not (rest or "1").isdecimal() or not 1 <= (ago := int(rest or "1")) <= len(uses):
        raise UsageError(f"there is no call '{one_line(rest)}'", f"there are {len(uses)}")
    use = uses[-ago]
    call = f"{one_line(use.tool)} {main_argument(use.input)}".rstrip()
    text = strip_fences(use.output)
    if spilled := _SPILL_LINE.search(text):
        with suppress(OpenclawError, OSError):  # old files are deleted when there are many
            whole = read_text(agent.home.root / spilled[1])
            text = agent.masker.mask_for_display(strip_hidden(whole))
    lines = [f"  {harmless(line)}" for line in text.splitlines()]
    return call, *some_lines(lines, MAX_LINES, f"more: {spilled[1]}" if spilled else "more")


def forgotten_lines(session: Session, prompt: str) -> list[str]:
    """When the user complains that something was forgotten: the offer to test that memory answers
    the question before. Nothing is written."""
    question = last_question(session) if is_complaint(prompt) else ""
    shown = one_line(question, 60)
    what = f'to test from now on that memory answers "{shown}":'
    return [f"{what} /expect FILE:LINE or WORDS"] if question else []


def add_memory_test(agent: Agent, session: Session, rest: str) -> Iterable[str]:
    """Make a memory test of the last question; `rest` tells where its answer stands."""
    question = last_question(session)
    if not question:
        raise UsageError("nothing was asked yet", "ask first, then /expect FILE:LINE or WORDS")
    if not rest:
        raise UsageError(
            f'where does the answer to "{one_line(question, 60)}" stand?',
            "/expect FILE:LINE, or words that the passage has",
        )
    line = add_case(agent.home, question, rest)
    return (f"added memory/TESTS.md:{line}; try it: /memory test",)


def last_question(session: Session) -> str:
    """The user's last question, complaints about an answer left out; "" when there is none."""
    asked = (entry.content for entry in reversed(session.messages) if entry.role == "user")
    return next((" ".join(text.split()) for text in asked if not is_complaint(text)), "")


def keep_model(store: SessionStore, session: Session, name: str) -> None:
    """Store in the conversation which model continues it, whatever its last turn used."""
    if session.stamp and session.model != name:
        with store.writing(session.id, timeout=2.0):
            store.refresh(session)
            session.model = name
            store.save(session)
    session.model = name


def run_shell_line(text: str, say: Say) -> Material:
    """Run the command in the current folder, with the user's shell and rights, and show its output
    as it comes. Raises UsageError for an empty command. KeyboardInterrupt ends the command too."""
    command = text.removeprefix(SHELL_MARK).strip()
    if not command:
        raise UsageError("which command?", "!ls")
    shell = ["cmd", "/c"] if os.name == "nt" else [os.environ.get("SHELL") or "/bin/sh", "-c"]
    output = ""
    try:
        with subprocess.Popen(
            [*shell, command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            for line in process.stdout or ():
                say(harmless(line.rstrip("\n")))
                output += line
                if len(output) > 2 * MAX_OUTPUT:
                    output = output[-MAX_OUTPUT:]
    except OSError as error:
        raise OpenclawError(f"{shell[0]} cannot be started: {error.strerror}") from error
    output = output[-MAX_OUTPUT:]
    if process.returncode:
        output += f"exit code {process.returncode}\n"
        say(f"exit code {process.returncode}")
    return Material(f"output of: {command}", output or "(nothing)\n")


def export(agent: Agent, session: Session, name: str) -> Iterable[str]:
    """Write this conversation as Markdown to a new file."""
    if not session.messages:
        raise UsageError("there is nothing to export yet", "ask something first")
    path = expand_tilde(name or f"{session.id}.md")
    text = export_markdown(session, agent.sessions.archived(session))
    try:
        with path.open("x", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path} exists already", "/export with another name") from None
    except OSError as error:
        raise OpenclawError(f"{path} cannot be written: {error.strerror}") from error
    return (f"wrote {path.absolute()}",)


def copy(agent: Agent, session: Session, rest: str) -> Iterable[str]:
    """Put the last answer, or the code in it, into the clipboard."""
    if rest not in ("", CODE):
        raise UsageError(f"what is '{one_line(rest)}'?", "/copy, or /copy code")
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        raise UsageError("there is no terminal with a clipboard here", "/export FILE")
    said = (entry for entry in reversed(session.messages) if entry.role == "assistant")
    text = next((entry.content for entry in said if entry.content.strip()), "")
    if not text:
        raise UsageError("there is no answer yet", "ask something first")
    if rest:
        blocks = code_blocks(text)
        if not blocks:
            raise UsageError("there is no code in the last answer", "/copy copies all of it")
        text = "\n".join(blocks)
    copy_to_clipboard(text, sys.stdout)
    what = "the code of the last answer" if rest else "the last answer"
    return (f"copied {what} ({len(text):,} characters), if the terminal allows it",)


def session_row(item: SessionSummary) -> str:
    """A conversation on one line: when it was used last, its id and its title."""
    line = one_line(f"{minute(item.updated_at)}  {item.id}  ")
    room = shutil.get_terminal_size().columns - len(line) - NUMBER_COLUMNS
    return line + one_line(item.title, min(60, max(10, room)))


def copy_to_clipboard(text: str, out: TextIO) -> None:
    """Ask the terminal to put a text into the clipboard (OSC 52), in the harmless form that was
    shown, as an escape in it could end a later paste. The terminal does not tell if it does so."""
    shown = harmless(text).encode("utf-8", "replace")
    out.write(f"\x1b]52;c;{b64encode(shown).decode()}\x07")
    out.flush()


def code_blocks(markdown: str) -> list[str]:
    """The code blocks of a text, each without its fences and its indent."""
    return [dedent(found[2]) for found in _CODE_BLOCK.finditer(markdown)]
