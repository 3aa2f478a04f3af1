"""`openclaw hooks`: the programs that openclaw.yaml names around turns and tools, and the yes that
they need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from openclaw.cli.current_home import current_home
from openclaw.cli.formatting import Shape, print_listing, print_result, warn
from openclaw.cli.options import AsJson, Revoke, Unasked, make_group
from openclaw.cli.questions import confirm, refuse_inside_agent
from openclaw.config import load_settings
from openclaw.config.hook_settings import EVENTS, Event, Hook
from openclaw.errors import OpenclawError, Refused, UsageError
from openclaw.hooks.hooks import TRUST, Hooks, common_facts, open_hooks, sample_facts
from openclaw.hooks.runner import HookReply
from openclaw.security.display import fold_blanks, harmless, one_line, some_lines
from openclaw.security.program_trust import TrustRequest, why_untrusted
from openclaw.storage.trust_store import HOOKS

if TYPE_CHECKING:
    from openclaw.agent.agent import Agent
    from openclaw.tools.mcp.start import ServerStarter


MAX_LINES = 20
STATES = {"trusted": "runs", "new": "to review", "changed": "changed, to review"}

app = make_group("List, allow and try your own programs around turns (`hooks:` in openclaw.yaml).")


@app.command("list")
def show_all(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the hooks, and whether they run. Starts nothing."""
    hooks = _open(ctx, reading=True)
    warn(fault.text for fault in hooks.faults)
    print_listing(
        hooks.as_json(),
        {"EVENT": "event", "RUN": "label", "DETAILS": _details, "STATE": _state},
        as_json=as_json,
        empty="" if hooks.faults else "no hooks yet: name one below `hooks:` in openclaw.yaml",
    )


@app.command()
def trust(
    ctx: typer.Context,
    yes: Unasked = False,
    revoke: Revoke = False,
) -> int:
    """Let this home's hooks run, until one of them or a file that they run changes.

    This is kept outside of the home: one that comes from elsewhere does not bring it along.
    """
    hooks = _open(ctx)
    warn(fault.text for fault in hooks.faults)
    return trust_programs("hooks", hooks, HOOKS, yes=yes, revoke=revoke)


def trust_programs(
    what: str, programs: Hooks | ServerStarter, kind: str, *, yes: bool, revoke: bool
) -> int:
    """Show what is to be trusted, and save the trust, or take it back; returns the exit code.
    Refused when none is possible."""
    if revoke:
        taken = programs.trust.revoke(programs.home, kind)
        typer.echo(f"the {what} of this home run no more" if taken else "they were not allowed")
        return 0
    refuse_inside_agent(what)
    now = programs.asked()
    if not (now.hooks or now.servers):
        raise UsageError(f"there are no {what} to allow", f"docs/{kind}.md tells which need it")
    if trouble := now.programs.trouble:
        raise Refused(
            f"these {what} cannot be allowed: {trouble}",
            f"keep the programs of {what} in hooks/, and other files in workspace/ (docs/hooks.md)",
        )
    for line in trust_lines(now):
        typer.echo(line)
    if programs.state(now) == "trusted":
        typer.echo("they run already")
    elif confirm("Let them run?", yes=yes):
        programs.allow(now)
        typer.echo("they run from now on, until one of them changes")
    else:
        return Refused.exit_code
    return 0


@app.command("test")
def try_event(
    ctx: typer.Context,
    event: Annotated[str, typer.Argument(metavar="EVENT", help="For example before_tool.")],
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


def ask_trust(agent: Agent, read: Callable[[str], str], say: Callable[[str], None]) -> None:
    """Ask, at the start of a chat, whether untrusted hooks may run."""
    if agent.hooks is not None and agent.hooks.hooks:
        ask_for_programs("hooks", agent.hooks, read, say)


def ask_for_programs(
    what: str,
    programs: Hooks | ServerStarter,
    read: Callable[[str], str],
    say: Callable[[str], None],
) -> None:
    """Ask for trust, if it is missing and possible. No reply means no, and the chat goes on without
    them."""
    now = programs.asked()
    state = programs.state(now)
    if not now.mark or state == "trusted":
        return
    if state == "changed":
        say(f"The {what} of this home have changed since you allowed them.")
    for line in trust_lines(now):
        say(line)
    try:
        reply = read("Let them run, until one of them changes? [y]es  [N]o ")
        if reply.strip().lower() in ("y", "yes"):
            programs.allow(now)
    except (EOFError, KeyboardInterrupt):
        return
    except OpenclawError as error:
        say(f"openclaw: {one_line(str(error))}")


def _open(ctx: typer.Context, *, reading: bool = False) -> Hooks:
    home = current_home(ctx, reading=reading)
    return open_hooks(home, load_settings(home))


def _event(name: str) -> Event:
    found = next((event for event in EVENTS if event == name.replace("-", "_")), None)
    if found is None:
        raise UsageError(f"there is no event {name}", f"there are: {', '.join(EVENTS)}")
    return found


def _state(described: Shape) -> str:
    """Return in words whether a hook runs."""
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


def trust_lines(now: TrustRequest) -> Iterator[str]:
    """Return what trust covers: each command in full, and the files of the home."""
    yield "openclaw.yaml here names programs that run with your rights, unconfined:"
    for hook in now.hooks:
        run = hook.run if isinstance(hook.run, str) else " ".join(map(repr, hook.run))
        where = f" ({' '.join(hook.match)})" if hook.match else ""
        yield f"  {hook.event}{one_line(where)}: {fold_blanks(one_line(run))}"
        if hook.env:
            yield f"    gets {one_line(', '.join(hook.env))} of your environment"
        if hook.cwd:
            yield f"    in the folder {one_line(hook.cwd)}"
        if hook.trusted:
            yield "    its words count as yours"
    for server in now.servers:
        run = " ".join(map(repr, (server.command, *server.args)))
        yield f"  mcp {one_line(server.name)}: {one_line(run)}"
        if server.cwd:
            yield f"    in the folder {one_line(server.cwd)}"
        if server.env:
            given = (f"{name}={value}" for name, value in server.env.items())
            yield f"    gets {one_line(', '.join(given))}"
    # A command names a file, or a folder that it lies in.
    words = now.programs.named
    named = [f for f in now.programs.files if any(f"{f}/".startswith(f"{w}/") for w in words)]
    others = [name for name in now.programs.files if name not in named]
    yield from _few("with these files of the home", named)
    yield from _few("nobody names these, but they lie where programs look", others)
    yield from _few("which are not there", now.programs.missing)


def _few(title: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f"{title}:"
        yield from some_lines([f"  {one_line(name)}" for name in names], MAX_LINES)


def _format_reply(hook: Hook, reply: HookReply) -> Iterator[str]:
    """Describe the result of one hook."""
    code = "" if reply.code is None else f"exit code {reply.code}, "
    yield f"{one_line(hook.label)}: {code}{reply.seconds:.2f} s"
    told = (("failed", reply.failed), ("refuses", reply.refused), ("notice", reply.notice))
    lines = [f"  {name}: {one_line(text)}" for name, text in told if text]
    if reply.text:
        lines += ["  adds:", *(f"    {line}" for line in harmless(reply.text).splitlines())]
    yield from lines or ["  says nothing"]
