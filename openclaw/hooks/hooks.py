"""Run the user's own programs around turns, tools and compactions.

Only loaded when openclaw.yaml names a hook. No hook runs unless the user has said yes to exactly
this home, these commands and these files (`openclaw.security.trust`). This is checked before each
run, as an agent may write into its home.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from openclaw.config import Settings
from openclaw.config.file import settings_text
from openclaw.config.hook_settings import REFUSING, Event, Hook, HookFault, fault_line, read_hooks
from openclaw.errors import Refused
from openclaw.events import Done
from openclaw.frozen import frozen
from openclaw.hooks.runner import HookReply, run_hook, safe_line
from openclaw.security.program_trust import TrustRequest, make_trust_request, why_untrusted
from openclaw.security.untrusted import fence
from openclaw.storage.home import Home
from openclaw.storage.program import HOOK_VARIABLE
from openclaw.storage.trust_store import State, Trust
from openclaw.tools.results import ResultLimits, as_data, cut_to_limits
from openclaw.types import Action, TurnChanges

VERSION = 1  # version of the facts that a hook gets
TRUST = "openclaw hooks trust"
Text = tuple[Hook, str]


@frozen
class HookAnswer:
    """The result of all hooks of an event: texts that they add, or why they refuse it."""

    texts: tuple[Text, ...] = ()
    refused: str = ""


@dataclass(slots=True)
class Hooks:
    """The hooks of a home. `faults` are the malformed settings, with their place. `mask` replaces
    secrets with their names. `take_notices` returns the notices and clears them.
    `_ran` tells that the hooks ran when the present turn began."""

    home: Home
    hooks: tuple[Hook, ...]
    faults: tuple[HookFault, ...] = ()
    mask: Callable[[str], str] = str
    trust: Trust = field(default_factory=Trust)
    _notices: list[str] = field(default_factory=list)
    _reported: set[str] = field(default_factory=set)
    _turn: dict[str, Any] = field(default_factory=dict)
    _ended: Done | None = None
    _ran: bool = False

    def take_notices(self) -> list[str]:
        notices, self._notices = self._notices, []
        return notices

    def asked(self) -> TrustRequest:
        """The commands and files that a yes would now cover."""
        return make_trust_request(self.home, self.hooks)

    def state(self, now: TrustRequest) -> State:
        return self.trust.state(self.home, now.mark)

    def allow(self, now: TrustRequest) -> None:
        self.trust.allow(self.home, now.mark)

    def as_json(self) -> list[dict[str, Any]]:
        """The hooks, and whether they run, for programs."""
        now = self.asked()
        trust = {"state": self.state(now), "trouble": now.programs.trouble}
        return [
            {**asdict(hook), "label": hook.label, "missing": now.missing(hook), **trust}
            for hook in self.hooks
        ]

    # -------- the events

    def before_turn(
        self, session: str, number: int, prompt: str, material: Sequence[str]
    ) -> tuple[Text, ...]:
        """The texts that go along with the prompt. Raises Refused, with the reason, when a hook
        forbids the turn."""
        self._turn = {"session": session, "turn": number, "prompt": prompt}
        self._ended = None
        self._ran = self.state(self.asked()) == "trusted"
        answer = self._fire("before_turn", {**self._turn, "material": list(material)})
        if answer.refused:
            raise Refused(f"this turn was refused by a hook: {answer.refused}")
        return answer.texts

    def ended(self, done: Done) -> None:
        """Note the end of the turn; its after_turn hooks run after its answer is shown."""
        self._ended = done
        self._ran = False

    def after_turn(self) -> list[str]:
        """Run the hooks of the ended turn; returns notices for the user. Ctrl-C ends them."""
        done, self._ended = self._ended, None
        if done is None:
            return []
        facts = {
            **self._turn,
            "answer": done.answer,
            "stop": done.stop_reason,
            "receipt": asdict(done.receipt),
            "refused": list(done.refused),
            "unbacked": list(done.unbacked),
        }
        try:
            answer = self._fire("after_turn", facts)
            self._notices += [
                f"hook {hook.label}: {safe_line(text)}" for hook, text in answer.texts
            ]
        except KeyboardInterrupt:
            self._notices.append("the hooks after the turn were ended")
        return self.take_notices()

    def before_compact(
        self, session: str, number: int, messages: int, focus: str | None, *, dry_run: bool
    ) -> str | None:
        """The focus of a compaction, followed by the words of trusted hooks. Raises Refused, with
        the reason, when a hook forbids it."""
        facts = {"session": session, "turn": number, "messages": messages, "focus": focus or ""}
        answer = self._fire("before_compact", {**facts, "dry_run": dry_run})
        if answer.refused:
            raise Refused(
                f"the conversation was not summed up, a hook refused it: {answer.refused}",
                "begin a new conversation, or change the hook (openclaw hooks list)",
            )
        words = [safe_line(text) for hook, text in answer.texts if hook.trusted]
        untrusted = [hook.label for hook, _ in answer.texts if not hook.trusted]
        self._report_once(f"words of {name} count with `trusted: true` only" for name in untrusted)
        return " ".join(filter(None, (focus, *words))) if words else focus

    def tool_hooks(self, turn_changes: TurnChanges) -> ToolHooks:
        return ToolHooks(self, turn_changes)

    def shown(
        self, texts: Sequence[Text], turn_changes: TurnChanges, limits: ResultLimits
    ) -> list[str]:
        """Fence the texts of hooks for the model. The output of a program may have anybody's words,
        so it counts as text of others unless the user says otherwise."""
        fenced = []
        for hook, text in texts:
            source, kept = f"hook {hook.label}", cut_to_limits(text, limits)
            if hook.trusted:
                fenced.append(fence(kept.text, source, turn_changes.marker, own=True) + kept.note)
            else:
                fenced.append(as_data(text, source, turn_changes, limits))
        return fenced

    # -------- running

    def tool(
        self, event: Event, action: Action, arguments: Mapping[str, Any], **result: Any
    ) -> HookAnswer:
        facts = {key: self._turn.get(key) for key in ("session", "turn")}
        facts |= {"tool": action.tool, "effect": action.effect, "target": action.target}
        return self._fire(event, {**facts, "input": dict(arguments), **result}, action.tool)

    def _fire(self, event: Event, facts: Mapping[str, Any], tool: str = "") -> HookAnswer:
        """Run the hooks of an event one after the other, until one refuses."""
        if os.environ.get(HOOK_VARIABLE):
            return HookAnswer()
        self._report_once(fault.text for fault in self.faults)
        wrong = next((fault for fault in self.faults if fault.required), None)
        if wrong and event in REFUSING:
            return HookAnswer(refused=f"a required hook is written wrongly, {wrong.text}")
        chosen = [hook for hook in self.hooks if hook.event == event and hook.matches(tool)]
        texts: list[Text] = []
        for hook in chosen:
            reply = self._run(hook, {**common_facts(event, self.home), **facts})
            if reply.refused:
                return HookAnswer(refused=f"{reply.refused} ({safe_line(hook.label)})")
            if reply.text:
                texts.append((hook, reply.text))
        return HookAnswer(tuple(texts))

    def _run(self, hook: Hook, facts: Mapping[str, Any]) -> HookReply:
        """Run one hook. Reports its failure, which for a required hook is a refusal."""
        now = self.asked()
        if why := why_untrusted(now, self.state(now)):
            self._report_once([f"hooks of this home do not run: {why} ({TRUST})"])
            if self._ran and hook.event in REFUSING:  # text of others may be behind the change
                return HookReply(refused=f"it ran when this turn began, and now may not: {why}")
            why = f"it is required and may not run: {why}" if hook.required else ""
            return HookReply(refused=why)
        reply = self.try_one(hook, facts, now)
        if reply.notice:
            self._notices.append(f"hook {hook.label}: {reply.notice}")
        if reply.failed:
            self._notices.append(f"hook {hook.label} failed: {reply.failed}")
            why = f"it is required and failed: {reply.failed}" if hook.required else ""
            return HookReply(refused=why)
        return reply

    def try_one(self, hook: Hook, facts: Mapping[str, Any], now: TrustRequest) -> HookReply:
        """Run a hook to which the user has said yes. A refusal that comes too late is a failure."""
        if missing := now.missing(hook):
            return HookReply(failed=f"{safe_line(missing)} is not there")
        reply = run_hook(self.home, hook, facts, now.programs.held)
        texts = ("text", "notice", "refused", "failed")
        masked: dict[str, Any] = {name: self.mask(getattr(reply, name)) for name in texts}
        reply = replace(reply, **masked)
        if reply.refused and hook.event not in REFUSING:
            failed = f"{hook.event} comes too late to refuse: {reply.refused}"
            return replace(reply, refused="", failed=failed)
        return reply

    def _report_once(self, lines: Iterable[str]) -> None:
        new = [text for text in lines if text not in self._reported]
        self._reported.update(new)
        self._notices += new


@frozen
class ToolHooks:
    """Runs the hooks before and after each tool; see `openclaw.tools.toolbox.CallHooks`."""

    hooks: Hooks
    turn_changes: TurnChanges

    def before(self, action: Action, arguments: Mapping[str, Any]) -> str:
        return self.hooks.tool("before_tool", action, arguments).refused

    def after(
        self,
        action: Action,
        arguments: Mapping[str, Any],
        output: str,
        ok: bool,
        limits: ResultLimits,
    ) -> str:
        made = self.hooks.tool("after_tool", action, arguments, output=output, ok=ok)
        return "\n".join(self.hooks.shown(made.texts, self.turn_changes, limits))


def open_hooks(home: Home, settings: Settings, mask: Callable[[str], str] = str) -> Hooks:
    """The hooks that the settings name. Runs nothing."""
    hooks, faults = read_hooks(settings.hooks or {})
    text = settings_text(home) if faults else ""
    told = [replace(fault, text=fault_line(text, fault)) for fault in faults]
    return Hooks(home, tuple(hooks), tuple(told), mask)


def common_facts(event: Event, home: Home) -> dict[str, Any]:
    """The facts that every hook gets first."""
    return {"version": VERSION, "event": event, "home": os.path.realpath(home.root)}


def sample_facts(event: Event, tool: str) -> dict[str, Any]:
    """Sample facts of an event (docs/hooks.md)."""
    prompt = {"prompt": "What did we decide about the garden?"}
    receipt: dict[str, list[str]] = {
        name: [] for name in ("files", "todos", "memories", "searches", "sent")
    }
    answer = {"answer": "You decided to plant beans.", "stop": "answer", "receipt": receipt}
    given = {"command": "ls memory"} if tool == "run_shell" else {}
    call = {"tool": tool, "effect": "run", "target": "ls memory", "input": given}
    samples: dict[Event, dict[str, Any]] = {
        "before_turn": {**prompt, "material": []},
        "after_turn": {**prompt, **answer, "refused": [], "unbacked": []},
        "before_tool": call,
        "after_tool": {**call, "output": "Exit code 0.\nMEMORY.md\nTODO.md", "ok": True},
        "before_compact": {"messages": 12, "focus": "", "dry_run": True},
    }
    return {"session": "2026-11-21-120000-sample", "turn": 1, **samples[event]}
