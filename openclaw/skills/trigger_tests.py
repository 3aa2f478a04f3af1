"""The trigger tests of a skill: prompts that should and should not make a model read it.

evals/triggers.yaml in the skill's folder:

    should:
      - Plan my day
      - prompt: What is first today?
        expect: [First step]        # words that the answer then has, whatever their case
    should_not:
      - What day is it?
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from openclaw.errors import UsageError
from openclaw.frozen import frozen
from openclaw.skills.frontmatter import SkillError, read_yaml
from openclaw.storage.safe_open import reading

FILE = "evals/triggers.yaml"
MAX_BYTES = 64 * 1024
MAX_PROMPTS = 50
MAX_PROMPT = 2_000
MAX_WORDS = 20
MAX_EXAMPLES = 10
MAX_EXAMPLE = 200
KEYS = frozenset({"should", "should_not"})
FORM = "should: and should_not: are lists of prompts, each a text, or prompt: and expect: together"


@frozen
class Triggers:
    """Prompts for which a model should read a skill, prompts for which it should not, and the words
    that some answers must have."""

    should: tuple[str, ...]
    should_not: tuple[str, ...]
    expected: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_triggers(folder: Path) -> Triggers:
    """The trigger tests of the skill in this folder. Raises UsageError, which says what is wrong
    where, when there are none or they are damaged."""
    fields = _fields(folder / FILE)
    unknown = [key for key in fields if key not in KEYS]
    if unknown:
        raise _damaged(f"unknown key {unknown[0][:40]!r}")
    expected: dict[str, tuple[str, ...]] = {}
    should = _prompts("should", fields, expected)
    should_not = _prompts("should_not", fields, expected)
    if not should and not should_not:
        raise _damaged("it holds no prompts")
    both = sorted({*should} & {*should_not})
    if both:
        raise _damaged(f"this prompt is under should and under should_not: {both[0][:80]!r}")
    return Triggers(should, should_not, expected)


def examples(folder: Path) -> tuple[str, ...]:
    """Return requests that a skill is for, its first trigger tests, so that a search finds it.
    () when it has no tests that can be read."""
    if not (folder / FILE).is_file():
        return ()
    try:
        prompts = read_triggers(folder).should
    except UsageError:
        return ()
    return tuple(prompt[:MAX_EXAMPLE] for prompt in prompts[:MAX_EXAMPLES])


def _fields(path: Path) -> dict[str, Any]:
    """The mapping at the top of the file, its scalars as texts."""
    import yaml

    text = _text(path)
    try:
        fields, doubled = read_yaml(text)
    except SkillError as error:
        raise _damaged(str(error)) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        reason = getattr(error, "problem", "") or "it cannot be read"
        raise _damaged(f"it is not YAML{where}: {reason}") from error
    if doubled:
        raise _damaged(f"the key {doubled[:40]!r} is given twice")
    if not isinstance(fields, dict):
        raise _damaged("it has no should: and no should_not:")
    return fields


def _text(path: Path) -> str:
    """The file's text. Only a file of the skill itself is opened: a link may point anywhere, and a
    pipe never ends."""
    if path.is_symlink() or path.parent.is_symlink():
        raise _damaged("it is a link")
    if not path.exists():
        advice = f"write some into its {FILE}: {FORM}"
        raise UsageError("the skill has no trigger tests", advice)
    if not path.is_file():
        raise _damaged("it is not a file")
    try:
        with reading(path) as file:
            data = file.read(MAX_BYTES + 1)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise _damaged(f"it cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _damaged("it is not UTF-8") from error
    if len(data) > MAX_BYTES:
        raise _damaged(f"it is larger than {MAX_BYTES // 1024} KiB")
    return text


def _prompts(
    key: str, fields: Mapping[str, Any], expected: dict[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """Return the prompts under a key, each once; add the words of their answers to `expected`."""
    items = fields.get(key) or []
    if not isinstance(items, list):
        raise _damaged(f"{key} is no list")
    if len(items) > MAX_PROMPTS:
        raise _damaged(f"{key} has {len(items)} prompts, more than {MAX_PROMPTS}")
    prompts = []
    for number, item in enumerate(items, 1):
        where = f"{key}, prompt {number}"
        prompt, words = _prompt(item, where)
        if words:
            expected[prompt] = words
        prompts.append(prompt)
    return tuple(dict.fromkeys(prompts))


def _prompt(item: Any, where: str) -> tuple[str, tuple[str, ...]]:
    words: Any = []
    if isinstance(item, dict):
        unknown = [key for key in item if key not in ("prompt", "expect")]
        if unknown:
            raise _damaged(f"{where}: unknown key {unknown[0][:40]!r}")
        item, words = item.get("prompt"), item.get("expect") or []
    if not isinstance(item, str) or not item.strip():
        raise _damaged(f"{where}: it is no text")
    if len(item) > MAX_PROMPT:
        raise _damaged(f"{where}: it is longer than {MAX_PROMPT:,} characters")
    return item.strip(), _words([words] if isinstance(words, str) else words, where)


def _words(words: Any, where: str) -> tuple[str, ...]:
    if not isinstance(words, list) or not all(isinstance(w, str) and w.strip() for w in words):
        raise _damaged(f"{where}: expect is a word or a list of words")
    kept = tuple(word.strip() for word in words)
    if len(kept) > MAX_WORDS:
        raise _damaged(f"{where}: expect has more than {MAX_WORDS} words")
    return kept


def _damaged(reason: str) -> UsageError:
    return UsageError(f"{FILE}: {reason}", FORM)
