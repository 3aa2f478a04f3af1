"""Where a talk's lines come from: a terminal with history and completion, or a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from openclaw.cli.chat import COMMANDS
from openclaw.cli.chat_inside import is_yes
from openclaw.files.beneath import appending, make_folder
from openclaw.shapes import Mode

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    from openclaw.app import App

MAX_PATHS = 50
MODES: tuple[Mode, ...] = ("read-only", "ask", "edit", "full")


class Lines(Protocol):
    """Gives what the user says, one input at a time."""

    interactive: bool

    def read(self, toolbar: Callable[[], str], default: str = "") -> str:
        """The next input, which may have several lines; it begins as `default`, which the user may
        change. EOFError at the end, KeyboardInterrupt when the user took it back."""
        ...

    def reply(self, question: str) -> str:
        """The reply to a question, one line; EOFError when there is none."""
        ...


class PipedLines:
    """Lines of a stream; one that ends in a backslash goes on in the next."""

    interactive = False

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def read(self, toolbar: Callable[[], str], default: str = "") -> str:
        text = self._line()
        while text.endswith("\\"):
            try:
                text = f"{text[:-1]}\n{self._line()}"
            except EOFError:
                break
        return text

    def reply(self, question: str) -> str:
        if self._stream.isatty():  # where only the output goes into a pipe
            from openclaw.cli.reply import read_reply

            return read_reply(question, sys.stderr)
        return self._line()

    def _line(self) -> str:
        line = self._stream.readline()
        if not line:
            raise EOFError
        return line.rstrip("\r\n")


class TypedLines:
    """Lines typed in a terminal. Enter sends; Alt-Enter, or Enter after a backslash, begins a new
    line. `complete` maps the text before the cursor to (replacement, start offset) pairs."""

    interactive = True

    def __init__(
        self, history: Path | None, complete: Callable[[str], Iterator[tuple[str, int]]]
    ) -> None:
        from prompt_toolkit import PromptSession

        self._session: PromptSession[str] = PromptSession(
            history=_history(history),
            completer=_completer(complete),
            complete_while_typing=True,
            key_bindings=_keys(),
            multiline=True,
            prompt_continuation="  ",
        )

    def read(self, toolbar: Callable[[], str], default: str = "") -> str:
        from openclaw.cli.reply import TOO_SOON_SECONDS

        while True:
            shown = time.monotonic()
            text = self._session.prompt("> ", bottom_toolbar=toolbar, default=default)
            # A yes typed before it could be known what is offered is none.
            if not is_yes(text) or time.monotonic() - shown >= TOO_SOON_SECONDS:
                return text

    def reply(self, question: str) -> str:
        from openclaw.cli.reply import read_reply

        return read_reply(question, sys.stdout)


def choose_lines(app: App, stdin: TextIO, stdout: TextIO) -> Lines:
    """Typed lines on a terminal, else the lines of the stream."""
    if not (stdin.isatty() and stdout.isatty()):
        return PipedLines(stdin)
    folders = (Path.cwd(), app.home.root)

    def complete(text: str) -> Iterator[tuple[str, int]]:
        skills = [skill.name for skill in app.skills() if skill.user_invocable]
        return completions(text, skills, folders)

    history = app.home.private / "history" / "chat" if app.saving else None
    return TypedLines(history, complete)


def completions(
    text: str, skills: Sequence[str], folders: Sequence[Path]
) -> Iterator[tuple[str, int]]:
    """What the text before the cursor may go on as: (replacement, start offset <= 0) pairs, for
    /commands and /skills at the beginning, modes after /mode, and paths after an @."""
    line = text.rpartition("\n")[2]
    word = line.rpartition(" ")[2]
    if line == text and line.startswith("/") and word == line:
        names = [f"/{name}" for name in (*COMMANDS, *skills)]
        yield from ((name, -len(line)) for name in names if name.startswith(line))
    elif line.startswith("/mode "):
        yield from ((mode, -len(word)) for mode in MODES if mode.startswith(word))
    elif word.startswith("@"):
        yield from ((found, -len(word)) for found in _paths(word[1:].lstrip('"'), folders))


def _paths(start: str, folders: Sequence[Path]) -> list[str]:
    """Spellings of existing paths that begin with `start`, from each folder, hidden ones only when
    asked for."""
    parent, _, name = start.rpartition("/")
    found: dict[str, None] = {}
    for folder in folders:
        base = folder / Path(f"{parent}/" if parent or "/" in start else "").expanduser()
        try:
            entries = sorted(base.iterdir())
        except (OSError, RuntimeError, ValueError):
            continue
        for entry in entries:
            if entry.name.startswith(name) and (name or not entry.name.startswith(".")):
                spelt = start[: len(start) - len(name)] + entry.name
                spelt += "/" if entry.is_dir() else ""
                found[f'@"{spelt}"' if " " in spelt else f"@{spelt}"] = None
    return list(found)[:MAX_PATHS]


def _history(path: Path | None) -> History:
    """The history in a file that only this user can read, without the secrets that were typed; in
    memory when there can be none."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    from openclaw.safety.audit import without_secrets

    class CleanHistory(FileHistory):
        def store_string(self, string: str) -> None:
            super().store_string(without_secrets(string))

    if path is None:
        return InMemoryHistory()
    try:
        make_folder(path.parent, 0o700)
        appending(path, 0o600).close()
    except OSError as error:
        sys.stderr.write(f"no history is kept: {error}\n")
        return InMemoryHistory()
    return CleanHistory(str(path))


def _completer(complete: Callable[[str], Iterator[tuple[str, int]]]) -> Any:
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document

    class WordCompleter(Completer):
        def get_completions(
            self, document: Document, complete_event: CompleteEvent
        ) -> Iterator[Completion]:
            for text, start in complete(document.text_before_cursor):
                yield Completion(text, start_position=start)

    return WordCompleter()


def _keys() -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    @keys.add("enter")
    def send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None
        elif buffer.document.current_line_before_cursor.endswith("\\"):
            buffer.delete_before_cursor(1)
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys
