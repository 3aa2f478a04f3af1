"""Checks of texts: encodings, conflict markers, front matter, ids of to-dos."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from openclaw.app.health.finding import Finding, Kept, NotRepaired
from openclaw.app.health.view import View
from openclaw.files.beneath import is_ordinary
from openclaw.files.encoding import CUT, as_utf8, encoding_of
from openclaw.files.home import Home
from openclaw.files.lock import locked
from openclaw.files.markers import SIGN, conflicts
from openclaw.files.text import BOM, decode, write_if_same
from openclaw.files.yaml_bounds import yaml_trouble
from openclaw.sessions.session import from_json

LOCK_SECONDS = 5.0
_GIVEN = re.compile(r"\s\^[A-Za-z0-9-]+\s*$")
_KEY = re.compile(r"[\w-]+[ \t]*:(?:\s|$)")


def encoding(view: View) -> Iterator[Finding]:
    """Texts that are not UTF-8: the program would misread them, and refuses to write them."""
    for seen, data in view.texts():
        if (found := encoding_of(data)) == "UTF-8" or _is_anothers(seen.path, found, data):
            continue
        if not found or as_utf8(data) is None:
            advice = "restore it from a backup or from git, or remove it"
            yield Finding(f"{seen.path} holds bytes that are no text", advice=advice)
            continue
        fix, repair = "converts it to UTF-8", partial(_convert, view.path(seen), data)
        how = found if found == CUT else f"{found}, not UTF-8"
        yield Finding(f"{seen.path} is {how}", fix=fix, repair=repair)


def _is_anothers(path: str, found: str, data: bytes) -> bool:
    """Whether a file is a session that is damaged as well, which the checks of those put right."""
    is_json = path.startswith("sessions/") and path.endswith(".json")
    if not is_json or found in ("UTF-16", "UTF-32"):
        return False
    try:
        from_json((as_utf8(data) or b"").removeprefix(BOM).decode("utf-8"), "")
    except ValueError:
        return True
    return ".damaged-" in path


def _convert(path: Path, data: bytes, kept: Kept) -> str:
    kept.copy(path)
    if not write_if_same(path, data, as_utf8(data) or data):
        raise NotRepaired("another program is changing it")
    return f"converted from {encoding_of(data)} to UTF-8"


def conflict_markers(view: View) -> Iterator[Finding]:
    """What a merge has left for the user to decide; in sessions that is a check of its own."""
    for seen, data in view.texts():
        if SIGN in data and not _is_session(seen.path) and (found := conflicts(decode(data))):
            lines = ", ".join(str(each.line) for each in found[:5])
            more = f" and {len(found) - 5} more" if len(found) > 5 else ""
            advice = "decide there what should stand, and take the markers out"
            said = f"{seen.path} has conflict markers in line {lines}{more}"
            yield Finding(said, advice=advice)


def _is_session(path: str) -> bool:
    return path.startswith("sessions/") and path.endswith(".json") and path.count("/") == 1


def todo_ids(view: View) -> Iterator[Finding]:
    """To-dos with an id that another one has: which one a command means is then chance."""
    from openclaw.memory.rewrite import text_of

    path = view.home.memory / "TODO.md"
    lines = _doubled(text_of(path)) if is_ordinary(path) else []
    if lines:
        where = ", ".join(map(str, lines[:5])) + (" ..." if len(lines) > 5 else "")
        found = f"memory/TODO.md: the id of another to-do in line {where}"
        fix = "gives each but the first an id of its own"
        yield Finding(found, fix=fix, repair=partial(_new_ids, view.home))


def _doubled(text: str) -> list[int]:
    """The lines (from 1) of to-dos whose id an earlier one has."""
    from openclaw.memory.tasklist import scan

    page = scan(text)
    return [i.at + 1 for i in page.items if not i.given and _GIVEN.search(page.lines[i.at])]


def _new_ids(home: Home, kept: Kept) -> str:
    from openclaw.memory.rewrite import rewrite
    from openclaw.memory.tasklist import scan, stamped

    changed: list[int] = []

    def change(text: str) -> str:
        changed[:] = _doubled(text)
        page = scan(text)
        stamped(page)
        return "".join(page.lines)

    with locked(home.private / "locks" / "todo.lock", LOCK_SECONDS, what="the to-dos"):
        kept.copy(home.memory / "TODO.md")
        rewrite(home.memory / "TODO.md", change)
    return f"new ids: {len(changed)}"


def front_matter(view: View) -> Iterator[Finding]:
    """Skills that are not loaded for what stands in their head, and heads of memories and of the
    workspace's files that are no YAML."""
    for seen, data in view.texts():
        name = seen.path.rpartition("/")[2]
        if name == "SKILL.md" and seen.path.startswith(("skills/", ".agents/")):
            yield from _skill(view.path(seen), seen.path)
            continue
        plain = seen.path.startswith(("memory/", "workspace/")) and name.endswith(".md")
        if plain and (reason := _broken_head(data)):
            advice = "fix the lines between the two ---"
            yield Finding(f"{seen.path}: its front matter {reason}", advice=advice)


def _skill(file: Path, path: str) -> Iterator[Finding]:
    from openclaw.skills.check import check

    found = [p for p in check(file) if p.level == "error" or p.code == "yaml-repaired"]
    if found:
        worst = min(found, key=lambda problem: problem.level)
        what = "is not loaded" if worst.level == "error" else "can only just be read"
        advice = f"fix it: openclaw skills validate {path}"
        yield Finding(f"{path} {what}: {worst.message}", advice=advice)


def _broken_head(data: bytes) -> str:
    """What is wrong with the YAML that a Markdown file begins with, "" for nothing."""
    if not data[:8].lstrip(b"\xef\xbb\xbf").startswith(b"---"):
        return ""
    lines = decode(data[:20_000]).splitlines()
    if lines[0].rstrip() != "---" or len(lines) < 2 or not _KEY.match(lines[1]):
        return ""
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), 0)
    if not end:
        return "is never closed" if len(data) < 20_000 else ""
    import yaml

    head = "\n".join(lines[1:end])
    line, trouble = yaml_trouble(head)
    if trouble:
        return f"is too much YAML in line {line + 1} ({trouble})"
    try:
        yaml.safe_load(head)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 2
        return f"is no YAML in line {line} ({error.problem or error.context})"
    except (yaml.YAMLError, ValueError, RecursionError):
        return "is no YAML"
    return ""
