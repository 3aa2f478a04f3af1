"""The loop of one turn: ask the model, run its tool calls, return the results, until it answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import ModuleType

from openclaw import events
from openclaw.agent.protocols.base import ModelStep, PastCall, RunningTurn, StepProtocol
from openclaw.errors import OpenclawError, PromptTooLarge
from openclaw.frozen import frozen
from openclaw.messages import Entry, ToolCall, ToolUse, TurnRecord, Waiting
from openclaw.models.base import Model, Reply, Request, Text, Thinking
from openclaw.models.token_count import Meter
from openclaw.receipt import Receipt
from openclaw.tools.toolbox import CallResult, Toolbox
from openclaw.types import CHANGING, Shown, timestamp

REPEATED = "Already done in this turn; the result was:\n{result}\nDo not call it again."
FAILED_BEFORE = "Tried before in this turn; it failed:\n{result}\nDo something else, or answer."
DECLINED = "I stopped: {tool} was not allowed. What shall I do instead?"
EMPTY = "The model gave an empty reply twice. Try again, or another model: openclaw models list"
RETRY_TEMPERATURE = 0.5
TurnOutput = events.Event | Entry
BuildRequest = Callable[[RunningTurn, Request], Generator[events.Event, None, Request]]


@frozen
class TurnLimits:
    """max_tokens: tokens of one reply
    max_steps: model calls a turn
    temperature, seed, think: sampler options; with a seed every run draws the same
    """

    temperature: float = 0.0
    max_tokens: int = 1024
    max_steps: int = 12
    seed: int | None = None
    think: bool | None = None


@dataclass(slots=True)
class Loop:
    """Runs turns with a model, a protocol and tools.

    fit: puts head, history and turn into a request that fits the window
    receipt: returns what the turn has changed so far
    """

    model: Model
    protocol: StepProtocol
    toolbox: Toolbox
    fit: BuildRequest
    receipt: Callable[[], Receipt]
    limits: TurnLimits = TurnLimits()
    meter: Meter = field(default_factory=Meter)

    def run(self, turn: RunningTurn) -> Generator[TurnOutput, None, None]:
        """Yield the events, and each new session entry as soon as it is complete.

        The last event is Done. Errors of the model or the home (OpenclawError) are raised after
        everything done has been yielded.
        """
        yield turn.add(turn.user)
        try:
            for number in range(self.limits.max_steps):
                if number:
                    yield events.NewResponse(number + 1)
                step = yield from self._next_step(turn)
                if step.calls:
                    yield from self._run_calls(step, turn)
                elif step.answer or turn.empty:
                    yield from self._finish(step, turn)
                else:
                    yield from self._handle_empty(turn)
                if turn.stopped:
                    break
            if turn.stopped not in ("answer", "empty"):
                yield from self._give_up(turn)
        except PromptTooLarge as error:
            if len(turn.entries) < 2:
                raise
            yield events.Notice(str(error))
            turn.stopped = "full"  # the user still learns what was done
            yield from self._give_up(turn)
        except KeyboardInterrupt:
            turn.stopped = "interrupted"
            yield from self._end(turn, Entry("assistant", turn.partial, at=timestamp()))

    # -------- a model call

    def request(self, turn: RunningTurn) -> Request:
        """Return the next request of the turn, without its messages and tools. A reply that was
        empty at temperature 0 would be empty again."""
        limits = self.limits
        return Request(
            (),
            (),
            self.protocol.schema(turn, self.toolbox),
            limits.max_tokens,
            max(limits.temperature, RETRY_TEMPERATURE * turn.empty),
            seed=limits.seed,
            think=limits.think,
        )

    def _next_step(self, turn: RunningTurn) -> Generator[TurnOutput, None, ModelStep]:
        request, reply = yield from self._ask(turn, self.request(turn))
        self.meter.learn(request, reply.usage.prompt_tokens, self.model.card.window)
        turn.usage += reply.usage
        turn.last = reply
        if reply.stop_reason == "length":
            yield events.Notice(f"the reply was cut at {request.max_tokens} tokens (max_tokens)")
        step = self.protocol.read(reply, turn, self.toolbox)
        if _has_hints(turn):
            step = _load_check().clean_step(step, turn, self.toolbox)
        turn.thought = step.thought or reply.thinking
        if step.thought:
            yield events.Thought(step.thought)
        return step

    def _ask(
        self, turn: RunningTurn, request: Request
    ) -> Generator[TurnOutput, None, tuple[Request, Reply]]:
        """Send the request; return it as sent, with its reply. A server that counts more tokens
        than we do refuses it before its first word; then a shorter request is sent. When that fails
        too the meter counts as before: else we would refuse the next turns ourselves."""
        ratio = self.meter.ratio
        try:
            while True:
                fitted = yield from self.fit(turn, request)
                try:
                    return fitted, (yield from self._listen(fitted, turn))
                except PromptTooLarge as error:
                    if turn.partial or not self.meter.refused(fitted, error.counted):
                        raise
                    yield events.Notice("the request was larger than counted; fitting it again")
        except PromptTooLarge:
            self.meter.ratio = ratio
            raise

    def _listen(self, request: Request, turn: RunningTurn) -> Generator[TurnOutput, None, Reply]:
        """Return the reply; yield its answer as it comes, but hold back unchecked claims."""
        heard, turn.partial, turn.streamed = "", "", ""
        backed = None
        hints = _load_check().hint_sentences(turn) if _has_hints(turn) else ()
        stream = self.model.stream(request)
        try:
            for chunk in stream:
                if isinstance(chunk, Reply):
                    return chunk
                if isinstance(chunk, Waiting):
                    yield events.waiting_event(chunk)
                elif isinstance(chunk, Thinking):
                    yield events.Thought(chunk.text)
                elif isinstance(chunk, Text):
                    heard += chunk.text
                    if is_stuck(heard):
                        yield events.Notice("the model repeats itself; this reply was stopped")
                        return Reply("")
                    turn.partial = self.protocol.answer_so_far(heard)
                    if hints:
                        turn.partial = _load_check().begin_of_answer(turn.partial, hints)
                    streamed = len(turn.streamed)
                    end = len(turn.partial)
                    if backed is None:  # the request did not wait for it
                        backed = bool(self.receipt())
                    if not backed:
                        end = _load_check().count_releasable(turn.partial, streamed)
                    if end > streamed:
                        yield events.Token(turn.partial[streamed:end])
                        turn.streamed = turn.partial[:end]
        finally:
            if close := getattr(stream, "close", None):
                close()
        raise AssertionError("a model's stream ends with a Reply")

    # -------- calls

    def _run_calls(self, step: ModelStep, turn: RunningTurn) -> Iterator[TurnOutput]:
        uses: list[ToolUse] = []
        shown: list[Shown] = []
        repeats = turn.repeats
        try:
            for index, call in enumerate(step.calls):
                call = replace(call, id=f"call_{len(turn.entries)}_{index + 1}")
                yield events.ToolStart(call.id, call.name, call.arguments)
                outcome = self._run_call(call, turn, len(step.calls))
                given = dict(call.arguments)
                uses.append(ToolUse(call.id, call.name, given, outcome.text, outcome.ok))
                shown += outcome.shown
                seconds = round(outcome.seconds, 3)
                yield events.ToolEnd(
                    call.id, call.name, outcome.text, outcome.ok, seconds, outcome.said
                )
                if outcome.declined and self.protocol.ends_at_no:
                    turn.stopped = "declined"
                    break
        except (KeyboardInterrupt, OpenclawError):
            if uses:  # the conversation keeps the calls that were made
                yield turn.add(self._entry(turn, step.answer, uses, shown))
            raise
        if turn.repeats > repeats:
            turn.closing = "must" if all(use.ok for use in uses) or turn.repeats > 1 else "no"
            yield events.Notice(f"the same call came again: {step.calls[-1].name}")
        hint = "" if turn.stopped else self.protocol.hint(turn, uses, self.toolbox)
        yield turn.add(self._entry(turn, step.answer, uses, shown, hint=hint))

    def _run_call(self, call: ToolCall, turn: RunningTurn, share: int) -> CallResult:
        """Run a call unless it repeats an earlier one without need: a write that was done, a read
        or command with no write since, a failure with no success since."""
        effect = self.toolbox.effect(call)
        key = json.dumps([call.name, dict(call.arguments)], sort_keys=True, default=str)
        known = turn.past_calls.get(key)
        # A result that is no longer shown may be asked for again.
        if known and known.at >= turn.forgotten and known.holds(turn):
            known.count += 1
            turn.repeats += 1
            turn.stopped = "repeated" if known.count > 3 else turn.stopped
            text = REPEATED if known.outcome.ok else FAILED_BEFORE
            return CallResult(text.format(result=known.outcome.text[:400]), known.outcome.ok)
        outcome = self.toolbox.run(call, share)
        turn.writes += (outcome.effect or effect) in CHANGING and outcome.ok
        turn.successes += outcome.ok
        once = effect in CHANGING and effect != "run"
        turn.past_calls[key] = PastCall(
            outcome, once, turn.writes, turn.successes, len(turn.entries)
        )
        return outcome

    # -------- ends

    def _finish(self, step: ModelStep, turn: RunningTurn) -> Iterator[TurnOutput]:
        """End the turn, unless something is wrong with the answer: the model gets one chance to
        correct it."""
        answer, fault = step.answer or EMPTY, None
        if step.answer:
            changed = bool(self.receipt())
            fault = _load_check().find_fault(answer, turn, self.toolbox, changed=changed)
        if fault and not turn.corrected:
            turn.corrected = True
            turn.closing = "no" if fault.kind else "must"
            turn.kind, turn.form = fault.kind or turn.kind, fault.form
            if fault.claims:  # with all tools in reach
                turn.cues = replace(turn.cues, asks=False)
            yield events.Notice(f"the reply {fault.what}; asking again")
            yield turn.add(self._entry(turn, answer, hint=fault.hint))
            return
        if len(answer) > len(turn.streamed) and answer.startswith(turn.streamed):
            yield events.Token(answer[len(turn.streamed) :])
        if fault and fault.warning:
            yield events.Trouble(fault.warning)
        turn.stopped = "answer" if step.answer else "empty"
        said = self._entry(turn, answer)
        yield from self._end(turn, said, fault.claims if fault else ())

    def _handle_empty(self, turn: RunningTurn) -> Iterator[TurnOutput]:
        """Handle a reply that asks for more or is empty."""
        hint = self.protocol.hint(turn, (), self.toolbox)
        if turn.last.text.strip() and hint:
            yield turn.add(self._entry(turn, "", hint=hint))
            return
        turn.empty = True
        yield events.Notice("the reply was empty; asking once more")

    def _give_up(self, turn: RunningTurn) -> Iterator[TurnOutput]:
        reasons = {
            "repeated": "the same call came again and again",
            "full": "what this turn has brought no longer fits the window (setting window)",
        }
        steps = f"{self.limits.max_steps} steps were used up (max_steps)"
        why = reasons.get(turn.stopped, steps)
        said = [entry.content for entry in turn.entries[1:] if entry.content and not entry.hint]
        known = [f"The last result was:\n{use.output[:1500]}" for use in turn.uses if use.ok]
        answer = "\n".join((*said[-1:], f"I stopped: {why}.", *known[-1:]))
        if turn.stopped == "declined":
            answer = DECLINED.format(tool=turn.uses[-1].tool)
        turn.stopped = turn.stopped or "steps"
        yield events.Token(answer)
        yield from self._end(turn, Entry("assistant", answer, usage=turn.usage, at=timestamp()))

    def _end(
        self, turn: RunningTurn, said: Entry, unbacked: tuple[str, ...] = ()
    ) -> Iterator[TurnOutput]:
        """End the turn with this message, unless it is empty or already there."""
        receipt = self.receipt()
        if turn.stopped != "interrupted" or said.content not in ("", turn.entries[-1].content):
            changed = [*(file.path for file in receipt.files), *receipt.sent]
            record = TurnRecord(stop=turn.stopped, unbacked=list(unbacked), changed=changed)
            yield turn.add(said.with_record(record))
        yield events.ReceiptMade(receipt, unbacked)
        name = self.model.card.name
        yield events.Done(said.content, turn.usage, turn.stopped, "", name, receipt, unbacked)

    # -------- entries

    def _entry(
        self,
        turn: RunningTurn,
        content: str,
        uses: Sequence[ToolUse] = (),
        shown: Sequence[Shown] = (),
        hint: str = "",
    ) -> Entry:
        last = turn.last
        raw = last.text if last.text != content else ""
        return Entry(
            "assistant",
            content,
            tool_calls=tuple(uses),
            usage=last.usage,
            at=timestamp(),
            raw=raw,
            hint=hint,
            thought=turn.thought,
            record_json={"shown": [*map(asdict, shown)]} if uses else {},
        )


def _has_hints(turn: RunningTurn) -> bool:
    return any(entry.hint for entry in turn.entries)


def _load_check() -> ModuleType:
    """Load the module when an answer comes: the request goes out sooner without it."""
    from openclaw.agent import answer_check

    return answer_check


SMALLEST, LARGEST = 20, 200  # characters of a repeated piece
FEW_BYTES = 5  # different bytes of a piece that draws a rule


def is_stuck(text: str) -> bool:
    """Return True when a text ends in the same 20 to 200 characters, words among them, four times:
    a small model that has fallen into a loop goes on to the last token. A rule of a table has few
    different bytes, a word of two Chinese characters has six; no rule has 800 characters."""
    tail = text[-4 * LARGEST :]
    if len(tail) == 4 * LARGEST and len(set(tail.encode())) <= FEW_BYTES:
        return True
    last = tail[-SMALLEST:]
    at = tail.rfind(last, 0, -SMALLEST)  # cheap, as it runs after every piece of the reply
    while at >= 0 and len(tail) - SMALLEST - at <= LARGEST:
        piece = tail[at + SMALLEST :]
        if len(set(piece.encode())) > FEW_BYTES and tail.endswith(piece * 4):
            return True
        at = tail.rfind(last, 0, at + SMALLEST - 1)
    return False
