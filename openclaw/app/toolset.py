"""Makes the toolbox of one turn."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from openclaw.agent.events import Progress
from openclaw.agent.meter import Meter
from openclaw.agent.window import INPUT_SHARE
from openclaw.app.provenance import Provenance
from openclaw.app.rooms import Rooms
from openclaw.app.shelf import Shelf
from openclaw.app.talks import PastTalks
from openclaw.errors import OpenclawError
from openclaw.files.home import Home
from openclaw.memory.notes import Notes
from openclaw.safety.denied import denied, denied_name
from openclaw.safety.hidden import strip
from openclaw.safety.learned import Learned
from openclaw.shapes import Ledger
from openclaw.tools.paths import SPILL
from openclaw.tools.policy import Policy
from openclaw.tools.process import Show
from openclaw.tools.results import MAX_CHARS, PAGE_CHARS, Room
from openclaw.tools.spill import spill
from openclaw.tools.toolbox import Tool, Toolbox

USUAL_HEAD = 1_000
"""Tokens of the starter home's first request."""
MOST_RESULT, LEAST_RESULT = 0.3, 0.08
"""Shares of the window that one result may take."""
CHARS_A_TOKEN = 3.5
TAIL_LINES = 3
"""Of the output of a command, shown while it runs."""


def toolbox(
    rooms: Rooms,
    ledger: Ledger,
    shelf: Shelf,
    source: str = "",
    watch: Provenance | None = None,
    meter: Meter | None = None,
) -> Toolbox:
    """The tools, under the policy. `source` is noted with what they remember; `watch` looks on;
    `meter` tells which results fit the window."""
    from openclaw.tools.sandbox import available

    policy = Policy(rooms.mode, rooms.ask_user, rooms.grants, available, _denied, *_run(rooms))
    room = _room(rooms, meter) if meter else Room()
    tools = _built_in(rooms, ledger, shelf, source, watch, room)
    listed, beyond = rooms.served.share(tools, shelf.request)
    if watch and beyond:
        beyond.show = watch.listing
    elif watch:
        watch.listing(listed[len(tools) :])
    return Toolbox(
        listed,
        policy,
        ledger,
        beyond=beyond,
        room=room,
        watch=watch,
        apart=rooms.vault,
        around=rooms.hooks.around(ledger) if rooms.hooks else None,
    )


def _run(rooms: Rooms) -> tuple[bool, Sequence[str]]:
    """Whether hooks or servers run files of the home, and where these are."""
    settings = rooms.settings
    if not settings.hooks and not settings.mcp:
        return False, ()
    from openclaw.app.programs import places
    from openclaw.app.server_words import code_words, in_home
    from openclaw.config.hooks import read_hooks
    from openclaw.config.servers import read_servers

    root = Path(os.path.realpath(rooms.home.root))
    servers = [code_words(root, server) for server in read_servers(settings.mcp or {})[0]]
    commands = [each for hook in read_hooks(settings.hooks or {})[0] for each in hook.commands]
    hooked = bool(settings.hooks) or any(in_home(root, words) for words in servers)
    return hooked, tuple(places(root, [*commands, *servers]))


def _built_in(
    rooms: Rooms,
    ledger: Ledger,
    shelf: Shelf,
    source: str,
    watch: Provenance | None,
    room: Room,
) -> list[Tool]:
    from openclaw.tools.build import build_tools
    from openclaw.tools.runner import Runner

    shell = rooms.settings.shell
    todos = rooms.todos
    todos.keep = ledger.keep
    return build_tools(
        rooms.home,
        ledger,
        todos=todos,
        notes=Notes(
            rooms.home.memory,
            today=lambda: rooms.now().date(),
            source=lambda: source,
            keep=ledger.keep,
        ),
        skills=shelf,
        searcher=rooms.recall if rooms.settings.recall != "off" and rooms.use_memory else None,
        talks=PastTalks(rooms, watch) if rooms.use_memory else None,
        search=rooms.search,
        region=rooms.settings.web.region,
        results=rooms.settings.web.results,
        seen=rooms.seen,
        allow_hosts=rooms.settings.web.allow_hosts,
        origin=watch.origin if watch else lambda text: "",
        vault=rooms.vault,
        runner=Runner(
            rooms.home,
            ledger,
            shell.timeout,
            shell.env,
            shell.network,
            room=room,
            show=_shown(rooms, rooms.progress) if rooms.progress else None,
        ),
        room=room,
    )


def _shown(rooms: Rooms, tell: Callable[[Progress], None]) -> Show:
    """Shows the last lines of what a command prints, without secrets."""

    def show(text: str) -> None:
        with suppress(OpenclawError):  # what cannot be masked is not shown
            lines = [line for line in rooms.vault.veiled(strip(text)).split("\n") if line.strip()]
            tell(Progress(tail=tuple(lines[-TAIL_LINES:])))

    return show


def page_of(window: int) -> int:
    """Characters of a file that one result shows where the window has so many tokens."""
    return min(PAGE_CHARS, int(result_tokens(window) * CHARS_A_TOKEN))


def result_tokens(window: int) -> int:
    """The most tokens that one result may have: a third of what a usual head leaves of a request,
    so that the last two exchanges still fit beside it."""
    left = (int(window * INPUT_SHARE) - USUAL_HEAD) // 3
    return max(int(window * LEAST_RESULT), min(left, int(window * MOST_RESULT)))


def _room(rooms: Rooms, meter: Meter) -> Room:
    window = rooms.model.card.window
    tokens = result_tokens(window)
    return Room(
        chars=min(MAX_CHARS, tokens * 4),
        tokens=tokens,
        within=meter.fits,
        keep=lambda text, source: spilled(rooms.home, text, source),
        page=page_of(window),
    )


def spilled(home: Home, text: str, source: str) -> str:
    """The path of a file of the home that holds a text too long to be shown, "" where it cannot be
    kept; `source` says whose it is when it is not the user's."""
    try:
        path = home.relative(spill(home.root / SPILL, text))
    except OpenclawError:
        return ""
    if source:
        Learned(home).note(path, source, "")
    return path


def material_room(rooms: Rooms, meter: Meter, parts: int) -> Room:
    """How much of each of so many attachments a prompt shows: half of what the head leaves."""
    window = rooms.model.card.window
    left = (int(window * INPUT_SHARE) - USUAL_HEAD) // 2
    tokens = max(int(window * LEAST_RESULT), left) // max(1, parts)
    return replace(_room(rooms, meter), chars=tokens * 4, tokens=tokens)


def _denied(path: str) -> str:
    """Why a file is closed; where the home itself lies does not count."""
    return denied(Path(path)) if Path(path).is_absolute() else denied_name(path)
