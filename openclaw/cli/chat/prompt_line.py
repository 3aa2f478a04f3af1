"""The chat's input line on a terminal, with history, completion, folded pastes and a toolbar; and
its counterpart for a pipe."""

from __future__ import annotations

import io
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from openclaw import __version__
from openclaw.cli.chat.completion import CompletionSources, completions, sources_of
from openclaw.cli.questions import TOO_SOON_SECONDS, collected_by, is_yes, read_reply
from openclaw.cli.typeahead import TypedAhead
from openclaw.errors import UsageError
from openclaw.home.attachments import read_stdin
from openclaw.messages import Material
from openclaw.security.display import columns, harmless, one_line
from openclaw.security.secrets import without_secrets
from openclaw.sessions.session import Session, session_name
from openclaw.storage.safe_open import appending, make_folder

if TYPE_CHECKING:
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    from openclaw.agent.agent import Agent


COMMAND_SYNONYMS = {"exit": "/quit", "quit": "/quit", ":q": "/quit", "?": "/help"}
"""Words that people from other programs type, and the commands they mean."""
LEAVE_HINT = "Ctrl-C again to leave (or Ctrl-D)"
MAX_LINES, MAX_CHARACTERS = 10, 1_000  # a pasted text up to this size is shown as it is
LONGEST_PROMPT = 4_000
"""Characters up to which a pasted text without other words is the prompt itself."""
_PASTE_MARK = re.compile(r"\[pasted [\d,]+ (?:lines|characters) #\d+\]")
LEAST_CHARACTERS = 8  # a part that is shortened to fit its line keeps at least this many characters
HELP_HINT = "/help lists commands, Ctrl-D leaves"
SHELL_MARK = "!"


class PipedLines:
    """Lines of a stream; a line that ends in a backslash continues in the next."""

    interactive: bool = False
    typed = None  # nothing is typed ahead

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
            return read_reply(question, sys.stderr)
        return self._line()

    def ahead(self) -> AbstractContextManager[None]:
        return nullcontext()

    def hold(self) -> None:
        """Do nothing, as nothing is typed ahead: each line is read when it is due."""

    def material(self, prompt: str) -> tuple[Material, ...]:
        return ()

    def _line(self) -> str:
        line = self._stream.readline()
        if not line:
            raise EOFError
        return line.rstrip("\r\n")


class TypedLines:
    """Lines typed in a terminal. Enter sends; Ctrl-J, Alt-Enter, or Enter after a backslash, begins
    a new line. Long pasted texts are folded."""

    interactive = True

    def __init__(
        self,
        history: Path | None,
        sources: CompletionSources,
        keys: str = "emacs",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        from prompt_toolkit import PromptSession

        self._clock = clock
        self._pastes = Pastes()
        self._typed = TypedAhead(self._pastes.fold)
        self.hold, self.typed = self._typed.hold, self._typed.preview
        self.material = self._pastes.material
        self._session: PromptSession[str] = PromptSession(
            history=_history(history),
            completer=_completer(sources),
            complete_while_typing=True,
            complete_in_thread=True,
            enable_suspend=True,
            key_bindings=_keys(self._pastes),
            multiline=True,
            prompt_continuation="  ",
            tempfile_suffix=".md",
            vi_mode=keys == "vi",
        )

    def read(self, toolbar: Callable[[], str], default: str = "") -> str:
        from prompt_toolkit.utils import is_dumb_terminal

        with self._typed.until_now():
            if default:
                self._typed.hold(default)
            leaving = False
            while True:
                shown = self._clock()
                text, sent = self._typed.take()
                if sent and not is_shell_line(text):  # the user looks at a shell line first
                    lines = harmless(text).replace("\n", "\n  ")
                    sys.stdout.write(f"> {lines}\n")
                    sys.stdout.flush()
                    self._session.history.append_string(text)
                    return self._to_input(text)
                try:
                    # prompt_toolkit does not show the default text on a dumb terminal.
                    begun = text if is_dumb_terminal() else ""
                    text = self._session.prompt(f"> {begun}", default=text, bottom_toolbar=toolbar)
                except KeyboardInterrupt:
                    if self._session.default_buffer.text:
                        raise
                    if leaving:
                        raise EOFError from None
                    leaving = True
                    sys.stdout.write(f"{LEAVE_HINT}\n")
                    sys.stdout.flush()
                    continue
                # A yes that came before the user could read the offer does not count.
                if not is_yes(text) or self._clock() - shown >= TOO_SOON_SECONDS:
                    return self._to_input(text)

    def _to_input(self, text: str) -> str:
        return COMMAND_SYNONYMS.get(text.strip(), self._pastes.prompt(text))

    def reply(self, question: str) -> str:
        with collected_by(self._typed):
            return read_reply(question, sys.stdout)

    @contextmanager
    def ahead(self) -> Iterator[None]:
        from prompt_toolkit.input.typeahead import get_typeahead

        for pressed in get_typeahead(self._session.app.input):
            self._typed.press(pressed)
        with self._typed, collected_by(self._typed):
            yield


def choose_lines(agent: Agent, stdin: TextIO, stdout: TextIO) -> PipedLines | TypedLines:
    """TypedLines on a terminal, else PipedLines of the stream."""
    if not (stdin.isatty() and stdout.isatty()):
        return PipedLines(stdin)
    history = agent.home.private / "history" / "chat" if agent.saving else None
    return TypedLines(history, sources_of(agent), agent.settings.keys)


def _history(path: Path | None) -> History:
    """The history of inputs, in a file that only this user can read, without secrets; in memory
    when `path` is None or the file cannot be made."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

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


def _completer(sources: CompletionSources) -> Any:
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document

    class WordCompleter(Completer):
        def get_completions(
            self, document: Document, complete_event: CompleteEvent
        ) -> Iterator[Completion]:
            for text, start, meaning in completions(document.text_before_cursor, sources):
                yield Completion(text, start_position=start, display_meta=meaning)

    return WordCompleter()


def _keys(pastes: Pastes) -> KeyBindings:
    from prompt_toolkit.application import get_app
    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.enums import DEFAULT_BUFFER
    from prompt_toolkit.filters import Condition, emacs_mode, has_focus
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.keys import Keys

    keys = KeyBindings()
    here = has_focus(DEFAULT_BUFFER)  # not in a search of the history
    mark = Condition(
        lambda: bool(mark_before(get_app().current_buffer.document.text_before_cursor))
    )

    @keys.add("enter", filter=here)
    def send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        state = buffer.complete_state
        if state and state.current_completion and len(state.completions) > 1:
            _take_choice(event)
        elif buffer.document.current_line_before_cursor.endswith("\\"):
            buffer.delete_before_cursor(1)
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("tab", filter=here)
    def complete(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state and len(buffer.complete_state.completions) > 1:
            buffer.complete_next()
            return
        found = [*buffer.completer.get_completions(buffer.document, CompleteEvent())]
        if len(found) == 1:
            buffer.apply_completion(found[0])
            _take_choice(event)
        else:
            buffer.start_completion(insert_common_part=True)

    @keys.add("c-j", filter=here)
    @keys.add("escape", "enter", filter=here & emacs_mode)
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-x", "c-e", filter=here)
    @keys.add("c-g", filter=here)
    def edit(event: KeyPressEvent) -> None:
        event.current_buffer.open_in_editor()

    @keys.add(Keys.BracketedPaste, filter=here)
    def paste(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(pastes.fold(event.data))

    @keys.add("backspace", filter=here & mark)
    def delete_mark(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        buffer.delete_before_cursor(len(mark_before(buffer.document.text_before_cursor)))

    return keys


def _take_choice(event: KeyPressEvent) -> None:
    """Accept the chosen completion; after a folder offer its files."""
    buffer = event.current_buffer
    buffer.complete_state = None
    if buffer.document.text_before_cursor.endswith(("/", '/"')):
        buffer.start_completion()


class Pastes:
    """The texts that were pasted in this conversation, each under the mark that stands for it."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold(self, text: str) -> str:
        """The mark that stands in the input line for a pasted text; a short text itself."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = len(text.splitlines())
        if lines <= MAX_LINES and len(text) <= MAX_CHARACTERS:
            return text
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        mark = f"[pasted {size} #{len(self._texts) + 1}]"
        self._texts[mark] = text
        return mark

    def prompt(self, text: str) -> str:
        """The prompt: the pasted text when one of at most 4,000 characters stands alone, else the
        words as they are."""
        alone = self._texts.get(text.strip(), "")
        return alone if 0 < len(alone) <= LONGEST_PROMPT else text

    def material(self, text: str) -> tuple[Material, ...]:
        """The pasted texts whose marks are in the text, cut as standard input is."""
        marks = dict.fromkeys(_PASTE_MARK.findall(text))
        for mark in marks:
            if mark not in self._texts:
                raise UsageError(f"the text of {mark} is no longer here", "paste it again")
        return tuple(
            Material(mark[1:-1], read_stdin(io.BytesIO(self._texts[mark].encode())))
            for mark in marks
        )


def mark_before(text: str) -> str:
    """The mark of a pasted text that a text ends with; "" when it ends otherwise."""
    return next((m[0] for m in _PASTE_MARK.finditer(text) if m.end() == len(text)), "")


def welcome_line(model: str, home: Path, width: int) -> str:
    """The first line of a conversation on a terminal; the hint is the last to be shortened."""
    where = (f"openclaw {__version__}", model, _shorten_path(home))
    front = join_to_width(where, max(1, width - len(HELP_HINT) - 2))
    return one_line(f"{front}  {HELP_HINT}", width)


def toolbar_line(session: Session, model: str, mode: str, used: str, width: int) -> str:
    return join_to_width((session_name(session), model, f"mode {mode}", used), width)


def join_to_width(parts: Sequence[str], width: int) -> str:
    """The parts on one line of `width` columns; the longest are shortened."""
    left = [part for part in parts if part]
    for _ in left:
        over = columns("  ".join(left)) - width
        if over > 0:
            longest = max(left, key=len)
            short = one_line(longest, max(LEAST_CHARACTERS, len(longest) - over))
            left[left.index(longest)] = short
    return one_line("  ".join(left), width)


def _shorten_path(path: Path) -> str:
    """A path with ~ for the user's own folder."""
    try:
        return f"~/{path.relative_to(Path.home()).as_posix()}".removesuffix("/.")
    except (ValueError, RuntimeError):
        return str(path)


def is_shell_line(text: str) -> bool:
    """Return True for a command for the shell. It has one line, so that no pasted text is one."""
    return text.startswith(SHELL_MARK) and "\n" not in text
