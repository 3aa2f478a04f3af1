"""Skills: folders with a SKILL.md, read tolerantly. A bad skill is a problem in the result."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

MAX_BYTES = 1024 * 1024
MAX_FRONTMATTER = 16 * 1024
MAX_DEPTH = 6
SKIPPED = frozenset({"node_modules", "__pycache__", "venv"})

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_FIELD = re.compile(r"(?P<key>[A-Za-z_-]+):[ \t]*(?P<value>.*)$")

Level = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill that can be used. `path` is its SKILL.md, `body` the text without frontmatter."""

    name: str
    description: str
    path: Path
    body: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with the SKILL.md at `path`. An error means that it is not loaded."""

    path: Path
    level: Level
    code: str
    message: str


class _SkillError(Exception):
    """An error that ends the reading of one skill."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def read_skills(folder: Path) -> tuple[list[Skill], list[Problem]]:
    """All skills below a folder, by name, and what is wrong with them and with the broken ones.

    Of two skills with one name the first by path counts. A missing folder holds no skills.
    """
    skills: dict[str, Skill] = {}
    problems: list[Problem] = []
    for path in sorted(_skill_files(folder, 0), key=lambda path: path.as_posix().encode()):
        try:
            skill = _read(path, problems)
        except _SkillError as bad:
            problems.append(Problem(path, "error", bad.code, str(bad)))
            continue
        if skill.name in skills:
            text = f"hidden by {skills[skill.name].path}, which has the same name"
            problems.append(Problem(path, "error", "shadowed", text))
        else:
            skills[skill.name] = skill
    return sorted(skills.values(), key=lambda skill: skill.name), problems


def _skill_files(folder: Path, depth: int) -> Iterator[Path]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    found = [entry for entry in entries if entry.name.casefold() == "skill.md"]
    if found:
        yield Path(min(found, key=lambda entry: entry.name != "SKILL.md").path)
        return
    for entry in entries:
        skipped = entry.name.startswith(".") or entry.name in SKIPPED
        if depth < MAX_DEPTH and not skipped and entry.is_dir(follow_symlinks=False):
            yield from _skill_files(Path(entry.path), depth + 1)


def _read(path: Path, problems: list[Problem]) -> Skill:
    text = _text(path, problems)
    front, body = _split(text)
    fields = _fields(front, path, problems)
    description = fields.get("description", "")
    description = " ".join(description.split()) if isinstance(description, str) else ""
    if not description:
        raise _SkillError("description-missing", "the frontmatter has no description")
    name = fields.get("name", "")
    name = name.strip() if isinstance(name, str) else ""
    return Skill(_checked_name(name, path, problems), description, path, body.strip())


def _text(path: Path, problems: list[Problem]) -> str:
    try:
        info = path.lstat()
        if stat.S_ISLNK(info.st_mode):
            raise _SkillError("symlink-escape", "SKILL.md is a link and is not followed")
        if not stat.S_ISREG(info.st_mode):
            raise _SkillError("not-a-file", "SKILL.md is not a regular file")
        if info.st_size > MAX_BYTES:
            raise _SkillError("file-too-large", "SKILL.md is larger than 1 MiB")
        data = path.read_bytes()
    except OSError as error:
        raise _SkillError("unreadable", f"cannot be read: {error.strerror}") from error
    if b"\0" in data:
        raise _SkillError("encoding", "SKILL.md is not UTF-8 text")
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    if "\ufffd" in text:
        problems.append(Problem(path, "warning", "encoding", "some bytes are not UTF-8"))
    if path.name != "SKILL.md":
        problems.append(Problem(path, "warning", "filename-case", "the file should be SKILL.md"))
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _split(text: str) -> tuple[str, str]:
    """Frontmatter and body; a `---` inside a value or the body is no fence."""
    lines = text.lstrip().split("\n")
    if lines[0].rstrip() != "---":
        raise _SkillError("frontmatter-missing", "the file does not begin with ---")
    end = next((at for at in range(1, len(lines)) if lines[at].rstrip() == "---"), None)
    if end is None:
        raise _SkillError("frontmatter-unclosed", "the frontmatter has no closing ---")
    front = "\n".join(lines[1:end])
    if len(front.encode()) > MAX_FRONTMATTER:
        raise _SkillError("frontmatter-too-large", "the frontmatter is larger than 16 KiB")
    return front, "\n".join(lines[end + 1 :])


def _fields(front: str, path: Path, problems: list[Problem]) -> dict[str, Any]:
    import yaml

    try:
        _refuse_bombs(front)
        fields = yaml.load(front, Loader=yaml.BaseLoader)  # noqa: S506 - scalars stay as written
    except yaml.YAMLError:
        fields = None
    if isinstance(fields, dict):
        return fields
    repaired = _margin_fields(front)
    if not repaired:
        raise _SkillError("yaml-invalid", "the frontmatter is not YAML")
    text = "the frontmatter is not valid YAML; its lines were read one by one"
    problems.append(Problem(path, "warning", "yaml-repaired", text))
    return repaired


def _refuse_bombs(front: str) -> None:
    """Anchors, aliases and tags are what YAML bombs are made of; no real skill has them."""
    import yaml

    for event in yaml.parse(front, Loader=yaml.BaseLoader):
        marked = getattr(event, "anchor", None) or getattr(event, "tag", None)
        if marked:
            raise _SkillError("yaml-unsafe", "the frontmatter uses an anchor, an alias or a tag")


def _margin_fields(front: str) -> dict[str, Any]:
    """`key: value` lines at the margin, each with its indented followers."""
    fields: dict[str, Any] = {}
    key = ""
    for line in front.split("\n"):
        if found := _FIELD.match(line):
            key = found["key"]
            fields[key] = found["value"].strip().strip("\"'")
        elif key and line[:1] in " \t" and line.strip():
            fields[key] = f"{fields[key]} {line.strip()}".strip()
    return fields


def _checked_name(name: str, path: Path, problems: list[Problem]) -> str:
    folder = path.parent.name

    def warn(code: str, message: str) -> None:
        problems.append(Problem(path, "warning", code, message))

    if not name:
        warn("name-missing", "no name; the folder's name is used")
        return folder
    if len(name) > 256 or name in (".", "..") or re.search(r"[/\\\x00-\x1f\x7f]", name):
        warn("name-unsafe", "the name cannot be used; the folder's name is used")
        return folder
    if not _NAME.fullmatch(name):
        warn("name-format", "a name has lowercase letters, digits and single hyphens")
    if len(name) > 64:
        warn("name-too-long", "a name has at most 64 characters")
    if name != folder:
        warn("name-mismatch", f"the name is not that of its folder {folder}")
    return name
