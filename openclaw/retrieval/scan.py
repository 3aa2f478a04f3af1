"""Which files are indexed: the home's memory and workspace, the paths of `index.paths`, sessions.

Left out: hidden files and folders, files that a .gitignore excludes, symlinks that lead out of the
home, folders of packages and byte code, memory/inbox, memory/TESTS.md, and files whose names point
to credentials. Where `index.paths` names the whole home, also its settings, its skills, and the
folder where Logseq keeps its settings and older versions of pages. The home's own files (daily
notes, MEMORY.md, TODO.md, sessions) are indexed even when a .gitignore excludes them: the source
repository, used as a home, keeps them out of git.
"""

# A walk over thousands of files takes three times as long with Path objects.
# ruff: noqa: PTH100, PTH111, PTH112, PTH113, PTH116, PTH117, PTH118

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from openclaw.frozen import frozen
from openclaw.security.credentials import user_folder, why_name_denied
from openclaw.storage.home import Home
from openclaw.storage.safe_open import (
    BY_DESCRIPTOR,
    Folder,
    NotOrdinary,
    check_no_links,
    decode,
    md5,
    read_bytes,
)

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    from openclaw.config import Settings
    from openclaw.retrieval.index_store import Stamped

    Known = Mapping[str, Stamped]
    Looks = dict[int, str]


ALWAYS_OUT = frozenset({"node_modules", "__pycache__"})
OWN_STORES = re.compile(r"memory/(\d{4}-\d\d-\d\d[^/]*\.md|MEMORY\.md|TODO\.md)|sessions(/.*)?")
INBOX = "memory/inbox"
"""Candidates from untrusted text, which become memory only when the user agrees."""
TESTS = "memory/TESTS.md"  # the questions of the memory test and the places of their answers
NOT_MEMORY = frozenset((INBOX, TESTS))
NOT_BY_LINK = (f"{INBOX}/", f"{TESTS}/", "sessions/")
NOT_NOTES = NOT_MEMORY | {"openclaw.yaml", "logseq"}
"""What a home holds besides notes. Named in `index.paths` by itself, it is indexed all the same."""
BUILT_IN = ("memory", "workspace")
NOTHING: Known = {}
MANY = 200  # more new files than these are read by one process only; a search does not wait for it


@frozen
class IndexOptions:
    """The files to index besides memory and workspace.

    paths      files and folders of `index.paths`
    sessions   index conversations too
    max_bytes  the largest file that is indexed
    """

    paths: tuple[str, ...] = ()
    sessions: bool = False
    max_bytes: int = 10_000_000


class FoundFile(NamedTuple):
    """A file to index.

    path  relative to the home, with slashes; absolute for files elsewhere
    name  the path to open
    stat  of the file itself, also behind a symlink
    """

    path: str
    name: str
    stat: os.stat_result


def find_files(
    home: Home, options: IndexOptions, wanted: Callable[[str], bool] = lambda path: True
) -> Iterator[FoundFile]:
    """All files to index whose paths are `wanted`, each once, in the order of their folders."""
    return Scan(home, options, wanted=wanted).files()


def find_notes_outside(home: Home, options: IndexOptions) -> list[str]:
    """The Markdown files of a home that are outside the indexed folders, as in a folder of notes
    that was made a home."""
    whole = find_files(home, replace(options, paths=(*options.paths, ".")))
    indexed = {found.path for found in find_files(home, options)}
    paths = (found.path for found in whole)
    return [path for path in paths if path.endswith(".md") and path not in indexed]


class Scan:
    """One walk over the files.

    known     the stamps of files that were indexed by the present code, by path: their names are
              not judged again, nor matched again while the rules in `memo` are unchanged
    memo      the .gitignore rules of the last scan; afterwards those for the next scan
    looks     the paths of known files that a scan with the same `known` has seen, by a hash of the
              folder, the name and the stamp
    wanted    returns False for the path of a file that is not looked at
    seen      afterwards the paths of all files
    problems  afterwards (path, reason) of folders and files that could not be read
    """

    def __init__(
        self,
        home: Home,
        options: IndexOptions,
        known: Known = NOTHING,
        memo: IgnoreCache | None = None,
        looks: Looks | None = None,
        wanted: Callable[[str], bool] = lambda path: True,
    ) -> None:
        self.options = options
        self._wanted = wanted
        self._looks = {} if looks is None else looks
        self.known = known
        self.memo = IgnoreCache(list(options.paths))
        self.problems: list[tuple[str, str]] = []
        self._old = memo if memo and memo.named == self.memo.named else IgnoreCache()
        self._root, self._user = os.path.realpath(home.root), user_folder()
        self.seen: set[str] = set()
        self._targets: set[str] = set()
        self._entered: set[tuple[int, int] | str] = set()
        self._links: list[tuple[str, str, IgnoreRules, str]] = []

    def files(self) -> Iterator[FoundFile]:
        """All files to index, without most of those that look as they did when they were read.
        Symlinks come last, so that a file in the home keeps its own path."""
        top = self._rules_in(self._root, "", IgnoreRules())
        for name in BUILT_IN:
            if self._is_own(name):
                yield from self._walk(os.path.join(self._root, name), f"{name}/", top, self._root)
        if self.options.sessions and self._is_own("sessions") and self._is_own("sessions/archive"):
            yield from self._sessions()
        for entry in self.options.paths:
            yield from self._configured_files(entry)
        while self._links:
            yield from self._follow(*self._links.pop(0))

    def _is_own(self, name: str) -> bool:
        """Return True when a folder of the home is no link to a folder elsewhere."""
        try:
            check_no_links(Path(self._root, name))
        except NotOrdinary as error:
            self._problem(name, f"is not read: {error.strerror}")
            return False
        return True

    def _walk(
        self, folder: str, prefix: str, chain: IgnoreRules, bound: str
    ) -> Iterator[FoundFile]:
        """A folder and those below it. `bound` is the folder that symlinks may not leave."""
        stack, whole = [(folder, prefix, chain)], not prefix
        while stack:
            folder, prefix, chain = stack.pop()
            skill = os.path.join(folder, "SKILL.md")
            if whole and prefix.startswith("skills/") and os.path.isfile(skill):
                continue  # which is no note of the user
            chain = self._rules_in(folder, prefix, chain)
            known = self.known if chain.trusted else {}
            for entry in self._entries(folder, prefix, known, NOT_NOTES if whole else NOT_MEMORY):
                path, name = prefix + entry.name, os.path.join(folder, entry.name)
                if entry.is_symlink():
                    self._links.append((name, path, chain, bound))
                elif entry.is_dir(follow_symlinks=False):
                    if self._enters(path, chain):
                        stack.append((name, path + "/", chain))
                elif entry.is_file(follow_symlinks=False) and self._is_indexed(path, chain):
                    yield from self._look_at(path, name)

    def _rules_in(self, folder: str, prefix: str, chain: IgnoreRules) -> IgnoreRules:
        """The rules in the folder `prefix`. Notes the MD5 of its .gitignore in `memo`."""
        data = _read(os.path.join(folder, NAME))
        if data is None:
            return IgnoreRules(chain.rules, trusted=False) if prefix in self._old.rules else chain
        digest = self.memo.rules[prefix] = md5(data)
        trusted = chain.trusted and self._old.rules.get(prefix) == digest
        return IgnoreRules((*chain.rules, (prefix, data)), trusted)

    def _entries(
        self,
        folder: str,
        prefix: str,
        known: Known = NOTHING,
        left_out: frozenset[str] = NOT_MEMORY,
    ) -> Iterator[os.DirEntry[str]]:
        """The entries of a folder by name, but hidden ones, those `left_out`, and files that look
        as they did when they were read; none when it was entered before or is gone."""
        looks = self._looks if known else {}
        found, same = [], []
        try:
            # By its descriptor, as the system would look for the folder anew with each file.
            number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY) if BY_DESCRIPTOR else None
            with Folder(folder, number) as opened, os.scandir(opened.number or folder) as entries:
                status = os.stat(folder)
                key = (status.st_dev, status.st_ino) if status.st_ino else os.path.realpath(folder)
                if key in self._entered:
                    return
                self._entered.add(key)
                for entry in entries:  # of many thousand files, where `known` is slow
                    try:  # what `Stamp.of` mostly gives, made faster
                        stamp = _STAMP(entry.stat(follow_symlinks=False)) if known else None
                    except OSError:
                        stamp = None
                    look = hash((prefix, entry.name, stamp))
                    path = looks.get(look)
                    if path is None:
                        path = prefix + entry.name
                        if entry.name[0] == "." or path in left_out:
                            continue
                        if stamp is None or stamp != known.get(path):
                            found.append(entry)
                            continue
                        looks[look] = path
                    same.append(path)
                self.seen.update(same)
                yield from sorted(found, key=attrgetter("name"))
        except OSError as error:
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                self._problem(prefix.rstrip("/"), f"cannot be read: {error.strerror or error}")

    def _enters(self, path: str, chain: IgnoreRules) -> bool:
        if path.rpartition("/")[2] in ALWAYS_OUT or path == "sessions":
            return False
        folder = path + "/"
        if not chain.rules or OWN_STORES.fullmatch(path):
            return True
        ignored = folder in self._old.ignored
        if not (chain.trusted and (ignored or folder in self._old.kept)):
            ignored = chain.ignores(folder)
        (self.memo.ignored if ignored else self.memo.kept).add(folder)
        return not ignored

    def _is_indexed(self, path: str, chain: IgnoreRules) -> bool:
        if path in self.seen or not self._wanted(path):
            return False
        known = self.known.get(path) is not None
        if not known and why_name_denied(path, self._user):
            return False
        if not chain.rules or (chain.trusted and known) or OWN_STORES.fullmatch(path):
            return True
        ignored = (chain.trusted and path in self._old.ignored) or chain.ignores(path)
        if ignored:
            self.memo.ignored.add(path)
        return not ignored

    def _look_at(self, path: str, name: str) -> Iterator[FoundFile]:
        """The file, unless it has gone meanwhile or has a name that cannot be shown."""
        if not self._wanted(path):
            return
        try:
            path.encode("utf-8")
            status = os.stat(name)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except UnicodeEncodeError:
            self._problem(path, "its name is not UTF-8")
        except OSError as error:
            self._problem(path, f"cannot be read: {error.strerror or error}")
        else:
            self.seen.add(path)
            yield FoundFile(path, name, status)

    def _sessions(self) -> Iterator[FoundFile]:
        """The conversations and their archives."""
        archive = "sessions/archive/"
        parts = self._entries(os.path.join(self._root, "sessions", "archive"), archive)
        folders = [f"{archive}{each.name}/" for each in parts if each.is_dir(follow_symlinks=False)]
        for prefix in ("sessions/", *folders):
            folder = os.path.join(self._root, prefix)
            for entry in self._entries(folder, prefix, self.known):
                is_file = entry.is_file(follow_symlinks=False)
                if is_file and re.fullmatch(r"[^.]+\.json", entry.name):
                    yield from self._look_at(prefix + entry.name, folder + entry.name)

    def _configured_files(self, entry: str) -> Iterator[FoundFile]:
        """A file or folder of `index.paths`: relative to the home, absolute, or with ~."""
        named = os.path.join(self._root, os.path.expanduser(entry))
        real = os.path.realpath(named)
        path = self._path_of(real)
        trouble = _refusal_reason(path, self._root) or why_name_denied(path)
        if os.path.isabs(path) and os.path.abspath(named).startswith(self._root + os.sep):
            trouble = f"is a link out of the home; name what it leads to, {real}"
        if trouble:
            self._problem(entry, f"{trouble} (index.paths)")
        elif os.path.isfile(real):
            if path not in self.seen:
                yield from self._look_at(path, real)
        elif os.path.isdir(real):
            inside = not os.path.isabs(path)
            chain = self._chain_to(path) if inside else IgnoreRules()
            prefix = f"{path}/" if path else ""
            yield from self._walk(real, prefix, chain, self._root if inside else real)
        else:
            self._problem(entry, "there is no such file or folder (index.paths)")

    def _chain_to(self, path: str) -> IgnoreRules:
        """The rules of the folders between the home and one of its folders, where the walk begins,
        without that folder's own."""
        chain, folder, prefix = IgnoreRules(), self._root, ""
        for part in path.split("/") if path else ():
            chain = self._rules_in(folder, prefix, chain)
            folder, prefix = os.path.join(folder, part), f"{prefix}{part}/"
        return chain

    def _follow(self, name: str, path: str, chain: IgnoreRules, bound: str) -> Iterator[FoundFile]:
        """A symlink: its target must lie in `bound`, in no hidden folder, and be new."""
        real = os.path.realpath(name)
        edge = bound.rstrip(os.sep)
        inside, hidden = real.startswith(edge + os.sep), f"{os.sep}." in real[len(edge) :]
        target = self._path_of(real)
        if not inside or hidden or why_name_denied(target):
            return
        if target in self.seen or target in self._targets or f"{target}/".startswith(NOT_BY_LINK):
            return
        if os.path.isdir(real):
            if self._enters(path, chain):
                yield from self._walk(real, path + "/", chain, bound)
        elif os.path.isfile(real) and self._is_indexed(path, chain):
            self._targets.add(target)
            yield from self._look_at(path, real)

    def _path_of(self, real: str) -> str:
        """The path to show: relative to the home ("" for the home itself), else absolute."""
        inside = (real + os.sep).startswith(self._root.rstrip(os.sep) + os.sep)
        shown = os.path.relpath(real, self._root) if inside else real
        return "" if shown == os.curdir else shown.replace(os.sep, "/")

    def _problem(self, path: str, reason: str) -> None:
        shown = path.encode("utf-8", "backslashreplace").decode("utf-8")
        self.problems.append((shown, reason))


_STAMP = attrgetter("st_size", "st_mtime_ns", "st_ctime_ns", "st_ino")


def _refusal_reason(path: str, root: str) -> str:
    """Why a path of `index.paths` is not indexed, "" when it is."""
    if os.path.isabs(path):
        holds_home = root.replace(os.sep, "/").startswith(path.rstrip("/") + "/")
        return "holds the home itself and is not indexed" if holds_home else ""
    closed = path.split("/")[0] in (".openclaw", ".git")
    return "is private to the program and not indexed" if closed else ""


NAME = ".gitignore"
MAX_BYTES = 1_000_000


@dataclass(slots=True)
class IgnoreCache:
    """The .gitignore rules and verdicts of the last scan.

    named    `index.paths` then, whose files need no verdict
    rules    the MD5 of each .gitignore, by its folder
    kept     folders that no rule excludes; indexed files need no entry
    ignored  paths that a rule excludes
    """

    named: list[str] = field(default_factory=list)
    rules: dict[str, str] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    ignored: set[str] = field(default_factory=set)

    def text(self) -> str:
        """As JSON: equal content gives equal text."""
        kept, ignored = sorted(self.kept), sorted(self.ignored)
        return json.dumps([self.named, self.rules, kept, ignored], sort_keys=True)

    @classmethod
    def of(cls, text: str) -> IgnoreCache:
        """Read the JSON of `text()`; empty when it is damaged."""
        try:
            named, rules, kept, ignored = json.loads(text)
            return cls(named, dict(rules), set(kept), set(ignored))
        except (ValueError, TypeError):
            return cls()


@frozen
class IgnoreRules:
    """The .gitignore files that apply in a folder: folder (with a slash at its end, "" for the top)
    and content, the nearest last. `trusted`: none has changed since the last scan."""

    rules: tuple[tuple[str, bytes], ...] = ()
    trusted: bool = True

    def ignores(self, path: str) -> bool:
        """Return True when the nearest .gitignore with a matching rule excludes the path. A
        folder's path ends with a slash."""
        found = (_read_rules(data).check_file(path[len(at) :]) for at, data in reversed(self.rules))
        return next((each.include for each in found if each.include is not None), False)


@lru_cache
def _read_rules(data: bytes) -> GitIgnoreSpec:
    """Read a .gitignore, without invalid lines, as git does. Loads pathspec."""
    from pathspec import GitIgnoreSpec

    patterns: list[Any] = []
    for line in decode(data).split("\n"):
        with suppress(ValueError, re.error):
            patterns += GitIgnoreSpec.from_lines([line.rstrip("\r")]).patterns
    return GitIgnoreSpec(patterns)


def _read(name: str) -> bytes | None:
    try:
        return read_bytes(Path(name), MAX_BYTES) if os.path.isfile(name) else None
    except OSError:
        return None


def index_options(settings: Settings) -> IndexOptions:
    index = settings.index
    return IndexOptions(index.paths, index.sessions, index.max_file_mb * 1_000_000)
