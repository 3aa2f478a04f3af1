"""What a skill needs of the machine, the settings and the user before it may be used.

Requirements stand under `metadata.openclaw` (older keys: clawdbot, moltbot, clawdis). Programs are
looked up and never run; what a skill says about installing them is text for the user.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from openclaw.config.settings import Settings, keys
from openclaw.frozen import frozen
from openclaw.skills.frontmatter import SkillError, read_yaml

OWNERS = ("openclaw", "clawdbot", "moltbot", "clawdis")
_SYSTEMS = {"macos": "darwin", "windows": "win32"}
_SYSTEM_NAMES = {"darwin": "macOS", "win32": "Windows", "linux": "Linux"}
_YES = frozenset({"true", "yes", "on", "1"})
_NO = frozenset({"false", "no", "off", "0"})
_PROGRAM = re.compile(r"[^\s/\\:\x00-\x1f\x7f]+")
_PACKAGE = re.compile(r"[A-Za-z0-9@][\w@./:+~^=-]*")
_ADDRESS = re.compile(r"https?://[\w./:@%+~=?,-]+")
_COMMANDS = {
    "brew": ("brew install", "formula"),
    "node": ("npm install -g", "package"),
    "go": ("go install", "module"),
    "uv": ("uv tool install", "package"),
    "download": ("download", "url"),
}


@frozen
class InstallHint:
    """How the author says that programs are installed; `os` as in `Requirements`."""

    bins: tuple[str, ...]
    os: tuple[str, ...]
    text: str


@frozen
class Requirements:
    """What a skill needs.

    os: one of these systems
    bins: all of these programs
    any_bins: one of these programs
    env: all of these variables set
    config: all of these settings switched on
    always: waives all but `os`
    """

    os: tuple[str, ...] = ()
    bins: tuple[str, ...] = ()
    any_bins: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    always: bool = False
    hints: tuple[InstallHint, ...] = ()


NO_REQUIREMENTS = Requirements()


def read_requirements(metadata: Any) -> Requirements:
    """Read the requirements in a skill's metadata: a mapping, or JSON in a text."""
    known = _mapping(metadata)
    own: dict[str, Any] = next(
        (known[key] for key in OWNERS if isinstance(known.get(key), dict)), {}
    )
    if not own:
        return NO_REQUIREMENTS
    needs = _mapping(own.get("requires"))
    return Requirements(
        os=_systems(own.get("os")),
        bins=read_texts(needs.get("bins")),
        any_bins=read_texts(needs.get("anyBins")),
        env=read_texts(needs.get("env")),
        config=read_texts(needs.get("config")),
        always=read_flag(own.get("always"), default=False),
        hints=_hints(own.get("install")),
    )


def read_flag(value: Any, *, default: bool) -> bool:
    """A yes or no as YAML writes it, the default for anything else."""
    text = value.strip().lower() if isinstance(value, str) else ""
    return text in _YES or (default and text not in _NO)


def read_texts(value: Any) -> tuple[str, ...]:
    """A list of texts, which may be written as one text with commas."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list):
        return ()
    bare = (item.strip() for item in items if isinstance(item, str))
    return tuple(dict.fromkeys(filter(None, bare)))


def list_missing(
    needs: Requirements, settings: Settings, which: Callable[[str], str | None]
) -> list[str]:
    """List what is missing, one line each with what can be done about it; [] when nothing is.
    `which` looks a program up."""
    if needs.os and sys.platform not in needs.os:
        names = " or ".join(_SYSTEM_NAMES.get(name, shorten(name)) for name in needs.os)
        here = _SYSTEM_NAMES.get(sys.platform, sys.platform)
        return [f"it is made for {names}, and this is {here}"]
    if needs.always:
        return []

    def there(name: str) -> bool:
        return bool(_PROGRAM.fullmatch(name) and which(name))

    lines = [
        f"the program {shorten(name)} is not installed; {_advice(needs, (name,))}"
        for name in needs.bins
        if not there(name)
    ]
    if needs.any_bins and not any(map(there, needs.any_bins)):
        names = ", ".join(map(shorten, needs.any_bins))
        lines.append(f"none of the programs {names} is installed; {_advice(needs, needs.any_bins)}")
    lines += [
        f"the environment variable {shorten(name)} is not set"
        for name in needs.env
        if not os.environ.get(name, "").strip()
    ]
    lines += [
        f"the setting {shorten(name)} is not on"
        for name in needs.config
        if not (name in keys() and attrgetter(name)(settings))
    ]
    return lines


def shorten(name: str) -> str:
    """Return a name from a skill, cut to 80 characters."""
    return name if len(name) <= 80 else name[:79] + "\u2026"


def _mapping(value: Any) -> dict[str, Any]:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        import yaml

        try:
            value, _ = read_yaml(value)
        except (yaml.YAMLError, SkillError):
            return {}
    return value if isinstance(value, dict) else {}


def _systems(value: Any) -> tuple[str, ...]:
    names = (name.lower() for name in read_texts(value))
    return tuple(dict.fromkeys(_SYSTEMS.get(name, name) for name in names))


def _hints(value: Any) -> tuple[InstallHint, ...]:
    """Return the install specs that fit one plain line."""
    found = []
    for spec in value if isinstance(value, list) else ():
        if not isinstance(spec, dict):
            continue
        command, key = _COMMANDS.get(str(spec.get("kind")), ("", ""))
        what = spec.get(key)
        form = _ADDRESS if key == "url" else _PACKAGE
        if isinstance(what, str) and form.fullmatch(what):
            systems = _systems(spec.get("os"))
            found.append(
                InstallHint(read_texts(spec.get("bins")), systems, f"{command} {shorten(what)}")
            )
    return tuple(found)


def _advice(needs: Requirements, names: tuple[str, ...]) -> str:
    ways = dict.fromkeys(
        hint.text
        for hint in needs.hints
        if not hint.bins or set(hint.bins) & set(names)
        if not hint.os or sys.platform in hint.os
    )
    if ways:
        return "its author names: " + ", or: ".join(ways)
    return "install it so that it is on the PATH" if len(names) == 1 else "install one of them"
