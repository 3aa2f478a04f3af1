"""The routes that clients of OpenAI's API use: the agent, with its memory, as a model."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from functools import wraps
from typing import Any

from starlette.concurrency import iterate_in_threadpool
from starlette.responses import JSONResponse, StreamingResponse

from openclaw.errors import OpenclawError
from openclaw.server.api import OBJECT, Call, Routes, to_response
from openclaw.server.openai_chat import (
    AGENT,
    PLAIN,
    Answer,
    ChatRequest,
    PlainAnswer,
    head_json,
    make_prompt_request,
    read_request,
    usage_json,
)
from openclaw.server.wire import Problem

ROUTES = Routes()
PIECE, WHOLE = "chat.completion.chunk", "chat.completion"
_KINDS: Mapping[int, str] = {401: "authentication_error", 403: "permission_error"}


def _in_their_form(handle: Callable[[Call], Any]) -> Callable[[Call], Any]:
    """Tell errors as OpenAI does."""

    @wraps(handle)
    def handle_and_tell(call: Call) -> Any:
        try:
            return handle(call)
        except (Problem, OpenclawError) as error:
            return _tell_error(error)

    return handle_and_tell


def _tell_error(error: Exception) -> JSONResponse:
    status = to_response(error).status_code
    return JSONResponse(
        {"error": _error_json(str(error), getattr(error, "hint", ""), status)}, status
    )


def _error_json(message: str, hint: str, status: int) -> dict[str, Any]:
    said = f"{message} ({hint})" if hint else message
    kind = _KINDS.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"message": said, "type": kind, "param": None, "code": None}


def _model_json(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "openclaw"}


@ROUTES.add("GET", "/v1/models", "chat", answer=OBJECT)
def list_models(call: Call) -> Any:
    """The agent, and the model behind it without tools, memory or conversation."""
    return {"object": "list", "data": [_model_json(name) for name in (AGENT, PLAIN)]}


@ROUTES.add("GET", "/v1/models/{model}", "chat", answer=OBJECT)
@_in_their_form
def show_model(call: Call) -> Any:
    """One of the two."""
    if (name := call.path["model"]) not in (AGENT, PLAIN):
        raise Problem(404, f"there is no model {name}", f"there are: {AGENT}, {PLAIN}")
    return _model_json(name)


@ROUTES.add("POST", "/v1/chat/completions", "chat", body=OBJECT, answer=OBJECT)
@_in_their_form
def complete(call: Call) -> Any:
    """Ask the agent, in OpenAI's form."""
    request = read_request(call.body, call.headers)
    server = call.server
    answer: Answer | PlainAnswer
    if request.is_plain:
        answer = PlainAnswer(server.open_model(), request)
        pieces: AsyncIterator[dict[str, str] | None] = iterate_in_threadpool(answer.pieces())
    else:
        mode = server.choose_mode(None, call.scopes)
        run = server.runs.start(make_prompt_request(server, request, mode))
        answer = Answer(server, request, run)
        pieces = answer.pieces()
    if request.stream:
        return StreamingResponse(_frames(answer, pieces, request), media_type="text/event-stream")
    return _whole(answer, pieces, request)


def _absent(call: Call) -> Any:
    """Not there; use /v1/chat/completions."""
    raise Problem(404, "this is not served here", "use /v1/chat/completions")


for _path in ("/v1/responses", "/v1/completions", "/v1/embeddings"):
    ROUTES.add("POST", _path, "chat", body=OBJECT, answer=OBJECT)(_in_their_form(_absent))


async def _whole(
    answer: Answer | PlainAnswer,
    pieces: AsyncIterator[dict[str, str] | None],
    request: ChatRequest,
) -> JSONResponse:
    thoughts = ""
    try:
        async for piece in pieces:
            thoughts += (piece or {}).get("reasoning_content", "")
    except OpenclawError as error:
        return _tell_error(error)
    if problem := _problem_of(answer):
        return JSONResponse({"error": problem}, 503)
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if thoughts:
        message["reasoning_content"] = thoughts
    choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
    more = {"openclaw": answer.describe()} if isinstance(answer, Answer) else {}
    head = head_json(secrets.token_hex(8), WHOLE, request.model)
    return JSONResponse(head | {"choices": [choice], "usage": usage_json(answer.usage)} | more)


async def _frames(
    answer: Answer | PlainAnswer,
    pieces: AsyncIterator[dict[str, str] | None],
    request: ChatRequest,
) -> AsyncIterator[str]:
    head = head_json(secrets.token_hex(8), PIECE, request.model)

    def chunk(delta: Mapping[str, str], end: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": end}
        return _frame(head | {"choices": [choice]} | more)

    yield chunk({"role": "assistant", "content": ""})
    try:
        async for piece in pieces:
            yield ": still here\n\n" if piece is None else chunk(piece)
        problem = _problem_of(answer)
    except OpenclawError as error:
        problem = _error_json(str(error), error.hint, 503)
    if problem:
        yield _frame({"error": problem})
    else:
        more = {"openclaw": answer.describe()} if isinstance(answer, Answer) else {}
        yield chunk({}, answer.finish_reason, **more)
        if request.with_usage:
            yield _frame(head | {"choices": [], "usage": usage_json(answer.usage)})
    yield "data: [DONE]\n\n"


def _problem_of(answer: Answer | PlainAnswer) -> dict[str, Any] | None:
    """Return the error of a run that came to no answer."""
    if isinstance(answer, PlainAnswer) or answer.done is not None:
        return None
    error = answer.error
    return _error_json(error.message if error else "no answer", error.hint if error else "", 503)


def _frame(value: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False, default=str)}\n\n"
