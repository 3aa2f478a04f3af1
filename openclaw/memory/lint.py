"""Runs all checks of the memory, and applies the edits of their findings.

Pure functions on texts. This file checks single lines, the other `lint_` modules whole memories.
`openclaw.maintenance.memory_lint` adds the checks that need the index, the conversations or git.
"""

from __future__ import annotations

import difflib
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

from openclaw.memory.lint_contradictions import find_contradictions, find_relative_dates
from openclaw.memory.lint_duplicates import find_duplicates
from openclaw.memory.lint_findings import (
    LEVELS,
    REDACTED,
    Document,
    Edit,
    LintContext,
    LintFinding,
    quote,
)
from openclaw.memory.lint_links import LinkChecker
from openclaw.memory.markdown import read_page
from openclaw.memory.notes import MAX_CHARS
from openclaw.memory.pages import gathered_lines
from openclaw.security import secrets, untrusted
from openclaw.security.agent_orders import find_orders
from openclaw.security.display import count_of
from openclaw.security.masking import mask_of


def lint(documents: Iterable[Document], around: LintContext) -> list[LintFinding]:
    """Return the findings in all texts of a memory, sorted by file and line.

    The texts are compared with each other, so give all of them. Lines that the program gathered on
    pages are left out: what is wrong with one is wrong with its source.
    """
    known = [*documents]
    links = LinkChecker(known, around)
    found = list(find_duplicates(known))
    gone = {(edit.path, edit.start) for each in found for edit in each.edits if not edit.text}
    found += find_contradictions(known, gone)
    gathered = set[tuple[str, int]]()
    for document in known:
        for check in _CHECKS if document.kind != "todo" else ():
            found += check(document)
        found += find_relative_dates(document)
        found += links.find_dead(document)
        gathered |= {(document.path, at + 1) for at in gathered_lines(document.text)}
    kept = [each for each in found if (each.path, each.line) not in gathered]
    return sorted(kept, key=lambda f: (f.path, f.line, [*LEVELS].index(f.check)))


def is_fault(finding: LintFinding) -> bool:
    return finding.level != "advice"


def _check_hidden(document: Document) -> Iterator[LintFinding]:
    if document.text.isascii() and document.text.isprintable():
        return
    for at, line in enumerate(document.page.lines):
        bare = line.rstrip("\r\n")
        if found := untrusted.find_hidden(bare.removeprefix("\ufeff") if at == 0 else bare):
            signs = ", ".join(dict.fromkeys(f"U+{ord(char):04X}" for char in found))
            shown = untrusted.strip_hidden(bare)
            said = quote(shown.strip(" \t-*+"))
            message = f"{count_of(len(found), 'hidden character')} ({signs}) in {said}"
            edit = " ".join(shown.split("\n"))
            yield document.finding("hidden", at, message, "take them out", edit=edit)


def _check_secrets(document: Document) -> Iterator[LintFinding]:
    spans = secrets.find_secrets(document.text)
    if not spans:
        return
    lines = document.page.lines
    starts = [0, *accumulate(map(len, lines))]
    for secret in spans:
        first, last = bisect(starts, secret.start) - 1, bisect(starts, secret.end - 1) - 1
        name = mask_of(f"{secret.kind}-1").replace("-1}", "-N}")
        masked = None
        advice = f"take lines {first + 1} to {last + 1} out, and have it replaced where it is used"
        if first == last:
            line, begin = lines[first].rstrip("\r\n"), starts[first]
            masked = line[: secret.start - begin] + name + line[secret.end - begin :]
            advice = (
                f"keep it apart as {name}, and have it replaced where it is used: git may know it"
            )
        message = f"a secret in plain text ({secret.kind})"
        yield document.finding("secret", first, message, advice, last=last + 1, edit=masked)


def _check_orders(document: Document) -> Iterator[LintFinding]:
    plain = untrusted.strip_hidden(document.text)
    lines = plain.split("\n")
    for at in find_orders(plain):
        message = f"words that give an agent orders: {quote(lines[at].strip(' -*+'))}"
        advice = "if you did not write this, take it out"
        last = len(document.page.lines) - 1
        yield document.finding("order", min(at, last), message, advice)


def _check_length(document: Document) -> Iterator[LintFinding]:
    for entry in document.entries:
        if len(entry.text) > MAX_CHARS and not entry.superseded:
            message = f"{len(entry.text)} characters; an entry has at most {MAX_CHARS}"
            advice = "split it into facts of one line each"
            yield document.finding("too-long", entry.at, message, advice, last=entry.end)


_CHECKS = (_check_hidden, _check_secrets, _check_orders, _check_length)
"""Those of single lines and entries."""


def apply_fixes(documents: Iterable[Document], found: Iterable[LintFinding]) -> dict[str, str]:
    """Apply the edits of findings; return the new texts of the changed files by path.

    A finding that would change the same lines as an earlier one waits for the next run.
    """
    before = {document.path: document for document in documents}
    lines = {path: [*document.page.lines] for path, document in before.items()}
    taken = set[tuple[str, int]]()
    edits: list[Edit] = []
    for finding in found:
        places = {(e.path, at) for e in finding.edits for at in range(e.start, e.end)}
        if taken.isdisjoint(places):
            taken |= places
            edits += finding.edits
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        lines[edit.path][edit.start : edit.end] = [edit.text] if edit.text else []
    new = {path: "".join(lines[path]) for path in {edit.path for edit in edits}}
    return {path: text for path, text in new.items() if text != before[path].text}


def format_diff(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """Yield a unified diff of the files of `after`, without line ends and without secrets."""
    for path in sorted(after):
        old, new = (
            [
                line.rstrip("\r\n")
                for line in read_page(secrets.without_secrets(side[path], REDACTED)).lines
            ]
            for side in (before, after)
        )
        yield f"diff --git a/{path} b/{path}"
        yield from difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm="")
