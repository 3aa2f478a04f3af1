"""Runs recorded turns again, with their recorded results, and reports the differences.

Each turn gets the recorded conversation before it, so that one difference does not cause others.
Nothing in the home changes: a replay works on a copy.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any

from openclaw import events
from openclaw.agent import prompt
from openclaw.agent.loop import FAILED_BEFORE, REPEATED, Loop, TurnLimits
from openclaw.agent.protocols.base import RunningTurn, StepProtocol
from openclaw.agent.protocols.native import choose_protocol
from openclaw.agent.provenance import Provenance
from openclaw.agent.recording import list_changes
from openclaw.agent.request import RequestBuilder
from openclaw.agent.turn import find_cues, read_todos
from openclaw.config.file import parse_value
from openclaw.config.settings import Settings, keys
from openclaw.errors import ModelFailed, OpenclawError, UsageError
from openclaw.evals.playback import NotRecorded, Playback
from openclaw.evals.recorded_turns import RecordedTurn
from openclaw.evals.replay_compare import ReplayedTurn, ReplayResult, compare
from openclaw.evals.replay_home import ReplayHome, with_memory_of
from openclaw.messages import Entry, TurnRecord
from openclaw.nlp.errands import Errands
from openclaw.nlp.intent import Cues
from openclaw.receipt import FileChange, Receipt
from openclaw.security.audit import Audit
from openclaw.sessions.session import Session, SessionState, mask_entry, turn_starts
from openclaw.tools.skill_tools import TurnSkills, fill_instructions
from openclaw.types import TurnChanges

NO_ROOM = "the conversation no longer fits the window; it would be compacted first"
CORRECTED = "Nothing was changed in this turn"


class WindowTooSmall(OpenclawError):
    """The recorded conversation does not fit the window of the present model."""


class FixedRequestBuilder(RequestBuilder):
    """A request builder that never compacts the recorded conversation."""

    def compact(self, *_: Any, **more: Any) -> Iterator[events.Event]:
        raise WindowTooSmall(NO_ROOM, "raise `window`, or take a model with a larger one")


@dataclass(slots=True)
class Replay:
    """Runs turns of one conversation. `live` runs calls without a recorded result on the copy;
    `chained` gives each turn the new answers before it."""

    stage: ReplayHome
    session: Session
    live: bool = False
    chained: bool = False
    _new: list[Entry] = field(default_factory=list)

    def run(self, turns: Sequence[RecordedTurn]) -> Iterator[ReplayedTurn]:
        """Run these turns in order. Raises OpenclawError when the model is missing."""
        for turn in turns:
            began = time.monotonic()
            try:
                made = ReplayedTurn(turn, lost=turn.lost) if turn.lost else self._replay_turn(turn)
            except (WindowTooSmall, ModelFailed) as error:
                made = ReplayedTurn(turn, lost=str(error))
            yield replace(made, seconds=time.monotonic() - began)

    def _replay_turn(self, recorded: RecordedTurn) -> ReplayedTurn:
        open_home, record = self.stage.open_home, recorded.record
        self.stage.prepare(self.session, recorded)
        card = self.stage.card(recorded.model or self.session.model)
        other = self.stage.named and record.model not in (None, card.name)
        turn_changes = TurnChanges(request=recorded.user.content)
        turn_changes.marker = record.marker or turn_changes.marker
        turn_skills = open_home.turn_skills(recorded.user.content)
        turn = self._restore_turn(recorded, turn_skills, turn_changes)
        named = record.protocol
        known: Any = named if named in ("native", "json") and not other else None
        protocol = choose_protocol(known or open_home.settings.protocol, open_home.model.card)
        builder = self._restore_request(recorded, protocol, turn_skills, turn_changes)
        then = self.stage.heads.get(record.head or "", ())
        if then:
            builder.parts = with_memory_of(builder.parts, then)
            builder.head = open_home.masker.mask(prompt.render_head(builder.parts))
        self._shorten(builder, recorded)
        turn.rules = prompt.hard_rules(builder.sources)
        player = Playback(
            builder.toolbox, real_calls(recorded), live=self.live, mask=open_home.masker.mask
        )
        loop = Loop(
            open_home.model,
            builder.protocol,
            player,
            builder.fit,
            lambda: self._receipt(recorded, player, turn_changes),
            limits_of(record, open_home.settings),
            builder.meter,
        )
        played = self._run_loop(loop, turn, recorded, player)
        if self.chained:
            self._new += [recorded.user, *played.said]
        return compare(recorded, played, builder, card, then, other=other)

    # -------- the parts of a turn

    def _restore_request(
        self,
        recorded: RecordedTurn,
        protocol: StepProtocol,
        turn_skills: TurnSkills,
        turn_changes: TurnChanges,
    ) -> RequestBuilder:
        """Restore head, tools and conversation of that time, except the parts under test."""
        open_home, talk = self.stage.open_home, self._restore_session(recorded)
        audit = Audit(open_home.home.action_log, talk.id, recorded.number)
        watch = Provenance(open_home.home, turn_changes, talk, audit)
        watch.inherit()
        open_home.ask_user = None
        if not self.live and recorded.record.asked is not False:
            open_home.ask_user = lambda question: "once"  # the recorded calls were allowed then
        return FixedRequestBuilder.make(open_home, talk, protocol, turn_skills, watch)

    def _restore_session(self, recorded: RecordedTurn) -> Session:
        before = self._new if self.chained else recorded.before
        talk = Session(self.session.id, "-", messages=list(before))
        talk.compressed_context = "" if self.chained and self._new else recorded.earlier
        if recorded.archived:
            part = {"file": "0001.json", "messages": recorded.archived, "turns": 0}
            talk.update_state(SessionState(archived=[part]))
        return talk

    def _restore_turn(
        self, recorded: RecordedTurn, turn_skills: TurnSkills, turn_changes: TurnChanges
    ) -> RunningTurn:
        """Return the turn at its start, with the recorded cues."""
        record, open_home = recorded.record, self.stage.open_home
        seen = (
            find_cues(open_home, recorded.user.content, turn_skills, read_todos(open_home)[0])
            if record.cues is None
            else cues_from(record.cues)
        )
        followed = ""
        name = record.skill or ""
        if asked := next((each for each in open_home.skills() if each.name == name), None):
            turn_changes.allowed = asked.allowed_tools
            followed = fill_instructions(asked, recorded.user.content)
        elif name:  # the skill is gone: its instructions are behind the tail's block
            followed = recorded.user.context.partition("</context>")[2].strip()
        found, searched = bool(record.found), open_home.settings.recall == "auto"
        user = recorded.user
        return RunningTurn(user, (), seen, has_passages=found, searched=searched, skill=followed)

    def _shorten(self, builder: RequestBuilder, recorded: RecordedTurn) -> None:
        """Shorten the results that were in one line then, as the turns before did it."""
        entries, session = builder.session.messages, builder.session
        if not recorded.shortened or self.chained:
            return
        for end in turn_starts(entries)[1:]:
            short = builder.plan(entries[:end])[0].short
            session.update_state(SessionState(shortened=min(short, recorded.shortened)))

    # -------- the run and its result

    def _receipt(
        self, recorded: RecordedTurn, player: Playback, turn_changes: TurnChanges
    ) -> Receipt:
        """Return the recorded changes, once a call that made them was played back; with `live` also
        the changes on the copy."""
        paths: list[str] = []
        if player.changes > count_unchanging(recorded, player):
            paths += recorded.end.changed or ()
        if self.live:
            made = list_changes(self.stage.open_home.home, turn_changes)
            paths += [change.path for change in made if change.before != change.after]
        files = tuple(FileChange(path, "changed", 0, 0) for path in paths)
        return Receipt(files, sent=tuple(turn_changes.sent))

    def _run_loop(
        self, loop: Loop, turn: RunningTurn, recorded: RecordedTurn, player: Playback
    ) -> ReplayResult:
        """Run the turn; a turn that broke off runs as far as it went."""
        said: list[Entry] = []
        stop, missing = "", None
        try:
            with closing(loop.run(turn)) as run:
                for happening in run:
                    if isinstance(happening, events.Done):
                        stop = happening.stop_reason
                        if stop == "interrupted":  # Ctrl-C now: ends the whole replay
                            raise KeyboardInterrupt
                    elif isinstance(happening, Entry) and happening.role == "assistant":
                        said.append(mask_entry(self.stage.open_home.masker, happening))
                        if recorded.broke_off and len(said) >= len(recorded.said):
                            break
        except NotRecorded as error:
            missing = error.call
        return ReplayResult(tuple(said), stop, missing, tuple(player.played))


def real_calls(recorded: RecordedTurn) -> list[Any]:
    """Return the calls of a turn that ran a tool; repeated ones were answered by the loop."""
    told = tuple(text.partition("{")[0] for text in (REPEATED, FAILED_BEFORE))
    return [use for use in recorded.uses if not use.output.startswith(told)]


def count_unchanging(recorded: RecordedTurn, player: Playback) -> int:
    """Return how many of a turn's first changing calls changed nothing: those before a claim that
    was sent back because nothing had changed."""
    sent_back = [at for at, said in enumerate(recorded.said) if said.hint.startswith(CORRECTED)]
    if not sent_back:
        return 0
    early = sum(len(entry.tool_calls) for entry in recorded.said[: sent_back[-1]])
    known = {id(use) for use in recorded.uses[:early]}
    return sum(player.is_changing(u) for u in real_calls(recorded) if u.ok and id(u) in known)


def limits_of(record: TurnRecord, settings: Settings) -> TurnLimits:
    """Return the recorded options; missing ones, and those that no setting can have, come from the
    settings. The file may be edited or foreign."""
    noted = record.options or {}
    chosen = {}
    for name in (item.name for item in fields(TurnLimits)):
        chosen[name] = getattr(settings, name)
        if name in noted:
            with suppress(UsageError):
                chosen[name] = parse_value(keys()[name], json.dumps(noted[name]))
    return TurnLimits(**chosen)


def cues_from(noted: Mapping[str, Any]) -> Cues:
    """Read recorded cues; a missing or invalid field has its default."""
    errands = Errands(**_fitting_fields(Errands(), noted.get("errands")))
    return Cues(**_fitting_fields(Cues(), noted), errands=errands)


def _fitting_fields(usual: Cues | Errands, noted: Any) -> dict[str, Any]:
    """Return the values of the same type as in `usual`; lists of JSON are tuples of texts."""
    given = noted.items() if isinstance(noted, Mapping) else ()
    found = {name: tuple(map(str, v)) if isinstance(v, list) else v for name, v in given}
    return {name: v for name, v in found.items() if type(v) is type(getattr(usual, name, None))}
