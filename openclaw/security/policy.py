"""The policy: decides whether a tool call is allowed, asked about or denied. It only decides.

A table gives each mode a decision for each effect. A few rules come before the table. A grant of
the user turns "ask" into "allow" where no rule forbids that. docs/policy.md is printed from here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from openclaw.frozen import frozen
from openclaw.receipt import INBOX
from openclaw.security.credentials import fold_name, why_name_denied
from openclaw.security.grants import BY_TARGET, Grant, offered_grants
from openclaw.types import Action, Change, Effect, Mode

Decision = Literal["allow", "ask", "deny"]

TABLE: dict[Mode, dict[Effect, Decision]] = {
    "read-only": {
        "read": "allow", "write": "deny", "read-elsewhere": "ask", "write-elsewhere": "deny",
        "run": "deny", "get": "ask", "send": "deny",
    },
    "ask": {
        "read": "allow", "write": "ask", "read-elsewhere": "ask", "write-elsewhere": "ask",
        "run": "ask", "get": "ask", "send": "ask",
    },
    "edit": {
        "read": "allow", "write": "allow", "read-elsewhere": "ask", "write-elsewhere": "ask",
        "run": "ask", "get": "ask", "send": "ask",
    },
    "full": {
        "read": "allow", "write": "allow", "read-elsewhere": "allow", "write-elsewhere": "allow",
        "run": "allow", "get": "allow", "send": "allow",
    },
}  # fmt: skip

EFFECTS: dict[Effect, str] = {
    "read": "reading the home",
    "write": "changing the home",
    "read-elsewhere": "reading outside the home",
    "write-elsewhere": "writing outside the home",
    "run": "running a command",
    "get": "getting from the network",
    "send": "sending to the network",
}

IDENTITY_NAMES = frozenset(
    "soul.md agents.md identity.md tools.md heartbeat.md openclaw.yaml openclaw-trust.json".split()
)
"""Names of the files that decide who the agent is and what it may do, in lower case. The last one,
outside of the home, has the user's yes to programs."""
JOBS_NAME = "jobs.md"  # the same, when it lies in memory/
_LASTING_NAMES = frozenset(("user.md", "memory.md"))
_LASTING_FOLDERS = frozenset(("skills", "memory"))
AGENT_FOLDERS = frozenset(("workspace", "memory", "sessions", "skills"))
"""The four folders of a home where the agent works."""
# Short names (8.3) that Windows gives to these files.
_SHORT_NAME = re.compile(r"(?:opencl|heartb|identi|(?:op|he|id)[0-9a-f]{4})~[0-9]+\.\w{0,3}")

# The target of these tools is a command line or a host, not a path.
_NO_PATHS = frozenset(("run_shell", "fetch_url"))
_OUTWARD: frozenset[Effect] = frozenset({"send", "get", "run", "write-elsewhere"})


@frozen
class PolicyRule:
    """A rule that comes before the table."""

    name: str
    about: str  # for the docs: the calls to which the rule applies
    decision: Decision
    reason: str  # for the user and the model: why
    grantable: bool = False  # True when a grant may allow the call


CREDENTIALS = PolicyRule(
    "credentials",
    "any file that holds credentials (`.env`, `~/.ssh`, browser profiles, keys of other programs)",
    "deny",
    "it may hold credentials",
)
IDENTITY_FILES = PolicyRule(
    "identity",
    "writing SOUL.md, AGENTS.md, IDENTITY.md, TOOLS.md, HEARTBEAT.md, memory/JOBS.md, "
    "openclaw.yaml or anything below hooks/, except in mode full while nothing untrusted was read",
    "ask",
    "{name} decides who the agent is and what it may do",
)
NOTES_PROGRAM = PolicyRule(
    "notes-program",
    "writing anything in a folder .obsidian/ or in logseq/, except in mode full while nothing "
    "untrusted was read",
    "ask",
    "{name} is a setting or a plug-in of a notes program, which runs it",
)
LASTING_FILES = PolicyRule(
    "lasting",
    "writing USER.md, anything below skills/ or anything below memory/ but its inbox, after "
    "untrusted text was read",
    "ask",
    "{name} lasts beyond this conversation, and untrusted text was read in it",
)
HOOKED_FILES = PolicyRule(
    "hooked",
    "writing anything outside workspace/, memory/, sessions/ and skills/ where the home has hooks "
    "or MCP servers that run files of it, and anywhere what these run and what lies beside it, "
    "except in mode full while nothing untrusted was read",
    "ask",
    "{name} lies where programs of hooks or MCP servers may look",
)
OUTWARD = PolicyRule(
    "outward",
    "running, sending, getting and writing outside the home, after untrusted text was read, where "
    "no grant names it",
    "ask",
    "{effect} after untrusted text was read",
    grantable=True,
)
COMMITTED = PolicyRule(
    "committed",
    "a command with `git` in it, where credentials were committed and no grant names it",
    "ask",
    "git may show credentials: {held} was committed",
    grantable=True,
)
RULES = (
    *(CREDENTIALS, IDENTITY_FILES, NOTES_PROGRAM, HOOKED_FILES, LASTING_FILES),
    *(OUTWARD, COMMITTED),
)


@frozen
class Verdict:
    decision: Decision
    reason: str
    grant: str = ""  # the grant that allowed it, as a line; "" for none
    rule: str = ""  # the name of the rule that decided; "" for the table


@frozen
class PermissionQuestion:
    action: Action
    arguments: Mapping[str, Any]
    reason: str
    # The grants for a lasting yes, the narrowest first; none when each call must be decided.
    offers: tuple[Grant, ...] = ()
    sources: tuple[str, ...] = ()  # the sources of untrusted text in the conversation
    # The change of a file by the call; None when it is unknown or too long to compare.
    change: Change | None = None


Ask = Callable[[PermissionQuestion], str]
"""Asks the user. Returns how it was allowed ("once", "session", "always", "--yes"), "" for no.
Raises Declined."""


class Declined(Exception):
    """The user said no. The message is what the user wants done instead."""


@frozen
class Policy:
    mode: Mode
    ask: Ask | None = None  # None when nobody can be asked, which is a no
    grants: Sequence[Grant] = ()  # they may grow during the run
    # Returns why commands run without a sandbox; None when they run in one.
    unconfined: Callable[[], str | None] = lambda: None
    # Returns why a path may not be touched; "" when it may.
    denied: Callable[[str], str] = why_name_denied
    hooked: bool = False  # True when the home has hooks, or MCP servers that run files of the home
    programs: Sequence[str] = ()  # the files and folders that these hooks and servers name

    def decide(self, action: Action, *, tainted: bool) -> Verdict:
        """Decide about a call. `tainted` is True when untrusted text was read in the conversation:
        the call may then not be what the user wants."""
        decision = TABLE[self.mode][action.effect]
        if why := self._why_credentials(action):
            return Verdict("deny", f"{CREDENTIALS.reason}: {why}", rule=CREDENTIALS.name)
        if decision == "deny":
            return Verdict("deny", f"mode {self.mode} forbids {_describe_effect(action)}")
        rule = self._find_rule(action, tainted)
        if decision == "allow" and rule is None:
            return Verdict("allow", f"mode {self.mode} allows {_describe_effect(action)}")
        grant = next((grant for grant in self.grants if grant.covers(action)), None)
        if grant and self._is_grantable(action, rule):
            return Verdict("allow", f"granted: {grant}", str(grant))
        return Verdict("ask", self._why_ask(action, rule), rule=rule.name if rule else "")

    def offers(self, action: Action, *, tainted: bool) -> tuple[Grant, ...]:
        """Return the grants that would allow this action the next time, the narrowest first."""
        rule = self._find_rule(action, tainted)
        return offered_grants(action) if self._is_grantable(action, rule) else ()

    def refuses(self, effect: Effect, tool: str) -> bool:
        """Return True when every call of the tool with this effect is refused: it is denied, or
        nobody can be asked and no grant could cover it."""
        if effect == "read" and tool == "run_shell" and self.refuses("run", tool):
            return self.unconfined() is not None  # only the sandbox shows that a line reads
        decision = TABLE[self.mode][effect]
        if decision != "ask" or self.ask is not None:
            return decision == "deny"
        if effect == "run" and tool not in BY_TARGET and self.unconfined() is not None:
            return True
        return not any(_may_cover(grant, effect, tool) for grant in self.grants)

    def _is_grantable(self, action: Action, rule: PolicyRule | None) -> bool:
        """Return True when a grant may allow the action. A grant for any code counts only in the
        sandbox and only before untrusted text was read."""
        if action.effect == "run" and not action.target:
            return rule is None and self.unconfined() is None
        return rule is None or rule.grantable

    def _why_credentials(self, action: Action) -> str:
        if action.effect not in ("read", "write", "read-elsewhere", "write-elsewhere"):
            return ""
        if action.effect == "read" and action.tool in _NO_PATHS:
            return ""
        return self.denied(action.target) if action.target else ""

    def _find_rule(self, action: Action, tainted: bool) -> PolicyRule | None:
        """Return the rule by which the user must be asked, if any."""
        parts = plain_parts(action.target)
        writes = action.effect in ("write", "write-elsewhere")
        if writes and (self.mode != "full" or tainted):
            if _is_identity(parts):
                return IDENTITY_FILES
            if _is_of_notes_program(parts):
                return NOTES_PROGRAM
            if action.effect == "write" and parts and self._is_hooked(parts):
                return HOOKED_FILES
        if writes and tainted and _is_lasting(parts):
            return LASTING_FILES
        if tainted and action.effect in _OUTWARD:
            return OUTWARD
        return COMMITTED if action.held else None

    def _is_hooked(self, parts: tuple[str, ...]) -> bool:
        """Return True when a file of the home lies where hooks or MCP servers look for programs."""
        if self.hooked and parts[0] not in AGENT_FOLDERS:
            return True
        named = map(plain_parts, self.programs)
        return any(parts[: len(each)] == each[: len(parts)] for each in named if each)

    def _why_ask(self, action: Action, rule: PolicyRule | None) -> str:
        does = _describe_effect(action)
        why = f'mode "{self.mode}": {does} needs your OK'
        if rule is not None:
            why = rule.reason.format(name=action.target, effect=does, held=action.held)
        if action.effect == "run" and (missing := self.unconfined()):
            why += f"; it runs without a sandbox: {missing}"
        return why


def _describe_effect(action: Action) -> str:
    if action.program:
        return f"handing data to the program {action.program}"
    return EFFECTS[action.effect]


def is_identity(path: str) -> bool:
    """Return True when a file decides who the agent is and what it may do."""
    return _is_identity(plain_parts(path))


def plain_parts(path: str) -> tuple[str, ...]:
    """Split a path into names as the most lenient file system compares them: without case, hidden
    characters, trailing dots and blanks. Both slashes separate, `..` goes up."""
    parts: list[str] = []
    for part in fold_name(path).replace("\\", "/").split("/"):
        name = part.strip()
        if name == "..":
            del parts[-1:]
        elif name := name.rstrip(" ."):
            parts.append(name)
    return tuple(parts)


def _is_identity(parts: tuple[str, ...]) -> bool:
    if "hooks" in _names_around_colons(parts[:1]):
        return True
    names = _names_around_colons(parts[-1:])
    if parts[-2:-1] == ("memory",) and JOBS_NAME in names:
        return True
    return any(name in IDENTITY_NAMES or _SHORT_NAME.fullmatch(name) for name in names)


def _is_of_notes_program(parts: tuple[str, ...]) -> bool:
    names = {name.strip().rstrip(" .") for part in parts for name in part.split(":")}
    return ".obsidian" in names or "logseq" in _names_around_colons(parts[:1])


def _is_lasting(parts: tuple[str, ...]) -> bool:
    if "/".join((*parts, "")).startswith(INBOX):
        return False
    # In an absolute path the beginning of the home is unknown: look at each folder.
    named = bool(_LASTING_NAMES & _names_around_colons(parts[-1:]))
    return named or bool(_LASTING_FOLDERS & _names_around_colons(parts))


def _names_around_colons(parts: tuple[str, ...]) -> set[str]:
    """Split names at colons: a colon ends a drive, or begins the name of a stream on Windows."""
    return {name.strip(" .") for part in parts for name in part.split(":")}


def _may_cover(grant: Grant, effect: Effect, tool: str) -> bool:
    if grant.kind == "tool":
        return grant.value == tool
    effects = ("get", "send") if grant.kind == "host" else ("run",)
    return effect in effects and grant.kind in BY_TARGET.get(tool, ())
