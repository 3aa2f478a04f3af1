"""Tools for the files of the home. The model reads the first lines of their docstrings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from openclaw.frozen import frozen
from openclaw.memory.named_rows import find_displaced
from openclaw.memory.tables import show_table_facts
from openclaw.memory.todos import add_todos
from openclaw.nlp.words import stem
from openclaw.security.masking import Masker, no_secrets
from openclaw.security.secrets import find_key_begin
from openclaw.storage.file_kinds import IMAGES, kind_of
from openclaw.storage.foreign_readers import NoText, paged_text
from openclaw.storage.home import PROPOSED, Home
from openclaw.storage.merged_save import SaveConflict, Saved, save_over
from openclaw.storage.safe_open import decode, md5, read_bytes
from openclaw.storage.text import encode_like
from openclaw.tools.file_search import files_with, search_text
from openclaw.tools.paths import (
    PLACE,
    DeniedFile,
    MissingFile,
    check_kept,
    check_own,
    existing_file,
    existing_folder,
    new_file,
    tidy,
    visible_files,
)
from openclaw.tools.results import DEFAULT_LIMITS, ResultLimits
from openclaw.tools.text_edits import (
    NEWLINE,
    append_text,
    check_rows,
    count_lines,
    format_diff_lines,
    is_renamed,
    replace_passage,
    with_newline,
)
from openclaw.tools.tool import Tool, tool
from openclaw.types import Action, Change, Effect, Shown, ToolProblem, TurnChanges

PAGE_LINES = 200
TODO_FILE = "memory/TODO.md"
LONGEST_LINE = 2_000
FRAME = "workspace/folder/file.md, lines 1000-2000 of 9000 [7000 more lines: read_file ...]"
"""Roughly the text around a page, which must fit together with it."""
LISTED = 150
LISTED_IN_FOLDER = 40
MAX_BYTES = 50_000_000
ATTEMPTS = 50
HELD_BYTES = 1_000_000
"""Largest file, in bytes, whose content is kept after reading for a later merge."""
MAX_COMPARED = 200_000
"""Characters of a file before and after a change; more are not compared for the user."""
MERGED = " The user had changed it meanwhile; both changes are in it."
CHANGED = "{} was changed meanwhile in the same lines; nothing was written. Read it again first."
WAITS = " It counts once the user accepts it: openclaw skills review"


@frozen
class _Plan:
    target: Path
    name: str
    base: bytes | None  # the present content, None without a file
    old: str | None  # the same as text
    new: str
    line: int = 0  # the first changed line, 0 when unknown


@frozen
class FileTools:
    """The six file tools over one home. They raise ToolProblem for what the model can mend and
    OpenclawError for what the user must (disk full, read-only). The name of a secret is written as
    the secret where the file had it. `limits` sets the length of a page."""

    home: Home
    turn_changes: TurnChanges
    masker: Masker = field(default_factory=no_secrets)
    limits: ResultLimits = DEFAULT_LIMITS

    def tools(self) -> list[Tool]:
        return [
            tool(self.list_files, masks="own"),
            tool(
                self.read_file,
                action=partial(self._act, "read_file", "read", existing_file),
                masks="own",
            ),
            tool(self.search_files, masks="own"),
            *(
                tool(
                    function,
                    effect="write",
                    action=partial(self._act, function.__name__, "write", find),
                    masks="own",
                    preview=partial(self._preview, plan),
                )
                for function, plan, find in (
                    (self.write_file, self._plan_write, new_file),
                    (self.edit_file, self._plan_edit, existing_file),
                    (self.append_file, self._plan_append, _append_target),
                )
            ),
        ]

    def _act(
        self,
        name: str,
        effect: Effect,
        find: Callable[[Home, str], Path],
        arguments: Mapping[str, Any],
    ) -> Action:
        """The action of a call, with the file that is really meant: for the policy too, a bare
        `soul` or a link is SOUL.md."""
        try:
            target = find(self.home, str(arguments["path"]))
        except DeniedFile as problem:  # let the policy refuse it, so that it is recorded
            target = problem.path
        except MissingFile as problem:  # a small model quotes its prompt and invents the place
            holding = files_with(self.home, str(arguments.get("find", "")))
            raise MissingFile(problem.name, holding) if holding else problem from None
        if effect == "write":
            check_kept(self.home, target)
        return Action(name, effect, self.home.relative(target))

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
        data = self._read_bytes(target, name)
        is_pdf = kind_of(data) == "pdf"
        text = _pdf_text(data, name) if is_pdf else decode(_check_text(data, name))
        lines = re.split(NEWLINE, text)
        if lines and not lines[-1]:
            lines.pop()
        if not lines:
            self._note_read(name, data)
            return f"{name} is empty."
        place = PLACE.search(tidy(path))
        if place and from_line == 1 and not name.endswith(place[0]):
            from_line = int(place[1] or 1)
        start = max(from_line, 1)
        if start > len(lines):
            raise ToolProblem(f"{name} has only {len(lines)} lines.")
        start = find_key_begin(lines, start - 1) + 1
        page = _first_page(lines[start - 1 :], self.limits)
        end = start + len(page) - 1
        if end == len(lines) and "\ufffd" not in text and not is_pdf:
            self._note_read(name, data)
        self.turn_changes.shown[1] = Shown(name, start, end)
        shown = _format_page(name, page, start, len(lines), "\ufffd" in text, self.masker.mask)
        request = self.turn_changes.request
        sums = show_table_facts("\n".join(lines), start, end, request, date.today())
        return shown + sums + _show_count(request, lines)

    def search_files(self, text: str, folder: str = "") -> str:
        """Find lines with a text in the files."""
        start = existing_folder(self.home, folder)
        found, lines = search_text(self.home, text, start, self.masker.mask)
        self.turn_changes.shown.update(lines)
        return found

    def _preview(
        self, planned: Callable[..., _Plan], arguments: Mapping[str, Any]
    ) -> Change | None:
        """The change that a call would make to its file, without secrets."""
        plan = planned(**arguments)
        if len(plan.old or "") + len(plan.new) > MAX_COMPARED:
            return None
        mask = self.masker.mask_for_display
        return Change(plan.name, plan.old and mask(plan.old), mask(plan.new))

    def _plan_write(self, path: str, content: str) -> _Plan:
        target = new_file(self.home, path)
        name = self.home.relative(target)
        base, old = self._read_current(target, name)
        _check_todos(name, old or "")
        new = self._with_secrets(with_newline(content), old, name)
        if old == new and old.strip():
            raise ToolProblem(f"{name} already holds exactly this text.")
        if base is not None and old and old.strip():
            base = self._base_as_read(name, base)
        check_rows(name, old or "", new)
        return _Plan(target, name, base, old, new)

    def _plan_edit(self, path: str, find: str, replace: str) -> _Plan:
        target = existing_file(self.home, path)
        check_own(self.home, target)
        name = self.home.relative(target)
        base, text = self._read_current(target, name)
        old = text or ""
        find = self.masker.reveal(find, before=old)
        replace = self._with_secrets(replace, old, name, whole=False)
        if find.strip() == replace.strip():  # a small model means to tick it
            _check_todos(name, old)
        everywhere = is_renamed(find, replace, self.turn_changes.request)
        new, line = replace_passage(old, find, replace, everywhere=everywhere)
        self.masker.check_kept(old, new, name)
        if displaced := find_displaced(name, old, new, self.turn_changes.request):
            raise ToolProblem(f"{displaced} is another line. append_file adds one at the end.")
        if new.count("\n") != old.count("\n"):
            _check_todos(name, old)
        check_rows(name, old, new)
        return _Plan(target, name, base, old, new, line)

    def _plan_append(self, path: str, text: str) -> _Plan:
        target = _append_target(self.home, path)
        name = self.home.relative(target)
        base, old = self._read_current(target, name)
        text = self._with_secrets(text, old, name, whole=False)
        if name == TODO_FILE and (lines := [line for line in text.splitlines() if line.strip()]):
            return _Plan(target, name, base, old, add_todos(old or "", "", lines)[0])
        new = append_text(old or "", text, markdown=target.suffix == ".md")
        check_rows(name, old or "", new)
        return _Plan(target, name, base, old, new)

    def write_file(self, path: str, content: str) -> str:
        """Create a file."""
        plan = self._plan_write(path, content)
        note = self._save_or_refuse(plan)
        is_new = plan.base is None or not (plan.old or "").strip()
        waits = WAITS if is_new and plan.name.startswith(PROPOSED) else ""
        did = "Created" if is_new else "Replaced"
        return f"{did} {plan.name} ({count_lines(plan.new)}).{waits}{note}"

    def edit_file(self, path: str, find: str, replace: str) -> str:
        """Replace a text in a file; find is copied from the file."""
        plan = self._plan_edit(path, find, replace)
        note = self._save_or_refuse(plan)
        changed = format_diff_lines(plan.old or "", plan.new)
        return f"Changed {plan.name}, line {plan.line}:\n{changed}{note}"

    def append_file(self, path: str, text: str) -> str:
        """Add text at the end of a file."""
        for _ in range(ATTEMPTS):  # text that others append meanwhile comes first
            plan = self._plan_append(path, text)
            with suppress(SaveConflict):
                self._write(plan)
                added = format_diff_lines(plan.old or "", plan.new)
                did = "Created" if plan.old is None else "Appended to"
                return f"{did} {plan.name}:\n{added}"
        raise ToolProblem(CHANGED.format(plan.name))

    def _with_secrets(self, text: str, old: str | None, name: str, *, whole: bool = True) -> str:
        """Put secrets back for their names, see `Masker.written`; memories keep the names. What was
        added below lines that were read is left out, as a small model copies it, but not what the
        file has."""
        held = old or ""
        text = _ADDED.sub(lambda found: found[0] if found[0].strip() in held else "", text)
        if name.startswith("memory/"):
            return self.masker.noted(text, old or "")
        return self.masker.written(text, old or "", name, whole=whole)

    def _read_bytes(self, target: Path, name: str) -> bytes:
        if target.stat().st_size > MAX_BYTES:
            raise ToolProblem(f"{name} is larger than {MAX_BYTES // 1_000_000} MB; too large.")
        return read_bytes(target)

    def _read_current(self, target: Path, name: str) -> tuple[bytes | None, str | None]:
        """The content of a file as bytes and as text, None without a file. Raises ToolProblem for a
        file that is not text."""
        if not target.exists():
            return None, None
        if not target.is_file():
            raise ToolProblem(f"{name} is not a regular file.")
        data = _check_text(self._read_bytes(target, name), name)
        if kind_of(data) == "pdf":
            raise ToolProblem(f"{name} is a PDF; it is not changed.")
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            raise ToolProblem(f"{name} is not UTF-8 text; it is not changed.") from None
        return data, decode(data)

    def _base_as_read(self, name: str, now: bytes) -> bytes:
        """The content that the model read: the base of its change."""
        known = self.turn_changes.read.get(name)
        if known is None:
            raise ToolProblem(
                f"{name} exists and was not read. Use edit_file or append_file, or read it first."
            )
        if known == md5(now):
            return now
        if known not in self.turn_changes.held:
            raise ToolProblem(f"{name} was changed meanwhile. Read it again first.")
        return self.turn_changes.held[known]

    def _note_read(self, name: str, data: bytes) -> None:
        mark = self.turn_changes.read[name] = md5(data)
        if len(data) <= HELD_BYTES:
            self.turn_changes.held[mark] = data

    def _save_or_refuse(self, plan: _Plan) -> str:
        """Make the change. Returns a note for the model about others' changes in the meantime;
        raises ToolProblem when they are in the same lines."""
        try:
            return MERGED if self._write(plan).merged else ""
        except SaveConflict:
            raise ToolProblem(CHANGED.format(plan.name)) from None

    def _write(self, plan: _Plan) -> Saved:
        name, base = plan.name, plan.base
        known = self.turn_changes.read.get(name)
        data = encode_like(base, plan.new, plan.target)
        saved = save_over(plan.target, base, data, self.turn_changes.keep)
        before = None if saved.before is None else decode(saved.before)
        self.turn_changes.before.setdefault(name, before)
        if saved.merged:  # the model has not seen all of it
            self.turn_changes.read.pop(name, None)
        elif not (base or b"").strip() or known == md5(base or b""):
            self._note_read(name, saved.after)
        return saved


def _check_todos(name: str, text: str) -> None:
    """Raise ToolProblem for the list of to-dos: a line that is added as text is no to-do."""
    if name == TODO_FILE and text.strip():
        raise ToolProblem(f"{name} is changed by the tool todo: add, done, remove.")


def _check_text(data: bytes, name: str) -> bytes:
    """Return the bytes of a text. Raises ToolProblem for an image or other binary data."""
    if (kind := kind_of(data)) in IMAGES:
        raise ToolProblem(
            f"{name} is an image ({kind}, {len(data):,} bytes). You can only see it when the user"
            f" attaches it: @{name}"
        )
    if b"\0" in data[:8192]:
        raise ToolProblem(f"{name} is not a text file ({len(data):,} bytes).")
    return data


def _pdf_text(data: bytes, name: str) -> str:
    try:
        return paged_text(data)
    except NoText as error:
        raise ToolProblem(f"{name} is {error}.") from error


def _append_target(home: Home, path: str) -> Path:
    if "/" in tidy(path):
        return new_file(home, path)
    try:
        return existing_file(home, path)
    except ToolProblem:
        return new_file(home, path)


def _first_page(lines: list[str], limits: ResultLimits) -> list[str]:
    page: list[str] = []
    left = limits.page
    for line in lines[:PAGE_LINES]:
        left -= min(len(line), LONGEST_LINE) + 1
        if left < 0 and page:
            break
        page.append(line)
    while len(page) > 1 and not limits.fits("\n".join((FRAME, *page))):
        page = page[: len(page) * 3 // 4]
    return page


def _format_page(
    name: str, page: list[str], start: int, total: int, damaged: bool, mask: Callable[[str], str]
) -> str:
    end = start + len(page) - 1
    head = f"{name}, lines {start}-{end} of {total}"
    if damaged:
        head += " (not valid UTF-8; unreadable bytes are shown as \ufffd)"
    # What is left of a secret that was cut is no longer recognised.
    body = "\n".join(
        line
        if len(line) <= LONGEST_LINE
        else f"{mask(line[: 2 * LONGEST_LINE])[:LONGEST_LINE]}"
        f" [cut: {len(line):,} characters in this line]"
        for line in page
    )
    more = (
        f"\n[{total - end} more lines: read_file with from_line {end + 1}]" if end < total else ""
    )
    return f"{head}:\n{body}{more}"


def _show_count(request: str, lines: list[str]) -> str:
    """A line for a model, which counts badly: how many lines of a file have the word that a request
    wants counted; "" for none."""
    wanted = _HOW_MANY.search(request)
    word = stem(wanted[1].casefold()) if wanted else ""
    count = sum(word in line.casefold() for line in lines) if word else 0
    return f'\n[lines with "{word}": {count}]' if count else ""


_ADDED = re.compile(r"\n?^\[(?:added up: |lines with \").*\]$", re.MULTILINE)
_HOW_MANY = re.compile(
    r"\b(?:how many|wie ?viele?|combien de|cu\u00e1nt[oa]s|quant[ei]|quant[oa]s|hoeveel) "
    r"([^\W\d_]{3,})",
    re.I,
)
