"""Masks secrets: a text gets `{{secret:NAME}}` in their place, a private file holds the values.

The file (`.openclaw/secrets.json`) is readable by its user only. On Windows it has the rights of
its folder: no access list of its own is set. The values are not encrypted, as the key would lie
next to them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import quote

from openclaw.errors import OpenclawError
from openclaw.security.secrets import find_encoded, find_secrets, is_mixed
from openclaw.storage.lock import hold_lock
from openclaw.storage.safe_open import (
    check_no_links,
    decode,
    parse_foreign_json,
    read_bytes,
    refuse_newer,
)
from openclaw.storage.text import report_unwritable, write_private
from openclaw.types import ToolProblem, local_time

_Secrets = list[tuple[str, str]]  # the secrets of a text, as kind and value
MASK = re.compile(r"\{\{\s{0,3}secret:\s{0,3}([A-Za-z0-9-]{1,60})\s{0,3}\}\}")
VERSION = 1
LARGEST = 10_000_000
SHORTEST_DISTINCT = 8
MAX_CLEAN = 20_000
"""Texts without a secret that are remembered: a conversation is masked again in each turn."""
SHORTEST_IN_WORDS = 16
"""Shorter values are only recognised without a letter or digit before or after them."""
_LIKE_A_MASK = re.compile(
    r"\{{0,2}\s?secret[:_ ]\s?[\w-]{1,60}\s?\}{1,2}|\[?redacted\]?|\*{5,}"
    r"|<(?:secret|masked|hidden)[^>]{0,40}>",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"[\w.+/=:@%~-]{1,4096}", re.ASCII)
_NAME = re.compile(r'"([a-z0-9-]{1,60})": \{')
NOT_THERE = (
    "{mask} is not in {where}: a masked secret can only be written back where it was. Leave it "
    "out, or tell the user to write it there."
)
ALMOST = (
    '{where} holds a secret where you wrote "{wrote}". Copy the mask exactly: {masks}. Or leave '
    "that line alone."
)
NOT_PLAIN = "{mask} has characters that a command would take for its own; tell the user."


def mask_of(name: str) -> str:
    return f"{{{{secret:{name}}}}}"


def is_distinct(value: str) -> bool:
    """Return True for a value that is masked in every text. A short or plain word that is the
    password of an address is only masked in the address, else each such word would be masked."""
    letters, others = any(map(str.isalpha, value)), not value.isalpha()
    return len(value) >= SHORTEST_DISTINCT and ((letters and others) or is_mixed(value))


def masked_names(text: str) -> list[str]:
    """Return the names of the masks in a text, each once, in order."""
    return list(dict.fromkeys(name.lower() for name in MASK.findall(text)))


def tell_masked(text: str, masked: str) -> str:
    """Return a notice about the secrets of a text that the masked one names, "" for none."""
    known = masked_names(text)
    names = ", ".join(name for name in masked_names(masked) if name not in known)
    return f"kept apart: {names} (the model sees only the name)" if names else ""


def _replace_value(text: str, value: str, mask: str) -> str:
    """Mask a value in a text. A short one is masked only where it is no part of a longer word; it
    may be repeated there."""
    if len(value) >= SHORTEST_IN_WORDS:
        return text.replace(value, mask)
    alone = rf"(?<![^\W_])(?:{re.escape(value)})+(?![^\W_])"
    return re.sub(alone, lambda found: found[0].replace(value, mask), text)


@dataclass(slots=True)
class Masker:
    """The secrets of a home, read when needed, and again after another process changed them."""

    path: Path
    now: Callable[[], datetime] = local_time
    notices: list[str] = field(default_factory=list)  # one-line texts for the user
    _values: dict[str, str] = field(default_factory=dict, repr=False)  # the values by name
    # The entries of the file by name.
    _entries: dict[str, Any] = field(default_factory=dict, repr=False)
    _stamp: tuple[int, int, int] | None = None  # inode, size and time of the file that was read
    _clean: set[int] = field(default_factory=set, repr=False)  # hashes of texts without a secret
    _is_in_memory: bool = False

    @classmethod
    def in_memory(cls, path: Path) -> Self:
        """Read the secrets of a file once and never write it: new secrets are known to this masker
        only. OpenclawError when it cannot be read."""
        masker = cls(path)
        with suppress(ValueError):  # the process that owns the file moves it aside
            masker._read()
        masker._is_in_memory = True
        return masker

    def mask(self, text: str) -> str:
        """Replace each secret by its mask. The same secret always has the same name.

        Raises OpenclawError when a new one cannot be saved.
        """
        if len(text) < SHORTEST_DISTINCT:  # no rule finds a secret in it
            return text
        self._refresh()
        if hash(text) in self._clean:
            return text
        masked = self._mask_with(text)
        if masked == text:
            self._clean = self._clean if len(self._clean) < MAX_CLEAN else set()
            self._clean.add(hash(text))
        return masked

    def mask_for_display(self, text: str) -> str:
        """Replace each secret by a mask for display only. A new secret, which may not be complete
        yet, is not saved."""
        self._refresh()
        return self._mask_with(text, lambda found: ["new"] * len(found))

    def _mask_with(
        self, text: str, name_values: Callable[[_Secrets], list[str]] | None = None
    ) -> str:
        """Mask a text. `name_values` gives the names of secrets; by default new ones are saved."""
        for name, value in sorted(self._values.items(), key=lambda item: -len(item[1])):
            if value in text and is_distinct(value):
                text = _replace_value(text, value, mask_of(name))
        spans = find_secrets(text)
        if not spans and self._values:  # else the recursive call finds them
            spans = find_encoded(text, filter(is_distinct, self._values.values()))
        if not spans:
            return text
        name_values = name_values or self._name_values
        names = name_values([(kind, text[start:end]) for kind, start, end in spans])
        parts, at = [], 0
        for (_, start, end), name in zip(spans, names, strict=True):
            parts += [text[at:start], mask_of(name)]
            at = end
        return self._mask_with("".join([*parts, text[at:]]), name_values)

    def reveal(self, text: str, *, plain: bool = False, before: str | None = None) -> str:
        """Replace each mask by its value; an unknown mask stays, and with `before` also that of a
        value that is not in this text.

        With `plain` the values may only have letters, digits and `_.+/=:@%~-`, as any other
        character could end a string or begin a command: ToolProblem.
        """

        def value(match: re.Match[str]) -> str:
            known = self._values.get(match[1].lower())
            if known is None or (old is not None and known not in old):
                return match[0]
            if plain and not _PLAIN.fullmatch(known):
                raise ToolProblem(NOT_PLAIN.format(mask=match[0]))
            return known

        if "{{" not in text:
            return text
        self._refresh()
        old = before if before is None else before.replace("\r\n", "\n")
        return MASK.sub(value, text)

    def written(self, text: str, before: str, where: str, *, whole: bool = True) -> str:
        """Return the text that may be written into a file with the content `before`.

        A mask becomes its value again if the file holds the value. `where` names the file; `whole`
        means that the text replaces all of it. ToolProblem for the mask of another secret, and for
        a text that only looks like a mask where a value would be lost.
        """
        self._refresh()
        old = before.replace("\r\n", "\n")
        for name in masked_names(text):
            if name in self._values and self._values[name] not in old:
                raise ToolProblem(NOT_THERE.format(mask=mask_of(name), where=where))
        new = self.reveal(text)
        if whole:
            self.check_kept(old, new, where)
        return new

    def noted(self, text: str, before: str) -> str:
        """Do the same for a memory: new secrets stay masked, and masks of secrets that the file
        holds become their values again."""
        return self.reveal(self.mask(text), before=before)

    def check_kept(self, before: str, after: str, where: str) -> None:
        """Raise ToolProblem when a value of the file is lost and a text like a mask was added."""
        lost = [name for name, value in self._values.items() if value in before]
        lost = [name for name in lost if self._values[name] not in after]
        new = [found[0] for found in _LIKE_A_MASK.finditer(after) if found[0] not in before]
        if lost and new:
            masks = ", ".join(map(mask_of, lost))
            raise ToolProblem(ALMOST.format(where=where, wrote=new[0], masks=masks))

    def names(self) -> tuple[str, ...]:
        """Return the names of all secrets, the oldest first."""
        self._refresh()
        return tuple(self._values)

    # -------- the file

    def _name_values(self, found: _Secrets) -> list[str]:
        """Return a name for each kind and value. New ones are on the disk when this returns."""
        known = {value: name for name, value in self._values.items()}
        if any(value not in known for _, value in found):
            with self._locked():
                self._refresh()
                known = {value: name for name, value in self._values.items()}
                for kind, value in found:
                    if value not in known:
                        known[value] = self._add(kind, value)
                self._save()
        return [known[value] for _, value in found]

    def _add(self, kind: str, value: str) -> str:
        number, taken = 1, {*self._entries, *self._names_of_damaged()}
        while (name := f"{kind}-{number}") in taken:
            number += 1
        self._values[name] = value
        self._clean.clear()
        since = self.now().isoformat(timespec="seconds")
        self._entries[name] = {"kind": kind, "value": value, "since": since}
        return name

    def _locked(self) -> AbstractContextManager[object]:
        if self._is_in_memory:
            return nullcontext()
        return hold_lock(self.path.parent / "locks" / "secrets.lock", what="the secrets file")

    def _save(self) -> None:
        if self._is_in_memory:
            return
        shape = {"version": VERSION, "secrets": self._entries}
        write_private(self.path, json.dumps(shape, ensure_ascii=False, indent=1) + "\n")

    def _refresh(self) -> None:
        if not self._is_in_memory:
            try:
                self._read()
            except ValueError:
                self._move_aside()

    def _read(self) -> None:
        """Read the file if it has changed. ValueError for a damaged one."""
        try:
            status = self.path.stat()
            stamp = status.st_ino, status.st_size, status.st_mtime_ns
            if stamp == self._stamp:
                return
            kept = read_secrets_file(read_bytes(self.path, LARGEST).decode("utf-8"))
        except FileNotFoundError:  # somebody deleted it: known secrets stay masked
            self._stamp = None
            return
        except OSError as error:
            what = f"cannot read {self.path}: {error.strerror}"
            raise OpenclawError(what, "give this user access to it") from error
        self._clean.clear()
        self._entries = dict(kept)
        self._values = {name: str(entry["value"]) for name, entry in kept.items()}
        self._stamp = stamp

    def _names_of_damaged(self) -> list[str]:
        """Return the names in damaged files: old sessions may use them, so no new secret may."""
        found: list[str] = []
        for path in self.path.parent.glob(f"{self.path.stem}.damaged-*.json"):
            with suppress(OSError):
                found += _NAME.findall(decode(read_bytes(path)))
        return found

    def _move_aside(self) -> None:
        """Rename a damaged file, and tell the user."""
        aside = self.path.with_name(f"{self.path.stem}.damaged-{self.now():%Y%m%d-%H%M%S}.json")
        with report_unwritable(aside):
            check_no_links(self.path.parent)
            self.path.replace(aside)
        self._stamp = None
        self.notices.append(
            f"{self.path.name} was damaged and is kept as .openclaw/{aside.name}; masks of older "
            "sessions have no value now"
        )


def read_secrets_file(text: str) -> Mapping[str, Any]:
    """Read the entries by name. ValueError for another file, Damaged for a newer version."""
    shape = parse_foreign_json(text)
    shape = shape if isinstance(shape, dict) else {}
    refuse_newer(shape.get("version"), VERSION, "the secrets file")
    entries = shape.get("secrets")
    if not isinstance(entries, dict):
        raise ValueError("not a file of secrets")
    for entry in entries.values():
        value = entry.get("value") if isinstance(entry, dict) else None
        if not isinstance(value, str) or not value:
            raise ValueError("an entry has no value")
    return entries


MaskMode = Literal["stay", "own", "code", "url", "text"]
"""How a mask such as {{secret:github-token-1}} in the arguments of a tool is treated.

stay: masks stay and secrets are masked (memories, a web search).
own: the tool does it (files).
code: the value replaces the mask and must not be readable as a command.
url: the value replaces the mask, with its characters escaped.
text: the value replaces the mask unchanged.
"""


def no_secrets() -> Masker:
    """A masker that begins without a secret, and keeps none."""
    return Masker(Path(os.devnull), _is_in_memory=True)


def arguments_for_call(
    masker: Masker, masks: MaskMode, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments with which a permitted call is run. ToolProblem for a secret that could
    be read as a command."""
    if masks == "own":
        return dict(arguments)
    change: Callable[[str], str] = {
        "stay": masker.mask,
        "code": lambda text: masker.reveal(text, plain=True),
        "url": lambda text: _in_url(masker, text),
        "text": masker.reveal,
    }[masks]
    return {name: map_texts(value, change) for name, value in arguments.items()}


def secrets_used(masker: Masker, masks: MaskMode, arguments: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the secrets in the arguments of a call, masked or not."""
    found: list[str] = []

    def look(text: str) -> str:
        found.extend(masked_names(masker.mask(text)))
        return text

    if masks in ("code", "url", "text"):
        map_texts(arguments, look)
    return frozenset(name for name in found if masker.reveal(mask_of(name)) != mask_of(name))


def disarm_masks(text: str) -> str:
    """Change a foreign text so that nothing in it looks like one of our masks."""
    return MASK.sub(lambda match: match[0].replace("{{", "{ {", 1), text)


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Apply `change` to each text in a value, except the names of fields."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: map_texts(each, change) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [map_texts(each, change) for each in value]
    return value


def _in_url(masker: Masker, text: str) -> str:
    """Reveal each secret escaped, so that it names no other host and begins no part of the URL."""

    def escaped(match: Any) -> str:
        value = masker.reveal(match[0])
        return match[0] if value == match[0] else quote(value, safe="")

    return MASK.sub(escaped, text)
