"""What tools may do in a home: the table of modes, the rules, the sandbox and the grants."""

from __future__ import annotations

from typing import Any

from openclaw.config import Settings
from openclaw.security.grants import read_grant
from openclaw.security.policy import RULES, TABLE
from openclaw.tools.shell.sandbox import why_unavailable


def describe_policy(settings: Settings) -> dict[str, Any]:
    """Return the policy for programs; see docs/policy.md."""
    missing = why_unavailable()
    return {
        "mode": settings.mode,
        "modes": TABLE,
        "rules": [{"name": r.name, "decision": r.decision, "about": r.about} for r in RULES],
        "sandbox": {"available": missing is None, "reason": missing or ""},
        "grants": [_describe_grant(*each) for each in enumerate(settings.grants, 1)],
    }


def _describe_grant(number: int, line: str) -> dict[str, Any]:
    """Return a listed line of the settings; one that is no grant says why."""
    row = {"number": number, "line": line, "problem": "", "since": "", "kind": "", "value": line}
    try:
        grant = read_grant(line)
    except ValueError as error:
        return row | {"problem": f"no grant: {error}"}
    return row | {"since": grant.since, "kind": grant.kind, "value": grant.value}
