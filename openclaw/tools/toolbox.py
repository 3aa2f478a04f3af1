"""Tools as typed functions, and the box that the loop takes them from."""

from __future__ import annotations

import difflib
import re
import shlex
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from openclaw.errors import OpenclawError
from openclaw.messages import ToolCall
from openclaw.security.grants import lasting
from openclaw.security.policy import Declined, Policy, Question, Verdict
from openclaw.security.untrusted import inert
from openclaw.security.vault import Apart, AsItIs, disarmed, for_call, masked_names, secrets_used
from openclaw.tools.paths import SPILL
from openclaw.tools.results import USUAL, Room, as_data, cut, told
from openclaw.tools.tool import Tool, action_of, effect_of, fit, shape_of, signature_text, worst_of
from openclaw.types import Action, Change, Deed, Effect, ForeignProblem, Ledger, ToolProblem


class Beyond(Protocol):
    """Tools that the head of the prompt does not list."""

    def near(self) -> Sequence[Tool]:
        """Those that the model has been told of for this request."""
        ...

    def named(self, name: str) -> Tool | None: ...

    def meant(self, call: ToolCall) -> ToolCall:
        """The call that a call of the gateway stands for; any other one as it is."""
        ...

    def lines(self, *, native: bool) -> Sequence[str]:
        """What is said of them beside the request."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the model is told about a call; `seconds` that it took, without those in which the user
    was asked. `said` tells the user what was changed, "" when nothing was."""

    text: str
    ok: bool
    seconds: float = field(default=0.0, compare=False)
    said: str = field(default="", compare=False)


class Toolbox:
    """The tools of one run. `ledger` gets a line for every refused call. `apart` keeps secrets from
    the model and puts them into calls that were allowed."""

    def __init__(
        self,
        tools: Sequence[Tool],
        policy: Policy,
        ledger: Ledger,
        *,
        beyond: Beyond | None = None,
        room: Room = USUAL,
        watch: Watch | None = None,
        apart: Apart | None = None,
        around: Around | None = None,
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._policy = policy
        self._ledger = ledger
        self._beyond = beyond
        self._room = room
        self._watch = watch
        self._apart = apart or AsItIs()
        self._around = around

    @property
    def near(self) -> tuple[str, ...]:
        """The names of the tools that are offered for this request and not in the head."""
        return tuple(tool.name for tool in self._near())

    @property
    def arguments(self) -> Mapping[str, tuple[str, ...]]:
        """Each tool's argument names, in order."""
        return {tool.name: tuple(tool.parameters["properties"]) for tool in self._callable()}

    def specs(self) -> tuple[Mapping[str, Any], ...]:
        """The tools as OpenAI-style function specs, for models with native tool calls."""
        return tuple(
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": _told(tool.parameters),
                },
            }
            for tool in self._tools.values()
            if tool.listed
        )

    def lines(self) -> str:
        """The tools as one line each (`name(arg, arg?): description`), for JSON steps."""
        return "\n".join(
            f"{signature_text(tool.name, tool.parameters)}: {tool.description}"
            for tool in self._tools.values()
            if tool.forms and tool.listed
        )

    def beside(self, *, native: bool) -> Sequence[str]:
        """What is said of tools beside the request, as the head does not list them."""
        return self._beyond.lines(native=native) if self._beyond else ()

    def shapes(
        self, effects: frozenset[Effect], asked: Collection[str] = ()
    ) -> list[dict[str, Any]]:
        """One JSON schema per form whose effect is among `effects`: an object with "tool" const
        first, then the arguments in order, required but for a form's optional ones, nothing else
        allowed; legal values as enum. A form with an argument that has no legal value now is left
        out, and so is one that the policy or the skill that is followed would refuse anyway: a step
        spent on a refusal is lost, but for the tools `asked` for, whose refusal is the answer."""
        shapes: list[dict[str, Any]] = []
        for each in self._callable():
            if not each.listed or not allows(self._ledger.allowed, each.name):
                continue
            legal = each.legal()
            for form in each.forms:
                does = each.does or Action(each.name, form.effect)
                if form.effect not in effects:
                    continue
                if each.name not in asked and self._policy.refuses(does.effect, does.tool):
                    continue
                shape = shape_of(each, form, legal)
                if shape is not None and shape not in shapes:
                    shapes.append(shape)
        return shapes

    def effect(self, call: ToolCall) -> Effect | None:
        """What a call would do, None for an unknown tool; the worst that the tool can do when its
        arguments do not say."""
        try:
            call = self._meant(call)
        except ToolProblem:
            return None
        tool = self._find(call.name)
        if tool is None:
            return None
        try:
            arguments = fit(tool.name, tool.parameters, call.arguments)
            several = len({form.effect for form in tool.forms}) > 1
            return action_of(tool, arguments).effect if several else effect_of(tool, arguments)
        except ToolProblem:
            return worst_of(tool)

    def run(self, call: ToolCall, share: int = 1) -> Outcome:
        """Check name and arguments, ask the policy, run. Never raises for a mistake of the
        model's; raises OpenclawError for what the user must mend (a full disk). The results of
        so many calls `share` the room of one."""
        room = self._room.part(share)
        began, running, outcome = time.monotonic(), Running(), Outcome("", False)
        self._ledger.exit = None
        try:
            outcome = self._followed(self._outcome(call, running, room), running, room)
        finally:
            seconds = time.monotonic() - began - running.waited
            if self._watch is not None:
                size = len(outcome.text.encode(errors="replace"))
                deed = running.deed(call.name, outcome.ok, self._ledger.exit, seconds, size)
                self._watch.done(deed)
        return replace(outcome, seconds=seconds, said=_said(running.action, outcome))

    def _outcome(self, call: ToolCall, running: Running, room: Room) -> Outcome:
        # Masked a second time, as a secret may come to light when hidden characters are taken out.
        try:
            return Outcome(self._apart.mask(self._run(call, running, room)), True)
        except ToolProblem as problem:
            text = self._apart.mask(str(problem))
            shown = self._shown(running.action if running.permit else None, text, room)
            return Outcome(self._apart.mask(shown), False)

    def _followed(self, outcome: Outcome, running: Running, room: Room) -> Outcome:
        """A result with what the user's programs say to it behind it, if the call has run."""
        action = running.action
        if self._around is None or action is None or running.permit is None:
            return outcome
        text, ok = outcome.text, outcome.ok
        more = self._around.after(action, running.arguments, text, ok, room.part(2))
        return replace(outcome, text=f"{text}\n{self._apart.mask(more)}") if more else outcome

    def _run(self, call: ToolCall, running: Running, room: Room) -> str:
        call = self._meant(call)
        tool = self._find(call.name)
        if tool is None:
            raise ToolProblem(self._unknown(call.name))
        arguments = fit(tool.name, tool.parameters, call.arguments)
        if not allows(self._ledger.allowed, tool.name, arguments):
            names = ", ".join(self._ledger.allowed)
            raise ToolProblem(f"The skill that you follow leaves only these tools: {names}.")
        running.action, running.arguments = action_of(tool, arguments), arguments
        action = running.action
        tainted = self._ledger.tainted
        if self._watch is not None:
            tainted = self._watch.tainted(action, arguments)
        policy = self._policy
        if secrets := secrets_used(self._apart, tool.masks, arguments):
            # What a secret goes out with is asked for as if somebody else were behind it; a grant
            # covers it only where the user himself has just named it.
            tainted = True
            if self._ledger.tainted or not secrets <= {*masked_names(self._ledger.request)}:
                policy = replace(policy, grants=())
        asked = time.monotonic()
        try:
            if self._around is not None and (why := self._around.before(action, arguments)):
                raise refused_around(self._ledger, action, why)
            running.permit = permit(
                policy,
                self._ledger,
                action,
                arguments,
                tainted=tainted,
                preview=lambda: _preview(tool, arguments),
            )
        except RefusedCall as refused:
            running.refused = refused
            raise
        finally:
            running.waited = time.monotonic() - asked
        try:
            text = _called(tool, for_call(self._apart, tool.masks, arguments))
        except ForeignProblem as problem:
            raise ToolProblem(self._fit(tool, action, str(problem), room)) from problem
        if effect_of(tool, arguments) == "send":
            self._ledger.sent.append(tool.name)
        return self._fit(tool, action, text, room)

    def _fit(self, tool: Tool, action: Action, text: str, room: Room) -> str:
        """A result as the model is given it. Secrets are masked before it is cut."""
        if action.target.startswith(SPILL):  # it is kept already
            room = replace(room, keep=None)
        text = self._apart.mask(disarmed(text) if tool.foreign else text)
        if not tool.foreign:
            return self._shown(action, text, room)
        source = f"{tool.foreign}: {action.target}" if action.target else tool.foreign
        return as_data(text, source, self._ledger, room)

    def _shown(self, action: Action | None, text: str, room: Room) -> str:
        """A result of our own: what others have written in it is fenced."""
        if f"<<data {self._ledger.marker} " in text:
            return text
        source = self._watch.source(action, text) if self._watch and action else ""
        if not source:
            return "".join(cut(inert(text), room))
        first, _, rest = text.partition("\n")
        ours = action and (action.effect == "write" or first.startswith(f"{action.target},"))
        head = f"{first}\n" if rest and ours else ""
        return head + as_data(text.removeprefix(head), source, self._ledger, room)

    def _find(self, name: str) -> Tool | None:
        plain = name.strip().casefold().replace("-", "_").rpartition(".")[2]
        return self._tools.get(name) or self._tools.get(plain) or self._further(plain)

    def _further(self, name: str) -> Tool | None:
        return self._beyond.named(name) if self._beyond else None

    def _near(self) -> Sequence[Tool]:
        return [tool for tool in self._beyond.near() if tool.available()] if self._beyond else ()

    def _callable(self) -> list[Tool]:
        """The tools that the model may call now by their names."""
        return [*filter(lambda tool: tool.available(), self._tools.values()), *self._near()]

    def _meant(self, call: ToolCall) -> ToolCall:
        return self._beyond.meant(call) if self._beyond else call

    def _unknown(self, name: str) -> str:
        near = difflib.get_close_matches(name.casefold(), self._tools, n=1, cutoff=0.5)
        meant = f" Did you mean {near[0]}?" if near else ""
        return f"No tool {name}.{meant} Tools: {', '.join(self._tools)}."


def _told(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema without what goes without saying: each word of the head is paid for."""
    return {key: value for key, value in parameters.items() if key != "required" or value}


def _preview(tool: Tool, arguments: Mapping[str, Any]) -> Change | None:
    """What a call would make of a file. Raises ToolProblem when it cannot be done: nobody is asked
    for that."""
    if tool.preview is None:
        return None
    with suppress(OSError):  # which running it tells
        return tool.preview(arguments)
    return None


def _said(action: Action | None, outcome: Outcome) -> str:
    """What a call has changed: its result's first line is ours, and a sentence."""
    if action is None or not outcome.ok or action.effect not in ("write", "write-elsewhere"):
        return ""
    line = outcome.text.partition("\n")[0].rstrip(".:")
    return line[:1].lower() + line[1:]


def _called(tool: Tool, arguments: Mapping[str, Any]) -> str:
    try:
        return tool.run(**arguments)
    except (ToolProblem, OpenclawError):
        raise
    except OSError as error:
        raise told(error) from error
    except Exception as error:  # a tool that fails does not end the turn
        raise ToolProblem(f"{tool.name} failed: {type(error).__name__}: {error}") from error


AROUND = "hook"
"""By whom a call was refused, when it was a program of the user's."""


class Watch(Protocol):
    """Looks on while the tools of a turn run; it raises nothing.

    `tainted` says whether others than the user may be behind a call, `source` whose text a result
    shows ("" for the user's own), `done` is told of every call that was asked for.
    """

    def tainted(self, action: Action, arguments: Mapping[str, Any], /) -> bool: ...
    def source(self, action: Action, text: str, /) -> str: ...
    def done(self, deed: Deed, /) -> None: ...


class Around(Protocol):
    """Has a say before and after each call that runs: the user's own programs; it raises nothing.

    `before` says why a call is not to run, "" to let it; `after` what is shown behind its result.
    """

    def before(self, action: Action, arguments: Mapping[str, Any], /) -> str: ...
    def after(
        self, action: Action, arguments: Mapping[str, Any], output: str, ok: bool, room: Room, /
    ) -> str: ...


class RefusedCall(ToolProblem):
    """The call was not run. `why` is what the user is told in the end; `answered` says that the
    user was asked, `instead` what he wants done."""

    def __init__(
        self, tool: str, verdict: Verdict, why: str, answered: bool, instead: str = ""
    ) -> None:
        text = f"Refused ({why}): {tool} was not run. Do not try again; tell the user."
        if instead:
            text = f"Refused: {tool} was not run. The user said instead: {instead}"
        elif verdict.rule == "lasting":
            text += " remember can put a fact into the inbox, where the user decides."
        super().__init__(text)
        self.verdict = verdict
        self.why = why
        self.answered = answered


@dataclass(frozen=True, slots=True)
class Permit:
    """A call that may run: what it does, what was decided, and who allowed it ("mode", "grant", or
    what the user answered)."""

    action: Action
    verdict: Verdict
    by: str


def permit(
    policy: Policy,
    ledger: Ledger,
    action: Action,
    arguments: Mapping[str, Any],
    *,
    tainted: bool,
    preview: Callable[[], Change | None] = lambda: None,
) -> Permit:
    """Let the call through, or raise RefusedCall with a line in `ledger.refused`. `tainted` says
    that others than the user may be behind it; `preview` what it would make of a file."""
    verdict = policy.decide(action, tainted=tainted)
    if verdict.decision == "allow":
        return Permit(action, verdict, "grant" if verdict.grant else "mode")
    why, advice, instead = verdict.reason, "", ""
    if verdict.decision == "ask":
        if policy.ask is not None:
            sources = tuple(dict.fromkeys((*ledger.inherited, *ledger.foreign)))
            offers = policy.offers(action, tainted=tainted)
            try:
                by = policy.ask(Question(action, arguments, why, offers, sources, preview()))
            except Declined as no:
                by, instead = "", str(no)
            if by:
                return Permit(action, verdict, by)
            why = "the user said no"
        else:
            why += "; nobody is there to ask"
            advice = _advice(policy, action, tainted=tainted)
    target = f" {action.target}" if action.target else ""
    ledger.refused.append(f"{action.tool}{target} ({action.effect}): {why}{advice}")
    raise RefusedCall(action.tool, verdict, why, policy.ask is not None, instead)


def refused_around(ledger: Ledger, action: Action, why: str) -> RefusedCall:
    """The refusal of a call by one of the user's programs, with a line in `ledger.refused`."""
    target = f" {action.target}" if action.target else ""
    ledger.refused.append(f"{action.tool}{target} ({action.effect}): {why}")
    return RefusedCall(action.tool, Verdict("deny", why, rule=AROUND), why, answered=False)


def _advice(policy: Policy, action: Action, *, tainted: bool) -> str:
    """How the user can allow it beforehand, "" when only a person can be asked."""
    ways = [
        f"openclaw policy allow {grant.kind} {shlex.quote(grant.value)}"
        for grant in policy.offers(action, tainted=tainted)[:1]
        if lasting(grant)
    ]
    ways += [] if tainted else ["--yes"]
    return f" (allow it by {' or '.join(ways)})" if ways else ""


@dataclass(slots=True)
class Running:
    """What is known so far of a call that was asked for; `waited` are seconds until it was
    decided whether it may run."""

    action: Action | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    permit: Permit | None = None
    refused: RefusedCall | None = None
    waited: float = 0.0

    def deed(self, name: str, ok: bool, code: int | None, seconds: float, size: int) -> Deed:
        """What goes on record; `size` in bytes of the result."""
        action, target, effect = name, "", ""
        if self.action is not None:
            action, target, effect = self.action.tool, self.action.target, self.action.effect
        decision, by = self._decided()
        return Deed(action, effect, target, decision, by, ok, code, seconds, size)

    def _decided(self) -> tuple[Literal["allow", "deny", ""], str]:
        """What was decided, and by whom."""
        if self.permit is not None:
            grant = self.permit.verdict.grant
            return "allow", {"mode": "policy", "grant": grant}.get(self.permit.by, "user")
        if self.refused is None:
            return "", ""
        if self.refused.verdict.rule == AROUND:
            return "deny", AROUND
        if self.refused.verdict.decision == "deny":
            return "deny", "policy"
        return "deny", "user" if self.refused.answered else "nobody"


ALWAYS = frozenset({"read_skill", "find_skill"})
"""A skill may be read to its end, and another one found."""

# Names of other agents (Claude Code, OpenClaw, Hermes) for what is called otherwise here.
NAMES: Mapping[str, tuple[str, ...]] = {
    "read": ("read_file", "list_files"),
    "view": ("read_file", "list_files"),
    "write": ("write_file", "append_file"),
    "edit": ("edit_file", "append_file"),
    "multiedit": ("edit_file", "append_file"),
    "patch": ("edit_file",),
    "grep": ("search_files",),
    "glob": ("list_files", "search_files"),
    "ls": ("list_files",),
    "bash": ("run_shell", "run_python"),
    "shell": ("run_shell", "run_python"),
    "exec": ("run_shell", "run_python"),
    "terminal": ("run_shell", "run_python"),
    "websearch": ("web_search",),
    "webfetch": ("fetch_url",),
    "todowrite": ("todo",),
    "todoread": ("todo",),
}
_ENTRY = re.compile(r"(?P<name>[^(]+)(?:\((?P<pattern>.*)\))?$", re.S)


def allows(allowed: Sequence[str], tool: str, arguments: Mapping[str, Any] | None = None) -> bool:
    """Whether `allowed-tools` leaves this call; without arguments, whether it leaves any call of
    the tool. An empty list leaves all.

    `Bash(git log:*)` and `Bash(git log *)` leave commands that begin so; patterns for other tools
    are not known here, so that such an entry leaves every call of its tool.
    """
    if not allowed or tool in ALWAYS:
        return True
    return any(_fits(entry, tool, arguments) for entry in allowed)


def _fits(entry: str, tool: str, arguments: Mapping[str, Any] | None) -> bool:
    found = _ENTRY.match(entry.strip())
    if not found:
        return False
    name = found["name"].strip().casefold().replace("-", "_")
    if tool not in (name, *NAMES.get(name.replace("_", ""), ())):
        return False
    pattern = (found["pattern"] or "*").strip()
    if arguments is None or pattern == "*" or tool not in ("run_shell", "run_python"):
        return True
    command = arguments.get("command")
    return isinstance(command, str) and _begins(command.strip(), pattern)


def _begins(command: str, pattern: str) -> bool:
    """Whether a command is the pattern's, or begins with its words and is one simple command."""
    words, any_end = re.subn(r"(?::\*|\s+\*)$", "", pattern)
    if command == words:
        return True
    plain = not re.search(r"[;&|<>`\n\r]|\$\(", command)
    return bool(any_end) and plain and command.startswith(f"{words} ")
