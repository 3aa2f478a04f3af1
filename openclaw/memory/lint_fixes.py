"""Turns findings into changed texts, and shows them as a diff."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping

from openclaw.memory.lint import Document, Edit, Finding, without_secrets
from openclaw.memory.page import read_page

Taken = dict[str, list[tuple[int, int]]]


def fixed(documents: Iterable[Document], found: Iterable[Finding]) -> dict[str, str]:
    """The new texts by path, of those files that change. Findings that would change the same lines
    as one before them are left for the next time."""
    texts = {document.path: document for document in documents}
    taken: Taken = {}
    edits: dict[str, list[Edit]] = {}
    for finding in found:
        if finding.edits and not any(_overlaps(edit, taken) for edit in finding.edits):
            for edit in finding.edits:
                taken.setdefault(edit.path, []).append((edit.start, edit.end))
                edits.setdefault(edit.path, []).append(edit)
    new = {path: _edited(texts[path], each) for path, each in edits.items()}
    return {path: text for path, text in new.items() if text != texts[path].text}


def _overlaps(edit: Edit, taken: Taken) -> bool:
    return any(edit.start < end and start < edit.end for start, end in taken.get(edit.path, ()))


def _edited(document: Document, edits: Iterable[Edit]) -> str:
    lines = [*document.page.lines]
    for edit in sorted(edits, key=lambda e: e.start, reverse=True):
        lines[edit.start : edit.end] = [edit.text] if edit.text else []
    return "".join(lines)


def diff(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """A unified diff of the files of `after`, without line ends; a sign stands for each secret."""
    for path in sorted(after):
        old, new = (_lines(without_secrets(side[path])) for side in (before, after))
        yield f"diff --git a/{path} b/{path}"
        yield from difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm="")


def _lines(text: str) -> list[str]:
    return [line.rstrip("\r\n") for line in read_page(text).lines]
