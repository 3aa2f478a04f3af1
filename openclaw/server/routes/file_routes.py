"""Files of the home that a user edits: workspace/, memory/ and skills/."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from openclaw.agent.agent import Agent
from openclaw.inspection.blame import blame, blame_json
from openclaw.models.token_count import count
from openclaw.security.policy import is_identity
from openclaw.server.api import (
    NUMBER,
    OBJECT,
    TEXT,
    TRUTH,
    ApiCall,
    JsonAnswer,
    Routes,
    a_list,
    an_object,
)
from openclaw.server.markup import to_html
from openclaw.server.shared_tools import FOLDERS, read_file
from openclaw.server.wire import HttpError
from openclaw.storage.home import Home
from openclaw.storage.merged_save import SaveConflict, save_over
from openclaw.storage.safe_open import decode, md5, read_bytes
from openclaw.storage.text import encode_like
from openclaw.tools.paths import visible_files

ROUTES = Routes()
FILE = an_object("path content etag", read_only=TRUTH)
SAVED = an_object("path etag", required={"merged": TRUTH}, turn=TEXT)


@ROUTES.add(
    "GET",
    "/api/tree",
    "read",
    answer=a_list(an_object("path", required={"size": NUMBER, "modified": {"type": "number"}})),
)
def tree(call: ApiCall) -> Any:
    """The files of workspace/, memory/ and skills/."""
    home = call.server.home
    folders = (visible_files(home, home.root / folder, contents=True) for folder in FOLDERS)
    return [told for file in chain(*folders) if (told := describe_file(home, file))]


def describe_file(home: Home, file: Path) -> dict[str, Any] | None:
    """Return what the tree tells of a file, None for one that was removed meanwhile."""
    try:
        stat = file.stat()
    except FileNotFoundError:
        return None
    return {"path": home.relative(file), "size": stat.st_size, "modified": stat.st_mtime}


def _asked_file(call: ApiCall, named: str) -> tuple[str, bytes]:
    """The path and the bytes of the file of this name."""
    path, data = read_file(call.server.home, named)
    if data is None:
        raise HttpError(404, f"there is no file {path}", "GET /api/tree lists them")
    return path, data


@ROUTES.add("GET", "/api/files", "read", query={"path": "its path in the home"}, answer=FILE)
def read(call: ApiCall, path: str = "") -> Any:
    """A file as text, with its MD5 as ETag. One that holds secrets is shown with their names, and
    cannot be saved."""
    path, data = _asked_file(call, path)
    text = decode(data)
    with call.server.agent() as agent:
        shown = agent.masker.mask_for_display(text)
    tag = md5(data)
    answer = {"path": path, "content": shown, "etag": tag, "read_only": shown != text}
    return JsonAnswer(answer, headers={"etag": f'"{tag}"'})


@ROUTES.add("POST", "/api/files", "files", answer=SAVED)
def save(call: ApiCall, path: str, content: str, etag: str = "", base: str | None = None) -> Any:
    """Save a file, as one step of the history. With the ETag of what was edited (`If-Match`, or
    `etag`), or its text (`base`), changes of others since are merged; 409 with both sides where
    they are in the same lines. `If-None-Match: *` only makes a new file. Without them the text
    replaces what is there."""
    home = call.server.home
    path, now = read_file(home, path)
    if is_identity(path) and "owner" not in call.scopes:
        raise HttpError(403, f"this token may not write {path}", "it decides what the agent does")
    if now is not None and call.headers.get("if-none-match") == "*":
        raise HttpError(409, f"there is a file {path} already", "read it, and save with its etag")
    edited = call.headers.get("if-match", etag).strip().removeprefix("W/")
    with call.server.agent() as agent:
        if now is not None and agent.masker.mask_for_display(decode(now)) != decode(now):
            raise HttpError(403, f"{path} holds secrets", "edit it on the machine itself")
        edited_from = _find_base(agent, path, now, edited.strip('"'), base)
    file = home.inside(path)
    with call.server.changing(f"files save {path}") as turn:
        try:
            data = encode_like(edited_from, content, file)
            saved = save_over(file, edited_from, data, turn.keep)
        except SaveConflict as conflict:
            raise _tell_conflict(path, read_bytes(file), content) from conflict
    done = {"path": path, "etag": md5(saved.after), "merged": saved.merged, "turn": turn.turn}
    return JsonAnswer(done, headers={"etag": f'"{done["etag"]}"'})


@ROUTES.add(
    "GET", "/api/blame", "read", query={"path": "its path in the home"}, answer=a_list(OBJECT)
)
def show_writers(call: ApiCall, path: str = "") -> Any:
    """The lines of a file, each with the turn that wrote it."""
    path, data = _asked_file(call, path)
    with call.server.agent() as agent:
        mask = agent.masker.mask_for_display
        found = blame_json(agent, path, blame(agent.history.versions(path), data))
        return [
            each | {"text": mask(each["text"]), "prompt": mask(each["prompt"])} for each in found
        ]


@ROUTES.add(
    "POST",
    "/api/tokens/files",
    "read",
    answer=an_object(required={"files": a_list(an_object("path", tokens=NUMBER, error=TEXT))}),
)
def count_tokens(call: ApiCall, paths: Sequence[str]) -> Any:
    """The tokens of files."""
    return {"files": [_count(call.server.home, path) for path in paths]}


@ROUTES.add("POST", "/api/render", "read", answer=an_object("html"))
def render(call: ApiCall, text: str) -> Any:
    """Markdown as HTML, as the page shows it."""
    return {"html": to_html(text)}


def _count(home: Home, named: str) -> dict[str, Any]:
    try:
        path, data = read_file(home, named)
    except HttpError as problem:
        return {"path": named, "error": str(problem)}
    if data is None:
        return {"path": path, "error": f"there is no file {path}"}
    return {"path": path, "tokens": count(decode(data))}


def _find_base(
    agent: Agent, path: str, now: bytes | None, tag: str, text: str | None
) -> bytes | None:
    """Return the version of a file with this MD5 or this text, or what it holds `now` when neither
    is given. HttpError when no such version is known."""
    if text is not None and now is not None:
        return encode_like(now, text, agent.home.inside(path))
    if not tag or (now is not None and md5(now) == tag):
        return now
    for _, held in agent.history.versions(path):
        if held is not None and md5(held) == tag:
            return held
    raise _tell_conflict(path, now or b"", "")


def _tell_conflict(path: str, now: bytes, yours: str) -> HttpError:
    hint = "put both together, and save with the etag of this answer"
    more = {"path": path, "etag": md5(now), "current": decode(now), "yours": yours}
    return HttpError(409, f"{path} was changed meanwhile", hint, **more)
