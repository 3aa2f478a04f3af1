"""Makes commits of records: of what a turn changed and nothing else, without a working tree.

The trees are made by `git fast-import` from the commit that HEAD is at and the files that are
written over, so neither the user's index nor his files take part. Where the user has staged nothing
of a file, its entry in the index is then moved forward, so that git does not show the turn as
staged the other way round. An index of our own (GIT_INDEX_FILE, write-tree, commit-tree) would take
nine processes a turn instead of six, and more where the user's edits get a commit before it.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.history.git_log import (
    NO_BLOB,
    TRAILER,
    ZEROS,
    Blob,
    changed_blobs,
    chunks,
    commit_lines,
    index_entries,
    oid_of,
    tree_entries,
)
from openclaw.history.record import Record, content, new_turn
from openclaw.history.turns import EXECUTABLE, FILE, PROGRAM, Turn, TurnStep
from openclaw.storage.git import Git, GitError
from openclaw.storage.home import MARKS, is_inside
from openclaw.storage.merge import SIGN, conflicts, merge_bytes
from openclaw.storage.safe_open import make_folder, read_content, read_json_cache, remove, writing
from openclaw.storage.text import report_unwritable, with_line_ends_of

AUTHOR = "openclaw <openclaw@localhost>"
YOU = "you <you@localhost>"
STAGED = "staged"  # the file with what the index got before a commit holds it


@dataclass(slots=True)
class RepositoryState:
    """The state of some files in the repository, and what commits are to make of it.

    head: HEAD's commit, "" before the first
    blobs: HEAD's blobs by path
    index: the index's blobs by path
    ignored: the paths that git is told to ignore
    outside: the blobs by path that others made before the turn
    final: the blobs by path as the turn leaves them
    """

    head: str
    blobs: dict[str, Blob] = field(default_factory=dict)
    index: dict[str, Blob] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()
    outside: dict[str, Blob] = field(default_factory=dict)
    final: dict[str, Blob] = field(default_factory=dict)

    def changed(self) -> dict[str, Blob]:
        """Return what the commit of the turn changes."""
        was = self.blobs | self.outside
        return {path: blob for path, blob in self.final.items() if blob != was.get(path, NO_BLOB)}


class Commits:
    """Commits records to the repository of a home.

    `others` are the paths that other records, not committed yet, have written.
    """

    def __init__(self, root: Path, place: Path, others: frozenset[str] = frozenset()) -> None:
        self.root, self.place, self.others = root, place, others
        self.git = Git(root)
        self._began = ""
        self._oids: dict[tuple[str, str], str] = {}

    def commit(self, record: Record) -> tuple[str, frozenset[str]]:
        """Commit a record. Return the commit ("" for none) and the paths that git does not hold.

        Raises GitError when git fails; the caller may then try again.
        """
        self._began = record.head
        paths = list(dict.fromkeys(step.path for step in record.turn.steps))
        beyond = frozenset(path for path in paths if self._is_beyond(path))
        standing = self._standing([path for path in paths if path not in beyond])
        other = record.turn.of[0] if record.turn.kind == "sync" else ""
        beyond |= frozenset() if other else standing.ignored
        # A content was not kept, or a power cut damaged it.
        beyond |= {
            step.path
            for step in record.turn.steps
            for name in (step.before, step.after)
            if name and content(self.place, name) is None
        }
        if there := self._find_commit(record, standing.head):
            return there, beyond
        if other and self._holds_commit(standing.head, other):
            return standing.head, beyond
        mine = [step for step in record.turn.steps if step.path not in beyond]
        self._write(mine, standing)
        by_path: dict[str, list[TurnStep]] = {}
        for step in mine:
            by_path.setdefault(step.path, []).append(step)
        for path, steps in by_path.items():
            if not self._trace_file(path, steps, standing):
                beyond |= {path}
        if other:
            self._take_over_rest(other, standing)
        if not (standing.outside or standing.changed()) and record.turn.kind == "turn":
            return "", beyond
        return self._import(record.turn, standing), beyond

    def _find_commit(self, record: Record, head: str) -> str:
        """The commit that already holds the record, "" for none.

        There is one when we died before the record was dropped, or when a backup brought both.
        """
        if not head or head == record.head:
            return ""
        since = (f"{record.head}..{head}",) if record.head else ("-n", "1000", head)
        grep = f"--grep=^{TRAILER}-Id: {record.turn.id}$"
        return self.git.says("log", "-1", "--format=%H", grep, *since, "--")

    def _holds_commit(self, head: str, other: str) -> bool:
        return self.git.says("merge-base", head, other) == other

    def _take_over_rest(self, other: str, standing: RepositoryState) -> None:
        """Add what another device's commit changed and no file of the home can hold: links, names
        that are closed here, files behind links. Left out, it would count as removed here."""
        base = self.git.run("merge-base", standing.head, other).decode().strip()
        theirs = changed_blobs(self.git, base, other)
        rest = {path: pair for path, pair in theirs.items() if path not in standing.final}
        now = self._standing(list(rest))
        for path, (old, new) in rest.items():
            if now.blobs.get(path, NO_BLOB) == old:
                standing.blobs[path], standing.index[path] = old, now.index.get(path, NO_BLOB)
                standing.final[path] = new

    # -------- one file

    def _trace_file(self, path: str, steps: list[TurnStep], standing: RepositoryState) -> bool:
        """Put what the turn made of a file, upon what HEAD holds, into `final`; what others had
        made of it before into `outside`, unless it is a part of another turn. False when it is left
        to a commit of others that is newer."""
        head, outside = standing.blobs.get(path, NO_BLOB), standing.outside
        state, mine = head, False
        for step in steps:
            became, was = self._blob(path, step.after, head), self._blob(path, step.before, head)
            if was.oid != state.oid:
                moved = self._has_moved(path)
                theirs = path in self.others or moved
                replayed = self._replay(path, was, state, became) if theirs else None
                if replayed is not None:
                    state, mine = replayed, True
                    continue
                if moved and not self._holds(path, became):
                    outside.pop(path, None)
                    return False
                # What was edited in the middle of the turn goes before it, if that can be told.
                base = outside.get(path, head)
                edited = self._merge_blobs(state, base, was) if mine else was
                if edited is not None:
                    outside[path] = edited
            state, mine = became, True
        standing.final[path] = state
        return True

    def _has_moved(self, path: str) -> bool:
        """Return True when a commit has changed the file since the turn began.

        HEAD is then newer than what the turn found, not older.
        """
        words = ("diff-tree", "-r", "--name-only", self._began, "HEAD", "--", path)
        return bool(self._began and self.git.says(*words))

    def _replay(self, path: str, was: Blob, state: Blob, became: Blob) -> Blob | None:
        """The change of a turn made to what another turn has committed meanwhile. Lines that both
        put in at one place stand in the order in which the file has them."""
        for first in (False, True):
            found = self._merge_blobs(was, state, became, both=True, first=first)
            if found is None or first or self._holds(path, found):
                return found
        return None

    def _holds(self, path: str, blob: Blob) -> bool:
        """Return True when the file holds this blob now; with NO_BLOB, when there is no file."""
        data, _ = read_content(self.root, path) or (None, False)
        if data is None or not blob.oid:
            return not blob.oid and not os.path.lexists(self.root / path)
        return oid_of(data, blob.oid) == blob.oid

    def _merge_blobs(
        self, base: Blob, ours: Blob, theirs: Blob, *, both: bool = False, first: bool = False
    ) -> Blob | None:
        """The change from `base` to `theirs` made to `ours`, None when it does not fit. With `both`
        lines may be put in where ours put some in too: after them, or `first`."""
        if not (base.oid and ours.oid and theirs.oid):
            return None
        texts = (self.git.run("cat-file", "blob", blob.oid) for blob in (base, ours, theirs))
        try:
            data, merged = merge_bytes(*texts, touching=True)
        except ValueError:
            return None
        if merged.conflicts:
            if not both or any(conflict.base for conflict in merged.conflicts):
                return None
            for conflict in reversed(merged.conflicts):
                at = conflict.at + (0 if first else len(conflict.ours))
                merged.lines[at:at] = conflict.theirs
            data = "".join(merged.lines).encode("utf-8", "surrogateescape")
        oid = self.git.run("hash-object", "-w", "--no-filters", "--stdin", data=data)
        return Blob(theirs.mode, oid.decode().strip())

    def _blob(self, path: str, name: str | None, head: Blob) -> Blob:
        if name is None:
            return NO_BLOB
        mode = PROGRAM if name.endswith(EXECUTABLE) else FILE
        if os.name == "nt" and head.mode:  # where files do not say
            mode = head.mode
        return Blob(mode, self._oids[path, name])

    def _write(self, steps: Iterable[TurnStep], standing: RepositoryState) -> None:
        """Let git have the contents of these steps, byte for byte, all by one process."""
        new: dict[tuple[str, str], bytes] = {}
        for key in {(s.path, name): None for s in steps for name in (s.before, s.after) if name}:
            head = standing.blobs.get(key[0], NO_BLOB)
            data = self._convert_line_ends(self._content(*key), head)
            if head.oid and oid_of(data, head.oid) == head.oid:
                self._oids[key] = head.oid
            else:
                new[key] = data
        self._oids |= zip(new, self._write_blobs([*new.values()]), strict=True)

    def _write_blobs(self, contents: Sequence[bytes]) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder, str(number)) for number in range(len(contents))]
            for path, data in zip(paths, contents, strict=True):
                path.write_bytes(data)
            listed = "".join(f"{path}\n" for path in paths).encode()
            words = ("hash-object", "-w", "--no-filters", "--stdin-paths")
            return self.git.run(*words, data=listed).decode().split() if contents else []

    def _convert_line_ends(self, data: bytes, head: Blob) -> bytes:
        """A text with the line ends that HEAD has of the file, where git is told to convert them:
        the folder then has others than the commits."""
        if b"\r\n" not in data or not head.oid:
            return data
        said = self.git.says("config", "core.autocrlf")
        if said not in ("true", "input") and not (self.root / ".gitattributes").is_file():
            return data
        return with_line_ends_of(self.git.run("cat-file", "blob", head.oid), data) or b""

    def _content(self, path: str, name: str) -> bytes:
        data = content(self.place, name)
        if data is None:
            raise GitError(f"what {path} held is not in {self.place}", "openclaw doctor --fix")
        return data

    # -------- reading the repository

    def _is_beyond(self, path: str) -> bool:
        """Return True when a path leads through a link or into another repository."""
        folder = self.root
        for part in Path(path).parts[:-1]:
            folder = folder / part
            if folder.is_symlink() or (folder / ".git").exists():
                return True
        return (self.root / path).is_symlink()

    def _standing(self, paths: Sequence[str]) -> RepositoryState:
        """Ask git for the state of these files, by processes beside each other."""
        found = RepositoryState(self.git.head())
        ignored: set[str] = set()
        for some in chunks(paths):
            index, ignore, *tree = self.git.call(
                (("ls-files", "-s", "-z", "--", *some), b"", {}),
                _check_ignore(some),
                *[(("ls-tree", "-z", found.head, "--", *some), b"", {})] * bool(found.head),
            )
            found.index |= dict(index_entries(self.git.output_of(index)))
            for done in tree:
                found.blobs |= dict(tree_entries(self.git.output_of(done)))
            ignored.update(_undotted(ignore.stdout))
        found.ignored = frozenset(ignored - found.blobs.keys() - found.index.keys())
        return found

    # -------- writing

    def _move_index(self, standing: RepositoryState) -> None:
        """Let the index have what HEAD will hold, for files of which nothing else is staged. Before
        the commit: should we die in between, the user sees the turn as staged, not as undone."""
        lines = []
        noted = self._read_staged()
        for path, blob in standing.final.items():
            staged = standing.index.get(path, NO_BLOB)
            if path not in standing.blobs and staged.oid == oid_of(b"", staged.oid or ZEROS):
                staged = NO_BLOB  # what `git add --intent-to-add` leaves
            before = (standing.blobs.get(path, NO_BLOB), standing.outside.get(path, blob))
            known = {blob.oid, *(each.oid for each in before)}
            known |= {noted[path]} if path in noted else set()
            if staged.oid in known and staged != blob:
                noted[path] = blob.oid
                zeros = ZEROS if len(blob.oid or staged.oid) == 40 else "0" * 64
                entry = f"{blob.mode or 0} {blob.oid or zeros}\t".encode()
                lines.append(entry + os.fsencode(path) + b"\0")
        lines.sort(key=lambda line: not line.startswith(b"0 "))  # a file may become a folder
        if lines:
            self._write_staged(noted)
            self.git.run("update-index", "--add", "-z", "--index-info", data=b"".join(lines))

    def _read_staged(self) -> dict[str, str]:
        """What we have put into the index and, after a kill, not into a commit: it is not the
        user's. The ids of blobs by path."""
        return read_json_cache(self.place.parent / STAGED)

    def _write_staged(self, noted: Mapping[str, str]) -> None:
        """Write the note; it need not be on the disk at once. A power cut may then leave a file
        that git shows as staged, and loses nothing."""
        path = self.place.parent / STAGED
        if not noted:
            with suppress(FileNotFoundError):
                remove(path)
            return
        with report_unwritable(path):
            make_folder(path.parent, 0o700)
            with writing(path, 0o600) as file:
                file.write(json.dumps(noted).encode())

    def _import(self, turn: Turn, standing: RepositoryState) -> str:
        """Write the commits and move HEAD, in one step, if it is still where it was."""
        self._move_index(standing)
        made = self._make_commits(turn, standing)
        if noted := self._read_staged():
            self._write_staged({p: oid for p, oid in noted.items() if p not in standing.final})
        return made

    def _make_commits(self, turn: Turn, standing: RepositoryState) -> str:
        stream: list[bytes] = []
        parent, mark = standing.head, 0
        outside, changed = standing.outside, standing.changed()
        if outside:
            mark += 1
            first, *more = outside
            words = f"Edited outside: {first}{f' and {len(more)} more' if more else ''}"
            edited = Turn(turn.id, "outside", turn.at, words)
            stream += commit_lines(edited, mark, parent, outside, self._user_ident())
            parent = f":{mark}"
        if turn.kind == "sync" and not outside and self._is_behind(parent, turn.of[0], changed):
            self.git.run("update-ref", "-m", turn.subject, "HEAD", turn.of[0], parent)
            return turn.of[0]
        if changed or not outside:
            mark += 1
            stream += commit_lines(turn, mark, parent, changed, AUTHOR)
        stream.append(b"get-mark :%d\n" % mark)
        said = self.git.run("fast-import", "--quiet", data=b"".join(stream))
        return said.decode().strip()

    def _is_behind(self, head: str, other: str, changed: Mapping[str, Blob]) -> bool:
        """Return True when nothing was committed here that the other commit does not hold, and it
        differs from HEAD by these changes only: HEAD then just moves there."""
        if not self._holds_commit(other, head):
            return False
        return {p: new for p, (_, new) in changed_blobs(self.git, head, other).items()} == changed

    # -------- edits of the user

    def commit_edits(self, skip: frozenset[str]) -> list[str]:
        """Commit what the user has changed in the folder, as his, but for the paths `skip`; returns
        the paths. Files that are new count where a home has its own, not hidden ones. What a sparse
        checkout leaves out of the folder was not removed."""
        listed = self.git.run("ls-files", "-t", "-z").split(b"\0")
        skip |= {os.fsdecode(entry[2:]) for entry in listed if entry.startswith(b"S ")}
        head = self.git.head()
        listing = self.git.run("ls-tree", "-r", "-z", "HEAD") if head else b""
        tracked = dict(tree_entries(listing))
        new = [path for path in self._own_files() if path not in tracked]
        told = self.git.call(_check_ignore(new))[0].stdout if new else b""
        ignored = set(_undotted(told))
        data: dict[str, tuple[str, bytes]] = {}
        edits: dict[str, Blob] = {}
        for path in (*tracked, *(path for path in new if path not in ignored)):
            was = tracked.get(path, NO_BLOB)
            if path in skip or was.mode not in ("", FILE, PROGRAM) or not is_inside(path):
                continue
            found = self._edited_file(path, was)
            if isinstance(found, Blob):
                edits[path] = found
            elif found is not None:
                data[path] = found
        oids = self._write_blobs([content for _, content in data.values()])
        pairs = zip(data.items(), oids, strict=True)
        edits |= {path: Blob(mode, oid) for (path, (mode, _)), oid in pairs}
        if edits:
            standing = self._standing(list(edits))
            standing.outside = standing.final = edits
            self._import(new_turn("", "outside"), standing)
        return list(edits)

    def _own_files(self) -> Iterator[str]:
        """The files of a home that are not hidden, nor in another repository inside it."""
        for top in MARKS:
            if (self.root / top).is_file():
                yield top
            for folder, folders, names in os.walk(self.root / top):
                place = Path(folder)
                folders[:] = [
                    n for n in folders if n[0] != "." and not os.path.lexists(place / n / ".git")
                ]
                where = place.relative_to(self.root)
                yield from ((where / name).as_posix() for name in names if name[0] != ".")

    def _edited_file(self, path: str, was: Blob) -> Blob | tuple[str, bytes] | None:
        """Mode and bytes of a file that differs from what HEAD has of it, NO_BLOB for one that was
        removed; None for the others, and for what is no plain file or too large."""
        if self._is_beyond(path):
            return None
        found = read_content(self.root, path)
        if found is None:
            return None if not was.oid or (self.root / path).is_file() else NO_BLOB
        data, is_program = found
        if data is None:
            return None
        mode = PROGRAM if is_program else FILE
        mode = was.mode if os.name == "nt" and was.mode else mode
        if was.oid and oid_of(data, was.oid) == was.oid:
            return None if mode == was.mode else Blob(mode, was.oid)
        data = self._convert_line_ends(data, was)
        if mode == was.mode and oid_of(data, was.oid) == was.oid:
            return None
        _check_no_markers(path, data)
        return mode, data

    def _user_ident(self) -> str:
        """The user as git knows him."""
        name, mail = self.git.says("config", "user.name"), self.git.says("config", "user.email")
        clean = [re.sub(r"[<>\n]", "", text) for text in (name, mail)]
        return f"{clean[0]} <{clean[1]}>" if all(clean) else YOU


def _check_ignore(paths: Iterable[str]) -> tuple[Sequence[str], bytes, Mapping[str, str]]:
    """The call that prints which of the paths git ignores. It takes no literal paths, but none that
    begins with a dot is a pattern."""
    data = b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths)
    return ("check-ignore", "-z", "--stdin"), data, {"GIT_LITERAL_PATHSPECS": "0"}


def _undotted(listing: bytes) -> list[str]:
    return [os.fsdecode(part).removeprefix("./") for part in listing.split(b"\0") if part]


def _check_no_markers(path: str, data: bytes) -> None:
    """Raise OpenclawError for a file with both sides of a merge, which must not travel."""
    found = conflicts(data.decode("utf-8", "replace")) if SIGN in data else ()
    if found:
        raise OpenclawError(
            f"{path} line {found[0].line}: both sides of a merge stand here",
            "keep what is right and remove the markers, or try openclaw doctor --fix; then sync",
        )
