"""Trust in a home: whether it is the user's own, and the effects of a yes to a foreign one."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from openclaw.config.file import given_values, load_settings
from openclaw.config.settings import allow_targets, build, needing_consent, new_targets, targets
from openclaw.errors import OpenclawError, Refused, UsageError
from openclaw.storage.home import MARKS, Home, find_home
from openclaw.storage.safe_open import follow
from openclaw.storage.trust_store import HOME, Trust, is_trusted, trust_home

ASIDE = "aside"
_SIGNER = "signer "
_KEY = re.compile(r"[a-z0-9@.-]+ [A-Za-z0-9+/]+={0,2}")


def check_trust(home: Home) -> Home:
    """Return the home, marked as untrusted if it is foreign.

    A folder without anything that needs a yes (no settings with effects, no private folder and no
    git repository) is taken for one that the user has made by hand.
    """
    if is_trusted(home):
        return home
    if not _has_foreign_settings(home):
        with suppress(OSError, OpenclawError):  # without write access it stays new
            trust_home(home)
        return home
    return replace(home, trusted=False)


def find_trusted_home(named: str | None, cwd: Path) -> Home:
    """The home that is named, else the one that the command line would take in this folder, for a
    program that cannot ask. Raises OpenclawError without one, and for one from elsewhere that is
    not trusted yet."""
    home = check_trust(find_home(named, cwd, os.environ))
    if not home.trusted:
        raise Refused(
            f"{home.root} came from elsewhere and is not trusted yet",
            f'openclaw --home "{home.root}" trust',
        )
    follow(home.root, lambda: load_settings(home).links)
    return home


def _has_foreign_settings(home: Home) -> bool:
    """Return True when the folder holds files or settings on which openclaw would act."""
    if os.path.lexists(home.root / ".openclaw"):
        return True
    if _is_cloned(home.root) and any(os.path.lexists(home.root / name) for name in MARKS):
        return True
    try:
        return bool(needing_consent(given_values(home)))
    except OpenclawError:  # broken settings have no effect
        return False


def _is_cloned(folder: Path) -> bool:
    """Return True when the folder is in a git repository, which the next pull may change."""
    return any(os.path.lexists(each / ".git") for each in (folder, *folder.parents))


def list_effects_of_trust(home: Home) -> Iterator[str]:
    """Yield lines that say what a yes to the home would turn on. UsageError for broken settings."""
    values = given_values(home)
    for name, value in needing_consent(values).items():
        yield f"{name}: {json.dumps(value, ensure_ascii=False, default=str)}"
    settings = build({name: value for name, (value, _) in values.items()})
    for variable, address in targets(settings):
        there = "" if os.environ.get(variable) else ", which is not set,"
        yield f"sends {variable} of your environment{there} to {address}"


def allow(home: Home, *, keep_private: bool) -> Path | None:
    """Trust the home, and let its settings send the keys that they name.

    Its private folder is moved aside unless `keep_private`. Returns where it is then.
    """
    aside = None
    if not is_trusted(home):
        if not keep_private:
            aside = _move_aside(home.root / ".openclaw")
        trust_home(home)
    allow_keys(home)
    return aside


def allow_keys(home: Home) -> None:
    """Let the settings send the keys that they name to the addresses that they name."""
    settings = build({name: value for name, (value, _) in given_values(home).items()})
    allow_targets(home, new_targets(home, settings))


def own_remote(home: Home, url: str) -> None:
    """Let what comes from this git repository count as the user's own words."""
    Trust().allow(home, "yes", f"remote {url}")


def is_own_remote(home: Home, url: str) -> bool:
    return bool(Trust().known(home, f"remote {url}"))


def allow_signer(home: Home, key: str) -> None:
    """Let what is signed by this ssh key count as the user's own words. UsageError for no key."""
    words = key.split()
    if len(words) < 2 or not _KEY.fullmatch(f"{words[0]} {words[1]}"):
        raise UsageError(
            "a signer is the public key of ssh, such as ssh-ed25519 AAAA...",
            "it stands in ~/.ssh/id_ed25519.pub of the other device",
        )
    Trust().allow(home, "yes", f"{_SIGNER}{words[0]} {words[1]}")


def signers(home: Home) -> list[str]:
    """The ssh keys of the user's devices."""
    kinds = Trust().kinds(home)
    return [kind.removeprefix(_SIGNER) for kind in kinds if kind.startswith(_SIGNER)]


def revoke(home: Home) -> bool:
    """Take back the yes to the home, its keys and hooks; False when there was none."""
    trust = Trust()
    found = trust.kinds(home)
    for kind in found:
        trust.revoke(home, kind)
    return HOME in found


def _move_aside(private: Path) -> Path | None:
    """Move a private folder into a new one, where nothing looks for it."""
    if not os.path.lexists(private):
        return None
    moved = private.with_name(f".openclaw-{os.urandom(6).hex()}.aside")
    private.rename(moved)
    aside = private / ASIDE / datetime.now().strftime("%Y-%m-%d-%H%M%S")
    aside.parent.mkdir(parents=True)
    moved.rename(aside)
    (private / ".gitignore").write_bytes(b"*\n")
    return aside
