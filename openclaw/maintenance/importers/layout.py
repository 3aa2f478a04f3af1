"""Tells whose folder it is: an OpenClaw's, a nanobot's, a Hermes' or one of plain notes.

What goes by: openclaw/openclaw, docs/concepts/agent-workspace and src/config/paths.ts
(openclaw.json or, earlier, clawdbot.json and moltbot.json; workspace/; agents/<id>/sessions/);
HKUDS/nanobot, nanobot/templates (config.json; workspace/ with memory/HISTORY.md, later
history.jsonl; sessions/); NousResearch/hermes-agent (memories/, state.db, config.yaml).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from openclaw.errors import UsageError
from openclaw.frozen import frozen
from openclaw.maintenance.importers.source import Source, find_databases
from openclaw.maintenance.importers.steps import FORMATS, Format, SourceItem

OPENCLAW_SETTINGS = ("openclaw.json", "clawdbot.json", "moltbot.json")
WORKSPACES = ("workspace", "workspace.default", "workspace-main")
IDENTITY = ("SOUL.md", "USER.md", "AGENTS.md", "IDENTITY.md", "TOOLS.md", "HEARTBEAT.md")
_MAX_TELLING_FIRST: tuple[Format, ...] = ("hermes", "nanobot", "openclaw")
NOTES = (".md", ".markdown", ".txt", ".org")
MAX_LOOKED_AT = 2000


@frozen
class Layout:
    """The program that a folder belongs to, and the place of its workspace: "" for the folder
    itself, None for no workspace."""

    format: Format
    workspace: str | None = None


def detect_layout(source: Source, wanted: str = "") -> Layout:
    """Return the layout of a folder; `wanted` is a format that the user names.

    UsageError for a folder of none of them, and for a home of this program.
    """
    if wanted and wanted not in FORMATS:
        raise UsageError(f"no format '{wanted}'", f"one of {', '.join(FORMATS)}")
    own = source.is_file("workspace/SOUL.md") and source.is_file("memory/MEMORY.md")
    if source.is_file("openclaw.yaml") or own:
        raise UsageError(
            f"{source.root} is a home of this program already",
            f'use it as it is: openclaw --home "{source.root}"',
        )
    if wanted == "notes":
        return Layout("notes")
    folders = (name for name in WORKSPACES if source.is_folder(name))
    workspace = next((name for name in folders if _has_identity(source, name)), "")
    itself = None if not workspace and _is_state(source) else ""
    for known in _MAX_TELLING_FIRST:
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
    settings = any(source.is_file(name) for name in OPENCLAW_SETTINGS)
    if known == "hermes":
        memories = any(source.is_file(f"memories/{name}") for name in ("MEMORY.md", "USER.md"))
        return memories or (source.is_file("state.db") and source.is_file("config.yaml"))
    if known == "nanobot":
        inner = f"{workspace}/memory" if workspace else "memory"
        logs = any(source.is_file(f"{inner}/{name}") for name in ("HISTORY.md", "history.jsonl"))
        own = workspace and source.is_file("config.json")
        return not settings and bool(own or (logs and _has_identity(source, workspace)))
    return (
        settings or source.is_folder("agents/main") or bool(workspace) or _has_identity(source, "")
    )


def _is_state(source: Source) -> bool:
    """Tell whether a folder holds an agent's settings and conversations, and is no workspace."""
    settings = any(source.is_file(name) for name in (*OPENCLAW_SETTINGS, "config.json"))
    return (settings or source.is_folder("agents/main")) and not _has_identity(source, "")


def _has_identity(source: Source, folder: str) -> bool:
    """Tell whether a folder is a workspace: it has SOUL.md or IDENTITY.md, or AGENTS.md with
    USER.md."""
    names = {name.upper() for name in source.names(folder)}
    return bool(names & {"SOUL.MD", "IDENTITY.MD"}) or {"AGENTS.MD", "USER.MD"} <= names


def _has_notes(source: Source) -> bool:
    first = islice(Source(source.root).files(), MAX_LOOKED_AT)
    return any(path.lower().endswith(NOTES) for path in first)


TEXTS = (*NOTES, ".rst", ".csv", ".tsv", ".html", ".htm", ".canvas")
OTHERS = tuple(
    ".pdf .png .jpg .jpeg .gif .webp .bmp .svg .mp3 .m4a .wav .ogg .docx .odt .xlsx .ods .pptx "
    ".epub".split()
)
_DAY = re.compile(r"(?:.*/)?(\d{4}-\d{2}-\d{2})\.md")
_DAY_AND_MORE = re.compile(r"\d{4}-\d{2}-\d{2}[^/]*\.md")
_TODO = re.compile(r"to-?dos?\.(?:md|markdown)", re.IGNORECASE)
_FIRST_START = ("BOOTSTRAP.MD", "BOOT.MD")
# Archives and checkpoints of conversations (openclaw/openclaw, src/config/sessions/artifacts.ts)
# and requests that Hermes has kept for finding faults.
_COPY = re.compile(r".+\.(?:checkpoint\.[0-9a-f-]{36}|trajectory)\.jsonl|request_dump_.+")
_ARCHIVED = re.compile(r".+\.jsonl\.(?:bak|reset|deleted)\..+|sessions\.json\.bak\..+")

SETTINGS = "settings, which may hold keys: not read; see what there is here: openclaw config"
SECRETS = "credentials: not read"
OTHER = "another workspace: import it by itself"
FIRST_START = "only for the first start of the other agent"
_TOP = {
    "openclaw.json": SETTINGS, "clawdbot.json": SETTINGS, "moltbot.json": SETTINGS,
    "config.json": SETTINGS, "config.yaml": SETTINGS, "exec-approvals.json": SETTINGS,
    "auth.json": SECRETS, "auth.lock": SECRETS, "credentials": SECRETS, "identity": SECRETS,
    "devices": SECRETS, "secrets": SECRETS, "oauth": SECRETS, "pairing": SECRETS,
    "whatsapp-auth": SECRETS, "cron": "jobs by the clock, which there are none of here",
    "profiles": "other profiles: import each by itself",
}  # fmt: skip


def sort_items(source: Source, layout: Layout) -> Iterator[SourceItem]:
    """Return the items that can be imported. The others go to `left` of the source, with the
    reason."""
    if layout.format == "notes":
        yield from _notes(source)
    elif layout.format == "hermes":
        yield from _hermes(source)
    else:
        if layout.workspace is not None:
            inner = f"{layout.workspace}/" if layout.workspace else ""
            apart = {f"{inner}{name}" for name in ("skills", "sessions")}
            apart |= set() if layout.workspace else {"agents", "cron", "media", *_TOP}
            for path in source.files(layout.workspace, but=frozenset(apart)):
                name = path.removeprefix(inner)
                if known := _known(path, name):
                    yield known
                elif "/" in name or not name.upper().endswith(_FIRST_START):
                    yield from _other(source, path, _agents_place(name))
                else:
                    source.leave(path, FIRST_START)
        yield from _sessions(source, layout)
        yield from _skills(source, layout.workspace or "")
    if layout.format != "notes":
        _leave_others(source, layout)


def _known(path: str, name: str) -> SourceItem | None:
    """Return the item of a workspace file that has a meaning by its name."""
    proper = next((one for one in IDENTITY if one.upper() == name.upper()), "")
    if proper:
        return SourceItem("identity", path, proper)
    if name.upper() in ("MEMORY.MD", "MEMORY/MEMORY.MD"):
        return SourceItem("memory", path)
    if name == "memory/HISTORY.md":
        return SourceItem("note", path, "memory/notes/nanobot-history.md")
    if name == "memory/history.jsonl":
        return SourceItem("note", path, "memory/notes/nanobot-log.md", "log")
    day = _DAY.fullmatch(name)
    if day and name == f"memory/{day[1]}.md":
        return SourceItem("daily", path, f"{day[1]}.md")
    if _TODO.fullmatch(name.removeprefix("memory/")):
        return SourceItem("to-dos", path)
    return None


def _agents_place(name: str) -> str:
    """Return the place in the home of a file of an agent's workspace: its memory goes to memory,
    the rest to the user's own files."""
    if not name.startswith("memory/"):
        return f"workspace/{name}"
    rest = name.removeprefix("memory/")
    return f"memory/{rest}" if _DAY_AND_MORE.fullmatch(rest) else f"memory/notes/{rest}"


def _notes(source: Source) -> Iterator[SourceItem]:
    for path in source.files():
        day = _DAY.fullmatch(path)
        if day:
            yield SourceItem("daily", path, f"{day[1]}.md")
        elif path.upper() == "MEMORY.MD":
            yield SourceItem("memory", path)
        elif _TODO.fullmatch(path.rpartition("/")[2]):
            yield SourceItem("to-dos", path)
        else:
            yield from _other(source, path, f"workspace/notes/{path}")


def _hermes(source: Source) -> Iterator[SourceItem]:
    for name in ("SOUL.md", "AGENTS.md"):
        if source.is_file(name) and source.takes(name):
            yield SourceItem("identity", name, name)
    for path in source.files("memories"):
        if path == "memories/USER.md":
            yield SourceItem("identity", path, "USER.md", "entries")
        elif path == "memories/MEMORY.md":
            yield SourceItem("memory", path, shape="entries")
        elif not path.endswith((".lock", ".bak")):
            yield from _other(source, path, f"memory/notes/{path.removeprefix('memories/')}")
    for path in source.files("sessions"):
        yield from _session(source, path, (".json", ".jsonl"))
    yield from _skills(source, "")


def _other(source: Source, path: str, place: str) -> Iterator[SourceItem]:
    lower = path.lower()
    if lower.endswith(TEXTS):
        yield SourceItem("note", path, place)
    elif lower.endswith(OTHERS):
        yield SourceItem("file", path, place)
    else:
        source.leave(path, "no note, and no kind of file that notes hold")


def _sessions(source: Source, layout: Layout) -> Iterator[SourceItem]:
    folders = [f"{layout.workspace}/sessions"] if layout.workspace else []
    folders += ["sessions", *(f"agents/{name}/sessions" for name in source.names("agents"))]
    for folder in folders:
        for path in source.files(folder):
            yield from _session(source, path, (".jsonl",))


def _session(source: Source, path: str, kinds: tuple[str, ...]) -> Iterator[SourceItem]:
    name = path.rpartition("/")[2]
    if name == "sessions.json" or name.endswith((".lock", ".meta.json")):
        return
    if _COPY.fullmatch(name) or _ARCHIVED.fullmatch(name):
        source.leave(path, "a copy or an archive of a conversation")
    elif name.endswith(kinds):
        yield SourceItem("session", path)
    else:
        source.leave(path, "no conversation in plain JSON")


def _skills(source: Source, workspace: str) -> Iterator[SourceItem]:
    for folder in dict.fromkeys((f"{workspace}/skills".lstrip("/"), "skills")):
        if source.is_folder(folder):
            yield SourceItem("skills", folder)


def _leave_others(source: Source, layout: Layout) -> None:
    """Name the other files at the top, which are not imported."""
    for path in find_databases(source):
        source.left[path] = "SQLite, which is not read"
    for name in source.names("agents"):
        if source.is_folder(f"agents/{name}/agent"):
            source.leave(f"agents/{name}/agent", "keys and state of the agent: not read")
    walked = layout.workspace == ""
    taken = {layout.workspace, "skills", "sessions", "memories", "agents", "SOUL.md", "AGENTS.md"}
    for name in source.names():
        if name.startswith(".env"):
            source.leave(name, SECRETS)
        elif name in _TOP or not (walked or name in taken or name.startswith(".")):
            source.leave(name, _reason(source, name))


def _reason(source: Source, name: str) -> str:
    """Return the reason why a file or folder at the top is not imported."""
    if name in WORKSPACES or name.startswith("workspace-"):
        return OTHER if source.is_folder(name) else "a link: import where it leads"
    return _TOP.get(name, "nothing that is imported")
