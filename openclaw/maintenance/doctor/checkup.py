"""Runs the checks of `openclaw doctor`, one after the other, and repairs what they find when it
may."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from openclaw.errors import OpenclawError, Refused
from openclaw.maintenance.doctor import (
    home_files,
    prerequisites,
    private_files,
    repository,
    saved_sessions,
)
from openclaw.maintenance.doctor.finding import Check, Finding, Repair, RepairCopies, View
from openclaw.security.display import one_line
from openclaw.storage.home import Home

FileCheck = Callable[[View], Iterable[Finding]]

CHECKS: Mapping[str, FileCheck] = {
    "links": home_files.links,
    "access": home_files.rights,
    "disk": home_files.disk,
    "network": home_files.network,
    "folders": home_files.folders,
    "leftovers": home_files.files,
    "encoding": home_files.encoding,
    "sessions": saved_sessions.sessions,
    "aside": saved_sessions.aside,
    "turns": home_files.turns,
    "conflicts": home_files.conflict_markers,
    "to-dos": home_files.todo_ids,
    "front matter": home_files.front_matter,
    "private": private_files.files,
    "clock": home_files.clock,
    "index": private_files.index,
    "git": repository.git,
    "hooks": private_files.hooks,
}
"""In this order: what is repaired first lets the checks after it see more."""


def examine(
    find: Callable[[], Home],
    check_schema: prerequisites.SchemaCheck,
    model: str | None = None,
    *,
    fix: bool = False,
    deep: bool = False,
) -> Iterator[Check]:
    """Run all checks in order. Without a home only those that need none."""
    try:
        home = find()
    except Refused:
        raise
    except OpenclawError as error:
        yield prerequisites.to_fault("home", error)
        yield from prerequisites.check_machine()
        return
    yield prerequisites.check_home(home)
    yield from check_home_files(home, fix=fix, deep=deep)
    yield from prerequisites.check_files(home)
    settings, check = prerequisites.check_settings(home)
    yield check
    if settings:
        yield from prerequisites.check_model(home, settings, model, check_schema)
        yield prerequisites.check_embedding(settings)
        # Settings that cannot take effect. An answer needs none of them: all are warnings.
        yield prerequisites.check_grants(settings)
        yield prerequisites.check_hosts(settings)
        yield prerequisites.check_mcp(home, settings)
    yield prerequisites.check_memory(home)
    yield from prerequisites.check_machine()


def check_home_files(
    home: Home,
    *,
    fix: bool = False,
    deep: bool = False,
    checks: Mapping[str, FileCheck] = CHECKS,
) -> Iterator[Check]:
    """Run the checks of the home's files; one that finds nothing gives one result that says so.

    With `fix` each finding that can be repaired is repaired, and the copies are named at the end.
    Nothing is raised: a check that fails is a fault of its own.
    """
    view, kept = View(home, deep), RepairCopies(home)
    for name, check in checks.items():
        results = list(_run(name, check, view, kept if fix else None))
        if any(result.fixed for result in results):
            view = View(home, deep)  # the files are not as they were
        yield from results or [Check(name, "ok")]
    if kept.used:
        yield Check("kept", "ok", f"copies of what was repaired: {home.relative(kept.folder)}")


def _run(name: str, check: FileCheck, view: View, kept: RepairCopies | None) -> Iterator[Check]:
    try:
        for finding in list(check(view)):
            shows_fix = finding.repair and kept is None
            advice = filter(None, [finding.advice, f"--fix {finding.fix}" if shows_fix else ""])
            found, state = one_line(finding.found), finding.state
            result = Check(name, state, found, "\n".join(advice), finding.exit_code)
            if kept is not None and finding.repair:
                result = _repaired(result, finding.repair, kept)
            yield result
    except Exception as error:  # noqa: BLE001  (one check must not keep the others from running)
        found = one_line(f"the check itself failed: {type(error).__name__}: {error}")
        yield Check(name, "fault", found, "openclaw doctor --debug shows more", 1)


def _repaired(result: Check, repair: Repair, kept: RepairCopies) -> Check:
    try:
        return replace(result, state="ok", advice="", exit_code=0, fixed=one_line(repair(kept)))
    except (OpenclawError, OSError) as error:
        advice = filter(None, [f"not repaired: {error}", result.advice])
        return replace(result, advice="\n".join(advice))
