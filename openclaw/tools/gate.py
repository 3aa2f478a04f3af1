"""The gate before a call: the policy decides, the user is asked, a refusal is written down."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from openclaw.shapes import Action, Change, Deed, Ledger, ToolProblem
from openclaw.tools.grants import lasting
from openclaw.tools.policy import Declined, Policy, Question, Verdict
from openclaw.tools.results import Room

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
