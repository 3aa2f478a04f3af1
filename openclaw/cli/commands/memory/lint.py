"""`openclaw memory lint`: show what is wrong in the memory, and a diff that repairs it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Annotated

import typer

from openclaw.cli.current_home import current_home
from openclaw.cli.formatting import (
    line_width,
    paint,
    print_json,
    print_lines,
    print_result,
    warn,
    wrap,
)
from openclaw.cli.open_agent import open_agent
from openclaw.cli.options import AsJson, Unasked
from openclaw.cli.questions import confirm
from openclaw.errors import UsageError
from openclaw.maintenance.memory_lint import (
    LintReport,
    apply,
    apply_fixes_to_texts,
    chosen_paths,
    lint_home,
    staged_findings,
    staged_lines,
)
from openclaw.memory.lint import format_diff, is_fault
from openclaw.memory.lint_findings import LintFinding
from openclaw.security.display import count_of, one_line
from openclaw.security.untrusted import show_hidden
from openclaw.storage.home import Home
from openclaw.storage.text import replace_bad_bytes

FAULTS = 1
COLOURS = {"error": "\x1b[1;31m", "warning": "\x1b[35m", "advice": "\x1b[36m"}


def lint(
    ctx: typer.Context,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH...", help="Only these files or folders.")
    ] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Show a diff that fixes what can be fixed.")
    ] = False,
    apply_it: Annotated[
        bool, typer.Option("--apply", help="With --fix: make these changes, as one turn.")
    ] = False,
    yes: Unasked = False,
    staged: Annotated[
        bool, typer.Option("--staged", help="Only the lines that are staged in git.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Look the memory over: doubled and contradicting entries, days that nobody knows, secrets,
    hidden characters, orders to the agent, dead links. Exit code 1 when there are faults, 0 for
    advice alone. No model is needed, and nothing is written without --apply."""
    if apply_it and not fix:
        raise UsageError("--apply goes with --fix", "openclaw memory lint --fix --apply")
    if staged and fix:
        raise UsageError("--staged only looks", "leave --fix out, or --staged")
    home = current_home(ctx, notes=True, reading=not apply_it)
    chosen = chosen_paths(home, paths or [])
    documents, lines = staged_lines(home) if staged else (None, {})
    report = lint_home(home, documents)
    if staged:
        report = replace(report, findings=staged_findings(report.findings, lines))
    report = report.within(chosen)
    if not fix:
        print_result(
            [each.as_json() for each in report.findings], *_lines(report.findings), as_json=as_json
        )
        if not as_json:
            _tell_sum(report)
    elif not apply_it:
        _show_fixes(report, as_json=as_json)
    else:
        report = _apply(ctx, home, report, yes=yes, as_json=as_json).within(chosen)
    return FAULTS if any(map(is_fault, report.findings)) else 0


# ---- what is found


def _lines(found: Sequence[LintFinding]) -> Iterator[str]:
    """Two lines for each finding: where and what, and what to do; wrapped on a terminal."""
    width = line_width(sys.stdout)
    for finding in found:
        place = one_line(f"{finding.path}:{finding.line}:")
        first = f"{place} {finding.level}: {one_line(finding.message)} [{finding.check}]"
        lines = wrap(first, width, "    ")
        level = f"{finding.level}:"
        lines[0] = lines[0].replace(level, paint(level, COLOURS[finding.level]), 1)
        yield from lines
        if finding.advice:
            yield from wrap(f"    -> {one_line(finding.advice)}", width, "       ")


def _tell_sum(report: LintReport) -> None:
    typer.echo("\n".join(wrap(_sum(report), line_width(sys.stderr), "")), err=True)


def _sum(report: LintReport) -> str:
    counts = Counter[str](finding.level for finding in report.findings)
    named = [
        f"{counts[level]} {level}" if level == "advice" else count_of(counts[level], level)
        for level in COLOURS
        if counts[level]
    ]
    entries = sum(len(document.entries) for document in report.documents)
    files = count_of(len(report.documents), "file")
    where = f"{entries:,} entr{'y' if entries == 1 else 'ies'} of {files}"
    able = sum(bool(finding.edits) for finding in report.findings)
    more = f"; {able} can be fixed: openclaw memory lint --fix" if able else ""
    return f"{', '.join(named) or 'nothing found'} in {where}{more}"


# ---- fixes


def _diff(report: LintReport, after: dict[str, str]) -> list[str]:
    lines = format_diff({document.path: document.text for document in report.documents}, after)
    return [show_hidden(line) for line in lines] if sys.stdout.isatty() else [*lines]


def _show_fixes(report: LintReport, *, as_json: bool) -> None:
    after = apply_fixes_to_texts(report)
    if as_json:
        shapes = [each.as_json() for each in report.findings]
        diffs = [
            {"path": path, "diff": replace_bad_bytes("\n".join([*_diff(report, {path: text}), ""]))}
            for path, text in sorted(after.items())
        ]
        print_json({"findings": shapes, "files": diffs})
        return
    print_lines(_diff(report, after))
    left = sum(is_fault(finding) for finding in report.findings if not finding.edits)
    said = "nothing was written" if after else "nothing here can be fixed by code"
    said += f"; {count_of(left, 'fault')} only you can fix" if left else ""
    said += "; to do it: openclaw memory lint --fix --apply" if after else ""
    typer.echo(said, err=True)


def _apply(
    ctx: typer.Context, home: Home, report: LintReport, *, yes: bool, as_json: bool
) -> LintReport:
    """Ask for each file, write, and check again. Return the report of what is left."""
    accepted = []
    for path, text in sorted(apply_fixes_to_texts(report).items()):
        if not (yes and as_json):
            print_lines(_diff(report, {path: text}))
        if confirm(f"Change {path}?", yes=yes):
            accepted.append(path)
    with closing(open_agent(ctx)) as agent:
        warn(agent.recover())
        changed, notices = apply(agent, report, accepted) if accepted else ([], [])
    warn(notices)
    left = lint_home(home)
    if as_json:
        print_json({"changed": changed, "findings": [each.as_json() for each in left.findings]})
    elif changed:
        typer.echo(f"changed: {', '.join(map(one_line, changed))} (openclaw undo takes it back)")
        _tell_sum(left)
    else:
        typer.echo("nothing was changed", err=True)
    return left
