"""What the doctor says of settings that take effect only in a turn: grants, hosts, MCP servers."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from openclaw.cli.visible import one_line
from openclaw.shapes import ToolProblem

if TYPE_CHECKING:
    from openclaw.config import Settings
    from openclaw.config.servers import Server
    from openclaw.files.home import Home

State = Literal["ok", "warning", "fault"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: its state, what was found, and what to do about it. `exit_code` is what
    the command leaves with when this is the first fault. `fixed` says what --fix has repaired."""

    name: str
    state: State
    found: str
    advice: str = ""
    exit_code: int = 0
    fixed: str = ""


def check_health(home: Home, *, fix: bool = False, deep: bool = False) -> Iterator[Check]:
    """What the named checks of the home's files find (docs/doctor.md), repaired with `fix`."""
    from openclaw.app.health import checkup

    for said in checkup(home, fix=fix, deep=deep):
        advice, fixed = said.advice, one_line(said.fixed)
        found = one_line(said.found)
        yield Check(said.name, said.state, found, advice, said.exit_code, fixed)


def check_reach(home: Home, settings: Settings) -> Iterator[Check]:
    """What is set there that cannot take effect. An answer needs none of it: all are warnings."""
    yield check_grants(settings)
    yield check_hosts(settings)
    yield check_mcp(home, settings)


def check_grants(settings: Settings) -> Check:
    from openclaw.tools.grants import read_grants

    grants, notices = read_grants(settings.grants)
    if not notices:
        return Check("grants", "ok", f"{len(grants) or 'none'} in openclaw.yaml")
    return Check("grants", "warning", _some(notices), "openclaw policy revoke NUMBER|VALUE")


def check_hosts(settings: Settings) -> Check:
    name, hosts = "web.allow_hosts", settings.web.allow_hosts
    wrong = [host for host in hosts if not _may_match(host)]
    if not wrong:
        return Check(name, "ok", f"{len(hosts) or 'no'} hosts")
    found = f"never the host of a page: {_some(wrong)}"
    return Check(name, "warning", found, "write host or host:port, for example localhost:8080")


def check_mcp(home: Home, settings: Settings) -> Check:
    from openclaw.app.servers import fault_line
    from openclaw.config.servers import read_servers

    servers, faults = read_servers(settings.mcp or {})
    if faults:
        found = _some([fault_line(home, fault) for fault in faults])
        return Check("mcp", "warning", found, "fix them in openclaw.yaml (docs/mcp.md)")
    if any(not server.disabled for server in servers) and importlib.util.find_spec("mcp") is None:
        found = f"{len(servers)} servers are named, but MCP is not installed"
        return Check("mcp", "warning", found, "pip install 'openclaw[mcp]'")
    if servers and (found := _waiting(home, servers)):
        return Check("mcp", "warning", found, "openclaw mcp trust")
    return Check("mcp", "ok", f"{len(servers)} servers" if servers else "no servers")


def _waiting(home: Home, servers: Sequence[Server]) -> str:
    """Which servers are not started as nobody has said yes to the files that they run."""
    from openclaw.app.server_start import Starts
    from openclaw.app.servers import started
    from openclaw.app.trust import why_not

    starts = Starts(home, started(servers))
    now = starts.asked()
    why = why_not(now, starts.state(now)) if now.servers else ""
    names = ", ".join(server.name for server in now.servers)
    return f"not started ({names}), as they run files of this home: {why}" if why else ""


def _may_match(entry: str) -> bool:
    """Whether an entry is a host, or a host and a port, that a page may have."""
    from openclaw.safety.url import read_url

    if any(sign in entry for sign in "/?#\\"):
        return False
    try:
        read_url(f"http://{entry}")
    except ToolProblem:
        return False
    return True


def _some(texts: Sequence[str]) -> str:
    """The first three, and how many more there are."""
    more = f"; and {len(texts) - 3} more" if len(texts) > 3 else ""
    return one_line("; ".join(texts[:3]) + more)
