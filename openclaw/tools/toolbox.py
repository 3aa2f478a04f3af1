"""The tools of one turn: their schemas, permission for a call, and running it.

`Toolbox` comes first; then the permission of a call (`check_permission`).
"""

from __future__ import annotations

import difflib
import shlex
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.messages import ToolCall
from openclaw.security.grants import may_last
from openclaw.security.masking import (
    Masker,
    arguments_for_call,
    disarm_masks,
    masked_names,
    no_secrets,
    secrets_used,
)
from openclaw.security.policy import Declined, PermissionQuestion, Policy
from openclaw.security.untrusted import break_tokens, strip_hidden
from openclaw.storage.text import join_surrogates
from openclaw.tools.allowed_tools import allows
from openclaw.tools.paths import SPILL
from openclaw.tools.results import (
    DEFAULT_LIMITS,
    ResultLimits,
    as_data,
    cut_to_limits,
    fence_cut,
    to_tool_problem,
)
from openclaw.tools.shortlist import Shortlist, plain_name
from openclaw.tools.tool import (
    Tool,
    action_of,
    effect_of,
    legal_shapes,
    parse_arguments,
    tool_line,
    worst_of,
)
from openclaw.types import (
    Action,
    CallRecord,
    Change,
    Effect,
    ForeignProblem,
    Shown,
    ToolProblem,
    TurnChanges,
)

Result = TypeVar("Result")


@frozen
class CallResult:
    text: str  # for the model
    ok: bool
    # How long the call took, without the time in which the user was asked.
    seconds: float = field(default=0.0, compare=False)
    # What the call changed, for the user; "" for nothing.
    said: str = field(default="", compare=False)
    # What the call did; None when it did not run.
    effect: Effect | None = field(default=None, compare=False)
    # The lines of files in the text.
    shown: tuple[Shown, ...] = ()
    # The user was asked and allowed nothing, nor said what to do instead.
    declined: bool = False


class LegalForm(NamedTuple):
    """A form of a call that is legal at a moment: its tool and effect, the JSON schema of the call,
    and whether the policy refuses it."""

    tool: str
    effect: Effect
    shape: dict[str, Any]
    refused: bool


class Toolbox:
    """The tools of one run. `turn_changes` gets a line for every refused call. `shortlist` has the
    tools that the head does not list. `masking` hides secrets from the model and puts them into
    allowed calls. `hooks` runs the user's hooks."""

    def __init__(
        self,
        tools: Sequence[Tool],
        policy: Policy,
        turn_changes: TurnChanges,
        *,
        shortlist: Shortlist | None = None,
        limits: ResultLimits = DEFAULT_LIMITS,
        watch: CallWatch | None = None,
        masking: Masker | None = None,
        hooks: CallHooks | None = None,
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._policy = policy
        self._changes = turn_changes
        self._shortlist = shortlist
        self.limits = limits
        self._watch = watch
        self._masking = masking or no_secrets()
        self._hooks = hooks
        self._frozen_forms: Sequence[LegalForm] = ()

    @property
    def near(self) -> tuple[str, ...]:
        """The names of the tools that are offered for this request but not listed in the head."""
        return tuple(tool.name for tool in self._nearby())

    @property
    def arguments(self) -> Mapping[str, tuple[str, ...]]:
        """Each tool's argument names, in order."""
        return {tool.name: tuple(tool.parameters["properties"]) for tool in self._callable()}

    def specs(self) -> tuple[Mapping[str, Any], ...]:
        """The tools as OpenAI-style function specs, for models with native tool calls. An empty
        "required" is left out: each word of the head costs tokens."""
        return tuple(
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": {
                        key: value
                        for key, value in tool.parameters.items()
                        if key != "required" or value
                    },
                },
            }
            for tool in self._tools.values()
            if tool.listed
        )

    def lines(self) -> str:
        """The tools as one line each (`name(arg, arg?): description`), for JSON steps."""
        tools = self._tools.values()
        return "\n".join(tool_line(tool) for tool in tools if tool.forms and tool.listed)

    def beside(self, *, native: bool) -> Sequence[str]:
        """The lines, next to the request, about tools that the head does not list."""
        return self._shortlist.lines(native=native) if self._shortlist else ()

    def shapes(
        self, effects: frozenset[Effect], asked: Collection[str] = ()
    ) -> list[dict[str, Any]]:
        """One JSON schema for each form whose effect is in `effects`.

        A schema is an object with "tool" const first, then the arguments in order. All but the
        form's optional ones are required, nothing else is allowed, and legal values are an enum.
        Left out: a form with an argument that has no legal value now, and a form that the policy or
        the active skill would refuse, as a step spent on a refusal is lost. The tools in `asked`
        stay: there the refusal is the answer."""
        shapes: list[dict[str, Any]] = []
        for form in self._frozen_forms or self._forms():
            if form.effect not in effects or (form.refused and form.tool not in asked):
                continue
            if form.shape not in shapes:
                shapes.append(form.shape)
        return shapes

    def at_this_moment(self) -> Toolbox:
        """Return these tools with the calls that are legal now, so that one schema is made of one
        look at the files and one question to the policy for each tool and effect."""
        now = copy(self)
        now._frozen_forms = self._forms()
        return now

    def _forms(self) -> list[LegalForm]:
        """Return the forms of calls that are legal now."""
        allowed, refuses = self._changes.allowed, cache(self._policy.refuses)
        tools = [each for each in self._callable() if each.listed and allows(allowed, each.name)]
        legal = [(each, *form) for each in tools for form in legal_shapes(each)]
        doing = [(form, form[0].does or Action(form[0].name, form[1])) for form in legal]
        return [
            LegalForm(tool.name, effect, shape, refuses(does.effect, does.tool))
            for (tool, effect, shape), does in doing
        ]

    def invented_values(self, text: str) -> Sequence[str]:
        """Return the figures, dates and addresses of an answer that nobody has said."""
        return self._watch.invented_values(text) if self._watch is not None else ()

    def effect(self, call: ToolCall) -> Effect | None:
        """The effect that a call may have, None for an unknown tool. When the arguments do not
        tell, it is the tool's worst effect."""
        try:
            call = self._resolve(call)
        except ToolProblem:
            return None
        tool = self._find(call.name)
        if tool is None:
            return None
        if len({form.effect for form in tool.forms}) > 1:
            with suppress(ToolProblem):
                arguments = parse_arguments(tool.name, tool.parameters, call.arguments)
                return _find_action(tool, arguments).effect
        return worst_of(tool)

    def run(self, call: ToolCall, share: int = 1) -> CallResult:
        """Check name and arguments, ask the policy, run. Never raises for a mistake of the model;
        raises OpenclawError for what the user must mend (a full disk). `share` is the number of
        calls whose results share the length of one."""
        limits = self.limits.part(share)
        began, running, outcome = time.monotonic(), RequestedCall(), CallResult("", False)
        self._changes.exit, self._changes.only_read = None, False
        self._changes.shown = {}
        try:
            outcome = self._with_hook_output(
                self._run_masked(call, running, limits), running, limits
            )
        finally:
            seconds = time.monotonic() - began - running.waited
            if self._watch is not None:
                record = running.record(call.name, outcome, self._changes.exit, seconds)
                self._watch.done(record)
        effect = running.action.effect if running.action and running.allowed else None
        if self._changes.only_read and effect == "run":
            effect = "read"
        said = _change_line(running.action, outcome)
        return replace(outcome, seconds=seconds, said=said, effect=effect)

    def _run_masked(
        self, call: ToolCall, running: RequestedCall, limits: ResultLimits
    ) -> CallResult:
        try:
            outcome = self._run(call, running, limits)
        except ToolProblem as problem:
            action = running.action if running.allowed else None
            text = self._prepare_own_result(action, str(problem), limits).text
            declined = isinstance(problem, RefusedCall) and problem.declined
            outcome = CallResult(text, False, declined=declined)
        # Mask a second time: removing hidden characters may uncover a secret.
        return replace(outcome, text=self._masking.mask(outcome.text))

    def _with_hook_output(
        self, outcome: CallResult, running: RequestedCall, limits: ResultLimits
    ) -> CallResult:
        """Append the output of the user's after-hooks to the result of a call that ran."""
        action = running.action
        if self._hooks is None or action is None or not running.allowed:
            return outcome
        text, ok = outcome.text, outcome.ok
        more = self._hooks.after(action, running.arguments, text, ok, limits.part(2))
        return replace(outcome, text=f"{text}\n{self._masking.mask(more)}") if more else outcome

    def _run(self, call: ToolCall, running: RequestedCall, limits: ResultLimits) -> CallResult:
        call = self._resolve(call)
        tool = self._find(call.name)
        if tool is None:
            raise ToolProblem(self._unknown_tool_text(call.name))
        arguments = parse_arguments(tool.name, tool.parameters, call.arguments)
        if not allows(self._changes.allowed, tool.name, arguments):
            names = ", ".join(self._changes.allowed)
            raise ToolProblem(f"The skill that you follow leaves only these tools: {names}.")
        action = running.action = _find_action(tool, arguments)
        running.arguments = arguments
        tainted = self._changes.tainted
        if self._watch is not None:
            if values := self._watch.invented(action, arguments):
                raise ToolProblem(f"Not written: {', '.join(values)} {NOT_SAID} {KNOWN_ONLY}")
            if texts := self._watch.copied(action, arguments):
                raise ToolProblem(f'Not written: "{", ".join(texts)}" {COPIED} {INSTEAD}')
            if texts := self._watch.translated(action, arguments):
                raise ToolProblem(f'Not written: "{", ".join(texts)}" {TRANSLATED}')
            tainted = self._watch.tainted(action, arguments)
        policy = self._policy
        if secrets := secrets_used(self._masking, tool.masks, arguments):
            # A call that sends a secret is treated as tainted. A grant covers it only when the
            # user's own request names the secret.
            tainted = True
            if self._changes.tainted or not secrets <= {*masked_names(self._changes.request)}:
                policy = replace(policy, grants=())
        if (text := self._try_call(tool, action, running, policy, tainted)) is not None:
            return self._prepare_result(tool, running.action, text, limits)
        with running.being_decided():
            self._ask_hooks(action, arguments)
            running.allow(check_permission(policy, self._changes, tool, action, arguments, tainted))
        try:
            given = arguments_for_call(self._masking, tool.masks, arguments)
            text = _call_tool(tool.name, lambda: tool.run(**given))
        except ForeignProblem as problem:
            told = self._prepare_result(tool, action, str(problem), limits)
            raise ToolProblem(told.text) from problem
        if effect_of(tool, arguments) == "send":
            self._changes.sent.append(tool.name)
        return self._prepare_result(tool, action, text, limits)

    def _try_call(
        self, tool: Tool, action: Action, running: RequestedCall, policy: Policy, tainted: bool
    ) -> str | None:
        """Try whether a call only reads, when its tool can do that. Returns its result, None when
        it would do more or may run anyway; then the call is judged by that."""
        trial, reading = tool.trial, replace(action, effect="read")
        if trial is None or policy.decide(reading, tainted=tainted).decision != "allow":
            return None
        # A hook may refuse what does more than read.
        if self._hooks is None and policy.decide(action, tainted=tainted).decision == "allow":
            return None
        running.action = reading
        with running.being_decided():
            self._ask_hooks(reading, running.arguments)
        running.allow("policy")
        given = arguments_for_call(self._masking, tool.masks, running.arguments)
        text = _call_tool(tool.name, lambda: trial(**given))
        if text is None:
            running.action, running.decision, running.by = action, "", ""
        return text

    def _ask_hooks(self, action: Action, arguments: Mapping[str, Any]) -> None:
        """Ask the user's hooks about a call; raises RefusedCall."""
        if self._hooks is not None and (why := self._hooks.before(action, arguments)):
            raise refuse(self._changes, action, why, "hook")

    def _prepare_result(
        self, tool: Tool, action: Action, text: str, limits: ResultLimits
    ) -> CallResult:
        if action.target.startswith(SPILL):  # that file already keeps the whole text
            limits = replace(limits, keep=None)
        if not tool.foreign:
            return self._prepare_own_result(action, text, limits)
        source = f"{tool.foreign}: {action.target}" if action.target else tool.foreign
        text = self._masking.mask(disarm_masks(join_surrogates(text)))  # before it is cut
        return CallResult(as_data(text, source, self._changes, limits), True)

    def _prepare_own_result(
        self, action: Action | None, text: str, limits: ResultLimits
    ) -> CallResult:
        """Prepare a result of a built-in tool: fence text in it that others have written."""
        # Bytes of a file name that are no text can be neither sent nor kept.
        text = self._masking.mask(join_surrogates(text))  # before it is cut
        if f"<<data {self._changes.marker} " in text:
            return CallResult(text, True)
        source = self._watch.source(action, text) if self._watch and action else ""
        if not source:
            cut = cut_to_limits(break_tokens(text), limits)
            return CallResult(str(cut), True, shown=cut.still_shown(self._changes.shown))
        first, _, rest = text.partition("\n")
        ours = action and (action.effect == "write" or first.startswith(f"{action.target},"))
        head = f"{first}\n" if rest and ours else ""
        cut = cut_to_limits(strip_hidden(text.removeprefix(head)), limits, source)
        lines = {at - bool(head): each for at, each in self._changes.shown.items()}
        told = head + fence_cut(cut, source, self._changes)
        return CallResult(told, True, shown=cut.still_shown(lines))

    def _find(self, name: str) -> Tool | None:
        known = self._tools.get(name) or self._tools.get(plain_name(name))
        return known or (self._shortlist.named(name) if self._shortlist else None)

    def _nearby(self) -> Sequence[Tool]:
        near = self._shortlist.near() if self._shortlist else ()
        return [tool for tool in near if tool.available()]

    def _callable(self) -> list[Tool]:
        """The tools that the model may now call by name."""
        return [*filter(lambda tool: tool.available(), self._tools.values()), *self._nearby()]

    def _resolve(self, call: ToolCall) -> ToolCall:
        return self._shortlist.meant(call) if self._shortlist else call

    def _unknown_tool_text(self, name: str) -> str:
        near = difflib.get_close_matches(name.casefold(), self._tools, n=1, cutoff=0.5)
        meant = f" Did you mean {near[0]}?" if near else ""
        return f"No tool {name}.{meant} Tools: {', '.join(self._tools)}."


def _find_action(tool: Tool, arguments: Mapping[str, Any]) -> Action:
    return _call_tool(tool.name, lambda: action_of(tool, arguments))


def _preview(tool: Tool, arguments: Mapping[str, Any]) -> Change | None:
    """The change that a call would make to a file. Raises ToolProblem when it cannot be done, so
    that the user is not asked."""
    preview = tool.preview
    return _call_tool(tool.name, lambda: preview(arguments)) if preview else None


def _change_line(action: Action | None, outcome: CallResult) -> str:
    """Tell what a call changed: the first line of its result, which is a sentence of ours."""
    if action is None or not outcome.ok or action.effect not in ("write", "write-elsewhere"):
        return ""
    line = outcome.text.partition("\n")[0].rstrip(".:")
    return line[:1].lower() + line[1:]


def _call_tool(name: str, run: Callable[[], Result]) -> Result:
    try:
        return run()
    except (ToolProblem, OpenclawError):
        raise
    except OSError as error:
        raise to_tool_problem(error) from error
    except Exception as error:  # a tool that fails does not end the turn
        raise ToolProblem(f"{name} failed: {type(error).__name__}: {error}") from error


NOT_SAID = "was neither said by the user nor read anywhere."
KNOWN_ONLY = "Write only what is known: leave it out, or ask the user for it."
COPIED = "stands so in the skill, as a blank or an example."
INSTEAD = "Put what the user said in its place."
TRANSLATED = "is in another language than the user's words. Use these."


class CallWatch(Protocol):
    """Observes the tools of a turn while they run. It raises nothing.

    `invented` names the values in a call that nobody has said, `invented_values` those in an
    answer, `copied` the texts in a call that are blanks or examples of a skill, `translated` those
    in another language than the request. `tainted` tells whether others than the user may be behind
    a call. `source` names whose text a result shows (""
    for the user's own). `done` receives every requested call.
    """

    def invented(self, action: Action, arguments: Mapping[str, Any], /) -> Sequence[str]: ...
    def copied(self, action: Action, arguments: Mapping[str, Any], /) -> Sequence[str]: ...
    def translated(self, action: Action, arguments: Mapping[str, Any], /) -> Sequence[str]: ...
    def invented_values(self, text: str, /) -> Sequence[str]: ...
    def tainted(self, action: Action, arguments: Mapping[str, Any], /) -> bool: ...
    def source(self, action: Action, text: str, /) -> str: ...
    def done(self, deed: CallRecord, /) -> None: ...


class CallHooks(Protocol):
    """The user's own programs before and after each call. It raises nothing.

    `before` returns why a call must not run, "" to allow it. `after` returns text that is shown
    after the result.
    """

    def before(self, action: Action, arguments: Mapping[str, Any], /) -> str: ...
    def after(
        self,
        action: Action,
        arguments: Mapping[str, Any],
        output: str,
        ok: bool,
        limits: ResultLimits,
        /,
    ) -> str: ...


class RefusedCall(ToolProblem):
    """The call was not run. `by` is who refused it, as in `CallRecord`; `declined` tells that the
    user allowed nothing, nor said what to do instead."""

    def __init__(self, text: str, by: str, declined: bool) -> None:
        super().__init__(text)
        self.by = by
        self.declined = declined


def refuse(
    turn_changes: TurnChanges,
    action: Action,
    why: str,
    by: str,
    *,
    advice: str = "",
    instead: str = "",
    rule: str = "",
) -> RefusedCall:
    """The refusal of a call, noted in `turn_changes`. `instead` is what the user wants done."""
    target = f" {action.target}" if action.target else ""
    turn_changes.refused.append(f"{action.tool}{target} ({action.effect}): {why}{advice}")
    text = f"Refused ({why}): {action.tool} was not run. Do not try again; tell the user."
    if instead:
        text = f"Refused: {action.tool} was not run. The user said instead: {instead}"
    elif rule == "lasting":
        text += " remember can put a fact into the inbox, where the user decides."
    return RefusedCall(text, by, declined=by == "user" and not instead)


def check_permission(
    policy: Policy,
    turn_changes: TurnChanges,
    tool: Tool,
    action: Action,
    arguments: Mapping[str, Any],
    tainted: bool,
) -> str:
    """Return who allows the call, as in `CallRecord`, or raise RefusedCall. `tainted`: others than
    the user may be behind it."""
    verdict = policy.decide(action, tainted=tainted)
    if verdict.decision == "allow":
        return verdict.grant or "policy"
    if verdict.decision == "deny":
        raise refuse(turn_changes, action, verdict.reason, "policy", rule=verdict.rule)
    if policy.ask is None:
        why, advice = f"{verdict.reason}; nobody is there to ask", _advice(policy, action, tainted)
        raise refuse(turn_changes, action, why, "nobody", advice=advice, rule=verdict.rule)
    sources = tuple(dict.fromkeys((*turn_changes.inherited, *turn_changes.foreign)))
    offers, change = policy.offers(action, tainted=tainted), _preview(tool, arguments)
    instead = ""
    try:
        if policy.ask(
            PermissionQuestion(action, arguments, verdict.reason, offers, sources, change)
        ):
            return "user"
    except Declined as no:
        instead = str(no)
    why = "the user said no"
    raise refuse(turn_changes, action, why, "user", instead=instead, rule=verdict.rule)


def _advice(policy: Policy, action: Action, tainted: bool) -> str:
    """How the user can allow the call beforehand, "" when it must be asked for each time."""
    ways = [
        f"openclaw policy allow {grant.kind} {shlex.quote(grant.value)}"
        for grant in policy.offers(action, tainted=tainted)[:1]
        if may_last(grant)
    ]
    ways += [] if tainted else ["--yes"]
    return f" (allow it by {' or '.join(ways)})" if ways else ""


@dataclass(slots=True)
class RequestedCall:
    """The state of a requested call. `decision` and `by` are those of `CallRecord`, `waited` is the
    time in seconds until it was decided."""

    action: Action | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    decision: Literal["allow", "deny", ""] = ""
    by: str = ""
    waited: float = 0.0

    @property
    def allowed(self) -> bool:
        return self.decision == "allow"

    def allow(self, by: str) -> None:
        self.decision, self.by = "allow", by

    @contextmanager
    def being_decided(self) -> Iterator[None]:
        """Count the time in here, and note that the call is refused."""
        asked = time.monotonic()
        try:
            yield
        except RefusedCall as refused:
            self.decision, self.by = "deny", refused.by
            raise
        finally:
            self.waited += time.monotonic() - asked

    def record(
        self, name: str, outcome: CallResult, code: int | None, seconds: float
    ) -> CallRecord:
        """The record of the call of the tool that the model named so."""
        done = self.action
        call = (done.tool, done.effect, done.target) if done else (name, "", "")
        size = len(outcome.text.encode(errors="replace"))
        return CallRecord(*call, self.decision, self.by, outcome.ok, code, seconds, size)
