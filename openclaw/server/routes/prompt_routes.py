"""Prompts and their runs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from starlette.responses import StreamingResponse

from openclaw.config import load_settings
from openclaw.errors import UsageError
from openclaw.events import Done
from openclaw.home.attachments import attach, mentions
from openclaw.home.model_names import known_models
from openclaw.inspection.turn_lines import receipt_line, verdict_lines
from openclaw.messages import Material, skill_prompt
from openclaw.server.api import NUMBER, TEXT, TRUTH, Call, Routes, a_list, an_object
from openclaw.server.markup import to_html
from openclaw.server.runs import Run, follow
from openclaw.server.shared_tools import find_file
from openclaw.server.wire import Problem, PromptRequest, event_from_json
from openclaw.types import ToolProblem

ROUTES = Routes()
_OR_NULL = {"type": ["string", "null"]}
_MATERIAL = an_object(
    "label text",
    path=TEXT,
    image={"type": ["object", "null"]},
    lines=an_object("path", required={"start_line": NUMBER, "end_line": NUMBER}),
)
_GRANT = an_object("kind value", since=TEXT)
RUN = an_object(
    "id session_id state",
    message=TEXT,
    began_at={"type": "number"},
    text=TEXT,
    question={"type": ["object", "null"]},
    events=NUMBER,
)


@ROUTES.add(
    "POST",
    "/api/runs",
    "terminal",
    body=an_object(
        "message",
        latest=TRUTH,
        session=_OR_NULL,
        material=a_list(_MATERIAL),
        skill=TEXT,
        typed=TRUTH,
        model=_OR_NULL,
        mode=_OR_NULL,
        use_memory=TRUTH,
        max_steps={"type": ["integer", "null"]},
        saving=TRUTH,
        asks=TRUTH,
        wait={"type": "number"},
        changes=TRUTH,
    ),
    answer=RUN,
    status=202,
)
def begin(call: Call) -> Any:
    """Ask a prompt, with the options of the command line."""
    run = call.server.runs.start(PromptRequest.from_json(call.body))
    return run.describe()


@ROUTES.add(
    "POST",
    "/api/chat",
    "chat",
    body=an_object(
        "message",
        session_id=_OR_NULL,
        skill=TEXT,
        model=_OR_NULL,
        mode=_OR_NULL,
        queue=TRUTH,
        stream=TRUTH,
    ),
    answer=RUN,
)
def chat(call: Call) -> Any:
    """Ask a prompt. The answer is the stream of its run, or the run's state where `Accept` is
    application/json. Files of the home that `@path` names go along."""
    body, message = call.body, call.body["message"].strip()
    session = body.get("session_id") or None
    mode = call.server.choose_mode(body.get("mode"), call.scopes)
    key = call.headers.get("idempotency-key", "")
    runs = call.server.runs
    if session and not body.get("queue") and not runs.began(key) and runs.running(session):
        running = runs.running(session)[0]
        hint = "stop it, or send queue: true"
        raise Problem(409, "this conversation is being answered", hint, run_id=running.id)
    request = PromptRequest(
        message or (skill_prompt(body["skill"]) if body.get("skill") else ""),
        session=session,
        material=_attach_files(call, message) if "owner" in call.scopes else (),
        skill=body.get("skill", ""),
        model=_choose_model(call, session),
        mode=mode,
        asks="owner" in call.scopes,
    )
    run = runs.start(request, key)
    if body.get("stream") is False or call.headers.get("accept") == "application/json":
        return run.describe() | {"run_id": run.id}
    return _stream_run(run)


def _attach_files(call: Call, message: str) -> Sequence[Material]:
    """Return the files that a message names. Problem for one that is missing or not open here."""
    home = call.server.home
    try:
        named = mentions(message, home.root, home.root)
    except UsageError as error:  # its hint may name files outside
        raise Problem(404, str(error)) from error
    for mention in named:
        try:
            find_file(home, str(mention.path))
        except (ToolProblem, OSError) as error:
            raise Problem(403, f"{mention.name} is not attached: {error}") from error
    return attach(message, "", home.root, home.root)


def _choose_model(call: Call, session: str | None) -> str | None:
    """Return the model that is asked for, else the one that last answered in the conversation, when
    it is installed here; None for that of the settings. Problem for a program that may not."""
    if asked := call.body.get("model"):
        if "owner" not in call.scopes:
            raise Problem(403, "this token may not choose a model")
        return str(asked)
    home = call.server.home
    held = ""
    if session:
        with suppress(UsageError):
            held = call.server.sessions.load(session).model
    settings = load_settings(home)
    if held in ("", settings.model) or held not in known_models(settings.ollama.host):
        return None
    return held


@ROUTES.add("GET", "/api/runs/{run}", "chat", answer=RUN)
def show(call: Call) -> Any:
    """The state of a run."""
    return _find(call).describe()


@ROUTES.add("GET", "/api/runs", "chat", answer=an_object(required={"runs": a_list(RUN)}))
def list_runs(call: Call) -> Any:
    """The runs that have not ended."""
    return {"runs": [run.describe() for run in call.server.runs.running()]}


@ROUTES.add(
    "GET", "/api/runs/{run}/events", "chat", query={"after": "the number of the last event seen"}
)
def stream(call: Call) -> Any:
    """The events of a run as a stream, after the header Last-Event-ID."""
    said = call.headers.get("last-event-id") or call.query.get("after", "0")
    return _stream_run(_find(call), int(said) if said.isdigit() else 0)


@ROUTES.add("POST", "/api/runs/{run}/stop", "chat", answer=RUN)
def stop(call: Call) -> Any:
    """End a run."""
    run = _find(call)
    run.stop()
    return run.describe()


@ROUTES.add(
    "POST",
    "/api/runs/{run}/answer",
    "owner",
    body=an_object("question", decision=TEXT, instead=TEXT, grant=_GRANT),
    answer=RUN,
)
def answer(call: Call) -> Any:
    """Answer the question of a run; the first answer counts."""
    reply = {key: value for key, value in call.body.items() if key != "question"}
    run = _find(call)
    run.answer(call.body["question"], reply)
    return run.describe()


def _find(call: Call) -> Run:
    run = call.server.runs.get(call.path["run"])
    if run is None:
        hint = "ten minutes after its end its messages are in the conversation only"
        raise Problem(404, "there is no such run", hint)
    return run


# -------- the stream of a run, as server-sent events


def _stream_run(run: Run, after: int = 0) -> StreamingResponse:
    """Return the events of a run that come after number `after`, until its end."""
    return StreamingResponse(_frames(run, after), media_type="text/event-stream")


async def _frames(run: Run, after: int) -> AsyncIterator[str]:
    async for item in follow(run, after):
        yield ": still here\n\n" if item is None else _frame(*item)
    yield _frame(0, {"event": "end"})


def _frame(number: int, data: Mapping[str, Any]) -> str:
    """Return one event as the stream has it; 0 is no number."""
    head = f"id: {number}\n" if number else ""
    body = json.dumps({**data, **_aliases(data)}, ensure_ascii=False, default=str)
    return f"{head}event: {data['event']}\ndata: {body}\n\n"


def _aliases(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names that clients of another server of this kind read beside ours, and what the
    page shows."""
    match data["event"]:
        case "token":
            return {"content": data["text"]}
        case "done":
            return {"content": data["answer"], "html": to_html(data["answer"])} | _lines(data)
        case "retrieval":
            return {"results": data["passages"]}
        case "error":
            return {"error": data["message"]}
    return {}


def _lines(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what there is to say of an answer, in words."""
    done = event_from_json(data)
    if not isinstance(done, Done):
        return {}
    return {"receipt_line": receipt_line(done.receipt), "verdicts": verdict_lines(done)}
