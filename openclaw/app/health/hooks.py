"""Checks the hooks that openclaw.yaml names: written as they should be, allowed, there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from openclaw.app.health.finding import Finding
from openclaw.app.health.view import View
from openclaw.config import load_settings
from openclaw.errors import OpenclawError, Refused

if TYPE_CHECKING:
    from openclaw.config.hooks import Hook

MEND = "fix it in openclaw.yaml (docs/hooks.md)"


def hooks(view: View) -> Iterator[Finding]:
    """What keeps hooks from running. A required one then refuses turns or tools: that is a fault.
    Settings that cannot be read have a check of their own."""
    try:
        settings = load_settings(view.home)
    except OpenclawError:
        return
    if not settings.hooks:
        return
    from openclaw.app.hooks import TRUST, open_hooks
    from openclaw.app.trust import why_not

    found = open_hooks(view.home, settings)
    for fault in found.faults:
        yield _finding(fault.text, MEND, required=fault.required)
    if not found.hooks:
        return
    needed = any(hook.required for hook in found.hooks)
    now = found.asked()
    if why := why_not(now, found.state(now)):
        yield _finding(f"not run ({len(found.hooks)}): {why}", TRUST, required=needed)
    for hook in found.hooks:
        if name := now.missing(hook):
            said = f"{name}, which {hook.event} runs, is not there"
            yield _finding(said, MEND, required=hook.required)
        elif (name := _started(hook)) in now.programs.named and not _may_run(view, name):
            yield _finding(f"{name} may not be run", f"chmod +x {name}", required=hook.required)


def _started(hook: Hook) -> str:
    """What a hook begins with, as a path of the home if it is one."""
    first = (hook.run.split() if isinstance(hook.run, str) else hook.run)[0]
    return os.path.normpath(first).replace(os.sep, "/")


def _may_run(view: View, path: str) -> bool:
    return os.name == "nt" or os.access(view.home.root / path, os.X_OK)


def _finding(found: str, advice: str, *, required: bool) -> Finding:
    if required:
        return Finding(found, "fault", advice, exit_code=Refused.exit_code)
    return Finding(found, "warning", advice)
