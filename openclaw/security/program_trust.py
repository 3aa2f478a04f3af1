"""Knows what a yes to a home's hooks or MCP servers covers: commands, and the files they run."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from openclaw.config.hook_settings import Hook, read_hooks
from openclaw.config.mcp_settings import Server, fill_variables, read_servers
from openclaw.frozen import frozen
from openclaw.security.display import fold_blanks, one_line, some_lines
from openclaw.security.policy import AGENT_FOLDERS
from openclaw.security.program_files import (
    PYTHON,
    SCRIPTS,
    Programs,
    find_named_paths,
    find_program_places,
    find_programs,
    is_agent_folder,
    is_launcher,
    is_runner,
    launch_words,
    name_of,
    path_of_word,
    paths_of,
    words_of,
)
from openclaw.storage.home import Home
from openclaw.storage.trust_store import State

MAX_FILES = 20


@frozen
class TrustRequest:
    """The hooks or MCP servers of a home and the files that they run, for which a yes is asked."""

    hooks: tuple[Hook, ...]
    programs: Programs
    mark: str  # hash of the settings and the files; "" when it cannot be made
    servers: tuple[Server, ...] = ()

    def missing(self, hook: Hook) -> str:
        """Return the missing program of the home that a hook names, "" for none."""
        words = words_of(hook.run)
        return next((word for word in words if word in self.programs.missing), "")


def make_trust_request(home: Home, hooks: Sequence[Hook]) -> TrustRequest:
    """Read the hooks of a home and their files as they are now."""
    found = find_programs(home, [command for hook in hooks for command in hook.commands])
    return TrustRequest(tuple(hooks), found, hash_settings(list(map(_hook_facts, hooks)), found))


def hash_settings(settings: Sequence[Mapping[str, Any]], found: Programs) -> str:
    """Hash settings and the files that they run; "" when it cannot be made."""
    facts = json.dumps([list(settings), found.hash], sort_keys=True)
    mark = hashlib.sha256(facts.encode("utf-8", "surrogatepass")).hexdigest()
    return "" if found.trouble else mark


def _hook_facts(hook: Hook) -> dict[str, Any]:
    """Return a hook's settings for the hash. An empty `cwd` is left out, for older hashes."""
    return {key: value for key, value in asdict(hook).items() if key != "cwd" or value}


def why_untrusted(found: TrustRequest, state: State) -> str:
    """Return why hooks or servers do not run, "" when they do."""
    if found.programs.trouble:
        return f"they cannot be trusted: {found.programs.trouble}"
    if state == "trusted":
        return ""
    return (
        "they have changed since you allowed it"
        if state == "changed"
        else "you have not allowed it yet"
    )


def list_effects(now: TrustRequest) -> Iterator[str]:
    """Yield lines that say what a yes covers: each command in full, and the files of the home."""
    yield "openclaw.yaml here names programs that run with your rights, unconfined:"
    for hook in now.hooks:
        run = hook.run if isinstance(hook.run, str) else " ".join(map(repr, hook.run))
        where = f" ({' '.join(hook.match)})" if hook.match else ""
        yield f"  {hook.event}{one_line(where)}: {fold_blanks(one_line(run))}"
        if hook.env:
            yield f"    gets {one_line(', '.join(hook.env))} of your environment"
        if hook.cwd:
            yield f"    in the folder {one_line(hook.cwd)}"
        if hook.trusted:
            yield "    its words count as yours"
    for server in now.servers:
        run = " ".join(map(repr, (server.command, *server.args)))
        yield f"  mcp {one_line(server.name)}: {one_line(run)}"
        if server.cwd:
            yield f"    in the folder {one_line(server.cwd)}"
        if server.env:
            given = (f"{name}={value}" for name, value in server.env.items())
            yield f"    gets {one_line(', '.join(given))}"
    # A command names a file, or a folder that it lies in.
    words = now.programs.named
    named = [f for f in now.programs.files if any(f"{f}/".startswith(f"{w}/") for w in words)]
    others = [name for name in now.programs.files if name not in named]
    yield from _few("with these files of the home", named)
    yield from _few("nobody names these, but they lie where programs look", others)
    yield from _few("which are not there", now.programs.missing)


def _few(title: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f"{title}:"
        yield from some_lines([f"  {one_line(name)}" for name in names], MAX_FILES)


_FOR_INTERPRETERS = re.compile(
    r"PATH|ENV|CLASSPATH|(?:LD|DYLD|PYTHON|NODE|NPM|RUBY|GEM|BUNDLE|PERL|BASH|LUA|JAVA|JDK|UV|PIP"
    r"|BUN|DENO|GIT)\w*",
    re.IGNORECASE,
)
"""Variables that may decide from where an interpreter loads code."""
_SETTINGS = ".yml .yaml .toml .ini .cfg .conf .env".split()
"""Files that often name programs (`docker compose -f`); JSON in the four folders is mostly data."""


def code_words(root: Path, server: Server) -> list[str]:
    """Return the words of a server's settings that may decide which code of the home is run. Mere
    data of the program does not count, unless it is a script."""
    folder = Path(os.path.realpath(root / server.cwd))
    given = (
        _relocate(root, folder, _fill_variables(word)) for word in (server.command, *server.args)
    )
    words = [real_word(root, word) for word in given]
    found = [word for word in launch_words(words) if word != words[0] or set(word) & set("/\\")]
    found += [word for word in words if _is_script(root, word)]
    read = (value for name, value in server.env.items() if _FOR_INTERPRETERS.fullmatch(name))
    found += [_relocate(root, folder, _fill_variables(value)) for value in read]
    if server.cwd and folder.is_relative_to(root) and _may_run_code_in(root, folder, words):
        found.append(str(folder))
    return found


def real_word(root: Path, word: str) -> str:
    """Return a word, or for a link its target in the home."""
    with suppress(OSError, ValueError):
        if Path(word).is_absolute() and Path(word).is_symlink():
            real = Path(os.path.realpath(word))
            return str(real) if real.is_relative_to(root) else word
    return word


def paths_in_home(root: Path, words: Sequence[str]) -> list[str]:
    """Return the paths in words that lead into the home: those that exist, and those that may be
    created at any moment."""
    return [text for text in paths_of(root, words) if _is_in_home(root, text)]


def _is_in_home(root: Path, text: str) -> bool:
    place = path_of_word(root, text)
    if not place.is_relative_to(root):
        return False
    first, *rest = place.relative_to(root).parts or ("",)
    with suppress(OSError, ValueError):
        return Path(text).is_absolute() or (first in AGENT_FOLDERS and bool(rest)) or place.exists()
    return False


def _may_run_code_in(root: Path, folder: Path, words: Sequence[str]) -> bool:
    """Return True when a program may run files of the folder in which it is started. Python does so
    only if there is code in it."""
    if any(is_launcher(w) or (is_runner(w) and not PYTHON.fullmatch(name_of(w))) for w in words):
        return True
    if is_agent_folder(root, folder):
        return False
    with suppress(OSError):
        inner = [path for path in folder.iterdir() if path.is_dir()]
        return any(path.suffix in SCRIPTS for each in (folder, *inner) for path in each.iterdir())
    return False


def _is_script(root: Path, word: str) -> bool:
    """Return True when a word names a script, or settings that may name one."""
    return word.endswith(SCRIPTS) or any(
        _may_run(root, path) for path in find_named_paths(root, [word])
    )


def _may_run(root: Path, path: Path) -> bool:
    with suppress(OSError):
        if path.is_file():
            is_json = (
                path.suffix == ".json" and path.relative_to(root).parts[0] not in AGENT_FOLDERS
            )
            runs = os.name != "nt" and bool(path.stat().st_mode & 0o111)
            if is_json or runs or path.suffix in (*_SETTINGS, *SCRIPTS):
                return True
            with path.open("rb") as file:
                return file.read(2) == b"#!"
    return False


def _relocate(root: Path, folder: Path, word: str) -> str:
    """Turn a path relative to the folder of a program into an absolute one, if it exists."""
    place = folder / word
    with suppress(OSError, ValueError):
        if folder != root and folder.is_relative_to(root) and place.exists():
            return str(place)
    return word


def _fill_variables(text: str) -> str:
    try:
        return fill_variables(text, os.environ)
    except KeyError:  # the server is not started then
        return text


def home_programs(
    home: Home, hooks: Mapping[str, Any], servers: Mapping[str, Any]
) -> tuple[bool, Sequence[str]]:
    """Return True when hooks or servers run files of the home, and the places of these."""
    root = home.real_root
    lines = [code_words(root, server) for server in read_servers(servers)[0]]
    commands = [each for hook in read_hooks(hooks)[0] for each in hook.commands]
    hooked = bool(hooks) or any(paths_in_home(root, words) for words in lines)
    return hooked, tuple(find_program_places(root, [*commands, *lines]))
