"""`openclaw hooks`: the programs that openclaw.yaml names around turns and tools, and the yes that
they need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from openclaw.cli.current_home import current_home
from openclaw.cli.formatting import Shape, print_listing, print_result, warn
from openclaw.cli.options import AsJson, Revoke, Unasked
from openclaw.cli.trust_questions import STATES, trust_programs
from openclaw.config import load_settings
from openclaw.config.hook_settings import EVENTS, Event, Hook
from openclaw.errors import Refused, UsageError
from openclaw.hooks.hooks import TRUST, Hooks, common_facts, open_hooks, sample_facts
from openclaw.hooks.runner import HookReply
from openclaw.security.display import harmless, one_line
from openclaw.security.program_trust import why_untrusted
from openclaw.storage.trust_store import HOOKS


def list_(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the hooks, and whether they run. Starts nothing."""
    hooks = _open(ctx, reading=True)
    warn(fault.text for fault in hooks.faults)
    print_listing(
        hooks.as_json(),
        {"EVENT": "event", "RUN": "label", "DETAILS": _details, "STATE": _state},
        as_json=as_json,
        empty="" if hooks.faults else "no hooks yet: name one below `hooks:` in openclaw.yaml",
    )


def trust(ctx: typer.Context, yes: Unasked = False, revoke: Revoke = False) -> int:
    """Let this home's hooks run, until one of them or a file that they run changes.

    This is kept outside of the home: one that comes from elsewhere does not bring it along.
    """
    hooks = _open(ctx)
    warn(fault.text for fault in hooks.faults)
    return trust_programs("hooks", hooks, HOOKS, yes=yes, revoke=revoke)


def test(
    ctx: typer.Context,
    event: Annotated[str, typer.Argument(help="For example before_tool.")],
    tool: Annotated[
        str, typer.Option("--tool", metavar="NAME", help="The tool of a sample call.")
    ] = "run_shell",
    as_json: AsJson = False,
) -> int:
    """Run the hooks of an event with a sample of it, and show what they say.

    Nothing comes of it: no turn begins or is refused. Exits with 1 when one of them fails.
    """
    hooks, known = _open(ctx), _event(event)
    now = hooks.asked()
    chosen = [
        hook
        for hook in hooks.hooks
        if hook.event == known and (not known.endswith("_tool") or hook.matches(tool))
    ]
    if not chosen:
        raise UsageError(f"no hook is named for {known}", "openclaw hooks list")
    if why := why_untrusted(now, hooks.state(now)):
        raise Refused(f"the hooks of this home do not run: {why}", TRUST)
    facts = {**common_facts(known, hooks.home), **sample_facts(known, tool)}
    replies = [(hook, hooks.try_one(hook, facts, now)) for hook in chosen]
    shapes = [{"run": hook.run, **asdict(reply)} for hook, reply in replies]
    lines = (line for pair in replies for line in _format_reply(*pair))
    print_result(shapes, *lines, as_json=as_json)
    return int(any(reply.failed for _, reply in replies))


def _open(ctx: typer.Context, *, reading: bool = False) -> Hooks:
    home = current_home(ctx, reading=reading)
    return open_hooks(home, load_settings(home))


def _event(name: str) -> Event:
    found = next((event for event in EVENTS if event == name.replace("-", "_")), None)
    if found is None:
        raise UsageError(f"there is no event {name}", f"there are: {', '.join(EVENTS)}")
    return found


def _state(described: Shape) -> str:
    if described["trouble"]:
        return "does not run: it cannot be allowed"
    state = STATES[described["state"]]
    return f"{state}; no program" if described["missing"] else state


def _details(described: Shape) -> str:
    """Return in few words for which tools a hook runs, how long, and its other settings."""
    flags = [name for name in ("required", "trusted") if described[name]]
    words = [*(" ".join(described["match"]).split()), f"at most {described['timeout']:g} s"]
    words += [f"words {flag}" if flag == "trusted" else flag for flag in flags]
    words += [f"gets {' '.join(described['env'])}"] if described["env"] else []
    return one_line(", ".join(words))


def _format_reply(hook: Hook, reply: HookReply) -> Iterator[str]:
    code = "" if reply.code is None else f"exit code {reply.code}, "
    yield f"{one_line(hook.label)}: {code}{reply.seconds:.2f} s"
    told = (("failed", reply.failed), ("refuses", reply.refused), ("notice", reply.notice))
    lines = [f"  {name}: {one_line(text)}" for name, text in told if text]
    if reply.text:
        lines += ["  adds:", *(f"    {line}" for line in harmless(reply.text).splitlines())]
    yield from lines or ["  says nothing"]
