"""Which paths .gitignore files leave out, asked once a path while those files stay the same."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openclaw.files.beneath import read_bytes
from openclaw.files.text import decode, md5

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

NAME = ".gitignore"
MOST_BYTES = 1_000_000


@dataclass(slots=True)
class Memo:
    """What the last scan learned: the MD5 of each .gitignore by its folder, and the verdict on each
    path that was asked for. Files that are indexed need no entry: `kept` holds folders only."""

    rules: dict[str, str] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    ignored: set[str] = field(default_factory=set)

    def text(self) -> str:
        """As JSON, the same text for the same content."""
        parts = {"rules": self.rules, "kept": sorted(self.kept), "ignored": sorted(self.ignored)}
        return json.dumps(parts, ensure_ascii=True, sort_keys=True)

    @classmethod
    def of(cls, text: str) -> Memo:
        """From `text()`; an empty one when the text is none."""
        try:
            parts: dict[str, Any] = json.loads(text)
            return cls(dict(parts["rules"]), set(parts["kept"]), set(parts["ignored"]))
        except (ValueError, KeyError, TypeError):
            return cls()


class Rules:
    """One .gitignore file of the folder `prefix` (with a slash at its end, "" for the top)."""

    def __init__(self, prefix: str, data: bytes) -> None:
        self.prefix = prefix
        self.data = data
        self._spec: GitIgnoreSpec | None = None

    def verdict(self, path: str) -> bool | None:
        """True when the file leaves the path out, False when it takes it back in, None if silent.
        A folder's path ends with a slash."""
        if self._spec is None:
            self._spec = _compiled(decode(self.data))
        return self._spec.check_file(path[len(self.prefix) :]).include


@dataclass(frozen=True, slots=True)
class Chain:
    """The rules that hold in a folder, nearest last. `trusted`: all are as in the last scan."""

    rules: tuple[Rules, ...] = ()
    trusted: bool = True

    def ignores(self, path: str) -> bool:
        """The nearest .gitignore that says anything decides."""
        verdicts = (rules.verdict(path) for rules in reversed(self.rules))
        return next((verdict for verdict in verdicts if verdict is not None), False)


def enter(chain: Chain, folder: str, prefix: str, has_file: bool, old: Memo, new: Memo) -> Chain:
    """The chain in the folder `prefix`, whose .gitignore (when there is one) is noted in `new`."""
    data = _read(folder) if has_file else None
    if data is None and prefix not in old.rules:
        return chain
    if data is not None:
        new.rules[prefix] = md5(data)
    trusted = chain.trusted and old.rules.get(prefix) == new.rules.get(prefix)
    rules = chain.rules if data is None else (*chain.rules, Rules(prefix, data))
    return Chain(rules, trusted)


def _read(folder: str) -> bytes | None:
    try:
        return read_bytes(Path(folder, NAME), MOST_BYTES)
    except OSError:
        return None


def _compiled(text: str) -> GitIgnoreSpec:
    """The lazy door of pathspec. A line that is no pattern is passed over, as git does."""
    from pathspec import GitIgnoreSpec

    lines = [line.rstrip("\r") for line in text.split("\n")]
    try:
        return GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error):
        return GitIgnoreSpec.from_lines(filter(_is_pattern, lines))


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return False
    return True
