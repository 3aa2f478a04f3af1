"""Reads a SKILL.md and its frontmatter: checks it for safety, and repairs what is not YAML.

Scalars are text: `name: 2048` is the name "2048", and a date need not exist. PyYAML is loaded when
a frontmatter is read.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from openclaw.storage.safe_open import BOM, check_no_links, decode, open_file
from openclaw.storage.text import join_surrogates

MAX_BYTES = 16 * 1024
"""Largest frontmatter. 30,000 nested brackets overflow the stack inside PyYAML's C code, which no
`except` catches, so the size is looked at before anything is parsed."""
MAX_DEPTH = 64

_FENCE = re.compile(r"^---[^\S\n]*$", re.MULTILINE)
_ONE_LINE = re.compile(r"(?P<key>[A-Za-z_][\w.-]*)[ \t]*:[ \t]+(?P<value>.*)")
_MARGIN = re.compile(r"(?P<quote>[\"']?)(?P<key>[A-Za-z_][\w.-]*)(?P=quote)[ \t]*:(?P<value>.*)")
_BLOCK_HEADER = re.compile(r"[|>][-+0-9]{0,2}(?:[ \t]+#.*)?")
_QUOTED = re.compile(r"\A([\"'])(.*)\1\Z", re.DOTALL)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_RESERVED = frozenset("@`%*&!|>[]{},?-:#")


def split_frontmatter(text: str) -> tuple[str, str]:
    """Frontmatter and body of a text with plain newlines. A `---` inside a value or in the body is
    no fence. Raises SkillError when there is none, no end, or too much of it."""
    text = text.lstrip()
    first = _FENCE.match(text)
    if not first:
        raise SkillError("frontmatter-missing", "the file does not begin with ---")
    last = _FENCE.search(text, first.end())
    if not last:
        raise SkillError("frontmatter-unclosed", "the frontmatter has no closing ---")
    front = text[first.end() + 1 : last.start()]
    if len(front.encode()) > MAX_BYTES:
        raise SkillError(
            "frontmatter-too-large", f"the frontmatter is larger than {MAX_BYTES // 1024} KiB"
        )
    return front, text[last.end() + 1 :]


def parse_frontmatter(front: str) -> tuple[dict[str, Any], list[SkillProblem]]:
    """Return the fields (texts, lists and mappings of texts) and the problems that were overlooked.

    Raises SkillError when no part is YAML, and for anchors, aliases, merge keys and tags, which
    YAML bombs are made of.
    """
    import yaml

    try:
        fields, doubled = read_yaml(front)
        if fields == "":  # nothing but comments
            return {}, []
        if isinstance(fields, dict):
            text = f"'{doubled[:40]}' is given twice; the last one counts"
            return fields, [warning("yaml-repaired", text)] if doubled else []
        reason = "it is no list of `key: value` lines"
    except yaml.YAMLError as error:
        reason = yaml_reason(error, 1)
    repaired = _repair(front)
    if not repaired:
        raise SkillError("yaml-invalid", f"the frontmatter is not YAML: {reason}")
    return repaired, [warning("yaml-repaired", f"it is not valid YAML ({reason}) and was repaired")]


def read_yaml(text: str) -> tuple[Any, str]:
    """Read one YAML document with its scalars as texts; return it and a doubled key ("" for none).

    Raises yaml.YAMLError for a text that is not YAML, SkillError for an unsafe one.
    """
    import yaml

    try:
        return _read_document(text, getattr(yaml, "CBaseLoader", yaml.BaseLoader))
    except yaml.YAMLError:
        if not _SURROGATE.search(text):
            raise
    return _read_document(text, yaml.BaseLoader)  # libyaml refuses emoji written as "\ud83d\udd0d"


def _read_document(text: str, loader: Any) -> tuple[Any, str]:
    """Turn PyYAML's events into values, which costs half of composing nodes, and no stack."""
    import yaml

    doubled = unsafe = ""
    waiting: list[list[Any]] = [[]]  # the values of each collection that is not ended yet
    try:
        for event in yaml.parse(text, Loader=loader):
            if isinstance(event, yaml.DocumentStartEvent) and waiting[0]:
                raise yaml.YAMLError("it holds a second document")
            if isinstance(event, yaml.CollectionEndEvent):
                values: Any = waiting.pop()
                if isinstance(event, yaml.MappingEndEvent):
                    keys = values[::2]
                    if not all(isinstance(key, str) for key in keys):
                        raise yaml.YAMLError("a key is no text")
                    values = dict(zip(keys, values[1::2], strict=True))
                    if len(values) < len(keys):
                        doubled = doubled or Counter(keys).most_common(1)[0][0]
                waiting[-1].append(values)
            if not isinstance(event, yaml.NodeEvent):
                continue
            node: Any = event
            if isinstance(event, yaml.AliasEvent):
                unsafe = "an alias"
            elif node.anchor or node.tag:
                unsafe = "an anchor" if node.anchor else "a tag"
            if isinstance(event, yaml.CollectionStartEvent):
                if len(waiting) > MAX_DEPTH:
                    raise _unsafe_error(f"more than {MAX_DEPTH} levels")
                waiting.append([])
                continue
            value = getattr(event, "value", "")
            if value == "<<" and not node.style and len(waiting[-1]) % 2 == 0:
                unsafe = "a merge key"
            waiting[-1].append(join_surrogates(value))
    except yaml.YAMLError as error:
        if "nesting depth" in str(error):  # libyaml, since PyYAML 6.0.4
            raise _unsafe_error(f"more than {MAX_DEPTH} levels") from error
        raise
    except (ValueError, OverflowError) as error:  # of PyYAML's own scanner
        raise yaml.YAMLError("an escape is no character") from error
    if unsafe:
        raise _unsafe_error(unsafe)
    return (waiting[0] or [""])[0], doubled


def _unsafe_error(what: str) -> SkillError:
    return SkillError("yaml-unsafe", f"the frontmatter uses {what}, which no skill needs")


def yaml_reason(error: Exception, before: int) -> str:
    """PyYAML's complaint on one line; `before`: the lines of the file above the text."""
    mark = getattr(error, "problem_mark", None)
    what = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    where = f"line {mark.line + 1 + before}: " if mark else ""
    return where + " ".join(str(what).split())[:120]


def _repair(front: str) -> dict[str, Any]:
    """The fields of a frontmatter that is no YAML; {} when there is nothing to be read."""
    import yaml

    try:
        fields, _ = read_yaml("\n".join(_quote_values(front.split("\n"))))
    except yaml.YAMLError:
        fields = None
    if not isinstance(fields, dict):
        fields = {}
    if not fields.get("description"):
        fields = {**_margin_fields(front), **{key: fields[key] for key in fields if fields[key]}}
    return fields


def _quote_values(lines: list[str]) -> Iterator[str]:
    """Yield the lines, with quotes around values at the margin that break YAML: plain values of one
    line with `: ` in them, `:` at the end, or a reserved sign before them."""
    for number, line in enumerate(lines):
        found = _ONE_LINE.fullmatch(line)
        value = found["value"].strip() if found else ""
        odd = ": " in value or value.endswith(":") or value[:1] in _RESERVED
        if (
            not found
            or not odd
            or value[0] in "\"'"
            or _is_continued(lines, number)
            or _is_yaml(line)
        ):
            yield line
        else:
            yield f"{found['key']}: '" + value.replace("'", "''") + "'"


def _is_continued(lines: list[str], number: int) -> bool:
    """Return True when the next line that is not blank is indented."""
    after = next((line for line in lines[number + 1 :] if line.strip()), "")
    return after[:1] in (" ", "\t")


def _is_yaml(line: str) -> bool:
    import yaml

    try:
        read_yaml(line)
    except (yaml.YAMLError, SkillError):
        return False
    return True


def _margin_fields(front: str) -> dict[str, Any]:
    """`key: value` lines at the margin, each with its indented followers.

    Nothing nested comes out whole, so metadata, and with it the requirements, is left out.
    """
    parts: dict[str, list[str]] = {}
    key = ""
    for line in front.split("\n"):
        if found := _MARGIN.fullmatch(line):
            key = found["key"]
            value = found["value"].strip()
            parts[key] = [] if _BLOCK_HEADER.fullmatch(value) else [value]
        elif line[:1] in (" ", "\t"):
            if key and line.strip():
                parts[key].append(line.strip())
        elif line.strip():
            key = ""
    parts.pop("metadata", None)
    texts = {key: " ".join(filter(None, values)) for key, values in parts.items()}
    return {key: _QUOTED.sub(r"\2", text) for key, text in texts.items()}


class SkillProblem(NamedTuple):
    """Something wrong with a SKILL.md. An error means that it is not loaded."""

    level: Literal["error", "warning"]
    code: str
    message: str

    def as_json(self) -> dict[str, str]:
        return self._asdict()


class SkillError(Exception):
    """An error that ends the reading of one skill; the text is its message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    @property
    def problem(self) -> SkillProblem:
        return SkillProblem("error", self.code, str(self))


def warning(code: str, message: str) -> SkillProblem:
    """A note that does not keep a skill from being loaded."""
    return SkillProblem("warning", code, message)


# -------- the text of the file

MAX_FILE = 1024 * 1024  # bytes of the largest SKILL.md
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe put in its place meanwhile does not hold us
)


def read_source(path: Path) -> tuple[str, list[SkillProblem]]:
    """Read a SKILL.md; return its text with plain newlines, and what was odd about the file. Raises
    SkillError when it is not read."""
    notes = []
    if path.name != "SKILL.md":
        notes.append(warning("filename-case", f"the file is called {path.name}, not SKILL.md"))
    text, clean = read_skill_text(path, MAX_FILE)
    if not clean:
        notes.append(warning("encoding", "some bytes are not UTF-8 and were replaced"))
    return text, notes


def read_skill_text(path: Path, most: int) -> tuple[str, bool]:
    """Read a text file of a skill; return it with plain newlines, and whether every byte of it was
    UTF-8.

    Raises SkillError when it is not read: a link out of its folder, no regular file, larger than
    `most` bytes, no text, or refused by the operating system.
    """
    try:
        info = path.lstat()
        target = path
        if stat.S_ISLNK(info.st_mode):
            check_no_links(path.parent)
            target = _target_inside(path)
            info = target.lstat()
        _check_regular(info)
        with os.fdopen(open_file(target, _FLAGS), "rb") as file:
            _check_regular(os.fstat(file.fileno()))
            data = file.read(most + 1)
    except OSError as error:
        raise SkillError("unreadable", f"cannot be read: {error.strerror or error}") from error
    if len(data) > most:
        raise SkillError("file-too-large", f"the file is larger than {most // 1024} KiB")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SkillError("encoding", "the file is UTF-16, not UTF-8")
    if b"\0" in data:
        raise SkillError("encoding", "the file holds NUL bytes; it is no UTF-8 text")
    try:
        text, clean = data.removeprefix(BOM).decode(), True
    except UnicodeDecodeError:
        text, clean = decode(data), False
    return text.replace("\r\n", "\n").replace("\r", "\n"), clean


def _target_inside(path: Path) -> Path:
    """Where a link leads, if that is in its own folder."""
    target = Path(os.path.realpath(path))
    if not target.is_relative_to(os.path.realpath(path.parent)):
        raise SkillError("symlink-escape", "it is a link out of its folder and is not followed")
    return target


def _check_regular(info: os.stat_result) -> None:
    if not stat.S_ISREG(info.st_mode):
        raise SkillError("not-a-file", "it is not a regular file")
