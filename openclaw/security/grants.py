"""Grants: the user's lasting permissions, as lines that people can read.

2026-11-21 command make test        this command line, word for word
2026-11-21 prefix git log           these words, and plain words after them
2026-11-21 host docs.python.org     getting from this host and sending to it
2026-11-21 tool notes__search       this tool, when it names neither a command nor a host
2026-11-21 tool run_python          any code, in the sandbox, while nothing untrusted was read
"""

from __future__ import annotations

import re
from datetime import date
from typing import Literal, get_args

from openclaw.frozen import frozen
from openclaw.types import Action

GrantKind = Literal["command", "prefix", "host", "tool"]
KINDS: tuple[GrantKind, ...] = get_args(GrantKind)
LONGEST = 300

# A word that no shell changes, and that starts nothing: no quotes, no `$`, `;`, `&`, `|`, `<`, `*`.
PLAIN = r"[A-Za-z0-9_./=:@%+,-]+"
_PLAIN_LINE = re.compile(rf"{PLAIN}(?: {PLAIN})*")
_HOST = re.compile(r"[0-9a-f]*:[0-9a-f.]*:[0-9a-f:.]*|[^\s/\\@:\[\]?#*]+")
_TOOL = re.compile(r"[\w.-]+")
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9_-]*")

# Options by which a harmless program writes anywhere, starts another one, or takes its script from
# another place than the home. Programs accept the long ones abbreviated too (git: --outp=FILE).
_LONG_OPTIONS = """
    output exec upload-pack receive-pack open-files-in-pager ext-diff eval textconv config
    config-env exec-path to-command checkpoint-action pager use-compress-program rsh rsh-command
    editor pre hostname-bin
    file makefile directory manifest-path prefix script-shell rootdir git-dir work-tree workspace
    node-options userconfig globalconfig confcutdir override-ini basetemp
""".split()
_SHORT_OPTION = re.compile(r"-(?:[coOIefC]|delete|toolexec|vettool|modfile)")
# Short options of programs that run scripts; they may be joined to one word (-kf FILE). Some are
# harmless for other programs (git log -p).
_LETTERS = {"make": "fCEI", "gmake": "fCEI", "pytest": "pco", "py.test": "pco"}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*[:+]?=")  # make test SHELL=./mine
# Programs that only start another one: their first two words do not tell which.
_STARTERS = """
    sudo doas su env xargs nohup nice time timeout setsid watch command exec eval builtin source ssh
    chroot unshare sh bash zsh dash ksh fish pwsh powershell cmd busybox python pypy perl ruby node
    php lua awk gawk sed bwrap
""".split()
# Programs whose first two words say too little to be offered; a user may still grant them.
_BROAD_PROGRAMS = (
    "rm rmdir dd shred chmod chown mv cp ln kill pkill echo printf cat ls find grep rg".split()
)
BY_TARGET: dict[str, tuple[GrantKind, ...]] = {
    "run_shell": ("command", "prefix"),
    "fetch_url": ("host",),
    "web_search": ("host",),
}
"""Tools whose calls name their target, with the kinds of grants that can cover a call."""


@frozen
class Grant:
    """One permission. `since` is an ISO day, "" for a grant of this session only."""

    kind: GrantKind
    value: str
    since: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.since, self.kind, self.value)))

    def covers(self, action: Action) -> bool:
        match self.kind:
            case "command":
                return action.effect == "run" and self.value == action.target != ""
            case "prefix":
                return action.effect == "run" and _continues(self.value, action.target)
            case "host":
                same = _plain_host(self.value) == _plain_host(action.target) != ""
                return action.effect in ("get", "send") and same
            case "tool":
                return action.tool == self.value and _is_granted_by_tool(action)


def read_grant(line: str) -> Grant:
    """Read the grant of a line. The ValueError says what is wrong with the line."""
    day, _, rest = line.strip().partition(" ")
    kind, _, value = rest.strip().partition(" ")
    try:
        date.fromisoformat(day)
    except ValueError:
        raise ValueError("it does not begin with a day such as 2026-11-21") from None
    return make_grant(kind, value, day)


def make_grant(kind: str, value: str, since: str = "") -> Grant:
    """Make a grant that may be saved. The ValueError says what is wrong with it."""
    value = value.strip()
    known = next((each for each in KINDS if each == kind), None)
    if known is None:
        raise ValueError(f"'{kind}' is none of {', '.join(KINDS)}")
    if known == "host":
        value = _plain_host(value)
    if trouble := _find_trouble(known, value):
        raise ValueError(trouble)
    return Grant(known, value, since)


def read_grants(lines: tuple[str, ...]) -> tuple[list[Grant], list[str]]:
    """Read the grants of lines; returns them and a notice for each line that is none."""
    grants: list[Grant] = []
    notices: list[str] = []
    for line in lines:
        try:
            grants.append(read_grant(line))
        except ValueError as error:
            notices.append(f"a grant in openclaw.yaml is skipped: '{line}': {error}")
    return grants, notices


def offered_grants(action: Action) -> tuple[Grant, ...]:
    """Return the grants that would allow this action, the narrowest first."""
    if action.effect == "run" and action.target:
        whole = (Grant("command", action.target),)
        start = _command_prefix(action.target)
        return (*whole, Grant("prefix", start)) if start and start != action.target else whole
    if action.effect in ("get", "send") and action.target:
        return (Grant("host", _plain_host(action.target)),)
    return (Grant("tool", action.tool),) if _is_granted_by_tool(action) else ()


def may_last(grant: Grant) -> bool:
    """Return True when a grant can be a line of openclaw.yaml: a script of several lines cannot."""
    return not _find_trouble(grant.kind, grant.value)


def _find_trouble(kind: GrantKind, value: str) -> str:
    if not value:
        return f"it names no {kind}"
    if len(value) > LONGEST:
        return f"it is longer than {LONGEST} characters"
    if not value.isprintable():
        return "it holds a character that is not shown"
    if kind == "prefix" and not _PLAIN_LINE.fullmatch(value):
        return "a prefix has only plain words, with one blank between them"
    if kind == "prefix" and _starts_another(program := value.split(" ")[0]):
        return f"{program} may start any other program; grant whole lines, as kind command"
    if kind == "host" and not _HOST.fullmatch(value):
        return "a host has no scheme, port or path; for example docs.python.org"
    if kind == "tool" and not _TOOL.fullmatch(value):
        return "a tool is one word"
    if kind == "tool" and (kinds := BY_TARGET.get(value)):
        return f"{value} is granted by what it reaches, as kind {' or '.join(kinds)}"
    return ""


def _is_granted_by_tool(action: Action) -> bool:
    """Return True when the name of a tool is enough for a grant: not for calls with a command or a
    host, and not for files outside the home. Code has no other name; the policy limits it."""
    if action.tool in BY_TARGET:
        return False
    if action.effect in ("run", "get", "send"):
        return not action.target
    return action.effect == "write"


def _continues(prefix: str, line: str) -> bool:
    """Return True when a line is the prefix followed by plain words, none of them an escape."""
    if not prefix or not _PLAIN_LINE.fullmatch(prefix) or not _PLAIN_LINE.fullmatch(line):
        return False
    words, start = line.split(" "), prefix.split(" ")
    return words[: len(start)] == start and not _has_escape(words, len(start))


def _has_escape(words: list[str], first: int) -> bool:
    """Return True when a word of a line, from index `first` on, leads elsewhere."""
    letters = {letter for word in words for letter in _LETTERS.get(_program_name(word), "")}
    return any(_is_escape(word, letters) for word in words[first:])


def _is_escape(word: str, letters: set[str]) -> bool:
    if not word.startswith("--"):
        clustered = word.startswith("-") and not letters.isdisjoint(word)
        return clustered or bool(_SHORT_OPTION.match(word) or _ASSIGNMENT.match(word))
    name = word[2:].partition("=")[0]
    return bool(name) and any(option.startswith(name) for option in _LONG_OPTIONS)


def _starts_another(word: str) -> bool:
    return _program_name(word).rstrip("0123456789.") in _STARTERS


def _program_name(word: str) -> str:
    return word.rpartition("/")[2]


def _command_prefix(line: str) -> str:
    """Return the program and subcommand of a line of plain words ("git log"), "" for none."""
    words = line.split(" ")
    if len(words) < 2 or not _PLAIN_LINE.fullmatch(line):
        return ""
    program, subcommand = words[:2]
    plain = _SUBCOMMAND.fullmatch(program) and _SUBCOMMAND.fullmatch(subcommand)
    if not plain or _starts_another(program) or program in _BROAD_PROGRAMS or _has_escape(words, 2):
        return ""
    return f"{program} {subcommand}"


def _plain_host(host: str) -> str:
    return host.strip().rstrip(".").casefold()
