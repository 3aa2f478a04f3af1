"""Builds a request that fits the window from head, conversation and turn; notes what it is of."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from openclaw import events
from openclaw.agent.loop import TurnLimits
from openclaw.agent.prompt import SHARES, HeadCache, HeadPart, make_head, read_sources, render_head
from openclaw.agent.protocols.base import RunningTurn, StepProtocol
from openclaw.agent.provenance import Provenance
from openclaw.agent.turn_tools import make_toolbox, result_limits
from openclaw.agent.window import (
    INPUT_SHARE,
    MAX_SHARE,
    CutPlan,
    make_messages,
    measure_entries,
    plan_cuts,
    summary_room,
)
from openclaw.errors import OpenclawError, PromptTooLarge, ServerAway, UsageError
from openclaw.home.open_home import OpenHome
from openclaw.messages import MAX_IMAGE_BYTES, Entry, Image, Material, Message, TurnRecord, Waiting
from openclaw.models import token_count
from openclaw.models.base import ModelCard, Reply, Request
from openclaw.models.ollama_models import list_models, may_chat
from openclaw.models.profile import reply_limits
from openclaw.models.token_count import Meter
from openclaw.security.credentials import why_denied
from openclaw.sessions.session import Session, SessionState, turn_starts
from openclaw.storage.file_kinds import IMAGES, kind_of
from openclaw.storage.safe_open import read_bytes
from openclaw.tools.skill_tools import TurnSkills
from openclaw.tools.toolbox import Toolbox

MAX_COMPACTIONS = 3
SHARE_OF_REPLY = 0.2
"""The most of the window that the reply to a question about the conversation may take."""
MARGIN = 32
Parts = tuple[HeadPart, ...]


MAX_BYTES_A_TOKEN = 6  # of a whole request; English prose has between four and five
CLEARLY = 0.75  # a request that is nearer to the limit is counted


@dataclass(slots=True)
class RequestBuilder:
    """Builds the requests of one turn.

    card: the model's
    sources: the texts of the files of the head
    unreadable: the reason for each file of the head that cannot be read
    parts: the parts of the head
    changed: changes in these files since the conversation began
    messages_before: number of the session's messages before the turn
    head: the text of the parts
    tools: the tools that go with the messages, none where the head lists them
    limit, most: tokens that a request may fill, and that head and newest exchange alone may
    """

    open_home: OpenHome
    session: Session
    protocol: StepProtocol
    turn_skills: TurnSkills
    toolbox: Toolbox
    meter: Meter
    card: ModelCard
    sources: Mapping[str, str] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)
    parts: Parts = ()
    changed: Sequence[str] = ()
    messages_before: int = 0
    head: str = ""
    tools: tuple[Mapping[str, Any], ...] = ()
    limit: int = 0
    most: int = 0

    @classmethod
    def make(
        cls,
        open_home: OpenHome,
        session: Session,
        protocol: StepProtocol,
        turn_skills: TurnSkills,
        provenance: Provenance,
    ) -> Self:
        """Make the request builder for a turn of this session, with its tools, head and meter."""
        model = open_home.model
        card = model.card
        meter = open_home.meters.meter(f"{card.name} {protocol.name}")
        model.reading_rate = model.reading_rate or meter.rate
        limits = result_limits(open_home.home, meter, card.window)
        toolbox = make_toolbox(open_home, turn_skills, provenance, limits)
        before = len(session.messages)
        if session.shortened > before:  # an editor has taken messages out
            session.update_state(SessionState(shortened=before))
        builder = cls(
            open_home,
            session,
            protocol,
            turn_skills,
            toolbox,
            meter,
            card,
            messages_before=before,
            tools=protocol.tools(toolbox),
            limit=int(card.window * INPUT_SHARE),
            most=int(card.window * MAX_SHARE),
        )
        builder.read_head()
        return builder

    def read_head(self) -> None:
        """Take the head that the conversation began with, or make one from the present files."""
        self.sources, self.unreadable = read_sources(self.open_home)
        cache = self.open_home.home.private / "cache"
        counts = token_count.SavedCounts(cache / "counts.json")
        rules, skills = self.protocol.rules(self.toolbox), self.turn_skills.blurbs
        make = partial(make_head, self.sources, rules, skills, self.card.window, counts.count)
        names = [spec["function"]["name"] for spec in self.tools]
        self.parts, self.changed = HeadCache(cache / "heads").find_or_make(
            self.session, self.sources, make, self.protocol.name, names
        )
        self.head = self.open_home.masker.mask(render_head(self.parts))

    def keep_measured(self) -> None:
        """Save the measured token factor and reading rate of the model for the next process."""
        self.meter.rate = self.open_home.model.reading_rate
        self.open_home.meters.keep(f"{self.card.name} {self.protocol.name}", self.meter)

    def beginning(self, text: str) -> Request:
        """Return the beginning of the next request, for the model to read it ahead."""
        user, session = Entry("user", text), self.session
        cuts, said = self.plan([*session.messages, user])
        if cuts.drop:  # a compaction changes all after the head
            said = self._messages([user], cuts.short)
        think = reply_limits(self.open_home.settings, self.card)[1]
        return Request(
            (Message("system", self.head), *said),
            self.tools,
            self.protocol.schema(RunningTurn(user), self.toolbox),
            think=think,
            session=session.id,
        )

    def can_send(self, text: str, context: str) -> bool:
        """Return True when a new message fits the window; checked before the model reads."""
        entries = [*self.session.messages, Entry("user", text, context=context)]
        return self.plan(entries)[0].tokens <= self.most

    def fit(self, turn: RunningTurn, request: Request) -> Generator[events.Event, None, Request]:
        """Return the request with the messages that fit, and the remaining tokens for the reply.

        Older parts are compacted when they no longer fit. Raises PromptTooLarge, which names the
        largest parts, when not even the head and the newest message fit.
        """
        for _ in range(MAX_COMPACTIONS):
            entries = [*self.session.messages[: self.messages_before], *turn.entries]
            cuts, said = self.plan(entries)
            if not cuts.drop or cuts.tokens > self.most:
                break
            yield from self.compact(cuts.drop)
            self.session.update_state(SessionState(shortened=max(0, cuts.short - cuts.drop)))
        if cuts.drop or cuts.tokens > self.most:
            raise PromptTooLarge(
                self._too_large(turn, cuts.tokens),
                "shorten the largest of them (`openclaw context` shows all), or raise `window`",
            )
        return self._with_messages(turn, request, cuts, said)

    def first_request(self, turn: RunningTurn, request: Request) -> tuple[Request, CutPlan]:
        """Return the first request of a turn and its plan, without running a compaction: messages
        that one would archive (the `drop` of the plan) are left out."""
        entries = [*self.session.messages[: self.messages_before], turn.user]
        cuts, said = self.plan(entries)
        left = replace(cuts, drop=0, short=max(0, cuts.short - cuts.drop))
        return self._with_messages(turn, request, left, said), cuts

    def _with_messages(
        self, turn: RunningTurn, request: Request, cuts: CutPlan, said: Sequence[Message]
    ) -> Request:
        if cuts.short != self.session.shortened:
            self.session.update_state(SessionState(shortened=cuts.short))
        turn.forgotten = max(0, cuts.short - self.messages_before)
        left = self.card.window - (cuts.tokens or self.limit)
        return replace(
            request,
            messages=(Message("system", self.head), *said),
            tools=self.tools,
            max_tokens=min(request.max_tokens, left),
            session=self.session.id,
        )

    def plan(self, entries: Sequence[Entry]) -> tuple[CutPlan, list[Message]]:
        """Plan the cuts; return them and the messages that they leave. The plan's `tokens` are 0
        when all surely fits and was not counted."""
        earlier, short = self.session.compressed_context, self.session.shortened
        said = self._messages(entries, short)
        most = (
            self.limit - token_count.count_overhead((Message("system", ""), *said))
        ) / self.meter.factor
        whole = "\n".join((self.head, token_count.request_text(said, self.tools)))
        if token_count.surely_fits(whole, int(most)) or self._fits_as_measured(entries, whole):
            return CutPlan(0, short, 0), said
        base = self.count_head()
        known = self.meter.count(earlier) if earlier else 0
        more = max(0, summary_room(self.limit - base) - known)
        sizes = measure_entries(entries, self.protocol.to_messages, self.meter)
        cuts = plan_cuts(sizes, short, base + known, self.card.window, more)
        return cuts, self._messages(entries[cuts.drop :], max(0, cuts.short - cuts.drop))

    def _fits_as_measured(self, entries: Sequence[Entry], whole: str) -> bool:
        """Return True when the request fits by the server's own count of the one before: a long
        conversation then needs no tokenizer. Some servers count only what they have read anew: a
        count that is small for the text proves nothing."""
        at = next((n for n in range(len(entries) - 1, -1, -1) if entries[n].usage), 0)
        known = entries[at].usage if entries else None
        asked = next((each for each in entries[at::-1] if each.role == "user"), None)
        if self.meter.was_refused or not known or not asked or asked.record.model != self.card.name:
            return False
        new = [m for entry in entries[at:] for m in self.protocol.to_messages(entry)]
        more = token_count.most_tokens(token_count.request_text(new)) * self.meter.factor
        counted = known.prompt_tokens + more + token_count.count_overhead(new)
        proves = counted * MAX_BYTES_A_TOKEN >= len(whole.encode(errors="replace"))
        return proves and counted <= self.limit * CLEARLY

    def count_head(self) -> int:
        """Return the tokens of head and tools."""
        return self.meter.cost([Message("system", self.head)]) + self.meter.tools(self.tools)

    def compact(
        self, upto: int, focus: str | None = None, *, dry_run: bool = False
    ) -> Iterator[events.Event]:
        """Archive the first `upto` messages. The last event is Compaction; with `dry_run` it is a
        preview and nothing is changed."""
        from openclaw.agent import compaction

        session = self.session
        if hooks := self.open_home.hooks:
            focus = hooks.before_compact(session.id, session.turns, upto, focus, dry_run=dry_run)
            yield from map(events.Trouble, hooks.take_notices())
        room = summary_room(self.limit - self.count_head())
        before = self._tokens()
        summary, facts = yield from compaction.summarize(
            self.open_home, session, upto, room, focus, self._ask, self.meter.count
        )
        if dry_run:
            self.session = session.compacted(upto, summary)
            yield from (events.Notice(f"for your memory: {fact}") for fact in facts)
        else:
            yield from compaction.put_away(self.open_home, session, upto, summary, facts)
            self.messages_before -= upto
            self.read_head()
        yield events.Compaction(before, self._tokens(), upto, summary)
        self.session = session

    def _ask(
        self, words: str, schema: dict[str, Any], tokens: int
    ) -> Generator[events.Event, None, str]:
        """Ask the model about the conversation; return its text, "" when there is none."""
        card = self.card
        tokens = min(tokens, int(card.window * SHARE_OF_REPLY))
        request = Request(
            self._with_question(words, card.window - tokens - MARGIN),
            self.tools,
            schema if self.protocol.name != "native" else None,
            tokens,
            think=False if card.thinking else None,
            session=self.session.id,
        )
        try:
            for chunk in self.open_home.model.stream(request):
                if isinstance(chunk, Waiting):
                    yield events.waiting_event(chunk)
                elif isinstance(chunk, Reply):
                    return chunk.text
        except OpenclawError as error:
            yield events.Notice(f"the model gave no summary ({error}); the notes serve alone")
        return ""

    def _with_question(self, words: str, most: int) -> tuple[Message, ...]:
        """Return the conversation and the question in at most `most` tokens: as it was sent, else
        with all results in one line, else without its oldest exchanges."""
        system, asked = Message("system", self.head), Message("user", words)
        most -= self.meter.cost([system, asked]) + self.meter.tools(self.tools)
        entries, short = self.session.messages, self.session.shortened
        while True:
            said = self._messages(entries, short)
            if not entries or self.meter.cost(said) <= most:
                break
            if short >= len(entries):
                starts = [at for at in turn_starts(entries) if at]
                entries = entries[starts[len(starts) // 4] :] if starts else []
            short = len(entries)
        if said and said[-1].role == "user":  # templates of some models want both roles by turns
            last = said.pop()
            asked = replace(last, content=f"{last.content}\n\n{words}")
        return (system, *said, asked)

    def _tokens(self) -> int:
        said = self._messages(self.session.messages, self.session.shortened)
        return self.meter.cost(said) + self.count_head()

    def _messages(self, entries: Sequence[Entry], short: int) -> list[Message]:
        earlier, to_messages = self.session.compressed_context, self.protocol.to_messages
        return make_messages(entries, short, earlier, to_messages)

    def _too_large(self, turn: RunningTurn, tokens: int) -> str:
        parts = [(part.path or part.name, self.meter.count(part.text)) for part in self.parts]
        asked, came = turn.entries[:1], turn.entries[1:]
        parts += [
            ("the tools", self.meter.tools(self.tools)),
            ("the message", self._cost(asked)),
            ("the calls of this turn", self._cost(came)),
        ]
        largest = sorted(parts, key=lambda part: -part[1])[:3]
        named = ", ".join(f"{name} {size}" for name, size in largest)
        return (
            f"the request needs about {tokens} tokens, the window has {self.card.window}, of which"
            f" it may fill {self.limit}; the largest parts: {named}"
        )

    def _cost(self, entries: Sequence[Entry]) -> int:
        return self.meter.cost(m for entry in entries for m in self.protocol.to_messages(entry))


# -------- what a turn notes of its request


def request_record(builder: RequestBuilder, limits: TurnLimits) -> TurnRecord:
    """Return the model, the options and the sums of head and tools, and what was cut."""
    return replace(
        fit_record(builder),
        model=builder.card.name,
        digest=builder.card.digest,
        protocol=builder.protocol.name,
        window=builder.card.window,
        options=asdict(limits),
        tools=sha256_of(token_count.compact_json([dict(spec) for spec in builder.tools])),
    )


def fit_record(builder: RequestBuilder) -> TurnRecord:
    """Return the part of the record that a compaction within the turn changes: the files of the
    head that were cut, and how much of the conversation was."""
    session = builder.session
    rules = [
        {"part": part.name, "path": part.path, "rule": f"{head_share(part)} of the window"}
        for part in builder.parts
        if part.cut
    ]
    path = f"sessions/{session.id}.json"
    if session.archived:
        rule = f"{session.archived} messages are archived, a summary stands for them"
        rules.append({"part": "history", "path": path, "rule": rule})
    if session.shortened:
        rule = f"results in the first {session.shortened} messages are given in one line"
        rules.append({"part": "results", "path": path, "rule": rule})
    return TurnRecord(head=sha256_of(builder.head), cut=rules)


def renew_fit_record(builder: RequestBuilder) -> None:
    """Note on the turn's message of the user how it was fitted in the end."""
    messages = builder.session.messages
    at = turn_starts(messages)[-1]
    messages[at] = messages[at].with_record(fit_record(builder))


def sha256_of(text: str) -> str:
    """Return the SHA-256 in hex, as recorded for heads and tools."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def head_share(part: HeadPart) -> str:
    """Return the share of the window that a part of the head may take."""
    return f"{round(100 * SHARES.get(part.name, 0))} %"


# -------- images


def check_images(material: Sequence[Material], card: ModelCard, host: str) -> tuple[Image, ...]:
    """Return the images of a prompt. Raises UsageError for a model without vision; the hint names
    one with vision, if possible from the Ollama at `host`."""
    images = tuple(each.image for each in material if each.image)
    if images and not card.vision:
        raise UsageError(f"{card.name} cannot see images; nothing was sent", _vision_hint(host))
    return images


def _vision_hint(host: str) -> str:
    there = []
    with suppress(ServerAway):
        chats = [model for model in list_models(host) if may_chat(model)]
        there = [model for model in chats if "vision" in (model.get("capabilities") or ())]
    name = f"ollama/{there[0]['name'] if there else 'qwen2.5vl:3b'}"
    fetch = "" if there else f"openclaw models pull {name}, then "
    return f"ask a model that can: {fetch}--model {name} (or /model in a chat)"


def reload_images(root: Path, session: Session, card: ModelCard) -> Iterator[str]:
    """Reload the images of earlier messages, where the model can see and the files are unchanged;
    yield a notice for each image that is no longer shown."""
    for at, entry in enumerate(session.messages):
        if not entry.images:
            continue
        images = []
        for image in entry.images:
            images.append(_reload_image(root, image) if card.vision else replace(image, data=b""))
            if image.data != b"" and not images[-1].data:
                gone = f"{image.path} is gone or has changed; the model does not see it again"
                blind = f"{card.name} cannot see images; {image.path} is not sent"
                yield gone if card.vision else blind
        session.messages[at] = replace(entry, images=tuple(images))


def _reload_image(root: Path, image: Image) -> Image:
    """Return the image with its bytes, with none when its file has changed."""
    if image.data:
        return image
    path = root / image.path
    try:
        is_open = path.is_file() and not why_denied(path) and path.stat().st_size <= MAX_IMAGE_BYTES
        data = read_bytes(path) if is_open else b""
    except (OSError, ValueError):  # the session's file may name anything
        data = b""
    same = kind_of(data) in IMAGES and hashlib.sha256(data).hexdigest() == image.sha256
    return replace(image, data=data if same else b"")
