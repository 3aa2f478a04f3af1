"""Our events, questions and stored messages in the words of the Agent Client Protocol, version 1.

Nothing else of us knows how the protocol says it, so another version is another module like this.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from acp import helpers
from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    AvailableCommandsUpdate,
    PermissionOption,
    PermissionOptionKind,
    RequestPermissionResponse,
    SessionInfoUpdate,
    SessionMode,
    SessionModeState,
    StopReason,
    ToolCallLocation,
    ToolCallUpdate,
    ToolKind,
    UnstructuredCommandInput,
)

from openclaw import events
from openclaw.inspection.turn_lines import compaction_line, missing_part, verdict_lines
from openclaw.messages import Entry
from openclaw.security.display import harmless, main_argument, one_line
from openclaw.security.grants import Grant, may_last
from openclaw.security.policy import PermissionQuestion
from openclaw.server.wire import event_from_json
from openclaw.storage.home import Home
from openclaw.types import Change, Mode, ToolProblem

Update = helpers.SessionUpdate
KINDS: Mapping[str, ToolKind] = {
    **dict.fromkeys(("read_file", "list_files", "memory_get", "read_skill"), "read"),
    **dict.fromkeys(("search_files", "memory_search", "search_sessions", "find_skill"), "search"),
    **dict.fromkeys(("write_file", "edit_file", "append_file"), "edit"),
    **dict.fromkeys(("todo", "remember", "propose_skill"), "edit"),
    **dict.fromkeys(("run_shell", "run_python"), "execute"),
    **dict.fromkeys(("web_search", "fetch_url"), "fetch"),
}
MODES: Mapping[Mode, str] = {
    "read-only": "Reads the home, changes nothing.",
    "ask": "Asks before each change.",
    "edit": "Changes files of the home; asks before commands, the network and other folders.",
    "full": "Asks only where text of others may be behind a call.",
}
MAX_PLACES = 50
_PLACE = re.compile(r"^([^:\n]{1,500}):([0-9]{1,9})\b", re.MULTILINE)
STOPS: Mapping[str, StopReason] = {
    "interrupted": "cancelled",
    "steps": "max_turn_requests",
    "full": "max_tokens",
}
"""How a turn ended, where it is not `end_turn`."""


def modes(current: Mode) -> SessionModeState:
    listed = [SessionMode(id=mode, name=mode, description=MODES[mode]) for mode in MODES]
    return SessionModeState(current_mode_id=current, available_modes=listed)


def commands(listed: Iterable[tuple[str, str, str]]) -> AvailableCommandsUpdate:
    """Return the update about /commands, each with its name, what it does and a hint at the words
    behind it, "" where there are none."""
    made = []
    for name, about, hint in listed:
        words = AvailableCommandInput(UnstructuredCommandInput(hint=hint)) if hint else None
        made.append(AvailableCommand(name=name, description=about, input=words))
    return helpers.update_available_commands(made)


def _shown(text: str) -> str:
    """Return a text as a person may see it. Half a character, which models write, is no JSON for
    many clients."""
    return harmless(text).encode(errors="replace").decode()


def message_update(text: str) -> Update:
    return helpers.update_agent_message_text(_shown(text))


def thought_update(text: str) -> Update:
    return helpers.update_agent_thought_text(_shown(text))


def stop_reason(end: events.Done | None) -> StopReason:
    return STOPS.get(end.stop_reason, "end_turn") if end else "end_turn"


class TurnUpdates:
    """The updates of one turn.

    prefix  makes ids of calls and messages unique in the conversation
    call    the id of the call that runs, "" for none
    """

    def __init__(self, home: Home, prefix: str) -> None:
        self._home, self._prefix = home, prefix
        self.call = ""
        self._said, self._message, self._found = "", 0, 0
        self._changes: dict[str, Change] = {}

    def read(self, data: Mapping[str, Any]) -> Iterator[Update]:
        """Yield the updates of an event of a run."""
        if data["event"] == "change":
            self._keep(Change(data["path"], data["before"], data["after"]))
        event = event_from_json(data)
        match event:
            case events.Token(text):
                self._said += text
                yield self._tell(text)
            case events.Thought(text):
                yield thought_update(text)
            case events.Notice(text):
                yield thought_update(f"{text}\n")
            case events.Compaction(before, after):
                yield thought_update(f"{compaction_line(before, after)}\n")
            case events.NewResponse():
                self._begin_message()
            case events.Retrieval(passages) if passages:
                self._found += 1
                yield retrieval(self._home, f"{self._prefix}.found{self._found}", passages)
            case events.Progress(what, _, tail) if self.call and (tail or what):
                shown = [_text("\n".join(tail) or what)]
                yield helpers.update_tool_call(self.call, status="in_progress", content=shown)
            case events.ToolStart(call_id, tool, given):
                self.call = f"{self._prefix}.{call_id}"
                self._changes.clear()
                told = _describe_call(self._home, tool, given)
                yield helpers.start_tool_call(self.call, **told)
            case events.ToolEnd():
                yield self._end_call(event)
                self._begin_message()
            case events.Title(title):
                yield SessionInfoUpdate(session_update="session_info_update", title=_shown(title))
            case events.Done():
                yield from self._end(event)

    def _begin_message(self) -> None:
        self._said, self._message = "", self._message + 1

    def _tell(self, text: str) -> Update:
        return message_update(text).model_copy(
            update={"message_id": f"{self._prefix}.{self._message}"}
        )

    def _keep(self, change: Change) -> None:
        """Keep a change until its call has ended; several changes of a file are one."""
        first = self._changes.get(change.path, change)
        self._changes[change.path] = Change(change.path, first.before, change.after)

    def _end_call(self, end: events.ToolEnd) -> Update:
        changes = list(self._changes.values()) if end.ok else []
        places = [_place(self._home, each.path, _first_line(each)) for each in changes]
        if KINDS.get(end.tool) == "search":
            places = _found_places(self._home, end.output)
        update = helpers.update_tool_call(
            self.call,
            status="completed" if end.ok else "failed",
            content=[*(_diff(self._home, each) for each in changes), _text(end.output)],
            locations=places or None,
        )
        self.call = ""
        return update

    def _end(self, done: events.Done) -> Iterator[Update]:
        """Tell the rest of the answer, and what the user must know about it."""
        rest, anew = missing_part(self._said, done.answer)
        if anew:
            self._begin_message()
        if rest:
            yield self._tell(rest)
        if lines := verdict_lines(done):
            self._begin_message()
            yield self._tell(f"\n\n({'; '.join(lines)})")


# -------- calls


def retrieval(home: Home, call_id: str, passages: Sequence[Mapping[str, Any]]) -> Update:
    """Return the update about passages that were found for a prompt, as a search that is over."""
    places = [f"{each['path']}:{each['start_line']}" for each in passages]
    return helpers.start_tool_call(
        call_id,
        f"found {', '.join(map(one_line, places))}",
        kind="search",
        status="completed",
        content=[
            _text("\n\n".join(f"{at}\n{p['text']}" for at, p in zip(places, passages, strict=True)))
        ],
        locations=[_place(home, each["path"], int(each["start_line"])) for each in passages],
    )


def _describe_call(home: Home, tool: str, given: Mapping[str, Any]) -> dict[str, Any]:
    place = _find_place(home, given)
    return {
        "title": _shown(f"{one_line(tool)} {main_argument(given)}".rstrip()),
        "kind": KINDS.get(tool, "other"),
        "status": "pending",
        "locations": [place] if place else None,
        "raw_input": json.loads(_shown(json.dumps(dict(given), ensure_ascii=False, default=str))),
    }


def _find_place(home: Home, given: Mapping[str, Any]) -> ToolCallLocation | None:
    """Return the place that a call names, as far as its arguments tell."""
    path, line = given.get("path"), given.get("from_line")
    if not isinstance(path, str) or not path.strip():
        return None
    first = line if isinstance(line, int) and line > 0 else None
    for name in (path, f"workspace/{path}"):
        with suppress(ToolProblem, OSError):
            found = home.inside(name)
            if found.is_file():
                return _place(home, str(found), first)
    with suppress(OSError):
        if Path(path).is_absolute() and Path(path).is_file():
            return _place(home, path, first)
    return None


def _found_places(home: Home, output: str) -> list[ToolCallLocation]:
    """Return the places that a search has printed as path:line."""
    named = _PLACE.findall(output)[:MAX_PLACES]
    return [_place(home, path, int(line)) for path, line in named if (home.root / path).is_file()]


def _place(home: Home, path: str, line: int | None) -> ToolCallLocation:
    return ToolCallLocation(path=str(home.root / path), line=line)


def _first_line(change: Change) -> int:
    """Return the first line that a change touches, from 1."""
    before, after = (change.before or "").split("\n"), (change.after or "").split("\n")
    same = zip(before, after, strict=False)
    return 1 + next(
        (at for at, (was, new) in enumerate(same) if was != new), min(len(before), len(after)) - 1
    )


def _diff(home: Home, change: Change) -> Any:
    return helpers.tool_diff_content(
        str(home.root / change.path),
        _shown(change.after or ""),
        change.before if change.before is None else _shown(change.before),
    )


def _text(text: str) -> Any:
    """Return a text as content, in a fence that it cannot end."""
    longest = max((len(found) for found in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return helpers.tool_content(helpers.text_block(f"{fence}\n{_shown(text)}\n{fence}"))


# -------- questions


def permission_call(
    home: Home, call_id: str, question: PermissionQuestion, whole: str
) -> ToolCallUpdate:
    """Return the call that a question is about, whole, with the reason and the change."""
    why = [f"Asked because: {one_line(question.reason)}"]
    if question.sources:
        why.append(f"Untrusted text came from {one_line(', '.join(question.sources))}")
    content = [_text(whole), helpers.tool_content(helpers.text_block("\n".join(why)))]
    if question.change is not None:
        content.insert(0, _diff(home, question.change))
    told = _describe_call(home, question.action.tool, question.arguments)
    return ToolCallUpdate(tool_call_id=call_id, **(told | {"content": content}))


def permission_options(
    question_id: str, offers: Sequence[Grant], folder: str = ""
) -> list[PermissionOption]:
    """Return the answers to a question; `folder` is the one that it asks to read in. Their ids hold
    its id, so that the answer to one question is none to another."""
    options: list[tuple[str, PermissionOptionKind, str]] = [("once", "allow_once", "Allow once")]
    if folder:
        name = f"Allow reading {one_line(folder, 80)} in this conversation"
        options.append(("session", "allow_once", name))
    if offers:
        name = f"Allow in this conversation: {_describe_grant(offers[0])}"
        options.append(("session", "allow_once", name))
    if lasting := lasting_offer(offers):
        options.append(("always", "allow_always", f"Always allow: {_describe_grant(lasting)}"))
    options.append(("reject", "reject_once", "Do not allow"))
    return [
        PermissionOption(option_id=f"{how}:{question_id}", name=name, kind=kind)
        for how, kind, name in options
    ]


def read_permission(
    response: RequestPermissionResponse, options: Sequence[PermissionOption]
) -> str:
    """Return once, session or always; "" for a no, and for an answer that was not offered."""
    chosen = getattr(response.outcome, "option_id", "")
    known = {option.option_id for option in options if option.kind.startswith("allow")}
    return str(chosen).partition(":")[0] if chosen in known else ""


def lasting_offer(offers: Sequence[Grant]) -> Grant | None:
    """Return the narrowest permission that can be kept for good."""
    return next(filter(may_last, offers), None)


def _describe_grant(grant: Grant) -> str:
    return one_line(f"{grant.kind} {grant.value}", 80)


# -------- a stored conversation


def replay(home: Home, messages: Iterable[tuple[int, Entry]]) -> Iterator[Update]:
    """Yield a conversation as it was, from its numbered messages."""
    for number, entry in messages:
        name = f"message{number}"
        if entry.role == "user":
            update = helpers.update_user_message_text(_shown(entry.content))
            yield update.model_copy(update={"message_id": name})
            continue
        if entry.thought:
            yield thought_update(entry.thought)
        if entry.content:
            yield message_update(entry.content).model_copy(update={"message_id": name})
        for at, use in enumerate(entry.tool_calls):
            told = _describe_call(home, use.tool, use.input) | {
                "status": "completed" if use.ok else "failed"
            }
            yield helpers.start_tool_call(f"{name}.{at}", content=[_text(use.output)], **told)
