"""The conversation in the terminal: read an input, answer it or run its /command, until the end."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from openclaw.agent.agent import Agent
from openclaw.agent.greeting import greeting
from openclaw.agent.todo_offers import TodoOffer, offer_after
from openclaw.cli import questions
from openclaw.cli.chat import chat_commands, prompt_line, turn_commands
from openclaw.cli.chat.chat_commands import keep_model, replace_shell_commands, session_row
from openclaw.cli.chat.completion import COMMANDS, MODES
from openclaw.cli.chat.prompt_line import PipedLines, TypedLines
from openclaw.cli.chat.turn_commands import LastPrompt
from openclaw.cli.commands.why import why_in_chat
from openclaw.cli.current_home import record_as_turn
from openclaw.cli.questions import pick
from openclaw.cli.render import Listener, exit_code, show_turn
from openclaw.errors import OpenclawError, UsageError
from openclaw.events import Compaction, Done, Event, Notice, Start
from openclaw.home.attachments import attach, missing_files
from openclaw.inspection.usage import window_used
from openclaw.messages import Material, skill_prompt
from openclaw.models.model_names import HINT_WIDTH, Answering, known_models, resolve_installed_model
from openclaw.security.display import harmless, one_line
from openclaw.sessions.session import Session, session_name
from openclaw.sessions.store import UNATTENDED

if TYPE_CHECKING:
    from openclaw.agent.undo import UndoResult


DRY_RUN = "--dry-run"
SHOWN_SESSIONS = 10
LAST_WORDS = 200  # characters that are shown of each of the last two messages
ENDING = 200
"""Characters at the end of an answer. After a question in them a yes answers that question."""
ALIASES = {"exit": "quit", "clear": "new"}
SHOWN: Mapping[str, Callable[[Agent, Session, str], Iterable[str]]] = {
    "blame": turn_commands.blame,
    "context": chat_commands.context,
    "copy": chat_commands.copy,
    "diff": turn_commands.diff,
    "expect": chat_commands.add_memory_test,
    "export": chat_commands.export,
    "log": turn_commands.log,
    "output": chat_commands.output,
    "show": turn_commands.show,
    "usage": chat_commands.usage,
    "why": why_in_chat,
}
"""Commands that change nothing in this conversation; each returns the lines to be shown."""
OTHER_INPUT = {
    "/SKILL [WORDS]": "use a skill",
    "@path @path:10-20": "attach a file, or some lines of it",
    "!COMMAND": "run it yourself; the next prompt takes its output along",
    "Alt-Enter": "begin a new line; so does Enter after a backslash",
    "Ctrl-C": "end an answer",
}
TYPED_WIDTH = 20  # columns of the inputs that /help lists


class Chat:
    """One conversation. `listener` shows the turns, `say` prints a line of anything else."""

    def __init__(
        self,
        agent: Agent,
        session: Session,
        lines: PipedLines | TypedLines,
        listener: Listener,
        say: Callable[[str], None],
        answering: Answering | None = None,
    ) -> None:
        self.agent, self.session, self.lines = agent, session, lines
        self._answering = answering or Answering(agent.model_name, agent.settings.ollama.host)
        self._listener, self._say = listener, say
        self._window = 0
        self._open = True
        self._code = 0
        self._draft = self._chosen = ""
        self._asked: LastPrompt | None = None
        self._outputs: tuple[Material, ...] = ()
        self._offer: TodoOffer | None = None

    def run(self, first: str = "", skill: str = "") -> int:
        """Talk until the input ends, beginning with the first prompt if one is given. Returns 0 on
        a terminal, else the exit code of the last turn that went wrong."""
        if self.lines.interactive:
            home = self.agent.home.root
            self._say(prompt_line.welcome_line(self._answering.wait(), home, _columns()))
        # In a continued conversation a yes may answer its last words: nothing is offered then.
        fresh = self.lines.interactive and not self.session.messages and not (first or skill)
        shown = greeting(self.agent, offering=fresh)
        self._say_all(one_line(replace_shell_commands(line)) for line in shown.lines)
        self._offer = shown.offer
        for text in self.agent.notices:
            self._listener(Notice(text))
        if self.session.messages and self.lines.interactive:
            self._say_last_words()
        if first or skill:
            self._show_prompt(LastPrompt(first or skill_prompt(skill), skill))
            self.hear(first or skill_prompt(skill), skill)
        while self._open:
            self.agent.prepare_next(self.session if self.lines.interactive else None)
            draft, self._draft = self._draft, ""
            try:
                text = self.lines.read(self.toolbar, draft).strip()
            except KeyboardInterrupt:
                continue
            except EOFError:
                break
            if text:
                self.hear(text)
        return 0 if self.lines.interactive else self._code

    def toolbar(self) -> str:
        """The line at the bottom: conversation, model, mode, and how full the window is."""
        used = window_used(self.session, self._window)
        model = self._answering.name
        mode = self.agent.mode if self.agent.saving else f"{self.agent.mode}, not saved"
        return prompt_line.toolbar_line(self.session, model, mode, used, _columns())

    def hear(self, text: str, skill: str = "") -> None:
        """Answer one input. An error is printed, and the conversation goes on."""
        offer, self._offer = self._offer, None
        try:
            if offer and questions.is_yes(text):
                if offer.prompt:  # which the user did not type
                    self._turn(LastPrompt(offer.prompt))
                    return
                with self.lines.ahead():
                    done = offer.accept(self.agent, self.session)
                    show_turn(done, self._listener, self._adapt_notice)
                return
            if self.lines.interactive and prompt_line.is_shell_line(text):
                self._outputs += (chat_commands.run_shell_line(text, self._say),)
                return
            prompt = text
            if not skill and chat_commands.is_command(text):
                prompt, skill = self._command(text)
            if prompt:
                self._turn(LastPrompt(prompt, skill, typed=self.lines.interactive))
        except OpenclawError as error:
            self.lines.hold()
            self._code = error.exit_code
            self._say(f"openclaw: {one_line(str(error))}")
            hint = harmless(replace_shell_commands(error.hint))
            self._say_all(f"  {line}" for line in hint.splitlines())
        except KeyboardInterrupt:
            self.lines.hold()
            self._code = 130
            self._say("interrupted; what was done so far is kept")

    def _turn(self, asked: LastPrompt) -> None:
        prompt, root = asked.prompt, self.agent.home.root
        material = asked.material
        if material is None:
            try:
                attached = attach(prompt, "", Path.cwd(), root)
                material = self._outputs + self.lines.material(prompt) + attached
            except UsageError:
                self._draft = asked.as_typed  # so that the user corrects it and need not retype it
                raise
            for name in missing_files(prompt, Path.cwd(), root):
                self._say(one_line(f"there is no file '{name}'"))
        forgotten = chat_commands.forgotten_lines(self.session, prompt)
        turns = self.session.turns
        try:
            run = self.agent.ask(prompt, self.session, material, asked.skill, typed=asked.typed)
            with self.lines.ahead():
                end = show_turn(run, self._listener, self._adapt_notice)
        finally:
            is_said = self.session.turns > turns
            self._asked = replace(asked, material=material, is_said=is_said)
            if is_said:
                self._outputs = ()
        self._say_all(forgotten)
        if code := exit_code(end):
            self.lines.hold()
            self._code = code
        if isinstance(end, Done) and self.lines.interactive and "?" not in end.answer[-ENDING:]:
            self._offer = offer_after(self.agent, self.session, end)
            if self._offer:
                self._say(one_line(self._offer.line))

    def _adapt_notice(self, event: Event) -> Event:
        """The event as a conversation shows it: notices name /commands instead of the shell's."""
        if isinstance(event, Start):
            self._answering.name, self._window = event.model, event.window
        if isinstance(event, Notice):
            return replace(event, text=replace_shell_commands(event.text))
        return event

    def _say_all(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._say(line)

    def _show_prompt(self, asked: LastPrompt) -> None:
        """Show a prompt that was not typed at the input line."""
        if self.lines.interactive:
            self._say(one_line(f"> {asked.as_typed}"))

    def _command(self, text: str) -> tuple[str, str]:
        """Run a /command. A skill's name returns the prompt to ask and the skill; any other command
        returns two empty texts."""
        word, *others = text[1:].split(maxsplit=1)
        name, rest = ALIASES.get(word, word), others[0].strip() if others else ""
        if shown := SHOWN.get(name):
            with self.lines.ahead():
                self._say_all(shown(self.agent, self.session, rest))
            return "", ""
        if name in COMMANDS:
            run = getattr(self, f"_{name}", None) or partial(self._run, name)
            run(rest)
            return "", ""
        skills = [skill.name for skill in self.agent.skills() if skill.user_invocable]
        if name in skills:
            return rest or skill_prompt(name), name
        near = get_close_matches(name.casefold(), (*COMMANDS, *ALIASES, *skills), n=1)
        known = fill(f"there are: {' '.join(f'/{known}' for known in COMMANDS)}", HINT_WIDTH)
        advice = f"did you mean /{near[0]}?" if near else known
        raise UsageError(f"there is no command /{name}", advice)

    # -------- the commands

    def _help(self, rest: str) -> None:
        rows = {f"/{name} {words}": meaning for name, (words, meaning) in COMMANDS.items()}
        for typed, meaning in (rows | OTHER_INPUT).items():
            self._say(f"  {typed:<{TYPED_WIDTH}}  {meaning}")

    def _new(self, rest: str) -> None:
        try:
            session = self.agent.sessions.new(rest or None, self.agent.model_name)
        except UsageError as error:
            raise UsageError(str(error), f"/resume {rest}, or another name") from None
        self._switch_to(session)
        self._say(f"a new conversation: {rest}" if rest else "a new conversation")

    def _resume(self, rest: str) -> None:
        if not rest and not self.lines.interactive:
            self._sessions("")
            return
        choices = [
            (item.id, session_row(item))
            for item in (() if rest else self.agent.sessions.list())
            if item.id != self.session.id and not item.id.startswith(UNATTENDED)
        ]
        if not rest and not choices:
            raise UsageError("there is no other conversation yet", "/new begins one")
        if chosen := rest or pick(choices, self.lines.reply, self._say):
            self._switch_to(self.agent.sessions.load(chosen))
            self._say_last_words()

    def _switch_to(self, session: Session) -> None:
        self.session, self._asked, self._outputs = session, None, ()

    def _say_last_words(self) -> None:
        """Say the conversation's id and title, and its last two messages."""
        self._say(one_line(f"{self.session.id}  {self.session.title}"))
        for entry in self.session.messages[-2:]:
            self._say(f"  {entry.role}: {one_line(' '.join(entry.content.split()), LAST_WORDS)}")

    def _sessions(self, rest: str) -> None:
        """List the latest conversations, this one marked with *; with words run the command."""
        if rest:
            self._run("sessions", rest)
            return
        found = self.agent.sessions.list()[:SHOWN_SESSIONS]
        for item in found:
            self._say(f"{'*' if item.id == self.session.id else ' '} {session_row(item)}")
        if not found:
            self._say("no conversation is saved yet")

    def _rename(self, rest: str) -> None:
        if not rest:
            raise UsageError("which name?", "/rename NAME")
        session, store = self.session, self.agent.sessions
        with record_as_turn(self.agent.home, f"sessions rename {session.id} {rest}", store):
            if session.stamp:
                store.rename(session.id, rest)
                store.refresh(session)
            else:
                session.title = rest
        self._say(f"this conversation is called {session_name(session)}")

    def _fork(self, rest: str) -> None:
        before, store = self.session, self.agent.sessions
        if not before.stamp:
            why = "this conversation is not saved" if before.messages else "nothing was said yet"
            hint = "/new begins another conversation"
            raise UsageError(f"there is nothing to copy: {why}", hint)
        with record_as_turn(self.agent.home, f"sessions fork {before.id}", store):
            copy = store.fork(before.id, None, rest or None)
        self._switch_to(copy)
        self._say(one_line(f"a copy: {session_name(copy)}; back: /resume {before.id}"))

    def _model(self, rest: str) -> None:
        """Choose a model. A name that no model has changes nothing."""
        host = self.agent.settings.ollama.host
        if not rest:
            self._say(f"model: {self._answering.wait()}")
            known = known_models(host)
            if not self.lines.interactive:
                for name in known:
                    self._say(f"  {name}")
            elif known:
                rest = pick([(name, name) for name in known], self.lines.reply, self._say) or ""
        if rest:
            name = resolve_installed_model(rest, host)
            self.agent.use_model(name)
            self._answering, self._window = Answering(name, host), 0
            self._chosen = self.session.model = name
            self._say(f"model: {name}")

    def _compact(self, rest: str) -> None:
        words = rest.split()
        focus = " ".join(word for word in words if word != DRY_RUN)
        summaries: list[str] = []
        with self.lines.ahead():
            try:
                self._listener.begin("summing up")
                for event in self.agent.compact(self.session, focus, dry_run=DRY_RUN in words):
                    self._listener(self._adapt_notice(event))
                    if isinstance(event, Compaction):
                        summaries.append(event.summary)
            finally:
                self._listener.close()
        self._say_all(map(harmless, summaries))
        if DRY_RUN not in words and self.agent.saving:
            self._say(f"to take it back: /sessions restore {self.session.id}")

    def _retry(self, rest: str) -> None:
        asked = self._take_back_last(rest)
        self._show_prompt(asked)
        self._turn(asked)

    def _edit(self, rest: str) -> None:
        if not self.lines.interactive:
            raise UsageError("/edit needs a terminal", "/undo, then ask in other words")
        self._draft = self._take_back_last(rest).as_typed

    def _take_back_last(self, rest: str) -> LastPrompt:
        """Take back the last turn; returns its prompt. UsageError for words behind the command."""
        if rest:
            hint = "/retry asks the same again, /edit lets you change it"
            raise UsageError(f"what is '{one_line(rest)}'?", hint)
        asked = self._asked or turn_commands.find_last_prompt(self.session)
        if asked.is_said:
            self.session = turn_commands.take_back(self.agent, self.session, self._say)
            self._keep_model()
        self._asked = None
        return asked

    def _undo(self, rest: str) -> None:
        self._go_on_after("undo", turn_commands.undo(self.agent, self.session, rest))

    def _redo(self, rest: str) -> None:
        self._go_on_after("redo", turn_commands.redo(self.agent, self.session, rest))

    def _go_on_after(self, verb: str, taken: UndoResult) -> None:
        """Say what became of an undo or redo, and go on with what is left."""
        before = self.session
        self._say_all(turn_commands.result_lines(taken, before, verb))
        self._switch_to(before if taken.refused else self.agent.sessions.reread(before))
        if self.session is not before:
            self._say("nothing is left of this conversation; the next prompt begins it again")
        self._keep_model()

    def _keep_model(self) -> None:
        """Keep the model chosen by /model, as it is no part of a turn that was taken back."""
        if self._chosen:
            keep_model(self.agent.sessions, self.session, self._chosen)

    def _policy(self, rest: str) -> None:
        self._run("policy", rest)
        if not rest:
            self._say(f"\nMode of this chat: {self.agent.mode}")

    def _run(self, name: str, rest: str) -> None:
        with self.lines.ahead():
            self._code = chat_commands.run_group(name, rest, self.agent.home.root) or self._code

    def _mode(self, rest: str) -> None:
        wanted = next((mode for mode in MODES if mode == rest), None)
        if rest and not wanted:
            raise UsageError(f"there is no mode '{rest}'", f"there are: {', '.join(MODES)}")
        self.agent.mode = wanted or self.agent.mode
        self._say(f"mode: {self.agent.mode}")

    def _quit(self, rest: str) -> None:
        self._open = False


def _columns() -> int:
    return shutil.get_terminal_size().columns
