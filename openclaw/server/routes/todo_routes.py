"""To-dos."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from openclaw.memory.todos import Todo, TodoFile, todo_file
from openclaw.server.api import NUMBER, TEXT, TRUTH, Call, Routes, a_list, an_object, looking_up

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
def list_todos(call: Call) -> Any:
    """All to-dos, done ones too."""
    file = todo_file(call.server.home)
    return file.as_json(file.items())


@ROUTES.add(
    "POST",
    "/api/todos",
    "files",
    body=an_object("text", list=TEXT, due=TEXT),
    answer=TODO,
    status=201,
)
def add(call: Call) -> Any:
    """Add a to-do; `due` is a date in words or digits."""
    body = call.body
    words = f"{body['text']} due:{body['due']}" if body.get("due") else body["text"]
    return _change(call, f"add {words}", lambda file: file.add(body.get("list", ""), [words])[0])


@ROUTES.add(
    "PATCH", ONE, "files", body=an_object(done=TRUTH, due=TEXT, text=TEXT, list=TEXT), answer=TODO
)
def change(call: Call) -> Any:
    """Mark a to-do as done or open, change its date or its words, or move it to another list."""

    def apply(file: TodoFile) -> Todo:
        todo, body = _find(call, file), call.body
        if "text" in body:
            todo = file.set_text(todo.id, body["text"])
        if "due" in body:
            todo = file.set_due(todo.id, body["due"])
        if "done" in body:
            file.set_done(todo.id, body["done"])
            todo = replace(todo, done=body["done"])
        if "list" in body:
            todo = file.move(todo.id, body["list"])
        return todo

    return _change(call, f"change {call.path['todo']}", apply)


@ROUTES.add("DELETE", ONE, "files", answer=TODO)
def remove(call: Call) -> Any:
    """Remove a to-do."""

    def apply(file: TodoFile) -> Todo:
        todo = _find(call, file)
        file.remove(todo.id)
        return todo

    return _change(call, f"rm {call.path['todo']}", apply)


def _change(call: Call, words: str, apply: Callable[[TodoFile], Todo]) -> Any:
    """Change the file as one step of the history; return the to-do."""
    file = todo_file(call.server.home)
    with call.server.changing(f"todo {words}", store=file):
        todo = apply(file)
    return file.as_json([todo])[0]


def _find(call: Call, file: TodoFile) -> Todo:
    with looking_up():
        return file.find_one(call.path["todo"])
