"""To-dos."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from openclaw.memory.todos import Todo, TodoFile, todo_file
from openclaw.server.api import NUMBER, TEXT, TRUTH, ApiCall, Routes, a_list, an_object, looking_up

ROUTES = Routes()
ONE = "/api/todos/{todo}"
TODO = an_object(
    "id list text",
    required={"done": TRUTH, "due": {"type": ["string", "null"]}},
    overdue=TRUTH,
    path=TEXT,
    line=NUMBER,
)


@ROUTES.add("GET", "/api/todos", "read", answer=a_list(TODO))
def list_todos(call: ApiCall) -> Any:
    """All to-dos, done ones too."""
    file = todo_file(call.server.home)
    return file.as_json(file.items())


@ROUTES.add("POST", "/api/todos", "files", answer=TODO, status=201)
def add(call: ApiCall, text: str, list: str = "", due: str = "") -> Any:
    """Add a to-do; `due` is a date in words or digits."""
    words = f"{text} due:{due}" if due else text
    return _change(call, f"add {words}", lambda file: file.add(list, [words])[0])


@ROUTES.add("PATCH", ONE, "files", answer=TODO)
def change(
    call: ApiCall,
    todo: str,
    done: bool | None = None,
    due: str | None = None,
    text: str | None = None,
    list: str | None = None,
) -> Any:
    """Mark a to-do as done or open, change its date or its words, or move it to another list."""

    def apply(file: TodoFile) -> Todo:
        found = _find(file, todo)
        if text is not None:
            found = file.set_text(found.id, text)
        if due is not None:
            found = file.set_due(found.id, due)
        if done is not None:
            file.set_done(found.id, done)
            found = replace(found, done=done)
        return found if list is None else file.move(found.id, list)

    return _change(call, f"change {todo}", apply)


@ROUTES.add("DELETE", ONE, "files", answer=TODO)
def remove(call: ApiCall, todo: str) -> Any:
    """Remove a to-do."""

    def apply(file: TodoFile) -> Todo:
        found = _find(file, todo)
        file.remove(found.id)
        return found

    return _change(call, f"rm {todo}", apply)


def _change(call: ApiCall, words: str, apply: Callable[[TodoFile], Todo]) -> Any:
    """Change the file as one step of the history; return the to-do."""
    file = todo_file(call.server.home)
    with call.server.changing(f"todo {words}", store=file):
        todo = apply(file)
    return file.as_json([todo])[0]


def _find(file: TodoFile, named: str) -> Todo:
    with looking_up():
        return file.find_one(named)
