"""Skills: folders with a SKILL.md, read tolerantly. A bad skill is a problem in the result."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import stat
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from openclaw import __version__
from openclaw.config.settings import Settings
from openclaw.errors import OpenclawError, UsageError
from openclaw.frozen import frozen
from openclaw.skills.frontmatter import (
    SkillError,
    SkillProblem,
    parse_frontmatter,
    read_source,
    split_frontmatter,
    warning,
)
from openclaw.skills.requirements import (
    NO_REQUIREMENTS,
    Requirements,
    list_missing,
    read_flag,
    read_requirements,
)
from openclaw.skills.trigger_tests import FILE as TRIGGERS
from openclaw.skills.trigger_tests import examples
from openclaw.storage.home import PROGRAM_FOLDERS, Home
from openclaw.storage.safe_open import is_symlink_or_junction, read_json_cache
from openclaw.storage.text import write_text

MAX_NAME = 64
MAX_LABEL = 256
MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
SOURCES = ("home", "agents", "user")  # where skills come from, the best first
_NO_VALUE = frozenset(("null", "Null", "NULL", "~"))  # YAML's words for it
_TOOLS = re.compile(r"[^\s,()]+(?:\([^()]*\))?")


@frozen
class Skill:
    """A skill that can be read.

    path: its SKILL.md
    source: home, agents or user
    about: the description field as it stands
    description: for the catalogue: `about` and `when_to_use`
    examples: requests that the skill is for, from its trigger tests
    """

    name: str
    description: str
    path: Path
    source: str = "home"
    requirements: Requirements = NO_REQUIREMENTS
    model_invocable: bool = True
    user_invocable: bool = True
    allowed_tools: tuple[str, ...] = ()
    compatibility: str = ""
    about: str = ""
    examples: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return self.path.parent

    def body(self) -> str:
        """The text below the frontmatter as it is now, its names for the skill's folder replaced.

        Raises OpenclawError when the file can no longer be read.
        """
        try:
            _, body = split_frontmatter(read_source(self.path)[0])
        except SkillError as bad:
            raise OpenclawError(
                f"the skill {self.name} cannot be read: {bad}", f"look at {self.path}"
            ) from bad
        folder = shown_path(self.folder)
        for sign in ("{baseDir}", "${CLAUDE_SKILL_DIR}"):
            body = body.replace(sign, folder)
        return body.strip()


@frozen
class ListedSkill:
    """A SKILL.md that was found.

    eligible: the skill may be used now
    skill: None when the file is broken; then the name is that of its folder
    """

    name: str
    description: str
    path: Path
    source: str
    eligible: bool
    problems: tuple[SkillProblem, ...] = ()
    skill: Skill | None = None

    def as_json(self, home: Home, *, whole: bool = False) -> dict[str, Any]:
        """Return it for programs; when `whole`, with what the file says."""
        inside = self.source in ("home", "agents")
        path = self.path.relative_to(home.root) if inside else self.path
        shape: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "path": shown_path(path),
            "source": self.source,
            "eligible": self.eligible,
            "problems": [problem.as_json() for problem in self.problems],
        }
        if whole and self.skill is not None:
            shape |= {
                "compatibility": self.skill.compatibility,
                "allowed_tools": list(self.skill.allowed_tools),
                "model_invocable": self.skill.model_invocable,
                "user_invocable": self.skill.user_invocable,
                "body": self.skill.body(),
            }
        return shape


@frozen
class Root:
    """A folder of skills."""

    folder: Path
    source: str


def roots(home: Home, *, user: bool = False) -> list[Root]:
    """Return the folders of a home's skills, the best first; with `user` ~/.agents/skills too."""
    found = [Root(home.skills, "home"), Root(home.root / ".agents" / "skills", "agents")]
    if user:
        own = Path("~/.agents/skills").expanduser()
        if os.path.realpath(own) != os.path.realpath(found[1].folder):
            found.append(Root(own, "user"))
    return found


def list_skills(
    roots: Sequence[Root],
    *,
    blockers: Callable[[Skill], list[SkillProblem]] = lambda skill: [],
    cache: Path | None = None,
) -> list[ListedSkill]:
    """Return all skills in the roots by name, also broken, hidden and blocked ones.

    A skill hides the later ones of its name, before its requirements are checked. `blockers` gives
    the reasons why a skill may not be used now; `cache` is a file that keeps the skills read.
    """
    kept = SkillCache(cache)
    first: dict[str, Skill] = {}
    listed = []
    for root in roots:
        for found, bad in skill_files(root.folder):
            path = Path(found)
            skill, problems = (None, [bad.problem]) if bad else kept.read(path, root.source)
            if skill is None:
                name, about, reasons = _folder_name(path), "", list[SkillProblem]()
            else:
                name, about = skill.name, skill.about
                better = first.setdefault(name, skill)
                if better is skill:
                    reasons = blockers(skill)
                else:
                    text = f"hidden by {shown_path(better.path)}, which has the same name"
                    reasons = [warning("shadowed", text)]
            eligible = skill is not None and not reasons
            known = (*problems, *reasons)
            listed.append(ListedSkill(name, about, path, root.source, eligible, known, skill))
    kept.save()
    return sorted(listed, key=lambda entry: (entry.name, not entry.eligible))


def read_skill_file(path: Path, source: str = "home") -> tuple[Skill | None, list[SkillProblem]]:
    """Read one SKILL.md; return the skill and its problems. After an error there is no skill."""
    fields, problems = _read_fields(path)
    return _make_skill(fields, path, source), problems


def _make_skill(fields: SkillFields, path: Path, source: str) -> Skill | None:
    if not fields:
        return None
    given: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
    metadata = given.pop("metadata")
    needs = read_requirements(metadata) if metadata else NO_REQUIREMENTS
    return Skill(path=path, source=source, requirements=needs, **given)


def find_skill(found: Sequence[ListedSkill], name: str) -> ListedSkill:
    """Return the entry of this name, a usable one first; UsageError when there is none."""
    for entry in found:
        if entry.name == name:
            return entry
    near = get_close_matches(name, [entry.name for entry in found], n=1)
    guess = f"did you mean {near[0]}? " if near else ""
    raise UsageError(f"there is no skill {name}", f"{guess}see them all: openclaw skills list")


def shown_path(path: Path) -> str:
    """Return a path with slashes, as text that can be encoded."""
    return os.fsencode(path.as_posix()).decode("utf-8", "replace")


def _read_fields(path: Path) -> tuple[SkillFields, list[SkillProblem]]:
    """Return the fields of a skill, none after an error, and its problems."""
    try:
        text, notes = read_source(path)
        front, more = parse_frontmatter(split_frontmatter(text)[0])
        about = _text(front, "description")
        if not about:
            raise SkillError("description-missing", "the frontmatter has no description")
    except SkillError as bad:
        return {}, [bad.problem]
    notes += more
    name = _text(front, "name")
    folder = _folder_name(path)
    if not name:
        notes.append(warning("name-missing", f"no name; that of its folder is used: {folder}"))
        name = folder
    elif _is_unsafe_name(name):
        notes.append(warning("name-unsafe", f"the name cannot be used; its folder's is: {folder}"))
        name = folder
    else:
        notes += _name_notes(name, folder)
    if len(about) > MAX_DESCRIPTION:
        text = f"the description has {len(about):,} characters, more than {MAX_DESCRIPTION:,}"
        notes.append(warning("description-too-long", text))
    compatibility = _text(front, "compatibility")
    if len(compatibility) > MAX_COMPATIBILITY:
        text = f"compatibility has {len(compatibility):,} characters, more than {MAX_COMPATIBILITY}"
        notes.append(warning("compatibility-too-long", text))
    metadata = front.get("metadata")
    fields = {
        "name": name,
        "description": " ".join(filter(None, (about, _text(front, "when_to_use")))),
        "metadata": metadata if read_requirements(metadata) != NO_REQUIREMENTS else None,
        "model_invocable": not read_flag(front.get("disable-model-invocation"), default=False),
        "user_invocable": read_flag(front.get("user-invocable"), default=True),
        "allowed_tools": list(_tools(front.get("allowed-tools"))),
        "compatibility": compatibility,
        "about": about,
        "examples": list(examples(path.parent)),
    }
    return fields, notes


def _text(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    text = value.strip() if isinstance(value, str) else ""
    return "" if text in _NO_VALUE else text


def _tools(value: Any) -> Iterator[str]:
    """Yield tool names from a text with blanks or commas, or a list: `Read`, `Bash(git log:*)`."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str):
            yield from (name for name in _TOOLS.findall(item) if name != "-")


def _is_unsafe_name(name: str) -> bool:
    control = any(unicodedata.category(c) == "Cc" for c in name)
    return control or "/" in name or "\\" in name or name in (".", "..") or len(name) > MAX_LABEL


def _name_notes(name: str, folder: str) -> Iterator[SkillProblem]:
    if not NAME.fullmatch(name):
        yield warning("name-format", "a name has lowercase letters, digits and single hyphens")
    if len(name) > MAX_NAME:
        yield warning("name-too-long", f"the name has more than {MAX_NAME} characters")
    if unicodedata.normalize("NFC", name) != unicodedata.normalize("NFC", folder):
        yield warning("name-mismatch", f"the name is not that of its folder {folder}")


def _folder_name(path: Path) -> str:
    return os.fsencode(path.parent.name).decode("utf-8", "replace") or "skill"


VERSION = f"6 {__version__}"
"""Raise the number when other fields of a skill count, or are read in another way."""
SkillFields = dict[str, Any]
"""The fields of a `Skill` as JSON, with the `metadata` from which requirements are read, if any."""


class SkillCache:
    """Keeps the fields of the skills that were read in a file (None: keeps nothing)."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        rows = read_json_cache(file, VERSION).get("skills") if file else None
        self._old = rows if isinstance(rows, dict) else {}
        self._new: dict[str, Any] = {}

    def read(self, path: Path, source: str) -> tuple[Skill | None, list[SkillProblem]]:
        """Do as `read_skill_file`, and keep the fields, unless the file could change without a new
        stamp."""
        name = str(path)
        stamp = _stamp(name) if self._file else None
        with suppress(LookupError, TypeError, ValueError):
            entry = self._old[name]
            if stamp and entry["stamp"] == stamp:
                skill = _make_skill(dict(entry["fields"]), path, source)
                problems = [SkillProblem(*row) for row in entry["problems"]]
                self._new[name] = entry
                return skill, problems
        fields, problems = _read_fields(path)
        passing = any(problem.code == "unreadable" for problem in problems)
        if stamp and not passing and _is_settled(stamp):
            self._new[name] = {"stamp": stamp, "fields": fields, "problems": problems}
        return _make_skill(fields, path, source), problems

    def save(self) -> None:
        """Write the file if anything changed; where it cannot be written, do without."""
        if self._file is None or self._new == self._old:
            return
        text = json.dumps({"version": VERSION, "skills": self._new}, separators=(",", ":"))
        with suppress(OpenclawError):
            write_text(self._file, text + "\n")


def _stamp(path: str) -> list[list[int]] | None:
    """Return a stamp that changes with the file or the skill's examples.

    None for a link, whose target could change without it.
    """
    stamps = []
    for place in (path, f"{os.path.dirname(path)}/{TRIGGERS}"):  # noqa: PTH120 - asked for 1,000
        with suppress(OSError):
            info = os.lstat(place)
            if stat.S_ISREG(info.st_mode):
                stamps.append([info.st_mtime_ns, info.st_size, info.st_ctime_ns, info.st_ino])
        if not stamps:
            return None
    return stamps


def _is_settled(stamps: list[list[int]]) -> bool:
    """Return True when another change would get another time.

    Clocks of file systems tick every 10 ms, and every 2 s where times are whole seconds (FAT).
    """
    now = time.time()
    for mtime, _, ctime, _ in stamps:
        tick = 0.05 if mtime % 1_000_000_000 else 2.0
        if -tick < now - max(mtime, ctime) / 1e9 < tick:
            return False
    return True


def list_installed(home: Home, settings: Settings) -> list[ListedSkill]:
    """Return all skills of a home by name. Quick enough for every turn: a file is read once."""
    return list_skills(
        roots(home, user=settings.skills.user),
        blockers=make_blocker_check(settings),
        cache=home.private / "skills.json",
    )


def check_skill(path: Path) -> list[SkillProblem]:
    """Return every rule that a skill breaks; [] when it is valid. `path`: its folder or SKILL.md.

    A warning is a broken rule of the standard with which a skill is loaded all the same.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - for the folder's name; links stay
    file = skill_file(path)
    if file is None:
        text = "there is no SKILL.md in this folder" if path.is_dir() else "there is no such file"
        return [SkillProblem("error", "unreadable", text)]
    return read_skill_file(file)[1]


def make_blocker_check(settings: Settings) -> Callable[[Skill], list[SkillProblem]]:
    """Make a function that tells why a skill may not be used now. It looks each program up once."""
    which = cache(shutil.which)

    def look(skill: Skill) -> list[SkillProblem]:
        reasons: list[SkillProblem] = []
        if skill.name in settings.skills.off:
            text = f"switched off by you; to switch it on: openclaw skills enable {skill.name}"
            reasons.append(warning("off", text))
        if skill.requirements == NO_REQUIREMENTS:
            return reasons
        lines = list_missing(skill.requirements, settings, which)
        return reasons + [warning("requires", line) for line in lines]

    return look


# -------- finding the files, without following a link and without an end to fear

FILE = "SKILL.md"
MAX_DEPTH = 6
MAX_FOLDERS = 100_000

_GONE = (errno.ENOENT, errno.ESTALE)


def skill_files(root: Path) -> list[tuple[str, SkillError | None]]:
    """The path of every SKILL.md below a folder, in the order of their bytes.

    With an error it is none that can be read: a folder that is a link, or one that cannot be
    opened, each under the path that its SKILL.md would have. A folder with a SKILL.md is a skill
    and is not looked into further; the root itself is, so that one stray file there hides nothing.
    A missing root holds none.
    """
    found = _walk(os.fspath(root))
    return sorted(found, key=lambda each: os.fsencode(each[0].replace(os.sep, "/")))


def skill_file(path: Path) -> Path | None:
    """The SKILL.md that a path means: itself, or in that folder, in whatever spelling."""
    if not path.is_dir() or (path.is_symlink() and path.name == FILE):
        return path if os.path.lexists(path) else None
    try:
        names = [name for name in os.listdir(path) if name.lower() == FILE.lower()]  # noqa: PTH208
    except OSError:
        return path / FILE
    if names:
        return path / min(names, key=lambda name: name != FILE)
    return path if path.name == FILE else None


def _walk(root: str) -> Iterator[tuple[str, SkillError | None]]:
    waiting = [(root, 0)]
    visited = 0
    while waiting:
        folder, depth = waiting.pop()
        visited += 1
        if visited > MAX_FOLDERS:
            text = f"more than {MAX_FOLDERS:,} folders; the others were not looked at"
            yield _skill_path(root), SkillError("unreadable", text)
            return
        try:
            with os.scandir(folder) as entries:
                names = list(entries)
        except OSError as error:
            if error.errno not in _GONE:
                text = f"the folder cannot be opened: {error.strerror}"
                yield _skill_path(folder), SkillError("unreadable", text)
            continue
        found = [entry for entry in names if entry.name.lower() == FILE.lower()]
        if found:
            yield min(found, key=lambda entry: entry.name != FILE).path, None
        if depth < MAX_DEPTH and (depth == 0 or not found):
            seen = (each for each in names if not each.name.startswith("."))
            below = [each for each in seen if each.name not in PROGRAM_FOLDERS and _is_folder(each)]
            for entry in below:
                if is_symlink_or_junction(entry):
                    text = "its folder is a link and is not followed"
                    yield _skill_path(entry.path), SkillError("symlink-escape", text)
                else:
                    waiting.append((entry.path, depth + 1))


def _skill_path(folder: str) -> str:
    return os.path.join(folder, FILE)  # noqa: PTH118 - ten times as quick as a Path


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
