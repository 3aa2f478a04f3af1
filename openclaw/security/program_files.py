"""The files of a home that its hooks and MCP servers may run: which they are, a hash, copies.

A yes to a program is a yes to its present content. The agent may write into its home, so the hash
covers each file that the agent could change and a hook would then run: all files outside of the
four folders where the agent works, and the files in these folders that the commands name. A file in
these folders that a program finds in another way is not covered (docs/hooks.md).

The file has three parts: the files and their hash, the words of a command, and the copies that are
run in place of the files.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path, PurePosixPath

from openclaw.frozen import frozen
from openclaw.security.credentials import user_folder
from openclaw.security.policy import AGENT_FOLDERS
from openclaw.storage.home import Home
from openclaw.storage.scratch import link_folder, scratch

MAX_FILES, MAX_BYTES = 500, 10_000_000
TOO_MUCH = (
    f"there are more than {MAX_FILES} files or {MAX_BYTES // 1_000_000} MB outside of workspace/,"
    " memory/, sessions/ and skills/, and in what the commands name there"
)
_IGNORED_FILES = frozenset({"openclaw.yaml", ".gitignore"})
_SKIPPED_FOLDERS = frozenset({".git", ".openclaw", ".cache"})
SCRIPTS = tuple(".py .sh .js .mjs .cjs .ts .mts .rb .pl .php .lua .jar .ps1 .bat .cmd".split())
READING_PROGRAMS = frozenset(
    "[ cat cp cut date diff du echo false grep head logger ls mkdir printf stat tail tar test touch"
    " tr true uniq wc zip".split()
)
"""Programs that read their arguments and never run them: a backup may name all of workspace/."""
_STARTER_OPTION = re.compile(r"--(?!exclude)|-\w*[IFT]|[A-Za-z]*[IFT][A-Za-z]*$")
"""Options by which such a program may start another one (`tar -I`)."""


@frozen
class ProgramFile:
    data: bytes | None  # the content; None when it is no regular file
    runs: bool  # True when the file is executable
    target: str  # the path that a link leads to; "" when the file is no link


@frozen
class Programs:
    """The files of a home that commands may run. Paths are relative to the home."""

    # The hashed content. It is run in place of the files, which may change at any time.
    held: Mapping[str, ProgramFile] = field(default_factory=dict, repr=False, compare=False)
    named: tuple[str, ...] = ()  # the files and folders that the commands name
    missing: tuple[str, ...] = ()  # the programs that the commands name and that do not exist
    trouble: str = ""  # why the hash cannot be made; "" when it can

    @property
    def files(self) -> tuple[str, ...]:
        """All files in the hash."""
        return tuple(self.held)

    @property
    def hash(self) -> str:
        """Hash of all files; "" when it cannot be made."""
        total = hashlib.sha256()
        for name, each in self.held.items():
            content = hashlib.sha256(each.data or b"").hexdigest()
            facts = f"{name}\0{int(each.runs)}\0{each.target}\0{content}\n"
            total.update(facts.encode("utf-8", "surrogateescape"))
        return "" if self.trouble else total.hexdigest()


class _NoHashError(Exception):
    """No hash can cover all that the commands run. The message says why."""


def find_programs(home: Home, commands: Sequence[str | Sequence[str]]) -> Programs:
    """Find the home's files that commands (shell lines or lists of words) may run."""
    root = home.real_root
    found = [(command, find_named_paths(root, command)) for command in commands]
    named = dict.fromkeys(path for _, paths in found for path in paths if path != root)
    run = [path for command, paths in found if not _only_reads(command)
           for path in paths if path != root]  # fmt: skip
    missing = dict.fromkeys(
        word for command in commands for word in _missing_programs(root, command)
    )
    held: dict[str, ProgramFile] = {}
    trouble = ""
    try:
        held = _read_files(root, _list_files(root, run))
    except _NoHashError as why:
        trouble = str(why)
    names = tuple(_relative(root, path) for path in named)
    return Programs(held, names, tuple(missing), trouble)


def find_named_paths(root: Path, command: str | Sequence[str]) -> list[Path]:
    """Return the existing paths in the home, the home included, that a command's words may mean."""
    places = dict.fromkeys(path_of_word(root, text) for text in paths_of(root, command))
    return [path for path in places if path.is_relative_to(root) and _is_there(path)]


def find_program_places(root: Path, commands: Iterable[str | Sequence[str]]) -> Iterator[str]:
    """Yield the files and folders, relative to the home, from which commands may run code.

    They need not exist: whoever writes to such a path decides what runs.
    """
    for command in filter(None, commands):
        for text in () if _only_reads(command) else paths_of(root, command):
            path = path_of_word(root, text)
            if not path.is_relative_to(root) or is_agent_folder(root, path):
                continue
            folder = path if _is_folder(path) else path.parent
            yield _relative(root, path if is_agent_folder(root, folder) else folder)


def is_agent_folder(root: Path, path: Path) -> bool:
    """Return True for the home itself and for one of the four folders where the agent works."""
    return path == root or (path.parent == root and path.name in AGENT_FOLDERS)


def path_of_word(root: Path, text: str) -> Path:
    """Return the path of a word. In an absolute one the links of its folder are resolved."""
    path = Path(os.path.normpath(root / text))
    return Path(os.path.realpath(path.parent), path.name) if Path(text).is_absolute() else path


def _read_files(root: Path, files: Sequence[Path]) -> dict[str, ProgramFile]:
    """Read the files, each with one `open`."""
    if len(files) > MAX_FILES:
        raise _NoHashError(TOO_MUCH)
    found: dict[str, ProgramFile] = {}
    left = MAX_BYTES
    for path in files:
        held = found[_relative(root, path)] = _read_file(path, left)
        left -= len(held.data or b"")
    return found


def _only_reads(command: str | Sequence[str]) -> bool:
    """Return True when a command runs only programs that read, so that its words name data."""
    if isinstance(command, str) and ("`" in command or "$(" in command):
        return False
    return all(
        words[0] in READING_PROGRAMS and not any(map(_STARTER_OPTION.match, words[1:]))
        for words in commands_of(command)
    )


def _missing_programs(root: Path, command: str | Sequence[str]) -> Iterator[str]:
    """Yield the programs at the start of a command that are missing in the home: the first word if
    it is a path, and the script after the name of an interpreter."""
    first = next(iter(commands_of(command)), [])
    words = [word for word in first[:1] if "/" in word or os.sep in word]
    if len(first) > 1 and is_runner(first[0]) and first[1].endswith(SCRIPTS):
        words.append(first[1])
    for word in words:
        place = path_of_word(root, word)
        expanded = set(word) & _SHELL_CHARACTERS or word.startswith("-")
        if not expanded and place.is_relative_to(root) and not _is_there(place):
            yield word


def _list_files(root: Path, run: Iterable[Path]) -> list[Path]:
    """Return the files that belong into the hash, without duplicates and sorted."""
    walked = _walk_files(root, root, AGENT_FOLDERS | _SKIPPED_FOLDERS)
    found = [path for path in walked if path.parent != root or not _is_ignored(path)]
    for path in run:
        if not _is_folder(path):
            found.append(path)
            path = path.parent
            if not is_agent_folder(root, path):
                found += _walk_files(root, path)
        elif is_agent_folder(root, Path(os.path.realpath(path))):
            raise _NoHashError(
                f"a command names all of {_relative(root, path)}/, where files change in every turn"
            )
        else:
            found += _walk_files(root, path)
    return sorted(dict.fromkeys(found))


def _walk_files(root: Path, folder: Path, without: frozenset[str] = frozenset()) -> Iterator[Path]:
    """Yield the files below a folder, also through links within the home.

    `without` names folders at the top to skip. The walk ends after MAX_FILES + 1 files.
    """
    count, seen = 0, set[str]()
    for place, folders, names in os.walk(folder, followlinks=True):
        if place == str(folder):
            folders[:] = [name for name in folders if name not in without]
        links = [name for name in folders if Path(place, name).is_symlink()]
        folders[:] = [
            name
            for name in folders
            if name not in links or _should_follow(root, Path(place, name), seen)
        ]
        for name in (*names, *links):
            yield Path(place, name)
            count += 1
            if count > MAX_FILES:
                return


def _should_follow(root: Path, link: Path, seen: set[str]) -> bool:
    """Return True when the walk should enter a linked folder: it lies in the home and is new. The
    agent writes outside of the home only after a yes."""
    real = Path(os.path.realpath(link))
    if is_agent_folder(root, real):
        raise _NoHashError(f"{_relative(root, link)} links to where files change in every turn")
    new = real.is_relative_to(root) and str(real) not in seen
    seen.add(str(real))
    return new and not Path(os.path.realpath(link.parent)).is_relative_to(real)


# These raise nothing; a word may be too long for a file name.
_is_there, _is_folder = os.path.exists, os.path.isdir


def _read_file(path: Path, most: int) -> ProgramFile:
    target, data, runs = "", None, False
    flags = os.O_RDONLY
    for wanted in ("O_NONBLOCK", "O_BINARY", "O_CLOEXEC"):
        flags |= getattr(os, wanted, 0)
    with suppress(OSError):
        if path.is_symlink():
            target = str(path.readlink())
        number = os.open(path, flags)
        try:
            mode = os.fstat(number).st_mode
            if stat.S_ISREG(mode):
                with open(number, "rb", closefd=False) as file:
                    data = file.read(most + 1)
                runs = os.name != "nt" and bool(mode & 0o111)
        finally:
            os.close(number)
    if data is not None and len(data) > most:
        raise _NoHashError(TOO_MUCH)
    return ProgramFile(data, runs, target)


def _relative(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()


_SHELL_CHARACTERS = frozenset("$`*?{}<>|&;~= ")  # characters that a shell expands or acts on
PYTHON = re.compile(r"(?:python|pypy)[\d.]*w?", re.IGNORECASE)
_RUNNER = re.compile(
    r"(?:python|pypy)[\d.]*w?|node|bun|ruby|perl|php|sh|bash|dash|zsh|ksh|fish|pwsh|powershell",
    re.IGNORECASE,
)
_SHELL = re.compile(
    r"sh|bash|dash|zsh|ksh|fish|pwsh|powershell|cmd|make|just|task|rake|gradle|mvn", re.IGNORECASE
)
"""Shells and build tools: each of their words may decide what is run."""
_LAUNCHER = re.compile(
    r"npx|npm|pnpm|pnpx|yarn|bunx|corepack|deno|tsx|ts-node|uvx?|pipx|poetry|pdm|hatch|pixi|conda"
    r"|mamba|java|dotnet|go|cargo|lua|julia|Rscript|elixir|mix|bundle"
    r"|env|sudo|nice|nohup|timeout|stdbuf|setsid|xargs|time|watch|start",
    re.IGNORECASE,
)
_VALUELESS_OPTION = re.compile(
    r"-(?:[bBdEhiIOPqsSuvxyYmce]+|-yes|-quiet|-silent|-bun|-eval|-isolated|-offline)"
)
"""Options without a value, and options that the program follows."""
_SUBCOMMANDS = frozenset("run exec x dlx tool start --".split())
MAX_NESTED = 4  # levels of nested command texts (`sh -c "..."`) that are read
_PUNCTUATION = "();<>|&\n"
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)[^}]*\})")
_PATTERN = re.compile(r"[*?\[{]")


def words_of(command: str | Sequence[str]) -> list[str]:
    """Return the words of a command and of texts within it (`sh -c "..."`, `"$(...)"`)."""
    words = list(command) if not isinstance(command, str) else _split_words(command)
    found, inner = list(words), words
    for _ in range(MAX_NESTED):
        texts = [word for word in inner if len(word.split()) > 1 or set(word) & set("(`;|&<>")]
        inner = [each for text in texts for each in _split_words(text) if each != text]
        found += inner
    return found


def commands_of(command: str | Sequence[str]) -> list[list[str]]:
    """Split a line into its single commands, each a list of words. A list is one command."""
    if not isinstance(command, str):
        return [list(command)]
    found: list[list[str]] = [[]]
    for word in _split_words(command):
        if not word or not set(word) <= set(_PUNCTUATION):
            found[-1].append(word)
        elif not set(word) & set("<>") or "(" in word:  # no mere redirection
            found.append([])
    return [words for words in found if words]


def is_runner(word: str) -> bool:
    """Return True when a word is the name of an interpreter."""
    return bool(_RUNNER.fullmatch(name_of(word)))


def launch_words(command: Sequence[str]) -> list[str]:
    """Return the words that decide which program is run: those up to its name.

    The words after the name are the program's data. Of a shell, all words are returned.
    """
    kept = list(command[:1])
    for at, word in enumerate(command):
        name = name_of(word)
        if _SHELL.fullmatch(name):
            return list(command)
        if is_runner(word) or is_launcher(word):
            options, program = _split_at_program(command[at + 1 :])
            # A module is no path, and a bare word is the name of a package.
            is_path = options[-1:] != ["-m"] if is_runner(word) else set(program) & set("/\\.")
            kept += [*options, program] if is_path else options
    return kept


def is_launcher(word: str) -> bool:
    """Return True for a program that looks for another one in the current folder (`npx`)."""
    return bool(_LAUNCHER.fullmatch(name_of(word)))


def _split_at_program(words: Sequence[str]) -> tuple[list[str], str]:
    """Return the options of a program that starts another, and the other's name ("" for none)."""
    options, valued = list[str](), False
    for word in words:
        if word.startswith("-") and word != "--":
            valued = "=" not in word and not _VALUELESS_OPTION.fullmatch(word)
        elif valued or word in _SUBCOMMANDS or re.match(r"\w+=", word):
            valued = False
        else:
            return options, word
        options.append(word)
    return options, ""


def name_of(word: str) -> str:
    """Return the name of a program without its folder and ".exe"."""
    name = word.replace("\\", "/").rpartition("/")[2]
    return name[:-4] if name.lower().endswith(".exe") else name


def paths_of(root: Path, command: str | Sequence[str]) -> Iterator[str]:
    """Yield the paths that the words of a command may mean."""
    return (text for word in words_of(command) for text in _possible_paths(root, word))


def _possible_paths(root: Path, word: str) -> Iterator[str]:
    """Yield the paths that a word may mean, with variables expanded.

    These are the word itself, its parts between `=`, `:` and `,`, the value joined to a short
    option, the file of a Python module and the folder of a glob pattern.
    """
    parts = [word, *re.split("[=:,]", word)]
    parts += [word[2:]] if word.startswith("-") else []
    if word.replace(".", "").isidentifier():
        parts.append(f"{word.replace('.', '/')}.py")
    for part in filter(None, dict.fromkeys(parts)):
        text = _expand(root, part)
        yield text
        if pattern := _PATTERN.search(text):
            yield text[: pattern.start()].rpartition("/")[0]


def _expand(root: Path, text: str) -> str:
    """Expand the variables that a hook is given. Unknown variables become ""."""
    own = user_folder()
    known = {**os.environ, "HOME": own, "OPENCLAW_HOME": str(root), "PWD": str(root)}
    if text == "~" or text.startswith(("~/", "~\\")):
        text = own + text[1:]
    return _VARIABLE.sub(lambda found: known.get(found[1] or found[2], ""), text)


def _split_words(text: str) -> list[str]:
    # No POSIX escapes on Windows, where a backslash divides a path.
    lexer = shlex.shlex(text, posix=os.name != "nt", punctuation_chars=_PUNCTUATION)
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return [word.strip("\"'`") for word in lexer]
    except ValueError:
        return text.split()


_LINKED_FOLDERS = frozenset((name,) for name in AGENT_FOLDERS)
_VARIABLES = ("$OPENCLAW_HOME", "${OPENCLAW_HOME}", "$PWD", "${PWD}")


class UncopiedProgramError(ValueError):
    """A command would run a program of the home itself and not its copy."""


@frozen
class FileCopies:
    root: Path  # the home
    # The folder in which commands run. The agent's folders in it are links to the real ones.
    folder: Path
    apart: Path  # the folder for copies of files that lie in the agent's folders
    names: frozenset[str]  # the copied files, as paths relative to the home

    def command(self, command: str | Sequence[str]) -> str | tuple[str, ...]:
        """Return the command with the paths of the copies in it. Raises UncopiedProgramError."""
        found: str | tuple[str, ...] = (
            self.text(command) if isinstance(command, str) else tuple(map(self.text, command))
        )
        for text in paths_of(self.root, found):
            if self._is_original(text):
                raise UncopiedProgramError(f"{text} has to be written as a path from the home")
        return found

    def text(self, text: str) -> str:
        """Replace the paths of copied files in a word or a line by the paths of the copies."""
        near, far = set[str](), set[str]()
        for name in self.names:
            first, _, rest = name.partition("/")
            far.add(first)
            if first in AGENT_FOLDERS:
                far.remove(first)
                far |= (inner := {name, *map(str, PurePosixPath(name).parents[:-2])})
                near |= inner
            elif rest or "." in name:  # other words may be anything
                near.add(name)
        roots = _any_of(_root_spellings(self.root), text)
        pattern = re.compile(
            rf"""(?:(?:{roots})(?P<quote>["']?)/(?:\./)*(?P<far>{_any_of(far, text)})"""
            rf"""|(?<![\w./~$}}\-])(?:\./)*(?P<near>{_any_of(near, text)}))(?![\w-]|\.\w)"""
        )
        return pattern.sub(self._replace_with_copy, text)

    def place(self, name: str) -> Path:
        """Return the path of the copy of a file or folder of the home."""
        return self._base(name) / name

    def within(self, folder: Path) -> Path:
        """Return the copy of a folder below the home; any other folder unchanged."""
        real = Path(os.path.realpath(folder))
        if is_agent_folder(self.root, real) or not real.is_relative_to(self.root):
            return folder
        return self.place(real.relative_to(self.root).as_posix())

    def _base(self, name: str) -> Path:
        return self.apart if name.partition("/")[0] in AGENT_FOLDERS else self.folder

    def _replace_with_copy(self, found: re.Match[str]) -> str:
        name = found["far"] or found["near"]
        return f"{self._base(name)}{found['quote'] or ''}/{name}"

    def _is_original(self, text: str) -> bool:
        """Return True when a path leads to a file of the home that has a copy."""
        path = Path(text)
        if (
            not path.is_absolute()
            and ".." not in path.parts
            and path.parts[:1] not in _LINKED_FOLDERS
        ):
            return False
        place = Path(os.path.normpath(self.root / path))
        return place.is_relative_to(self.root) and (
            place.relative_to(self.root).as_posix() in self.names
        )


@contextmanager
def copied_files(root: Path, held: Mapping[str, ProgramFile]) -> Iterator[FileCopies]:
    """Write the copies, and remove them at the end. Raises OSError."""
    with scratch(root) as top:
        found = FileCopies(root, top / "home", top / "apart", frozenset(held))
        found.folder.mkdir()
        for name, each in held.items():
            _write_copy(found.place(name), each, root / name, root)
        for path in _linked_paths(root):
            link = found.folder / path.name
            with suppress(OSError):  # not every file system has links to files
                if path.is_dir():
                    link_folder(link, path)
                elif not link.exists():
                    link.symlink_to(path)
        yield found


def _write_copy(copy: Path, held: ProgramFile, path: Path, root: Path) -> None:
    if held.data is None:
        # A link to a folder. The files of a folder in the home are copied already.
        real = Path(os.path.realpath(path.parent / held.target))
        if held.target and real.is_dir() and not real.is_relative_to(root):
            copy.parent.mkdir(parents=True, exist_ok=True)
            link_folder(copy, real)
        return
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(held.data)
    copy.chmod(0o700 if held.runs else 0o600)


def _linked_paths(root: Path) -> Iterator[Path]:
    """Yield the paths of the home that a program works with and takes no code from."""
    with suppress(OSError):
        for path in root.iterdir():
            if path.name in AGENT_FOLDERS or path.name == ".openclaw" or _is_ignored(path):
                yield path


def _is_ignored(path: Path) -> bool:
    """Return True for a file at the top of the home that holds no program."""
    return path.name in _IGNORED_FILES or path.suffix == ".md"


def _root_spellings(root: Path) -> set[str]:
    """Return the spellings by which a command may name the home."""
    found = {str(root), root.as_posix(), *_VARIABLES}
    with suppress(ValueError):
        below = root.relative_to(os.path.realpath(user_folder())).as_posix()
        found |= {f"{user}/{below}" for user in ("~", "$HOME", "${HOME}", user_folder())}
    return found


def _any_of(names: set[str], text: str) -> str:
    """Return a pattern for the names that occur in a text."""
    found = sorted((name for name in names if name in text), key=len, reverse=True)
    return "|".join(map(re.escape, found)) or r"(?!)"


_FLAGS = re.compile(r"-[bBdEhiIOPqsSuvx]+")


def starts_scripts(command: str | Sequence[str], root: Path) -> bool:
    """Return True when a command starts Python only with scripts outside of the agent's folders.

    Python then takes modules from the folders of these scripts.
    """
    scripts = []
    for words in commands_of(command):
        if PYTHON.fullmatch(name_of(words[0])):
            scripts.append(next((word for word in words[1:] if not _FLAGS.fullmatch(word)), ""))
        elif words[0].endswith(".py"):
            scripts.append(words[0])
    return bool(scripts) and all(
        script.endswith(".py") and not is_agent_folder(root, path_of_word(root, script).parent)
        for script in scripts
    )
