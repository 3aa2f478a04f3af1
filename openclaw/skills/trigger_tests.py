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

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any

from openclaw.errors import UsageError
from openclaw.frozen import frozen
from openclaw.skills.frontmatter import SkillError, read_skill_text, read_yaml, yaml_reason

FILE = "evals/triggers.yaml"
MAX_BYTES = 64 * 1024
MAX_EXAMPLES = 10
MAX_EXAMPLE = 200
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
    _check_keys(fields, ("should", "should_not"), "")
    expected: dict[str, tuple[str, ...]] = {}
    should, should_not = (
        _prompts(key, fields.get(key) or [], expected) for key in ("should", "should_not")
    )
    if not should and not should_not:
        raise _damaged("it holds no prompts")
    if both := sorted({*should} & {*should_not}):
        raise _damaged(f"this prompt is under should and under should_not: {both[0][:80]!r}")
    return Triggers(should, should_not, expected)


def examples(folder: Path) -> tuple[str, ...]:
    """Return requests that a skill is for, its first trigger tests, so that a search finds it.
    () when it has no tests that can be read."""
    with suppress(UsageError):
        prompts = read_triggers(folder).should
        return tuple(prompt[:MAX_EXAMPLE] for prompt in prompts[:MAX_EXAMPLES])
    return ()


def _fields(path: Path) -> dict[str, Any]:
    """The mapping at the top of the file, its scalars as texts."""
    import yaml

    if not os.path.lexists(path):
        advice = f"write some into its {FILE}: {FORM}"
        raise UsageError("the skill has no trigger tests", advice)
    if path.parent.is_symlink():
        raise _damaged("its folder is a link")
    try:
        text, clean = read_skill_text(path, MAX_BYTES)
        fields, doubled = read_yaml(text)
    except SkillError as error:
        raise _damaged(str(error)) from error
    except yaml.YAMLError as error:
        raise _damaged(f"it is not YAML: {yaml_reason(error, 0)}") from error
    if not clean:
        raise _damaged("it is not UTF-8")
    if doubled:
        raise _damaged(f"the key {doubled[:40]!r} is given twice")
    if not isinstance(fields, dict):
        raise _damaged("it has no should: and no should_not:")
    return fields


def _prompts(key: str, items: Any, expected: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the prompts under a key, each once; add the words of their answers to `expected`."""
    if not isinstance(items, list):
        raise _damaged(f"{key} is no list")
    prompts = []
    for number, item in enumerate(items, 1):
        where = f"{key}, prompt {number}: "
        fields = item if isinstance(item, dict) else {"prompt": item}
        _check_keys(fields, ("prompt", "expect"), where)
        prompt: Any = fields.get("prompt")
        words = fields.get("expect") or []
        words = words if isinstance(words, list) else [words]
        if not _is_text(prompt):
            raise _damaged(f"{where}it is no text")
        if not all(map(_is_text, words)):
            raise _damaged(f"{where}expect is a word or a list of words")
        prompts.append(prompt.strip())
        if words:
            expected[prompts[-1]] = tuple(word.strip() for word in words)
    return tuple(dict.fromkeys(prompts))


def _check_keys(fields: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in fields:
        if key not in known:
            raise _damaged(f"{where}unknown key {key[:40]!r}")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _damaged(reason: str) -> UsageError:
    return UsageError(f"{FILE}: {reason}", FORM)
