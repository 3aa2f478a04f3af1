"""Makes the toolbox of one turn."""

from __future__ import annotations

from pathlib import Path

from openclaw.app.provenance import Provenance
from openclaw.app.rooms import Rooms
from openclaw.app.shelf import Shelf
from openclaw.memory.notes import Notes
from openclaw.safety.denied import denied, denied_name
from openclaw.shapes import Ledger
from openclaw.tools.policy import Policy
from openclaw.tools.toolbox import Tool, Toolbox


def toolbox(
    rooms: Rooms,
    ledger: Ledger,
    shelf: Shelf,
    source: str = "",
    watch: Provenance | None = None,
) -> Toolbox:
    """The tools, under the policy. `source` is noted with what they remember; `watch` looks on."""
    from openclaw.tools.sandbox import available

    policy = Policy(rooms.mode, rooms.ask_user, rooms.grants, available, _denied)
    tools = _built_in(rooms, ledger, shelf, source, watch)
    listed, beyond = rooms.served.share(tools, shelf.request)
    return Toolbox(listed, policy, ledger, beyond=beyond, watch=watch, apart=rooms.vault)


def _built_in(
    rooms: Rooms, ledger: Ledger, shelf: Shelf, source: str, watch: Provenance | None
) -> list[Tool]:
    from openclaw.tools.build import build_tools
    from openclaw.tools.runner import Runner

    shell = rooms.settings.shell
    return build_tools(
        rooms.home,
        ledger,
        todos=rooms.todos,
        notes=Notes(rooms.home.memory, today=lambda: rooms.now().date(), source=lambda: source),
        skills=shelf,
        searcher=rooms.recall if rooms.settings.recall != "off" and rooms.use_memory else None,
        search=rooms.search,
        region=rooms.settings.web.region,
        results=rooms.settings.web.results,
        seen=rooms.seen,
        allow_hosts=rooms.settings.web.allow_hosts,
        origin=watch.origin if watch else lambda text: "",
        vault=rooms.vault,
        runner=Runner(rooms.home, ledger, shell.timeout, shell.env, shell.network),
    )


def _denied(path: str) -> str:
    """Why a file is closed; where the home itself lies does not count."""
    return denied(Path(path)) if Path(path).is_absolute() else denied_name(path)
