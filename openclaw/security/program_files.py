"""Finds the files of a home that its hooks may run, and says in one hash what they hold.

A yes to a program is a yes to what it is now. Since an agent may write into its home, all that it
could write there and a hook would then run has to be in the hash: everything outside of the four
folders where the agent works, and what the commands name in these. What a program finds in those
in other ways is not seen (docs/hooks.md).
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from openclaw.storage.home import Home
from openclaw.storage.scratch import link_folder, scratch

FOLDER = "hooks"
"""Where programs of hooks lie by custom."""
MOST_FILES, MOST_BYTES = 500, 10_000_000
TOO_MUCH = (
    f"there are more than {MOST_FILES} files or {MOST_BYTES // 1_000_000} MB outside of workspace/,"
    " memory/, sessions/ and skills/, and in what the commands name there"
)
WORKING_FOLDERS = frozenset({"workspace", "memory", "sessions", "skills"})
"""Folders at the top whose files change in every other turn: of these only what is named."""
_IGNORED_FILES = frozenset({"openclaw.yaml", ".gitignore"})
_SKIPPED_FOLDERS = frozenset({".git", ".openclaw", ".cache"})
SCRIPTS = (
    *(".py", ".sh", ".js", ".mjs", ".cjs", ".ts", ".mts", ".rb", ".pl", ".php", ".lua", ".jar"),
    *(".ps1", ".bat", ".cmd"),
)
READING_PROGRAMS = frozenset(
    "[ cat cp cut date diff du echo false grep head logger ls mkdir printf stat tail tar test touch"
    " tr true uniq wc zip".split()
)
"""Programs that run nothing of what they are given: a backup may name all of workspace/."""
_STARTER_OPTION = re.compile(r"--(?!exclude)|-\w*[IFT]|[A-Za-z]*[IFT][A-Za-z]*$")
"""Options by which one of them may start another program (`tar -I`)."""


@dataclass(frozen=True, slots=True)
class Held:
    """A file as it is in the hash: what it holds, None where it is no ordinary file, whether it may
    be run, and where it links to, "" for no link."""

    data: bytes | None
    runs: bool
    target: str


@dataclass(frozen=True, slots=True)
class Programs:
    """What commands run of the files of a home: paths relative to it. `named` are those that the
    commands name, `missing` those that they name and that are not there. `trouble` says why the
    hash of the files cannot be made, "" when it could. `held` are the very bytes that are in the
    hash: these are to be run, since the files may be exchanged at any moment."""

    hash: str
    files: tuple[str, ...]
    named: tuple[str, ...]
    missing: tuple[str, ...]
    trouble: str = ""
    held: Mapping[str, Held] = field(default_factory=dict, repr=False, compare=False)


class _NoHashError(Exception):
    """No hash can say what the commands run; why."""


def programs(home: Home, commands: Sequence[str | Sequence[str]]) -> Programs:
    """What these commands, texts for a shell or lists of words, run of the home's files."""
    root = Path(os.path.realpath(home.root))
    names = [path for command in commands for path in _find_named_files(root, command)]
    run = [path for command in commands if not _only_reads(command)
           for path in _find_named_files(root, command)]  # fmt: skip
    missing = dict.fromkeys(
        word for command in commands for word in _missing_programs(root, command)
    )
    files: list[Path] = []
    held: dict[str, Held] = {}
    trouble = ""
    try:
        files = _list_files(root, run)
        held = _read_files(root, files)
    except _NoHashError as why:
        trouble = str(why)
    return Programs(
        "" if trouble else _hash_files(held),
        tuple(_relative(root, path) for path in files),
        tuple(dict.fromkeys(_relative(root, path) for path in names)),
        tuple(missing),
        trouble,
        held,
    )


def find_named_paths(root: Path, command: str | Sequence[str]) -> list[Path]:
    """What is there of the places in the home that the words of a command may mean, the home itself
    too."""
    texts = (text for word in words_of(command) for text in possible_paths(root, word))
    places = dict.fromkeys(placed(root, text) for text in texts)
    return [path for path in places if path.is_relative_to(root) and _is_there(path)]


def places(root: Path, commands: Iterable[str | Sequence[str]]) -> Iterator[str]:
    """The files and folders of the home that commands may run something from, from the home,
    whether they are there or not: who writes there decides what runs."""
    for command in filter(None, commands):
        words = () if _only_reads(command) else words_of(command)
        for text in (text for word in words for text in possible_paths(root, word)):
            path = placed(root, text)
            if not path.is_relative_to(root) or is_working_folder(root, path):
                continue
            folder = path if _is_folder(path) else path.parent
            yield _relative(root, path if is_working_folder(root, folder) else folder)


def is_working_folder(root: Path, path: Path) -> bool:
    """Whether a path is one of the folders at the top where the agent works, or the top itself."""
    return path == root or (path.parent == root and path.name in WORKING_FOLDERS)


def placed(root: Path, text: str) -> Path:
    """The path of a word. Of an absolute one the folder is the real one, as the root is."""
    path = Path(os.path.normpath(root / text))
    return Path(os.path.realpath(path.parent), path.name) if Path(text).is_absolute() else path


def _hash_files(held: Mapping[str, Held]) -> str:
    total = hashlib.sha256()
    for name, each in held.items():
        content = hashlib.sha256(each.data or b"").hexdigest()
        facts = f"{name}\0{int(each.runs)}\0{each.target}\0{content}\n"
        total.update(facts.encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def _read_files(root: Path, files: Sequence[Path]) -> dict[str, Held]:
    """The files, each opened once."""
    if len(files) > MOST_FILES or sum(map(_size, files)) > MOST_BYTES:
        raise _NoHashError(TOO_MUCH)
    found: dict[str, Held] = {}
    left = MOST_BYTES
    for path in files:
        held = found[_relative(root, path)] = _read_file(path, left)
        left -= len(held.data or b"")
    return found


def _find_named_files(root: Path, command: str | Sequence[str]) -> list[Path]:
    return [path for path in find_named_paths(root, command) if path != root]


def _only_reads(command: str | Sequence[str]) -> bool:
    """Whether a command runs nothing but programs that read, so that what it names is data."""
    if isinstance(command, str) and ("`" in command or "$(" in command):
        return False
    return all(
        words[0] in READING_PROGRAMS and not any(map(_STARTER_OPTION.match, words[1:]))
        for words in commands_of(command)
    )


def _missing_programs(root: Path, command: str | Sequence[str]) -> Iterator[str]:
    """The program in the home that a command begins with and that is not there: its first word
    where that is a path, and the script behind the name of an interpreter."""
    first = next(iter(commands_of(command)), [])
    words = [word for word in first[:1] if "/" in word or os.sep in word]
    if len(first) > 1 and is_runner(first[0]) and first[1].endswith(SCRIPTS):
        words.append(first[1])
    for word in words:
        place = placed(root, word)
        expanded = set(word) & _SHELL_CHARACTERS or word.startswith("-")
        if not expanded and place.is_relative_to(root) and not _is_there(place):
            yield word


def _list_files(root: Path, run: Iterable[Path]) -> list[Path]:
    """The files that count, each once, in an order that is always the same."""
    walked = _walk_files(root, root, WORKING_FOLDERS | _SKIPPED_FOLDERS)
    found = [path for path in walked if path.parent != root or not _is_ignored(path)]
    for path in run:
        if not _is_folder(path):
            found.append(path)
            path = path.parent
            if not is_working_folder(root, path):
                found += _walk_files(root, path)
        elif is_working_folder(root, Path(os.path.realpath(path))):
            raise _NoHashError(
                f"a command names all of {_relative(root, path)}/, where files change in every turn"
            )
        else:
            found += _walk_files(root, path)
    return sorted(dict.fromkeys(found))


def _walk_files(root: Path, folder: Path, without: frozenset[str] = frozenset()) -> Iterator[Path]:
    """The files below a folder, through links within the home too, `without` some folders at its
    top; one more than may be is enough to see that there are too many."""
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
            if count > MOST_FILES:
                return


def _should_follow(root: Path, link: Path, seen: set[str]) -> bool:
    """Whether what a linked folder holds is still to be looked at. Outside of the home the agent
    writes nothing without a yes."""
    real = Path(os.path.realpath(link))
    if is_working_folder(root, real):
        raise _NoHashError(f"{_relative(root, link)} links to where files change in every turn")
    new = real.is_relative_to(root) and str(real) not in seen
    seen.add(str(real))
    return new and not Path(os.path.realpath(link.parent)).is_relative_to(real)


def _is_there(path: Path) -> bool:
    with suppress(OSError, ValueError):  # a word may be longer than a name can be
        return path.exists()
    return False


def _is_folder(path: Path) -> bool:
    with suppress(OSError, ValueError):
        return path.is_dir()
    return False


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0


def _read_file(path: Path, most: int) -> Held:
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
    return Held(data, runs, target)


def _relative(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()


_SHELL_CHARACTERS = frozenset("$`*?{}<>|&;~= ")
"""What a shell makes something else of."""
PYTHON = re.compile(r"(?:python|pypy)[\d.]*w?", re.IGNORECASE)
_RUNNER = re.compile(
    r"(?:python|pypy)[\d.]*w?|node|bun|ruby|perl|php|sh|bash|dash|zsh|ksh|fish|pwsh|powershell",
    re.IGNORECASE,
)
_SHELL = re.compile(
    r"sh|bash|dash|zsh|ksh|fish|pwsh|powershell|cmd|make|just|task|rake|gradle|mvn", re.IGNORECASE
)
"""Programs of which each word may say what is run."""
_LAUNCHER = re.compile(
    r"npx|npm|pnpm|pnpx|yarn|bunx|corepack|deno|tsx|ts-node|uvx?|pipx|poetry|pdm|hatch|pixi|conda"
    r"|mamba|java|dotnet|go|cargo|lua|julia|Rscript|elixir|mix|bundle"
    r"|env|sudo|nice|nohup|timeout|stdbuf|setsid|xargs|time|watch|start",
    re.IGNORECASE,
)
_VALUELESS_OPTION = re.compile(
    r"-(?:[bBdEhiIOPqsSuvxyYmce]+|-yes|-quiet|-silent|-bun|-eval|-isolated|-offline)"
)
"""Options behind which no value comes, and those behind which the program comes."""
_SUBCOMMANDS = frozenset("run exec x dlx tool start --".split())
MOST_NESTED = 4
"""Texts in texts that are read."""
_PUNCTUATION = "();<>|&\n"
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)[^}]*\})")
_PATTERN = re.compile(r"[*?\[{]")


def words_of(command: str | Sequence[str]) -> list[str]:
    """The words of a command, those of texts within it (`sh -c "..."`, `"$(...)"`) too."""
    words = list(command) if not isinstance(command, str) else _split_words(command)
    found, inner = list(words), words
    for _ in range(MOST_NESTED):
        texts = [word for word in inner if len(word.split()) > 1 or set(word) & set("(`;|&<>")]
        inner = [each for text in texts for each in _split_words(text) if each != text]
        found += inner
    return found


def commands_of(command: str | Sequence[str]) -> list[list[str]]:
    """The single commands of a line, each as its words; a list of words is one."""
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
    """Whether a word is the name of an interpreter."""
    return bool(_RUNNER.fullmatch(name_of(word)))


def launch_words(command: Sequence[str]) -> list[str]:
    """The words of a command that say which program is run and how: those up to its name. What
    stands behind that is what the program works on. Of a shell it is all that it is given."""
    kept = list(command[:1])
    for at, word in enumerate(command):
        name = name_of(word)
        if _SHELL.fullmatch(name):
            return list(command)
        if is_runner(word) or is_launcher(word):
            options, program = _split_at_program(command[at + 1 :])
            # A module is not looked for in folders, a bare word is the name of a package.
            is_path = options[-1:] != ["-m"] if is_runner(word) else set(program) & set("/\\.")
            kept += [*options, program] if is_path else options
    return kept


def is_launcher(word: str) -> bool:
    """Whether a word is the name of a program that looks for another in the folder it runs in."""
    return bool(_LAUNCHER.fullmatch(name_of(word)))


def _split_at_program(words: Sequence[str]) -> tuple[list[str], str]:
    """The options of a program that starts another, and the name of that, "" for none."""
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
    """The name of a program without its folder and ending."""
    name = word.replace("\\", "/").rpartition("/")[2]
    return name[:-4] if name.lower().endswith(".exe") else name


def possible_paths(root: Path, word: str) -> Iterator[str]:
    """The paths that a word may mean: itself, what stands behind a `=` or between colons, what is
    glued to an option, a Python module, the folder of a pattern. Variables are set in."""
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
    """A word with the variables that a hook is given; others count as nothing."""
    own = users_home()
    known = {**os.environ, "HOME": own, "OPENCLAW_HOME": str(root), "PWD": str(root)}
    if text == "~" or text.startswith(("~/", "~\\")):
        text = own + text[1:]
    return _VARIABLE.sub(lambda found: known.get(found[1] or found[2], ""), text)


def users_home() -> str:
    """The user's own home folder; "~" where it cannot be known."""
    return os.path.expanduser("~")  # noqa: PTH111  that of pathlib may raise


def _split_words(text: str) -> list[str]:
    # Not the escapes of POSIX on Windows, where a backslash divides a path.
    lexer = shlex.shlex(text, posix=os.name != "nt", punctuation_chars=_PUNCTUATION)
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return [word.strip("\"'`") for word in lexer]
    except ValueError:
        return text.split()


_LINKED_FOLDERS = frozenset((name,) for name in WORKING_FOLDERS)
_VARIABLES = ("$OPENCLAW_HOME", "${OPENCLAW_HOME}", "$PWD", "${PWD}")


class UnsealedError(ValueError):
    """A command reaches a program of the home in a way that leads past its copy."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """Copies of a home's files. `folder` is the one to run in, `apart` holds those of the folders
    that lead to the real ones."""

    root: Path
    folder: Path
    apart: Path
    names: frozenset[str]

    def command(self, command: str | Sequence[str]) -> str | tuple[str, ...]:
        """The command with the copies in the place of what it names. Raises UnsealedError."""
        found: str | tuple[str, ...] = (
            self.text(command) if isinstance(command, str) else tuple(map(self.text, command))
        )
        for word in words_of(found):
            for text in possible_paths(self.root, word):
                if self._is_original(text):
                    raise UnsealedError(f"{text} has to be written as a path from the home")
        return found

    def text(self, text: str) -> str:
        """A word or a line with the copies in the place of what it names."""
        near, far = set[str](), set[str]()
        for name in self.names:
            first, _, rest = name.partition("/")
            far.add(first)
            if first in WORKING_FOLDERS:
                far.remove(first)
                far |= (inner := {name, *_folders_above(name)})
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
        """Where the copy of a file or folder of the home is."""
        return self._base(name) / name

    def within(self, folder: Path) -> Path:
        """The copy of a folder below the home; any other as it is."""
        real = Path(os.path.realpath(folder))
        if is_working_folder(self.root, real) or not real.is_relative_to(self.root):
            return folder
        return self.place(real.relative_to(self.root).as_posix())

    def _base(self, name: str) -> Path:
        return self.apart if name.partition("/")[0] in WORKING_FOLDERS else self.folder

    def _replace_with_copy(self, found: re.Match[str]) -> str:
        name = found["far"] or found["near"]
        return f"{self._base(name)}{found['quote'] or ''}/{name}"

    def _is_original(self, text: str) -> bool:
        """Whether a path leads to a file of the home of which there is a copy."""
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
def sealed(root: Path, held: Mapping[str, Held]) -> Iterator[Sealed]:
    """Write the copies; they are gone in the end. Raises OSError."""
    with scratch(root) as top:
        found = Sealed(root, top / "home", top / "apart", frozenset(held))
        found.folder.mkdir()
        for name, each in held.items():
            _write_copy(found.place(name), each, root / name, root)
        for path in _linked_paths(root):
            link = found.folder / path.name
            with suppress(OSError):  # a file cannot be linked everywhere
                if path.is_dir():
                    link_folder(link, path)
                elif not link.exists():
                    link.symlink_to(path)
        yield found


def _write_copy(copy: Path, held: Held, path: Path, root: Path) -> None:
    if held.data is None:
        # A link to a folder. What it holds is here already when it lies in the home.
        real = Path(os.path.realpath(path.parent / held.target))
        if held.target and real.is_dir() and not real.is_relative_to(root):
            copy.parent.mkdir(parents=True, exist_ok=True)
            link_folder(copy, real)
        return
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(held.data)
    copy.chmod(0o700 if held.runs else 0o600)


def _linked_paths(root: Path) -> Iterator[Path]:
    """What of the home a program works with: not what it could take code from."""
    with suppress(OSError):
        for path in root.iterdir():
            if path.name in WORKING_FOLDERS or path.name == ".openclaw" or _is_ignored(path):
                yield path


def _is_ignored(path: Path) -> bool:
    """Return True for a file at the top of the home that holds no program."""
    return path.name in _IGNORED_FILES or path.suffix == ".md"


def _folders_above(name: str) -> Iterator[str]:
    """The folders that hold a file and lie below one of those at the top."""
    while name.count("/") > 1:
        name = name.rpartition("/")[0]
        yield name


def _root_spellings(root: Path) -> set[str]:
    """How a command may write where the home is."""
    found = {str(root), root.as_posix(), *_VARIABLES}
    with suppress(ValueError):
        below = root.relative_to(os.path.realpath(users_home())).as_posix()
        found |= {f"{user}/{below}" for user in ("~", "$HOME", "${HOME}", users_home())}
    return found


def _any_of(names: set[str], text: str) -> str:
    """A pattern for those of the names that occur in a text."""
    found = sorted((name for name in names if name in text), key=len, reverse=True)
    return "|".join(map(re.escape, found)) or r"(?!)"


_FLAGS = re.compile(r"-[bBdEhiIOPqsSuvx]+")


def starts_scripts(command: str | Sequence[str], root: Path) -> bool:
    """Whether a command starts Python with nothing but scripts, so that modules are taken from
    their folders, and these are none that the agent works in."""
    scripts = []
    for words in commands_of(command):
        if PYTHON.fullmatch(name_of(words[0])):
            scripts.append(next((word for word in words[1:] if not _FLAGS.fullmatch(word)), ""))
        elif words[0].endswith(".py"):
            scripts.append(words[0])
    return bool(scripts) and all(
        script.endswith(".py") and not is_working_folder(root, placed(root, script).parent)
        for script in scripts
    )
