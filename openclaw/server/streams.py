"""The events of a run as a stream of server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from starlette.responses import StreamingResponse

from openclaw.events import Done
from openclaw.inspection.turn_lines import receipt_line, verdict_lines
from openclaw.server.markup import to_html
from openclaw.server.runs import Run, follow
from openclaw.server.wire import event_from_json


def stream_run(run: Run, after: int = 0) -> StreamingResponse:
    """Return the events of a run that come after number `after`, until its end."""
    return StreamingResponse(_frames(run, after), media_type="text/event-stream")


async def _frames(run: Run, after: int) -> AsyncIterator[str]:
    async for item in follow(run, after):
        yield ": still here\n\n" if item is None else frame(*item)
    yield frame(0, {"event": "end"})


def frame(number: int, data: Mapping[str, Any]) -> str:
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
