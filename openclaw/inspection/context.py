"""Show what the next request consists of and where its tokens go."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import islice
from typing import Any, get_args

from openclaw import events
from openclaw.agent import prompt
from openclaw.agent.prompt import SOURCES, HeadCache, read_sources, sums_of
from openclaw.agent.protocols.native import choose_protocol
from openclaw.agent.turn import PreparedTurn, prepare_turn, start_provenance
from openclaw.agent.turn_tools import make_toolbox
from openclaw.errors import UsageError
from openclaw.frozen import frozen
from openclaw.history.turns import Turn
from openclaw.home.open_home import OpenHome
from openclaw.messages import NO_RECORD, Entry, Material, Prompt, TurnRecord
from openclaw.models import token_count
from openclaw.models.base import Request
from openclaw.models.token_count import compact_json
from openclaw.security.policy import PermissionQuestion
from openclaw.sessions.session import Session
from openclaw.storage.safe_open import decode, read_bytes
from openclaw.types import Mode

END_OF_TAIL, FENCE = "</context>", "\n<<data "
"""Where the tail block of a message ends, and where in it the passages begin; see
`openclaw.security.untrusted`."""


@frozen
class RequestPart:
    """A part of the next request: where it comes from and what it costs."""

    name: str
    path: str
    tokens: int
    bytes: int
    cut: bool


@frozen
class ContextReport:
    """The next request: the window and the tokens of each part; `raw` is the request as it is sent.

    `compacted`: number of messages that would be put away before it is sent. Their summary is not
    in it yet.
    `record`: what the turn would note of itself.
    """

    window: int
    used: int
    parts: tuple[RequestPart, ...]
    request: Request
    raw: bytes
    compacted: int = 0
    notices: tuple[str, ...] = ()
    record: TurnRecord = NO_RECORD

    @property
    def reply(self) -> int:
        """The tokens that are kept for the reply."""
        return max(0, min(self.request.max_tokens, self.window - self.used))

    @property
    def free(self) -> int:
        """The tokens of the window that neither the request nor the reply takes."""
        return max(0, self.window - self.used - self.reply)

    def as_json(self) -> dict[str, Any]:
        """Return it for programs. `used` is the sum of the parts; `reply` is for the answer."""
        record = self.record
        return {
            "window": self.window,
            "used": self.used,
            "parts": [asdict(part) for part in self.parts],
            "reply": self.reply,
            "free": self.free,
            "compacted": self.compacted,
            "cuts": list(record.cut or ()),
            "offered": list(record.offered or ()),
            "left_out": list(record.left_out or ()),
            "model": record.model or "",
            "protocol": record.protocol or "",
            "notices": list(self.notices),
        }


def context_report(
    open_home: OpenHome,
    session: Session | None,
    text: str = "",
    material: Sequence[Material] = (),
    skill: str = "",
) -> ContextReport:
    """Return the next request, part by part and byte by byte, made as `ask` makes it.

    Nothing is sent to the model. Nothing is saved, except a secret in the text, which goes into the
    masker.
    """
    seen = session or open_home.sessions.new(None, open_home.model_name)
    preparing = prepare_turn(open_home, Prompt(text, material, skill), seen.copy(), ahead=False)
    made, notices = _prepare(preparing)
    builder, turn = made.builder, made.turn
    request, plan = builder.first_request(turn, made.loop.request(turn))
    parts = [_measured(p.name, p.path, p.text, p.cut) for p in builder.parts]
    if request.tools:
        parts.append(_measured("tool schemas", "", token_count.request_text((), request.tools)))
    path = f"sessions/{builder.session.id}.json"
    if earlier := builder.session.compressed_context:
        parts.append(_measured("earlier", path, earlier))
    newest = builder.protocol.to_messages(turn.user)
    said = list(request.messages[1 : len(request.messages) - len(newest)])
    if earlier and said and said[0].content.startswith(earlier):
        said[0] = replace(said[0], content=said[0].content[len(earlier) :].lstrip())
    if any(message.content for message in said):
        parts.append(_measured("history", path, token_count.request_text(said)))
    parts += _newest(turn.user, token_count.request_text(newest))
    images = [image for message in request.messages for image in message.images]
    parts += [
        RequestPart("image", each.path, token_count.IMAGE_TOKENS, len(each.data or b""), False)
        for each in images
    ]
    return ContextReport(
        builder.card.window,
        sum(part.tokens for part in parts),
        tuple(parts),
        request,
        open_home.model.wire(request),
        plan.drop,
        notices,
        turn.user.record,
    )


def _newest(user: Entry, text: str) -> list[RequestPart]:
    """Split the newest message into parts: the tail block, the passages in it, attachments, and the
    user's own words."""
    context = user.context
    if not context or not text.startswith(context):
        return [_measured("message", "", text)]
    block, end, material = context.partition(END_OF_TAIL)
    tail, fenced, passages = block.partition(FENCE)
    found = [
        ("tail", tail + end),
        ("passages", (fenced + passages).strip("\n")),
        ("attached", material.strip("\n")),
        ("message", text[len(context) :].lstrip("\n")),
    ]
    return [_measured(name, "", part) for name, part in found if part]


def _prepare(
    preparing: Generator[events.Event, None, PreparedTurn],
) -> tuple[PreparedTurn, tuple[str, ...]]:
    """Prepare a turn to its end; return it with its notices."""
    notices: list[str] = []
    while True:
        try:
            event = next(preparing)
        except StopIteration as end:
            return end.value, tuple(notices)
        if isinstance(event, events.Notice):
            notices.append(event.text)


def _measured(name: str, path: str, text: str, was_cut: bool = False) -> RequestPart:
    return RequestPart(
        name, path, token_count.count(text), len(text.encode(errors="replace")), was_cut
    )


MAX_VERSIONS = 100  # versions of a file that are looked at
OPTIONS = ("mode", "asked", "memory")
"""The options of a turn on which its head depends, as its record names them."""
WRITER = ("id", "kind", "at", "session", "number", "commit", "subject")
"""What JSON tells of a turn that changed a part of the head."""
SKILL_LINE = re.compile(r"- ([a-z0-9][a-z0-9-]*):")


@frozen
class HeadPartChange:
    """A part of the head that differs from the one that was sent.

    `told`: an earlier turn has told the model of it in its tail.
    `writers`: the turns and commits that changed its file, the newest first; None stands for an
    edit that is in no entry of the history yet.
    """

    name: str
    path: str
    before: str
    after: str
    told: bool
    writers: tuple[Turn | None, ...] = ()

    def unified(self) -> Iterator[str]:
        name = self.path or self.name
        yield f"diff --git a/{name} b/{name}"
        old, new = self.before.splitlines(), self.after.splitlines()
        yield from difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", lineterm="")

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "path": self.path,
            "told": self.told,
            "by": [
                turn and {name: getattr(turn, name) for name in WRITER} for turn in self.writers
            ],
            "diff": "\n".join(self.unified()) + "\n",
        }


@frozen
class HeadChanges:
    """How the head of a conversation's last turn differs from the files as they are now.

    `known`: False when no copy of the sent head is left; the next request then begins with a new
    one.
    `turn`, `at`: number and time of the conversation's last turn.
    `tools`: names of native tools with + or - in front.
    `described`: the descriptions of the tools have changed.
    """

    session: str
    turn: int
    at: str
    known: bool
    changes: tuple[HeadPartChange, ...] = ()
    tools: tuple[str, ...] = ()
    described: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "session": self.session,
            "turn": self.turn,
            "at": self.at,
            "known": self.known,
            "changes": [change.as_json() for change in self.changes],
            "tools": list(self.tools),
            "tools_changed": bool(self.tools) or self.described,
        }


def head_changes(
    open_home: OpenHome, session: Session, given: Collection[str] = OPTIONS
) -> HeadChanges:
    """Compare the head that was last sent in a conversation with one made from the files now.

    Options that are not `given` are those of its last turn. UsageError when the conversation is
    still empty.
    """
    asked = [entry for entry in session.messages if entry.role == "user"]
    if not asked:
        raise UsageError(
            f"nothing was sent in conversation {session.id} yet", "see all: openclaw sessions list"
        )
    kept = session.state.head or {}
    heads = HeadCache(open_home.home.private / "cache" / "heads")
    old = heads.kept(str(kept.get("sha256", "")))
    last = asked[-1]
    if old is None:
        return HeadChanges(session.id, session.turns, last.at, known=False)
    open_home = _as_recorded(open_home, last.record, given)
    fresh, specs = _fresh(open_home)
    files = kept.get("files")
    changes = tuple(_changes(open_home, old, fresh, files if isinstance(files, dict) else {}))
    text = compact_json([dict(spec) for spec in specs])
    sent = last.record.tools
    described = bool(sent) and sent != hashlib.sha256(text.encode()).hexdigest()
    tools = _tools(kept, specs)
    return HeadChanges(session.id, session.turns, last.at, True, changes, tools, described)


def _as_recorded(open_home: OpenHome, record: TurnRecord, given: Collection[str]) -> OpenHome:
    """Return the home with the options of a recorded turn; what is open in it is shared."""
    changed: dict[str, Any] = {}
    if "mode" not in given and record.mode in get_args(Mode):
        changed["mode"] = record.mode
    if "asked" not in given and record.asked is not None:
        changed["ask_user"] = never_asked if record.asked else None
    if "memory" not in given and record.memory is not None:
        changed["use_memory"] = record.memory
    if not changed:
        return open_home
    for opened in (open_home.model, open_home.mcp_tools):  # what a copy opens nobody closes
        del opened
    return replace(open_home, **changed)


def never_asked(question: PermissionQuestion) -> str:
    raise AssertionError("no tool runs where a request is only shown")


def _fresh(open_home: OpenHome) -> tuple[tuple[prompt.HeadPart, ...], Sequence[Mapping[str, Any]]]:
    """Return the head that a new conversation would get, and the specs of its native tools."""
    card, turn_skills = open_home.model.card, open_home.turn_skills()
    protocol = choose_protocol(open_home.settings.protocol, card)
    provenance = start_provenance(open_home, Prompt(""), Session(""))
    box = make_toolbox(open_home, turn_skills, provenance)
    rules = protocol.rules(box)
    parts = prompt.make_head(read_sources(open_home)[0], rules, turn_skills.blurbs, card.window)
    return parts, protocol.tools(box)


def _changes(
    open_home: OpenHome,
    old: Sequence[prompt.HeadPart],
    new: Sequence[prompt.HeadPart],
    told: Mapping[str, str],
) -> Iterator[HeadPartChange]:
    before = {part.name: part for part in old}
    after = {part.name: part for part in new}
    sums = sums_of(read_sources(open_home)[0])
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name), after.get(name)
        texts = (was.text if was else "", now.text if now else "")
        if texts[0] == texts[1]:
            continue
        path = (now or was or prompt.HeadPart(name, "")).path
        is_told = path in sums and told.get(path) == sums[path]
        writers: Iterable[Turn | None] = ()
        if name == "skills":
            writers = _writers_of_skills(open_home, texts)
        elif name in SOURCES and path:
            writers = _writers_of(open_home, name, path, texts[0])
        yield HeadPartChange(name, path, *texts, is_told, tuple(writers))


# -------- who


def _writers_of(open_home: OpenHome, name: str, path: str, sent: str) -> Iterator[Turn | None]:
    """Return who made the versions of a file that are newer than the one whose text was sent."""

    def shown(content: bytes | None) -> str:
        """What the head shows of a version."""
        if content is None:
            return ""
        source = open_home.masker.mask(decode(content))
        parts = prompt.make_head({name: source}, "", (), open_home.model.card.window)
        return next((part.text for part in parts if part.name == name), "")

    file = open_home.home.root / path
    text = shown(read_bytes(file) if file.is_file() else None)
    versions = islice(open_home.history.versions(path), MAX_VERSIONS)
    writer: Turn | None = None
    for turn, content in versions:
        older = shown(content)
        if older != text:
            yield writer
        if older == sent or turn is None:
            return
        text, writer = older, turn
    if text != sent:
        yield writer


def _writers_of_skills(open_home: OpenHome, texts: tuple[str, str]) -> Iterator[Turn | None]:
    """Return who last changed the skills whose lines differ."""
    before, after = ({*text.splitlines()} for text in texts)
    names = {found[1] for line in before ^ after if (found := SKILL_LINE.match(line))}
    seen: set[str] = set()
    for name in sorted(names):
        path = f"skills/{name}/SKILL.md"
        file = open_home.home.root / path
        now = read_bytes(file) if file.is_file() else None
        turn, content = next(iter(open_home.history.versions(path)), (None, None))
        writer = turn if content == now else None
        key = (writer.id or writer.commit) if writer else ""
        if key not in seen:
            seen.add(key)
            yield writer


def _tools(kept: Mapping[str, Any], specs: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the tools added and removed, if the conversation's file names those that it had."""
    named = kept.get("tools")
    if not isinstance(named, list):
        return ()
    now = [str(spec["function"]["name"]) for spec in specs]
    added = [f"+{name}" for name in now if name not in named]
    return (*added, *(f"-{name}" for name in named if name not in now))
