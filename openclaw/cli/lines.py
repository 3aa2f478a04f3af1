"""Where a talk's lines come from: a terminal with history and completion, or a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from openclaw.cli.chat_inside import is_yes
from openclaw.cli.chat_shell import is_shell_line
from openclaw.cli.completion import Known, completions, known_of
from openclaw.cli.pastes import Pastes, mark_before
from openclaw.cli.visible import harmless
from openclaw.files.beneath import appending, make_folder
from openclaw.shapes import Material

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    from openclaw.app import App

MEANT = {"exit": "/quit", "quit": "/quit", ":q": "/quit", "?": "/help"}
"""What a person types who comes from another program."""
LEAVE = "Ctrl-C again to leave (or Ctrl-D)"


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

    def ahead(self) -> AbstractContextManager[None]:
        """What is typed in here is kept for the inputs after it."""
        ...

    def hold(self) -> None:
        """What was typed ahead is not sent by itself: it was meant for another end of the turn."""
        ...

    def material(self, prompt: str) -> tuple[Material, ...]:
        """The pasted texts that the prompt names. UsageError when one is no longer there."""
        ...


class PipedLines:
    """Lines of a stream; one that ends in a backslash goes on in the next."""

    interactive = False
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
            from openclaw.cli.reply import read_reply

            return read_reply(question, sys.stderr)
        return self._line()

    def ahead(self) -> AbstractContextManager[None]:
        return nullcontext()

    def hold(self) -> None:
        """Nothing is typed ahead: each line is read when it is due."""

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

    def __init__(self, history: Path | None, known: Known, keys: str = "emacs") -> None:
        from prompt_toolkit import PromptSession

        from openclaw.cli.typeahead import TypedAhead

        self._pastes = Pastes()
        self._typed = TypedAhead(self._pastes.fold)
        self._session: PromptSession[str] = PromptSession(
            history=_history(history),
            completer=_completer(known),
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

        from openclaw.cli.reply import TOO_SOON_SECONDS

        with self._typed.until_now():
            if default:
                self._typed.hold(default)
            leaving = False
            while True:
                shown = time.monotonic()
                text, sent = self._typed.take()
                if sent and not is_shell_line(text):  # which is looked at once more
                    return self._meant(self._shown(text))
                try:
                    # A dumb terminal is not shown the text that an input begins with.
                    begun = text if is_dumb_terminal() else ""
                    text = self._session.prompt(f"> {begun}", default=text, bottom_toolbar=toolbar)
                except KeyboardInterrupt:
                    if self._session.default_buffer.text:
                        raise
                    if leaving:
                        raise EOFError from None
                    leaving = True
                    sys.stdout.write(f"{LEAVE}\n")
                    sys.stdout.flush()
                    continue
                # A yes typed before it could be known what is offered is none.
                if not is_yes(text) or time.monotonic() - shown >= TOO_SOON_SECONDS:
                    return self._meant(text)

    def _meant(self, text: str) -> str:
        return MEANT.get(text.strip(), self._pastes.prompt(text))

    def _shown(self, text: str) -> str:
        """A text that was typed ahead, as if it were typed and sent now."""
        lines = harmless(text).replace("\n", "\n  ")
        sys.stdout.write(f"> {lines}\n")
        sys.stdout.flush()
        self._session.history.append_string(text)
        return text

    def reply(self, question: str) -> str:
        from openclaw.cli.reply import read_reply

        with self._typed.paused():
            return read_reply(question, sys.stdout, self._typed.keep)

    @contextmanager
    def ahead(self) -> Iterator[None]:
        from prompt_toolkit.input.typeahead import get_typeahead

        for pressed in get_typeahead(self._session.app.input):
            self._typed.press(pressed)
        with self._typed:
            yield

    def hold(self) -> None:
        self._typed.hold()

    def material(self, prompt: str) -> tuple[Material, ...]:
        return self._pastes.material(prompt)

    def typed(self) -> str:
        """What is typed ahead, on one line."""
        return self._typed.shown()


def choose_lines(app: App, stdin: TextIO, stdout: TextIO) -> PipedLines | TypedLines:
    """Typed lines on a terminal, else the lines of the stream."""
    if not (stdin.isatty() and stdout.isatty()):
        return PipedLines(stdin)
    history = app.home.private / "history" / "chat" if app.saving else None
    return TypedLines(history, known_of(app), app.settings.keys)


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


def _completer(known: Known) -> Any:
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document

    class WordCompleter(Completer):
        def get_completions(
            self, document: Document, complete_event: CompleteEvent
        ) -> Iterator[Completion]:
            for text, start, meaning in completions(document.text_before_cursor, known):
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
    here = has_focus(DEFAULT_BUFFER)  # and not in a search of the history
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
    """The chosen words stay. In a folder there is more to choose."""
    buffer = event.current_buffer
    buffer.complete_state = None
    if buffer.document.text_before_cursor.endswith(("/", '/"')):
        buffer.start_completion()
