"""Tools for the files of the home. Docstrings' first lines are what the model reads."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from openclaw.security.secrets import key_begin
from openclaw.security.vault import Vault
from openclaw.storage.child import NoText, paged_text
from openclaw.storage.home import PROPOSED, Home
from openclaw.storage.readers import IMAGES, kind_of
from openclaw.storage.safe_open import read_bytes
from openclaw.storage.saving import Changed, Saved, save_over
from openclaw.storage.text import decode, in_the_manner_of, md5
from openclaw.tools.file_search import found_text
from openclaw.tools.paths import (
    DeniedFile,
    check_kept,
    check_own,
    existing_file,
    existing_folder,
    new_file,
    tidy,
    visible_files,
)
from openclaw.tools.results import USUAL, Room
from openclaw.tools.tool import Act, Tool, tool
from openclaw.types import Action, Change, Effect, Ledger, ToolProblem

PAGE_LINES = 200
LONGEST_LINE = 2_000
FRAME = "workspace/folder/file.md, lines 1000-2000 of 9000 [7000 more lines: read_file ...]"
"""About what stands around a page, which must fit with it."""
LISTED = 150
LISTED_IN_FOLDER = 40
MAX_BYTES = 50_000_000
ATTEMPTS = 50
HELD_BYTES = 1_000_000
"""A file that was read is kept for a merge up to this size."""
MOST_COMPARED = 200_000
"""Characters of a file before and after a change; more are not compared for the user."""
MERGED = " The user had changed it meanwhile; both changes are in it."
CHANGED = "{} was changed meanwhile in the same lines; nothing was written. Read it again first."
WAITS = " It counts once the user accepts it: openclaw skills review"


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to become of a file: it holds `base`, which is the text `old`, and will hold `new`.
    None stands for no file; `line` is the first one that is changed, where that is known."""

    target: Path
    name: str
    base: bytes | None
    old: str | None
    new: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class FileTools:
    """The six file tools over one home. They raise ToolProblem for what the model can mend and
    OpenclawError for what the user must (disk full, read-only). With a vault the name of a secret
    is written as the secret, where it was. A page of a file is as long as `room` says."""

    home: Home
    ledger: Ledger
    vault: Vault | None = None
    room: Room = USUAL

    def tools(self) -> list[Tool]:
        return [
            tool(self.list_files, masks="own"),
            tool(self.read_file, action=self._act("read_file", "read", existing_file), masks="own"),
            tool(self.search_files, masks="own"),
            *(
                tool(
                    function,
                    effect="write",
                    action=self._act(function.__name__, "write", find),
                    masks="own",
                    preview=partial(self._preview, plan),
                )
                for function, plan, find in (
                    (self.write_file, self._written, new_file),
                    (self.edit_file, self._edited, existing_file),
                    (self.append_file, self._longer, _appended),
                )
            ),
        ]

    def _act(self, name: str, effect: Effect, find: Callable[[Home, str], Path]) -> Act:
        """What a call does, told by the file that it really means: a bare `soul`, or a link, is
        SOUL.md to the policy too."""

        def act(arguments: Mapping[str, Any]) -> Action:
            try:
                target = find(self.home, str(arguments["path"]))
            except DeniedFile as problem:  # the policy says no, so that it goes on record
                target = problem.path
            if effect == "write":
                check_kept(self.home, target)
            return Action(name, effect, self.home.relative(target))

        return act

    def list_files(self, folder: str = "") -> str:
        """List the files."""
        start = existing_folder(self.home, folder)
        groups: dict[str, list[str]] = {}
        for file in visible_files(self.home, start):
            path = self.home.relative(file)
            groups.setdefault(path.rpartition("/")[0], []).append(path)
        if not groups:
            return "There are no files."
        lines: list[str] = []
        for name, paths in groups.items():
            room = min(LISTED_IN_FOLDER if len(groups) > 1 else LISTED, LISTED - len(lines))
            if name.partition("/")[0] == "sessions" and len(groups) > 1:
                room = 0
            lines += paths[: max(room, 0)]
            if len(paths) > room:
                lines.append(f"{name or '.'}/ ({len(paths) - max(room, 0)} more files)")
        return "\n".join(lines[: 2 * LISTED])

    def read_file(self, path: str, from_line: int = 1) -> str:
        """Read a text file."""
        target = existing_file(self.home, path)
        name = self.home.relative(target)
        data = self._bytes(target, name)
        is_pdf = kind_of(data) == "pdf"
        text = _of_pdf(data, name) if is_pdf else decode(_checked(data, name))
        lines = re.split(r"\r\n|\n|\r", text)
        if lines and not lines[-1]:
            lines.pop()
        if not lines:
            self._has_read(name, data)
            return f"{name} is empty."
        start = max(from_line, 1)
        if start > len(lines):
            raise ToolProblem(f"{name} has only {len(lines)} lines.")
        start = key_begin(lines, start - 1) + 1
        page = _page(lines[start - 1 :], self.room)
        end = start + len(page) - 1
        if end == len(lines) and "\ufffd" not in text and not is_pdf:
            self._has_read(name, data)
        return _shown(name, page, start, len(lines), "\ufffd" in text)

    def search_files(self, text: str, folder: str = "") -> str:
        """Find lines with a text in the files."""
        return found_text(self.home, text, existing_folder(self.home, folder))

    def _preview(
        self, planned: Callable[..., _Plan], arguments: Mapping[str, Any]
    ) -> Change | None:
        """What a call would make of its file, without secrets."""
        plan = planned(**arguments)
        if len(plan.old or "") + len(plan.new) > MOST_COMPARED:
            return None
        veiled = self.vault.veiled if self.vault else str
        return Change(plan.name, plan.old and veiled(plan.old), veiled(plan.new))

    def _written(self, path: str, content: str) -> _Plan:
        target = new_file(self.home, path)
        name = self.home.relative(target)
        base, old = self._now(target, name)
        new = self._with_secrets(ended(content), old, name)
        if old == new and old.strip():
            raise ToolProblem(f"{name} already holds exactly this text.")
        if base is not None and old and old.strip():
            base = self._as_read(name, base)
        return _Plan(target, name, base, old, new)

    def _edited(self, path: str, find: str, replace: str) -> _Plan:
        target = existing_file(self.home, path)
        check_own(self.home, target)
        name = self.home.relative(target)
        base, text = self._now(target, name)
        old = text or ""
        if self.vault:
            find = self.vault.there(find, old)
        replace = self._with_secrets(replace, old, name, whole=False)
        new, line = replaced(old, find, replace)
        if self.vault:
            self.vault.check_kept(old, new, name)
        return _Plan(target, name, base, old, new, line)

    def _longer(self, path: str, text: str) -> _Plan:
        target = _appended(self.home, path)
        name = self.home.relative(target)
        base, old = self._now(target, name)
        new = with_end(old or "", self._with_secrets(text, old, name, whole=False))
        return _Plan(target, name, base, old, new)

    def write_file(self, path: str, content: str) -> str:
        """Create a file."""
        plan = self._written(path, content)
        target, name, base, old, content = plan.target, plan.name, plan.base, plan.old, plan.new
        if base is None or old is None or not old.strip():
            note = self._save(target, name, base, content)
            waits = WAITS if name.startswith(PROPOSED) else ""
            return f"Created {name} ({counted(content)}).{waits}{note}"
        note = self._save(target, name, base, content)
        return f"Replaced {name} ({counted(content)}).{note}"

    def edit_file(self, path: str, find: str, replace: str) -> str:
        """Replace a text in a file; find is copied from the file."""
        plan = self._edited(path, find, replace)
        note = self._save(plan.target, plan.name, plan.base, plan.new)
        changed = difference(plan.old or "", plan.new)
        return f"Changed {plan.name}, line {plan.line}:\n{changed}{note}"

    def append_file(self, path: str, text: str) -> str:
        """Add text at the end of a file."""
        for _ in range(ATTEMPTS):  # what others append meanwhile comes before it
            plan = self._longer(path, text)
            with suppress(Changed):
                self._put(plan.target, plan.name, plan.base, plan.new)
                added = difference(plan.old or "", plan.new)
                did = "Created" if plan.old is None else "Appended to"
                return f"{did} {plan.name}:\n{added}"
        raise ToolProblem(CHANGED.format(plan.name))

    def _with_secrets(self, text: str, old: str | None, name: str, *, whole: bool = True) -> str:
        """The text as it may be written, see `Vault.written`; memories keep names only."""
        if self.vault is None:
            return text
        if name.startswith("memory/"):
            return self.vault.noted(text, old or "")
        return self.vault.written(text, old or "", name, whole=whole)

    def _bytes(self, target: Path, name: str) -> bytes:
        if target.stat().st_size > MAX_BYTES:
            raise ToolProblem(f"{name} is larger than {MAX_BYTES // 1_000_000} MB; too large.")
        return read_bytes(target)

    def _now(self, target: Path, name: str) -> tuple[bytes | None, str | None]:
        """What a file holds, as bytes and as text; None without one. Raises ToolProblem for what is
        not text."""
        if not target.exists():
            return None, None
        if not target.is_file():
            raise ToolProblem(f"{name} is not a regular file.")
        data = _checked(self._bytes(target, name), name)
        if kind_of(data) == "pdf":
            raise ToolProblem(f"{name} is a PDF; it is not changed.")
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            raise ToolProblem(f"{name} is not UTF-8 text; it is not changed.") from None
        return data, decode(data)

    def _as_read(self, name: str, now: bytes) -> bytes:
        """What a file held when the model read it; the base of what it now makes of it."""
        known = self.ledger.read.get(name)
        if known is None:
            raise ToolProblem(
                f"{name} exists and was not read. Use edit_file or append_file, or read it first."
            )
        if known == md5(now):
            return now
        if known not in self.ledger.held:
            raise ToolProblem(f"{name} was changed meanwhile. Read it again first.")
        return self.ledger.held[known]

    def _has_read(self, name: str, data: bytes) -> None:
        mark = self.ledger.read[name] = md5(data)
        if len(data) <= HELD_BYTES:
            self.ledger.held[mark] = data

    def _save(self, target: Path, name: str, base: bytes | None, new: str) -> str:
        """Put a text into the place of `base`. Returns what the model is to know of others' changes
        meanwhile; raises ToolProblem when they are in the same lines."""
        try:
            saved = self._put(target, name, base, new)
        except Changed:
            raise ToolProblem(CHANGED.format(name)) from None
        return MERGED if saved.merged else ""

    def _put(self, target: Path, name: str, base: bytes | None, new: str) -> Saved:
        known = self.ledger.read.get(name)
        data = in_the_manner_of(base, new, target)
        saved = save_over(target, base, data, self.ledger.keep)
        before = None if saved.before is None else decode(saved.before)
        self.ledger.before.setdefault(name, before)
        if saved.merged:  # the model has not seen all of it
            self.ledger.read.pop(name, None)
        elif not (base or b"").strip() or known == md5(base or b""):
            self._has_read(name, saved.after)
        return saved


def _checked(data: bytes, name: str) -> bytes:
    """The bytes of a text. Raises ToolProblem for those of something else."""
    if (kind := kind_of(data)) in IMAGES:
        raise ToolProblem(
            f"{name} is an image ({kind}, {len(data):,} bytes). You can only see it when the user"
            f" attaches it: @{name}"
        )
    if b"\0" in data[:8192]:
        raise ToolProblem(f"{name} is not a text file ({len(data):,} bytes).")
    return data


def _of_pdf(data: bytes, name: str) -> str:
    try:
        return paged_text(data)
    except NoText as error:
        raise ToolProblem(f"{name} is {error}.") from error


def _appended(home: Home, path: str) -> Path:
    if "/" in tidy(path):
        return new_file(home, path)
    try:
        return existing_file(home, path)
    except ToolProblem:
        return new_file(home, path)


def _page(lines: list[str], room: Room) -> list[str]:
    page: list[str] = []
    left = room.page
    for line in lines[:PAGE_LINES]:
        left -= min(len(line), LONGEST_LINE) + 1
        if left < 0 and page:
            break
        page.append(line)
    while len(page) > 1 and not room.fits("\n".join((FRAME, *page))):
        page = page[: len(page) * 3 // 4]
    return page


def _shown(name: str, page: list[str], start: int, total: int, damaged: bool) -> str:
    end = start + len(page) - 1
    head = f"{name}, lines {start}-{end} of {total}"
    if damaged:
        head += " (not valid UTF-8; unreadable bytes are shown as \ufffd)"
    body = "\n".join(
        line
        if len(line) <= LONGEST_LINE
        else f"{line[:LONGEST_LINE]} [cut: {len(line):,} characters in this line]"
        for line in page
    )
    more = (
        f"\n[{total - end} more lines: read_file with from_line {end + 1}]" if end < total else ""
    )
    return f"{head}:\n{body}{more}"


_NEWLINE = r"(?:\r\n|\n|\r)"
_SHOWN = 3
_LONGEST = 160


def replaced(text: str, find: str, replace: str) -> tuple[str, int]:
    """The text with the one passage that is `find` replaced, and the passage's first line number.

    Everything else stays, newlines and blanks included. Raises ToolProblem, which says where, when
    the passage is missing or stands there more than once.
    """
    find, replace = _unified(find), _unified(replace)
    if not find.strip():
        raise ToolProblem("find is empty: copy the text that is to be changed into it.")
    if find == replace:
        raise ToolProblem("find and replace are the same; nothing would change.")
    for pattern, strict in ((_exact(find), True), (_tolerant(find), False)):
        matches = _whole_words(text, list(pattern.finditer(text)))
        if len(matches) > 1:
            raise _ambiguous(text, [match.start() for match in matches])
        if matches:
            start, end = matches[0].span()
            if not strict:
                replace = replace.strip("\n").strip(" \t")
            new = replace.replace("\n", _newline_of(text))
            if text[start:end] == new:
                raise ToolProblem("That is how it already stands; nothing would change.")
            return text[:start] + new + text[end:], _line_of(text, start)
    raise _missing(text, find, replace)


def ended(text: str) -> str:
    text = text.replace("\r\n", "\n")
    return text if not text or text.endswith("\n") else f"{text}\n"


def with_end(old: str, text: str) -> str:
    """A text with another at its end, on lines of its own. Raises ToolProblem for an empty one."""
    newline = "\r\n" if "\r\n" in old else "\n"
    start = old + (newline if old and not old.endswith(("\n", "\r")) else "")
    new = start + ended(text.lstrip("\n") if old else text).replace("\n", newline)
    if new == start:
        raise ToolProblem("text is empty: nothing to append.")
    return new


def counted(text: str) -> str:
    lines = len(text.splitlines())
    return f"{lines} line{'' if lines == 1 else 's'}"


def difference(old: str, new: str, most: int = 8) -> str:
    """The changed lines with - and +, as a model can check them."""
    before, after = old.splitlines(), new.splitlines()
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    lines = [f"- {line}" for line in before[start : len(before) - end]]
    lines += [f"+ {line}" for line in after[start : len(after) - end]]
    if len(lines) > most:
        lines = [*lines[: most - 1], f"... {len(lines) - most + 1} more changed lines"]
    return "\n".join(line[:200] for line in lines)


def _whole_words(text: str, matches: list[re.Match[str]]) -> list[re.Match[str]]:
    """Of several matches the only one that neither begins nor ends inside a word, else all."""
    whole = [
        match
        for match in matches
        if not re.fullmatch(r"\w\w", text[match.start() - 1 : match.start() + 1])
        and not re.fullmatch(r"\w\w", text[match.end() - 1 : match.end() + 1])
    ]
    return whole if len(whole) == 1 else matches


def _unified(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _exact(find: str) -> re.Pattern[str]:
    return re.compile(_NEWLINE.join(re.escape(line) for line in find.split("\n")))


def _tolerant(find: str) -> re.Pattern[str]:
    """Words as given, any blanks between them and around lines; blank lines are as they come."""
    lines = [line.split() for line in find.strip().split("\n") if line.strip()]
    between = rf"[ \t]*(?:{_NEWLINE}[ \t]*)+"
    return re.compile(between.join(r"[ \t]+".join(map(re.escape, words)) for words in lines))


def _whole_lines(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?m)^[ \t]*{_tolerant(text).pattern}[ \t]*\r?$")


def _newline_of(text: str) -> str:
    found = re.search(_NEWLINE, text)
    return found[0] if found else "\n"


def _line_of(text: str, at: int) -> int:
    return len(re.findall(_NEWLINE, text[:at])) + 1


def _ambiguous(text: str, starts: list[int]) -> ToolProblem:
    lines = text.splitlines()
    numbers = [_line_of(text, start) for start in starts[:10]]
    shown = "\n".join(f"{n}: {_short(lines[n - 1])}" for n in dict.fromkeys(numbers[:_SHOWN]))
    return ToolProblem(
        f"find fits {len(starts)} places, lines {', '.join(map(str, numbers))}:\n{shown}\n"
        "Put more of the text around the right one into find and replace."
    )


def _missing(text: str, find: str, replace: str) -> ToolProblem:
    already = _whole_lines(replace).search(text) if replace.strip() else None
    if already:
        at = _line_of(text, already.start())
        return ToolProblem(
            f"find is not in the file, but the text of replace already stands in line {at}."
        )
    near = _nearest(text, find)
    if not near:
        return ToolProblem("find is not in the file. Read the file and copy the text exactly.")
    return ToolProblem(f"find is not in the file. The nearest lines:\n{near}\nCopy one exactly.")


def _nearest(text: str, find: str) -> str:
    wanted = max(find.split("\n"), key=lambda line: len(line.strip())).strip().casefold()
    words = set(re.findall(r"\w+", wanted))
    scored = []
    for number, line in enumerate(text.splitlines()[:20_000], 1):
        shared = len(words & set(re.findall(r"\w+", line.casefold())))
        if shared:
            scored.append((shared, -number, line))
    best = sorted(scored, reverse=True)[:50]
    ranked = sorted(
        best,
        key=lambda hit: difflib.SequenceMatcher(None, wanted, hit[2].strip().casefold()).ratio(),
        reverse=True,
    )
    return "\n".join(f"{-number}: {_short(line)}" for _, number, line in ranked[:_SHOWN])


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ..."
