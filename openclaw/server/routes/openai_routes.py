"""The routes that clients of OpenAI's API use: the agent, with its memory, as a model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from functools import wraps
from typing import Any

from starlette.responses import StreamingResponse

from openclaw.errors import OpenclawError
from openclaw.server.api import OBJECT, ApiCall, JsonAnswer, Routes, status_of
from openclaw.server.openai_chat import (
    AGENT,
    PLAIN,
    ChatAnswer,
    ChatRequest,
    PlainAnswer,
    head_json,
    make_prompt_request,
    read_request,
    usage_json,
)
from openclaw.server.wire import HttpError, to_json_text

ROUTES = Routes()
PIECE, WHOLE = "chat.completion.chunk", "chat.completion"
_KINDS: Mapping[int, str] = {401: "authentication_error", 403: "permission_error"}


def _in_their_form(handle: Callable[..., Any]) -> Callable[..., Any]:
    """Tell errors as OpenAI does."""

    @wraps(handle)
    def handle_and_tell(call: ApiCall, /, **given: Any) -> Any:
        try:
            return handle(call, **given)
        except (HttpError, OpenclawError) as error:
            status = status_of(error)
            return JsonAnswer(_error_json(error, status), status)

    return handle_and_tell


def _error_json(error: HttpError | OpenclawError, status: int = 503) -> dict[str, Any]:
    said = f"{error} ({error.hint})" if error.hint else str(error)
    kind = _KINDS.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": said, "type": kind, "param": None, "code": None}}


def _model_json(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "openclaw"}


@ROUTES.add("GET", "/v1/models", "chat", answer=OBJECT)
def list_models(call: ApiCall) -> Any:
    """The agent, and the model behind it without tools, memory or conversation."""
    return {"object": "list", "data": [_model_json(name) for name in (AGENT, PLAIN)]}


@ROUTES.add("GET", "/v1/models/{model}", "chat", answer=OBJECT)
@_in_their_form
def show_model(call: ApiCall, model: str) -> Any:
    """One of the two."""
    if model not in (AGENT, PLAIN):
        raise HttpError(404, f"there is no model {model}", f"there are: {AGENT}, {PLAIN}")
    return _model_json(model)


@ROUTES.add("POST", "/v1/chat/completions", "chat", body=OBJECT, answer=OBJECT)
@_in_their_form
def complete(call: ApiCall, /, **body: Any) -> Any:
    """Ask the agent, in OpenAI's form."""
    request = read_request(body, call.headers)
    server = call.server
    answer: ChatAnswer | PlainAnswer
    if request.is_plain:
        with server.agent(model=True) as agent:
            answer = PlainAnswer(agent.model, request)
    else:
        mode = server.choose_mode(None, call.scopes)
        run = server.runs.start(make_prompt_request(server, request, mode))
        answer = ChatAnswer(server, request, run)
    if request.stream:
        return StreamingResponse(_frames(answer, request), media_type="text/event-stream")
    return _whole(answer, request)


def _absent(call: ApiCall, /, **body: Any) -> Any:
    """Not there; use /v1/chat/completions."""
    raise HttpError(404, "this is not served here", "use /v1/chat/completions")


for _path in ("/v1/responses", "/v1/completions", "/v1/embeddings"):
    ROUTES.add("POST", _path, "chat", body=OBJECT, answer=OBJECT)(_in_their_form(_absent))


async def _whole(answer: ChatAnswer | PlainAnswer, request: ChatRequest) -> JsonAnswer:
    thoughts = ""
    try:
        async for piece in answer.pieces():
            thoughts += (piece or {}).get("reasoning_content", "")
    except OpenclawError as error:
        return JsonAnswer(_error_json(error), 503)
    message = {"role": "assistant", "content": answer.text}
    if thoughts:
        message["reasoning_content"] = thoughts
    choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
    head = head_json(WHOLE, request.model) | {"choices": [choice]}
    return JsonAnswer(head | {"usage": usage_json(answer.usage)} | _more(answer))


async def _frames(answer: ChatAnswer | PlainAnswer, request: ChatRequest) -> AsyncIterator[str]:
    head = head_json(PIECE, request.model)

    def chunk(delta: Mapping[str, str], end: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": end}
        return _frame(head | {"choices": [choice]} | more)

    yield chunk({"role": "assistant", "content": ""})
    try:
        async for piece in answer.pieces():
            yield ": still here\n\n" if piece is None else chunk(piece)
        yield chunk({}, answer.finish_reason, **_more(answer))
        if request.with_usage:
            yield _frame(head | {"choices": [], "usage": usage_json(answer.usage)})
    except OpenclawError as error:
        yield _frame(_error_json(error))
    yield "data: [DONE]\n\n"


def _more(answer: ChatAnswer | PlainAnswer) -> dict[str, Any]:
    """Return what OpenAI's form has no place for."""
    return {"openclaw": answer.describe()} if isinstance(answer, ChatAnswer) else {}


def _frame(value: Mapping[str, Any]) -> str:
    return f"data: {to_json_text(value)}\n\n"
