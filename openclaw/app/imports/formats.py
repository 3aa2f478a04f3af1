"""Tells whose folder it is: an OpenClaw's, a nanobot's, a Hermes' or one of plain notes.

What goes by: openclaw/openclaw, docs/concepts/agent-workspace and src/config/paths.ts
(openclaw.json or, earlier, clawdbot.json and moltbot.json; workspace/; agents/<id>/sessions/);
HKUDS/nanobot, nanobot/templates (config.json; workspace/ with memory/HISTORY.md, later
history.jsonl; sessions/); NousResearch/hermes-agent (memories/, state.db, config.yaml).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import islice
from typing import Literal, get_args

from openclaw.app.imports.source import Source, decoded
from openclaw.errors import OpenclawError, UsageError

Format = Literal["openclaw", "nanobot", "hermes", "notes"]
FORMATS: tuple[Format, ...] = get_args(Format)
LABELS: dict[Format, str] = {
    "openclaw": "OpenClaw",
    "nanobot": "nanobot",
    "hermes": "Hermes",
    "notes": "a folder of notes",
}
OPENCLAW_SETTINGS = ("openclaw.json", "clawdbot.json", "moltbot.json")
WORKSPACES = ("workspace", "workspace.default", "workspace-main")
IDENTITY = ("SOUL.md", "USER.md", "AGENTS.md", "IDENTITY.md", "TOOLS.md", "HEARTBEAT.md")
_MOST_TELLING_FIRST: tuple[Format, ...] = ("hermes", "nanobot", "openclaw")
NOTES = (".md", ".markdown", ".txt", ".org")
MOST_LOOKED_AT = 2000


@dataclass(frozen=True, slots=True)
class Layout:
    """Whose folder it is, and where its workspace lies: "" for the folder itself, None when it is
    none and holds none."""

    format: Format
    workspace: str | None = None


def recognised(source: Source, wanted: str = "") -> Layout:
    """The layout of a folder; `wanted` is a format that the user names. UsageError for a folder of
    none of them, and for a home of this program."""
    if wanted and wanted not in FORMATS:
        raise UsageError(f"no format '{wanted}'", f"one of {', '.join(FORMATS)}")
    if _is_ours(source):
        raise UsageError(
            f"{source.root} is a home of this program already",
            f'use it as it is: openclaw --home "{source.root}"',
        )
    if wanted == "notes":
        return Layout("notes")
    folders = (name for name in WORKSPACES if source.is_folder(name))
    workspace = next((name for name in folders if _has_identity(source, name)), "")
    itself = None if not workspace and _is_state(source) else ""
    for known in _MOST_TELLING_FIRST:
        if wanted == known or (not wanted and _is(source, known, workspace)):
            return Layout(known, None if known == "hermes" else workspace or itself)
    if _has_notes(source):
        return Layout("notes")
    raise UsageError(
        f"{source.root} is no folder that can be imported",
        "give the folder of an OpenClaw (~/.openclaw), a nanobot (~/.nanobot) or a Hermes"
        " (~/.hermes), the workspace of one, or a folder with notes (.md, .txt)",
    )


def _is(source: Source, known: Format, workspace: str) -> bool:
    if known == "hermes":
        memories = any(source.is_file(f"memories/{name}") for name in ("MEMORY.md", "USER.md"))
        state = source.is_file("state.db") and source.is_file("config.yaml")
        return memories or state
    if known == "nanobot":
        return _is_nanobot(source, workspace)
    if any(source.is_file(name) for name in OPENCLAW_SETTINGS) or source.is_folder("agents/main"):
        return True
    return bool(workspace) or _has_identity(source, "")


def _is_state(source: Source) -> bool:
    """Whether a folder holds an agent's settings and conversations, and is no workspace."""
    settings = any(source.is_file(name) for name in (*OPENCLAW_SETTINGS, "config.json"))
    return (settings or source.is_folder("agents/main")) and not _has_identity(source, "")


def _is_nanobot(source: Source, workspace: str) -> bool:
    if any(source.is_file(name) for name in OPENCLAW_SETTINGS):
        return False
    inner = f"{workspace}/" if workspace else ""
    logs = any(source.is_file(f"{inner}memory/{n}") for n in ("HISTORY.md", "history.jsonl"))
    return (
        (logs and _has_identity(source, workspace))
        or (bool(workspace) and source.is_file("config.json"))
        or any(_is_nanobots(source, folder) for folder in (f"{inner}sessions", "sessions"))
    )


def _is_nanobots(source: Source, folder: str) -> bool:
    """Whether a folder has a conversation that begins as nanobot's do."""
    looked = Source(source.root)
    found = (path for path in looked.files(folder) if path.endswith(".jsonl"))
    for path in islice(found, 3):
        try:
            first = json.loads(decoded(source.held(path)).partition("\n")[0])
        except (OpenclawError, ValueError, RecursionError):
            continue
        if isinstance(first, dict) and first.get("_type") == "metadata":
            return True
    return False


def _has_identity(source: Source, folder: str) -> bool:
    """Whether a folder is a workspace: SOUL.md or IDENTITY.md, or AGENTS.md beside USER.md."""
    names = {name.upper() for name in source.names(folder)}
    return bool(names & {"SOUL.MD", "IDENTITY.MD"}) or {"AGENTS.MD", "USER.MD"} <= names


def _is_ours(source: Source) -> bool:
    own = source.is_file("workspace/SOUL.md") and source.is_file("memory/MEMORY.md")
    return source.is_file("openclaw.yaml") or own


def _has_notes(source: Source) -> bool:
    looked = Source(source.root)
    for number, path in enumerate(looked.files()):
        if path.lower().endswith(NOTES):
            return True
        if number > MOST_LOOKED_AT:
            break
    return False
