"""The talk in the terminal: read a line, answer it or do what a /command says, until the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from openclaw.agent.events import Compaction, Done, Event, Notice
from openclaw.cli import chat_inside, chat_past
from openclaw.cli.attach import attach, not_found
from openclaw.cli.render import Listener
from openclaw.cli.turn import by_name, code_of, play
from openclaw.cli.visible import harmless, one_line
from openclaw.errors import OpenclawError, UsageError
from openclaw.shapes import Material, Mode

if TYPE_CHECKING:
    from openclaw.agent.receipt import Receipt
    from openclaw.app import ContextReport
    from openclaw.app.greeting import Greeting
    from openclaw.app.offers import Offer
    from openclaw.cli.lines import Lines
    from openclaw.memory.todos import TodoFile
    from openclaw.sessions.store import Session
    from openclaw.skills.load import Skill

SHOWN_SESSIONS = 10
DRY_RUN = "--dry-run"
ASKING = 200
"""Characters at the end of an answer; one that asks in them is answered by a yes itself."""

# name: (arguments, what it does); the method is `_NAME`.
COMMANDS = {
    "help": ("", "what can be typed here"),
    "new": ("[NAME]", "begin a new conversation"),
    "resume": ("[ID]", "go on with an earlier conversation, the latest without ID"),
    "sessions": ("", "list the latest conversations"),
    "model": ("[NAME]", "show or change the model"),
    "context": ("[PROMPT]", "show what the next request costs; also --cache, --diff"),
    "usage": ("[--all]", "show tokens and speeds, turn by turn"),
    "why": ("[TURN]", "show what the last answer is made of; --full shortens nothing"),
    "expect": ("FILE:LINE", "make a memory test of the question before; or words of the passage"),
    "compact": ("[FOCUS]", "sum up older messages and put them away; --dry-run shows the summary"),
    "undo": ("[N]", "take back turns of this talk; --files or --talk only, --keep"),
    "redo": ("[N]", "put back what was taken back"),
    "log": ("[N]", "list the newest turns"),
    "diff": ("[TURN]", "show what a turn changed, the newest without TURN"),
    "show": ("[TURN]", "show all of a turn"),
    "blame": ("FILE[:LINE]", "show which turn wrote a line"),
    "todo": ("", "list open to-dos"),
    "mode": ("[MODE]", "show or change what tools may do: read-only, ask, edit, full"),
    "quit": ("", "leave (also Ctrl-D)"),
}


class ChatApp(chat_past.PastApp, Protocol):
    """What a talk needs of an open home; see openclaw.app.App."""

    mode: Mode
    model_name: str
    notices: list[str]

    @property
    def todos(self) -> TodoFile: ...
    def ask(
        self,
        text: str,
        session: Session,
        material: Sequence[Material] = (),
        skill: str = "",
        *,
        typed: bool = True,
    ) -> Iterator[Event]: ...
    def context(
        self, session: Session | None, text: str = "", material: Sequence[Material] = ()
    ) -> ContextReport: ...
    def compact(
        self, session: Session, focus: str = "", *, dry_run: bool = False
    ) -> Iterator[Event]: ...
    def greeting(self, *, offering: bool = True) -> Greeting: ...
    def offer(self, session: Session, receipt: Receipt) -> Offer | None: ...
    def accept(self, offer: Offer, session: Session) -> Iterator[Event]: ...
    def skills(self) -> list[Skill]: ...
    def use_model(self, name: str) -> None: ...
    def rest(self, session: Session | None = None) -> None: ...


class Chat:
    """One talk. `listener` shows the turns, `say` prints a line of anything else."""

    def __init__(
        self,
        app: ChatApp,
        session: Session,
        lines: Lines,
        listener: Listener,
        say: Callable[[str], None],
    ) -> None:
        self.app, self.session, self.lines = app, session, lines
        self._listener, self._say = listener, say
        self._open = True
        self._code = 0
        self._used = ""
        self._offer: Offer | None = None

    def run(self) -> int:
        """Talk until the input ends. The exit code is 0 on a terminal, else that of the last turn
        that went wrong."""
        # In a talk that goes on, a yes may answer its last words: nothing is offered then.
        fresh = self.lines.interactive and not self.session.messages
        greeting = self.app.greeting(offering=fresh)
        for line in greeting.lines:
            self._say(one_line(line))
        self._offer = greeting.offer
        for text in self.app.notices:
            self._listener(Notice(text))
        if self.session.messages and self.lines.interactive:
            self._say_where()
        while self._open:
            self.app.rest(self.session if self.lines.interactive else None)
            try:
                text = self.lines.read(self.toolbar).strip()
            except KeyboardInterrupt:
                continue
            except EOFError:
                break
            if text:
                self.hear(text)
        return 0 if self.lines.interactive else self._code

    def toolbar(self) -> str:
        """The line at the bottom: model, session, mode, and how full the window was."""
        name = one_line(self.session.title or "new conversation", 40)
        model = self.session.model or self.app.model_name
        return "  ".join(filter(None, (model, name, f"mode {self.app.mode}", self._used)))

    def hear(self, text: str) -> None:
        """Answer one input. What goes wrong is said, and the talk goes on."""
        offer, self._offer = self._offer, None
        try:
            if offer and chat_inside.is_yes(text):
                self._accept(offer)
                return
            prompt, skill = self._command(text) if chat_inside.is_command(text) else (text, "")
            if prompt:
                self._turn(prompt, skill, typed=self.lines.interactive)
        except OpenclawError as error:
            self._code = error.exit_code
            self._say(f"openclaw: {one_line(str(error))}")
            for line in harmless(error.hint).splitlines():
                self._say(f"  {line}")
        except KeyboardInterrupt:
            self._code = 130
            self._say("interrupted; what was done so far is kept")

    def _turn(self, prompt: str, skill: str = "", *, typed: bool) -> None:
        material = attach(prompt, "", Path.cwd(), self.app.home.root)
        for name in not_found(prompt, Path.cwd(), self.app.home.root):
            self._say(one_line(f"there is no file '{name}'"))
        forgotten = chat_inside.forgotten(self.session, prompt)
        turn = self.app.ask(prompt, self.session, material, skill, typed=typed)
        end = play(turn, self._listener)
        for line in forgotten:
            self._say(line)
        self._code = code_of(end) or self._code
        if isinstance(end, Done) and end.usage.prompt_tokens:
            self._used = f"{end.usage.prompt_tokens:,} tokens read"
        if isinstance(end, Done) and self.lines.interactive and "?" not in end.answer[-ASKING:]:
            self._offer = self.app.offer(self.session, end.receipt)
            if self._offer:
                self._say(one_line(self._offer.line))

    def _accept(self, offer: Offer) -> None:
        """Do what a yes means: ask the prompt, which the user did not type, or set the date."""
        if offer.prompt:
            self._turn(offer.prompt, typed=False)
        else:
            play(self.app.accept(offer, self.session), self._listener)

    def _command(self, text: str) -> tuple[str, str]:
        """Do what a /command says. A skill's name gives a prompt that is to be asked, and itself;
        nothing is to be asked otherwise."""
        name, _, rest = text[1:].partition(" ")
        name = {"exit": "quit"}.get(name, name)
        if name in COMMANDS:
            getattr(self, f"_{name}")(rest.strip())
            return "", ""
        if any(skill.name == name for skill in self.app.skills() if skill.user_invocable):
            return rest.strip() or by_name(name), name
        known = " ".join(f"/{known}" for known in COMMANDS)
        raise UsageError(f"there is no command /{name}", f"there are: {known}")

    # -------- the commands

    def _help(self, rest: str) -> None:
        for name, (arguments, meaning) in COMMANDS.items():
            self._say(f"  /{name} {arguments}".ljust(20) + meaning)
        self._say("  /SKILL [WORDS]".ljust(20) + "use a skill")
        self._say("  @path @path:10-20".ljust(20) + "attach a file, or some lines of it")
        self._say("Alt-Enter or a backslash at the end begins a new line. Ctrl-C ends an answer.")

    def _new(self, rest: str) -> None:
        self.session = self.app.sessions.new(rest or None, self.app.model_name)
        self._used = ""
        self._say("a new conversation")

    def _resume(self, rest: str) -> None:
        self.session = self.app.sessions.load(rest or "latest")
        self._used = ""
        self._say_where()

    def _say_where(self) -> None:
        """The session that is gone on with, and its last words."""
        self._say(f"{self.session.id}  {one_line(self.session.title)}")
        for entry in self.session.messages[-2:]:
            self._say(f"  {entry.role}: {one_line(entry.content, 200)}")

    def _sessions(self, rest: str) -> None:
        found = self.app.sessions.list()[:SHOWN_SESSIONS]
        for item in found:
            here = "*" if item.id == self.session.id else " "
            self._say(f"{here} {item.id}  {item.updated_at[:16]}  {one_line(item.title, 60)}")
        if not found:
            self._say("no conversation is saved yet")

    def _model(self, rest: str) -> None:
        """A word that cannot be a model's name is a UsageError, and the model stays."""
        if rest:
            from openclaw.models.choose import split_name

            split_name(rest)
            self.app.use_model(rest)
            self.session.model = rest
        self._say(f"model: {self.session.model or self.app.model_name}")

    def _context(self, rest: str) -> None:
        chat_inside.context(self.app, self.session, rest, self._say)

    def _usage(self, rest: str) -> None:
        chat_inside.usage(self.app, self.session, rest, self._say)

    def _why(self, rest: str) -> None:
        chat_inside.why(self.app, self.session, rest, self._say)

    def _expect(self, rest: str) -> None:
        chat_inside.expect(self.app, self.session, rest, self._say)

    def _compact(self, rest: str) -> None:
        words = rest.split()
        focus = " ".join(word for word in words if word != DRY_RUN)
        for event in self.app.compact(self.session, focus, dry_run=DRY_RUN in words):
            self._listener(event)
            if isinstance(event, Compaction):
                self._say(harmless(event.summary))
        if DRY_RUN not in words:
            self._say(f"to take it back: openclaw sessions restore {self.session.id}")

    def _undo(self, rest: str) -> None:
        self.session = chat_past.undo(self.app, self.session, rest, self._say)

    def _redo(self, rest: str) -> None:
        self.session = chat_past.redo(self.app, self.session, rest, self._say)

    def _log(self, rest: str) -> None:
        chat_past.log(self.app, rest, self._say)

    def _diff(self, rest: str) -> None:
        chat_past.diff(self.app, rest, self._say)

    def _show(self, rest: str) -> None:
        chat_past.show(self.app, rest, self._say)

    def _blame(self, rest: str) -> None:
        chat_past.blame(self.app, rest, self._say)

    def _todo(self, rest: str) -> None:
        todos = [todo for todo in self.app.todos.items() if not todo.done]
        for todo in todos:
            due = f"  due {todo.due}" if todo.due else ""
            self._say(f"  {todo.id}  {one_line(todo.list)}: {one_line(todo.text)}{due}")
        if not todos:
            self._say("no open to-dos")

    def _mode(self, rest: str) -> None:
        from openclaw.cli.lines import MODES

        wanted = next((mode for mode in MODES if mode == rest), None)
        if rest and not wanted:
            raise UsageError(f"there is no mode '{rest}'", f"there are: {', '.join(MODES)}")
        self.app.mode = wanted or self.app.mode
        self._say(f"mode: {self.app.mode}")

    def _quit(self, rest: str) -> None:
        self._open = False
