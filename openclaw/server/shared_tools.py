"""What other programs may do with the memory, the to-dos and the agent: nine flat tools.

A program's words are its own and not the user's: what it wants to be remembered waits in the inbox,
and its to-dos stand on a list with its name, unless the user trusts it. What it reads is fenced, as
a memory may hold the words of strangers, and without secrets. Each call is a line in the log of
actions, each change a step of the history.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from openclaw.errors import OpenclawError
from openclaw.events import Done
from openclaw.frozen import frozen
from openclaw.memory.entries import Meta
from openclaw.memory.notes import AlreadyKnownError, typed_notes
from openclaw.memory.todos import Todo, TodoFile, todo_file
from openclaw.models.base import matches_schema
from openclaw.security.audit import Audit
from openclaw.security.masking import Masker
from openclaw.security.policy import plain_parts
from openclaw.security.untrusted import fence, plain_source
from openclaw.server.api import schema_of_parameters
from openclaw.server.service import Service
from openclaw.server.wire import HttpError, PromptRequest
from openclaw.storage.file_kinds import kind_by_name
from openclaw.storage.home import Home
from openclaw.storage.safe_open import decode, read_bytes
from openclaw.tools.paths import check_open
from openclaw.types import CallRecord, ToolProblem

FOLDERS = ("workspace", "memory", "skills")
LARGEST = 5_000_000  # bytes of a file that is shown


def find_file(home: Home, named: str) -> Path:
    """Return the file of that name, which need not exist. Raises OSError, and ToolProblem for one
    that is hidden, holds credentials or lies elsewhere."""
    file = home.inside(named)
    parts = plain_parts(home.relative(file))
    if parts[:1] not in [(folder,) for folder in FOLDERS] or len(parts) == 1:
        raise ToolProblem(f"name a file in {', '.join(f'{folder}/' for folder in FOLDERS)}")
    if any(part.startswith(".") for part in parts):
        raise ToolProblem("hidden files are not for this")
    return check_open(home, named, file)


def read_file(home: Home, named: str) -> tuple[str, bytes | None]:
    """Return path and bytes of a file, None when it does not exist. HttpError for one that is not a
    text of these folders."""
    try:
        file = find_file(home, named)
        data = read_bytes(file, LARGEST)
    except FileNotFoundError:
        data = None
    except (ToolProblem, OSError) as error:
        raise HttpError(403, f"{named} is closed: {error}") from error
    if data is not None and b"\0" in data:
        raise HttpError(415, f"{named} is no text")
    return home.relative(file), data


LONGEST_NAME = 60
LONGEST_ARGUMENTS = 20_000  # characters of a call's arguments as JSON
LONGEST_ANSWER = 30_000  # characters of a file that are shown at once
MAX_PASSAGES = 20
MAX_HITS = 20
ASK_SECONDS = 600.0
_LINES = re.compile(r"(\d{1,19})(?:-(\d{1,19}))?")
_PLACE = re.compile(r"(?P<path>.+?)(?::(?P<lines>\d{1,19}(?:-\d{1,19})?))?")


@frozen
class Caller:
    """The program that calls.

    may: what it may do: some of "read", "write", "sessions", "ask"
    trusted: its words count as the user's own
    """

    name: str
    may: frozenset[str]
    trusted: bool = False

    @property
    def label(self) -> str:
        """Its name on one line."""
        return plain_source(self.name)[:LONGEST_NAME] or "a program"


@frozen
class ToolAnswer:
    """The result of a call: a text, and for programs the same as data where there is a form."""

    text: str
    data: dict[str, Any] | None = None


RunTool = Callable[..., ToolAnswer]
"""A method of `SharedTools`: the caller and the arguments in, the answer out."""


@frozen
class SharedTool:
    """A tool for other programs; `needs` is what its caller must be allowed."""

    name: str
    about: str
    needs: str
    schema: Mapping[str, Any]
    run: RunTool


TOOLS: dict[str, SharedTool] = {}  # all tools by name, in the order in which they are offered


def shared(name: str, needs: str) -> Callable[[RunTool], RunTool]:
    """Make a method a tool; its docstring is what other programs read of it, its parameters behind
    the caller are the arguments."""

    def register(run: RunTool) -> RunTool:
        schema = schema_of_parameters(run, ("self", "caller", "_"))
        TOOLS[name] = SharedTool(name, run.__doc__ or "", needs, schema, run)
        return run

    return register


class SharedTools:
    def __init__(self, service: Service) -> None:
        self.service, self.home = service, service.home
        self._masker = Masker(self.home.private / "secrets.json")

    def prepare(self) -> None:
        """Load what the first search needs, which takes longer than the search."""
        with suppress(OpenclawError, OSError):
            self.service.shared.search("openclaw", 1, "", "")

    def call(self, caller: Caller, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Run a tool and log it. Raises ToolProblem when it fails, with the reason in words."""
        began, answer = time.monotonic(), None
        try:
            answer = self._run(caller, name, arguments)
        except (OpenclawError, HttpError, OSError) as error:
            hint = getattr(error, "hint", "")
            raise ToolProblem(f"{error} ({hint})" if hint else str(error)) from error
        finally:
            record = CallRecord(
                f"mcp {name}"[:LONGEST_NAME],
                TOOLS[name].needs if name in TOOLS else "",
                str(dict(arguments)),
                "allow" if answer else "",
                by=f"program {caller.label}",
                ok=answer is not None,
                seconds=time.monotonic() - began,
                bytes=len(answer.text.encode()) if answer else 0,
            )
            Audit(self.home.action_log).write(record)
        return answer

    def _run(self, caller: Caller, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        tool = TOOLS.get(name)
        if tool is None or tool.needs not in caller.may:
            raise ToolProblem(f"there is no tool {name[:LONGEST_NAME]}")
        if len(json.dumps(arguments)) > LONGEST_ARGUMENTS:
            raise ToolProblem(f"arguments may have {LONGEST_ARGUMENTS:,} characters in all")
        _check(arguments, tool.schema)
        return tool.run(self, caller, **arguments)

    def fenced(self, text: str, source: str) -> str:
        """Return a text of the home for another program."""
        return fence(self._masker.mask_for_display(text), source, secrets.token_hex(4), own=True)

    # -------- files and memory

    @shared("search", "read")
    def search(
        self, _: Caller, query: str, k: int = 5, path: str = "", since: str = ""
    ) -> ToolAnswer:
        """Search the user's notes and memory. Returns passages with path and lines."""
        most = max(1, min(k, MAX_PASSAGES))
        found, notices = self.service.shared.search(query, most, path, since)
        results = [
            {
                "id": f"{each.path}:{each.start_line}-{each.end_line}",
                "title": f"{each.path}:{each.start_line}",
                "url": f"openclaw://{each.path}",
                "text": self.fenced(each.text, each.path),
            }
            for each in found
            if not each.path.startswith("sessions/")
        ]
        return _as_json({"results": results, "notices": notices})

    @shared("fetch", "read")
    def fetch(self, _: Caller, id: str) -> ToolAnswer:
        """Get one result of search by its id."""
        place = _PLACE.fullmatch(id)
        if place is None:
            raise ToolProblem("an id is a path, or path:line")
        path, text, first, last = self.read_lines(place["path"], place["lines"] or "")
        return _as_json(
            {
                "id": id,
                "title": path,
                "text": self.fenced(text, path),
                "url": f"openclaw://{path}",
                "metadata": {"lines": f"{first}-{last}"},
            }
        )

    @shared("read", "read")
    def read(self, _: Caller, path: str, lines: str = "") -> ToolAnswer:
        """Read a file of workspace/, memory/ or skills/, or one that search finds. lines: 3-9."""
        path, text, first, last = self.read_lines(path, lines)
        return ToolAnswer(self.fenced(text, f"{path} lines {first}-{last}"))

    def read_lines(self, named: str, lines: str = "") -> tuple[str, str, int, int]:
        """Return path, text, first and last line; at most 30,000 characters, in whole lines."""
        path, whole = self._read_text(named)
        every = whole.removesuffix("\n").split("\n")
        wanted = _LINES.fullmatch(lines) if lines else None
        if lines and wanted is None:
            raise ToolProblem("lines are written like 10-20")
        first = int(wanted[1]) if wanted else 1
        last = min(int(wanted[2] or first) if wanted else len(every), len(every))
        if not 1 <= first <= last:
            raise ToolProblem(f"{path} has {len(every)} lines")
        text = "\n".join(every[first - 1 : last])
        if len(text) > LONGEST_ANSWER:
            text = text[:LONGEST_ANSWER].rpartition("\n")[0] or text[:LONGEST_ANSWER]
            last = first + text.count("\n")
            text += f"\n[the rest is left out; read on with lines {last + 1}-{len(every)}]"
        return path, text, first, last

    def _read_text(self, named: str) -> tuple[str, str]:
        """Return path and text of a file of the shared folders, or of one that search finds."""
        try:
            path, data = read_file(self.home, named)
        except HttpError as closed:
            if named.startswith("sessions/"):
                raise
            with suppress(ToolProblem):
                return named, self.service.shared.read_indexed(named)
            raise closed
        if data is None:
            raise ToolProblem(f"there is no file {path}")
        if kind_by_name(path) == "pdf":
            return path, self.service.shared.read_indexed(path)
        return path, decode(data).replace("\r\n", "\n").replace("\r", "\n")

    @shared("remember", "write")
    def remember(self, caller: Caller, text: str) -> ToolAnswer:
        """Propose one fact about the user to be remembered."""
        notes = typed_notes(self.home)
        with self.service.changing(f"{caller.label}: remember {text}", store=notes):
            try:
                if caller.trusted:
                    meta = Meta(source=caller.label)
                    note = notes.remember(text, "today", meta=meta).note
                    told = "remembered in"
                else:
                    note = notes.propose(text, f"program {caller.label}")
                    told = "waits for the user's yes in"
            except AlreadyKnownError as known:
                note, told = known.note, "known already, from"
        return ToolAnswer(f"{told} {note.place(self.home)}")

    # -------- to-dos

    @shared("todos", "read")
    def list_todos(self, _: Caller, list: str = "") -> ToolAnswer:
        """List the open to-dos."""
        lines = [
            f"{todo.id}  {todo.list}: {todo.text}"
            for todo in todo_file(self.home).items()
            if not todo.done and list.casefold() in ("", todo.list.casefold())
        ]
        return ToolAnswer(self.fenced("\n".join(lines) or "nothing is open", "memory/TODO.md"))

    @shared("todo_add", "write")
    def add_todo(self, caller: Caller, text: str, list: str = "", due: str = "") -> ToolAnswer:
        """Add a to-do. due: a date."""
        text = f"{text} due:{due}" if due else text
        name = list if caller.trusted else f"From {caller.label}"
        todo = self._change(caller, f"add {text}", lambda file: file.add(name, [text])[0])
        return ToolAnswer(f"added to {todo.list}: {todo.text} ({todo.id})")

    @shared("todo_done", "write")
    def finish_todo(self, caller: Caller, id: str) -> ToolAnswer:
        """Mark a to-do as done."""

        def mark(file: TodoFile) -> Todo:
            todo = file.find_one(id, done=True)
            file.set_done(todo.id, True)
            return todo

        todo = self._change(caller, f"done {id}", mark)
        return ToolAnswer(f"done: {todo.text}")

    def _change(self, caller: Caller, words: str, change: Callable[[TodoFile], Todo]) -> Todo:
        file = todo_file(self.home)
        with self.service.changing(f"{caller.label}: todo {words}", store=file):
            return change(file)

    # -------- conversations and the agent

    @shared("sessions_search", "sessions")
    def search_sessions(self, _: Caller, words: str) -> ToolAnswer:
        """Search what was said in earlier conversations."""
        hits = self.service.sessions.search(words)[:MAX_HITS]
        lines = [f"{hit.at[:10]} {hit.title or hit.id} ({hit.role}): {hit.snippet}" for hit in hits]
        return ToolAnswer(self.fenced("\n".join(lines) or "nothing found", "earlier conversations"))

    @shared("ask", "ask")
    def ask(self, _: Caller, prompt: str, session: str = "") -> ToolAnswer:
        """Have the user's own agent do or answer something. session: to go on with one."""
        # Nobody is there for its questions, so what needs a yes is refused.
        mode = self.service.choose_mode(None, frozenset())
        request = PromptRequest(prompt, session=session or None, typed=False, mode=mode, asks=False)
        run = self.service.runs.start(request)
        if not run.wait(ASK_SECONDS):
            run.stop()
            raise ToolProblem(f"no answer within {ASK_SECONDS:.0f} s")
        if not isinstance(done := run.outcome, Done):
            raise ToolProblem(done.message if done else "no answer")
        refused = "".join(f"\n[refused: {what}]" for what in done.refused)
        text = self.fenced(done.answer + refused, "the agent")
        return ToolAnswer(f"session: {run.session.id}\n{text}")


def _as_json(data: dict[str, Any]) -> ToolAnswer:
    """An answer in the form that OpenAI's clients expect of `search` and `fetch`."""
    return ToolAnswer(json.dumps(data, ensure_ascii=False), data)


def _check(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    missing = [name for name in schema["required"] if not arguments.get(name)]
    if missing:
        raise ToolProblem(f"{missing[0]} is missing")
    if not matches_schema(dict(arguments), schema):
        raise ToolProblem(f"the arguments are: {', '.join(schema['properties'])}")
