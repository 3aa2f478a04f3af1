"""The tokens by which programs may call the server, and what each may do."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Mapping
from pathlib import Path

from openclaw.errors import UsageError
from openclaw.storage.home import Home
from openclaw.storage.safe_open import read_json_cache, read_text
from openclaw.storage.text import write_private

SCOPES: Mapping[str, frozenset[str]] = {
    "read": frozenset({"read"}),
    "chat": frozenset({"chat"}),
    "files": frozenset({"read", "files"}),
}
OWNER = frozenset({"owner"})
TERMINAL = frozenset({"owner", "terminal"})
CODE_SECONDS = 120.0
LEAST_TOKEN = 32  # characters of a token from a file


class Tokens:
    """The tokens of a server: the owner's ("" makes one), codes for one use that lead to it, that
    of the user's terminal, which only a private file tells, and named tokens, kept as hashes."""

    def __init__(self, file: Path, owner: str = "") -> None:
        self._file, self.owner = file, owner or secrets.token_urlsafe(32)
        self.terminal = secrets.token_urlsafe(32)
        self._codes: dict[str, float] = {}

    def scopes_of(self, token: str) -> frozenset[str]:
        """Return what a token may do; nothing for an unknown one."""
        for own, scopes in ((self.terminal, TERMINAL), (self.owner, OWNER)):
            if hmac.compare_digest(token.encode(), own.encode()):
                return scopes
        digest = _hash(token)
        for known in read_tokens(self._file).values():
            if hmac.compare_digest(digest, str(known.get("sha256", ""))):
                return SCOPES.get(str(known.get("scope")), frozenset())
        return frozenset()

    def make_code(self) -> str:
        """Return a code to exchange for the owner's token, once and within two minutes."""
        code = secrets.token_urlsafe(24)
        self._codes[code] = time.monotonic() + CODE_SECONDS
        return code

    def exchange(self, code: str) -> str:
        """Return the owner's token for a code; "" for one that is unknown, used or too old."""
        return self.owner if time.monotonic() < self._codes.pop(code, 0.0) else ""


def read_token_file(file: Path) -> str:
    """Return the owner's token that the user wrote into a file that nobody else may read."""
    try:
        token = read_text(file).strip()
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read ({error.strerror})", "--token-file FILE"
        ) from error
    if len(token) < LEAST_TOKEN:
        hint = "python -c 'import secrets; print(secrets.token_urlsafe(32))' makes one"
        raise UsageError(f"the token in {file} is shorter than {LEAST_TOKEN} characters", hint)
    if os.name != "nt" and file.stat().st_mode & 0o077:
        raise UsageError(f"others may read {file}", f"chmod 600 {file}")
    return token


def tokens_file(home: Home) -> Path:
    return home.private / "tokens.json"


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def read_tokens(file: Path) -> dict[str, dict[str, str]]:
    """Return the named tokens: scope and hash by name. A damaged file counts as none."""
    found = read_json_cache(file)
    return {name: value for name, value in found.items() if isinstance(value, dict)}


def add_token(file: Path, name: str, scope: str) -> str:
    """Make a token with a name and a scope; returns it. It is kept as a hash only."""
    if scope not in SCOPES:
        raise UsageError(f"there is no scope '{scope}'", f"there are: {', '.join(SCOPES)}")
    known = read_tokens(file)
    if name in known:
        raise UsageError(f"there is a token '{name}'", f"openclaw serve token remove {name}")
    token = secrets.token_urlsafe(32)
    known[name] = {"scope": scope, "sha256": _hash(token)}
    write_private(file, json.dumps(known, indent=2) + "\n")
    return token


def remove_token(file: Path, name: str) -> None:
    known = read_tokens(file)
    if known.pop(name, None) is None:
        names = ", ".join(known) or "none"
        raise UsageError(f"there is no token '{name}'", f"there are: {names}")
    write_private(file, json.dumps(known, indent=2) + "\n")
