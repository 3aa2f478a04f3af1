"""Prompts and their runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import Any

from starlette.responses import StreamingResponse

from openclaw.config import load_settings
from openclaw.errors import UsageError
from openclaw.events import Done, Error
from openclaw.home.attachments import attach, mentions
from openclaw.inspection.turn_lines import receipt_line, verdict_lines
from openclaw.messages import Material, skill_prompt
from openclaw.models.model_names import known_models
from openclaw.server.api import NUMBER, SCHEMAS, TEXT, ApiCall, Routes, a_list, an_object
from openclaw.server.markup import to_html
from openclaw.server.runs import Run, follow
from openclaw.server.shared_tools import find_file
from openclaw.server.wire import HttpError, PromptRequest, to_json_text
from openclaw.types import ToolProblem

ROUTES = Routes()
_MATERIAL = an_object(
    "label text", path=TEXT, image={"type": ["object", "null"]}, lines={"type": ["object", "null"]}
)
_TYPES = {**SCHEMAS, "Sequence[Material]": a_list(_MATERIAL)}
_PROMPT = an_object(
    "message", **{each.name: _TYPES[str(each.type)] for each in fields(PromptRequest)}
)
RUN = an_object(
    "id session_id state",
    message=TEXT,
    began_at={"type": "number"},
    text=TEXT,
    question={"type": ["object", "null"]},
    events=NUMBER,
)


@ROUTES.add("POST", "/api/runs", "terminal", body=_PROMPT, answer=RUN, status=202)
def begin(call: ApiCall, /, **options: Any) -> Any:
    """Ask a prompt, with the options of the command line."""
    return call.server.runs.start(PromptRequest.from_json(options)).describe()


@ROUTES.add("POST", "/api/chat", "chat", answer=RUN)
def chat(
    call: ApiCall,
    message: str,
    session_id: str | None = None,
    skill: str = "",
    model: str | None = None,
    mode: str | None = None,
    queue: bool = False,
    stream: bool = True,
) -> Any:
    """Ask a prompt. The answer is the stream of its run, or the run's state where `Accept` is
    application/json. Files of the home that `@path` names go along."""
    key, runs, message = call.headers.get("idempotency-key", ""), call.server.runs, message.strip()
    if session_id and not queue and not runs.find(key):
        call.server.check_idle(session_id)
    request = PromptRequest(
        message or (skill_prompt(skill) if skill else ""),
        session=session_id or None,
        material=_attach_files(call, message) if "owner" in call.scopes else (),
        skill=skill,
        model=_choose_model(call, model, session_id),
        mode=call.server.choose_mode(mode, call.scopes),
        asks="owner" in call.scopes,
    )
    run = runs.start(request, key)
    if not stream or call.headers.get("accept") == "application/json":
        return run.describe() | {"run_id": run.id}
    return _stream_run(run)


def _attach_files(call: ApiCall, message: str) -> Sequence[Material]:
    """Return the files that a message names. HttpError for one that is missing or not open here."""
    home = call.server.home
    try:
        named = mentions(message, home.root, home.root)
    except UsageError as error:  # its hint may name files outside
        raise HttpError(404, str(error)) from error
    for mention in named:
        try:
            find_file(home, str(mention.path))
        except (ToolProblem, OSError) as error:
            raise HttpError(403, f"{mention.name} is not attached: {error}") from error
    return attach(message, "", home.root, home.root)


def _choose_model(call: ApiCall, asked: str | None, session: str | None) -> str | None:
    """Return the model that is asked for, else the one that last answered in the conversation, when
    it is installed here; None for that of the settings. HttpError for a program that may not."""
    if asked:
        if "owner" not in call.scopes:
            raise HttpError(403, "this token may not choose a model")
        return asked
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
def show(call: ApiCall, run: str) -> Any:
    """The state of a run."""
    return _find(call, run).describe()


@ROUTES.add("GET", "/api/runs", "chat", answer=an_object(required={"runs": a_list(RUN)}))
def list_runs(call: ApiCall) -> Any:
    """The runs that have not ended."""
    return {"runs": [run.describe() for run in call.server.runs.running()]}


@ROUTES.add(
    "GET", "/api/runs/{run}/events", "chat", query={"after": "the number of the last event seen"}
)
def stream_events(call: ApiCall, run: str, after: str = "0") -> Any:
    """The events of a run as a stream, after the header Last-Event-ID."""
    said = call.headers.get("last-event-id") or after
    return _stream_run(_find(call, run), int(said) if said.isdecimal() and len(said) < 20 else 0)


@ROUTES.add("POST", "/api/runs/{run}/stop", "chat", answer=RUN)
def stop(call: ApiCall, run: str) -> Any:
    """End a run."""
    found = _find(call, run)
    found.stop()
    return found.describe()


@ROUTES.add("POST", "/api/runs/{run}/answer", "owner", answer=RUN)
def answer(
    call: ApiCall,
    run: str,
    question: str,
    decision: str = "",
    instead: str = "",
    grant: Mapping[str, str] | None = None,
) -> Any:
    """Answer the question of a run; the first answer counts."""
    found = _find(call, run)
    found.answer(question, {"decision": decision, "instead": instead, "grant": grant})
    return found.describe()


def _find(call: ApiCall, name: str) -> Run:
    run = call.server.runs.get(name)
    if run is None:
        hint = "ten minutes after its end its messages are in the conversation only"
        raise HttpError(404, "there is no such run", hint)
    return run


# -------- the stream of a run, as server-sent events


def _stream_run(run: Run, after: int = 0) -> StreamingResponse:
    """Return the events of a run that come after number `after`, until its end."""
    return StreamingResponse(_frames(run, after), media_type="text/event-stream")


async def _frames(run: Run, after: int) -> AsyncIterator[str]:
    async for item in follow(run, after):
        yield ": still here\n\n" if item is None else _frame(*item, run.outcome)
    yield _frame(0, {"event": "end"})


def _frame(number: int, data: Mapping[str, Any], end: Done | Error | None = None) -> str:
    """Return one event as the stream has it; 0 is no number. `end` is how the run ended."""
    head = f"id: {number}\n" if number else ""
    body = to_json_text({**data, **_aliases(data, end)})
    return f"{head}event: {data['event']}\ndata: {body}\n\n"


def _aliases(data: Mapping[str, Any], end: Done | Error | None) -> dict[str, Any]:
    """Return the names that clients of another server of this kind read beside ours, and what the
    page shows."""
    match data["event"]:
        case "token":
            return {"content": data["text"]}
        case "done" if isinstance(end, Done):
            lines = {"receipt_line": receipt_line(end.receipt), "verdicts": verdict_lines(end)}
            return {"content": end.answer, "html": to_html(end.answer), **lines}
        case "retrieval":
            return {"results": data["passages"]}
        case "error":
            return {"error": data["message"]}
    return {}
