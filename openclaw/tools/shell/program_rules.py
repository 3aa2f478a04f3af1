"""Rules for programs whose arguments are a small language, or that may also write.

`RULES` names all but git, whose rules for sub-commands and settings come last.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from openclaw.storage.safe_open import read_bytes
from openclaw.tools.shell.command_rules import (
    PROGRAMS,
    Arguments,
    Program,
    Reads,
    find_reads,
    parse_options,
    split_arguments,
)
from openclaw.tools.shell.parser import Unsafe, Word

# -------- find: expressions, by the manual of findutils 4.9 and that of macOS

_FIND_PLAIN = frozenset(
    "-H -P -a -and -o -or -not ! ( ) , -print -print0 -ls -prune -quit -depth -d -empty -true"
    " -false -readable -writable -executable -nouser -nogroup -xdev -mount -x -noleaf"
    " -daystart -E -s"
    .split()
)  # fmt: skip
_FIND_VALUED = frozenset(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -lname -ilname"
    " -type -xtype -size -mtime -atime -ctime -mmin -amin -cmin -user -group -uid -gid -perm -links"
    " -inum -maxdepth -mindepth -printf -fstype -used -newermt -newerat -newerct".split()
)
_FIND_FILE = frozenset("-newer -anewer -cnewer -samefile".split())
_FIND_HARM = {
    "-delete": "deletes",
    "-exec": "runs a program",
    "-execdir": "runs a program",
    "-ok": "runs a program",
    "-okdir": "runs a program",
    "-fprint": "writes a file",
    "-fprint0": "writes a file",
    "-fprintf": "writes a file",
    "-fls": "writes a file",
    "-L": "follows links out of the folder",
    "-follow": "follows links out of the folder",
}


def find(arguments: Sequence[Word]) -> Reads:
    found = Reads()
    words = list(arguments)
    while words:
        word = words.pop(0)
        text = word.text
        if not word.known:
            if word.split or not word.start or word.start[0] in "-(!,":
                raise Unsafe(f"`find`: {text} may become an option (quote a pattern)")
            found.files.append(word)
        elif text in _FIND_VALUED or text in _FIND_FILE:
            if not words or not words[0].known:
                raise Unsafe(f"`find {text}` without a plain value (quote a pattern)")
            value = words.pop(0)
            if value.text in _FIND_HARM:
                raise Unsafe(f"`find {value.text}` {_FIND_HARM[value.text]}")
            if text in _FIND_FILE:
                found.files.append(value)
        elif text in _FIND_PLAIN:
            continue
        elif text[:1] in {"-", "(", ")", "!", ","}:
            raise Unsafe(f"`find {text}` {_FIND_HARM.get(text, 'is not known to only read')}")
        else:
            found.files.append(word)
    return found


# -------- sed: printing, deleting and replacing in the output

# BSD and GNU must end a pattern at the same place: no bracket with "/" in it, few escapes.
_SED_PATTERN = r"(?:[^/\\\n\[\]]|\\[./*^$+?|(){}wWsSb]|\[\^?[^/\\\n\[\]]+\])*"
_SED_ADDRESS = rf"(?:\d+(?:~\d+)?|\$|/{_SED_PATTERN}/)"
_SED_RANGE = rf"(?:{_SED_ADDRESS}(?:,\s*(?:{_SED_ADDRESS}|[+~]\d+))?\s*!?\s*)?"
_SED_TEXT = r"(?:[^/\\\n]|\\[./*^$&\\\[\]0-9nt])*"
_SED_VERB = rf"(?:[pdq=]|s/{_SED_PATTERN}/{_SED_TEXT}/[gpI0-9]*)"
_SED = re.compile(rf"\s*{_SED_RANGE}{_SED_VERB}(?:\s*;\s*{_SED_RANGE}{_SED_VERB})*\s*;?\s*")
_SED_OPTIONS = Program(
    "-nErsuz -e: --quiet --silent --regexp-extended --separate --unbuffered --null-data"
    " --expression: --posix --sandbox"
)


def sed(arguments: Sequence[Word]) -> Reads:
    given = split_arguments("sed", _SED_OPTIONS, arguments)
    scripts = [value for name, value in given.options if name in {"-e", "--expression"}]
    files = given.operands
    if not scripts:
        if not files or not files[0].known:
            raise Unsafe("`sed` without a plain script")
        scripts, files = [files[0].text], files[1:]
    for script in scripts:
        if not _SED.fullmatch(script):
            raise Unsafe(f"`sed`: the script {script} is more than printing, deleting, replacing")
    return Reads(files=list(files))


# -------- builtins of the shell


def echo(arguments: Sequence[Word]) -> Reads:
    return Reads(files=[word for word in arguments if word.glob or word.split])


def printf(arguments: Sequence[Word]) -> Reads:
    """bash's `printf -v` and `%n` set a variable, and an index in its name runs commands."""
    words = list(arguments)
    if words and words[0].known and words[0].text == "--":
        words.pop(0)
    if not words or not words[0].known or words[0].text.startswith("-"):
        raise Unsafe("`printf` without a plain format")
    if re.search(r"%[^%A-Za-z]*[hlLjzt]*n", words[0].text.replace("%%", "")):
        raise Unsafe("`printf` with %n sets a variable")
    return echo(words)


_UNARY = frozenset(f"-{letter}" for letter in "bcdefghknprstuwxzGLNOS")
_FILE_TESTS = _UNARY - {"-n", "-z", "-t"}
_BINARY = frozenset("= == != -eq -ne -lt -le -gt -ge -nt -ot -ef".split())


def test(arguments: Sequence[Word]) -> Reads:
    """Allow only forms with a literal operator: bash's `test -v 'a[$(x)]'` runs x, and an expansion
    may contain an operator."""
    words = list(arguments)
    if words and words[0].known and words[0].text == "!" and len(words) > 1:
        words.pop(0)
    if any(word.split or word.glob for word in words):
        raise Unsafe("`test` with a word outside quotes that the shell expands")
    if len(words) == 1:
        return Reads()
    if len(words) == 2 and words[0].known and words[0].text in _UNARY:
        return Reads(files=words[1:] if words[0].text in _FILE_TESTS else [])
    if len(words) == 3 and words[1].known and words[1].text in _BINARY:
        return Reads(files=[words[0], words[2]] if words[1].text in {"-nt", "-ot", "-ef"} else [])
    raise Unsafe("`test` in a form that is not known to only read")


def bracket(arguments: Sequence[Word]) -> Reads:
    if not arguments or not arguments[-1].known or arguments[-1].text != "]":
        raise Unsafe("`[` without its ]")
    return test(arguments[:-1])


def cd(arguments: Sequence[Word]) -> Reads:
    words = [word for word in arguments if not (word.known and word.text == "--")]
    if len(words) != 1 or not words[0].known or not words[0].text or words[0].text[0] == "-":
        raise Unsafe("`cd` without the name of a folder")
    return Reads(goes=words[0], files=words)


def command(arguments: Sequence[Word]) -> Reads:
    if not arguments or not arguments[0].known or arguments[0].text not in {"-v", "-V"}:
        raise Unsafe("`command` runs other commands")
    if not all(word.known and not word.text.startswith("-") for word in arguments[1:]):
        raise Unsafe("`command -v` without a plain name")
    return Reads()


# -------- others

_DATE = Program(
    "-uR -I? -d: -r@ --date: --iso-8601? --rfc-3339: --rfc-2822 --rfc-email --utc --universal"
    " --reference@",
    operands="words",
)
_JQ_NAMED = {"--arg": 2, "--argjson": 2}


def date(arguments: Sequence[Word]) -> Reads:
    """An operand that is not a format sets the clock."""
    given = split_arguments("date", _DATE, arguments)
    if any(not word.start.startswith("+") or word.split for word in given.operands):
        raise Unsafe("`date` with a time sets the clock")
    return find_reads(_DATE, given)


def xxd(arguments: Sequence[Word]) -> Reads:
    """It writes its second operand, and it reads only the first letter of an option."""
    line = [word.text for word in arguments]
    if not all(word.known for word in arguments):
        raise Unsafe("`xxd` with a word that the shell expands")
    while line and line[0].startswith("-"):
        option = line.pop(0)
        if re.fullmatch(r"-[lscg]", option) and line and re.fullmatch(r"\d+", line[0]):
            line.pop(0)
        elif not re.fullmatch(r"-(?:[buepia]|ps|[lscg]\d+)", option):
            raise Unsafe(f"`xxd {option}` is not known to only read")
    if len(line) > 1:
        raise Unsafe(f"`xxd` writes {line[1]}")
    return Reads(files=list(arguments[-1:]) if line else [])


def strings(arguments: Sequence[Word]) -> Reads:
    """binutils takes the words in the file of an argument `@file` as arguments."""
    for word in arguments:
        if word.text.startswith("@"):
            raise Unsafe(
                f"`strings {word.text}` takes its arguments from a file (write ./{word.text})"
            )
    return find_reads(
        PROGRAMS["strings"], split_arguments("strings", PROGRAMS["strings"], arguments)
    )


def jq(arguments: Sequence[Word]) -> Reads:
    """Its language writes nothing and starts nothing, but may import other files."""
    words: list[Word] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word.known and (count := _JQ_NAMED.get(word.text)):
            if len(rest) < count or not all(value.known for value in rest[:count]):
                raise Unsafe(f"`jq {word.text}` without plain values")
            del rest[:count]
        else:
            words.append(word)
    given: Arguments = split_arguments("jq", PROGRAMS["jq"], words)
    text = given.operands[0] if given.operands else Word(".", start=".")
    if not text.known or re.search(r"\b(import|include|modulemeta)\b", text.text):
        raise Unsafe("`jq` with a program that may read other files")
    return find_reads(PROGRAMS["jq"], given)


RULES: Mapping[str, Callable[[Sequence[Word]], Reads]] = {
    "[": bracket,
    "cd": cd,
    "command": command,
    "date": date,
    "echo": echo,
    "find": find,
    "jq": jq,
    "printf": printf,
    "sed": sed,
    "strings": strings,
    "test": test,
    "xxd": xxd,
}

_DIFF = (
    " -puwbRzaq -U: -M? -B? -C? -S: -G: -D --patch --no-patch --stat? --numstat --shortstat"
    " --name-only --name-status --summary --unified: --ignore-space-change --ignore-all-space"
    " --ignore-blank-lines --color? --no-color --word-diff? --find-renames? --no-renames"
    " --diff-filter: --diff-algorithm: --cached --staged --no-ext-diff --no-textconv --raw"
    " --minimal --patience --histogram --exit-code --quiet --check --text --relative?"
    " --full-index --compact-summary --dirstat? --merge-base --patch-with-stat --pickaxe-all"
    " --pickaxe-regex --function-context -W --abbrev?"
)
_FORMAT = (
    " --oneline --pretty? --format: --date: --abbrev-commit --no-abbrev-commit --decorate?"
    " --no-decorate --no-notes"
)
_LOG = (
    _DIFF
    + _FORMAT
    + " -NUM -n: -iEF -L: --graph --all --author: --committer: --grep: --since: --until:"
    " --after: --before: --reverse --merges --no-merges --first-parent --follow --branches? --tags?"
    " --remotes? --max-count: --skip: --left-right --topo-order --date-order --author-date-order"
    " --all-match --invert-grep --regexp-ignore-case --fixed-strings --extended-regexp"
    " --simplify-by-decoration --ancestry-path --boundary --cherry-pick --cherry-mark --no-walk?"
    " --source --full-history --walk-reflogs -gmc --min-parents: --max-parents:"
)
_CONTAINS = " --contains: --no-contains: --merged: --no-merged: --points-at: --sort: --format:"

_SUBCOMMANDS: Mapping[str, Program] = {
    "status": Program(
        "-sbuvz --short --branch --long --porcelain? --untracked-files? --ignored? --verbose"
        " --ahead-behind --no-ahead-behind --no-renames --show-stash --column? --no-column"
    ),
    "log": Program(_LOG, tree=True),
    "show": Program(_LOG, tree=True),
    "diff": Program(_DIFF, tree=True),
    "whatchanged": Program(_LOG, tree=True),
    "reflog": Program(_LOG),
    "shortlog": Program("-snec -NUM --summary --numbered --email --no-merges --since: --until:"),
    "rev-list": Program("-NUM -n: --count --all --since: --until: --max-count: --no-merges"),
    "rev-parse": Program(
        "-q --short? --abbrev-ref? --verify --show-toplevel --show-prefix --show-cdup --git-dir"
        " --is-inside-work-tree --is-bare-repository --symbolic-full-name --all --branches --tags"
    ),
    "ls-files": Program(
        "-cdmosutzvi -x: --cached --deleted --modified --others --stage --ignored"
        " --exclude-standard --exclude: --full-name --error-unmatch --unmerged --directory"
        " --killed --eol --abbrev?"
    ),
    "ls-tree": Program("-rdtlz --name-only --name-status --full-name --full-tree --long --abbrev?"),
    "cat-file": Program("-tpse", tree=True),
    "blame": Program(
        "-wcefnslt -L: -M? -C? --porcelain --line-porcelain --since: --show-name --show-number"
        " --show-email --date: --abbrev:",
        tree=True,
    ),
    "grep": Program(
        "-nivwEFGPlLchHIqoazpW -e: -A: -B: -C: -m: -NUM --cached --untracked --count --line-number"
        " --ignore-case --word-regexp --files-with-matches --files-without-match --name-only"
        " --extended-regexp --fixed-strings --perl-regexp --only-matching --heading --break"
        " --column --and --or --not --all-match --context: --after-context: --before-context:"
        " --max-depth:"
        " --no-color --color? --show-function --quiet --null --max-count: --text",
        operands="pattern",
        patterned=frozenset({"-e"}),
        tree=True,
    ),
    "describe": Program(
        "--tags --all --always --abbrev: --long --dirty? --match: --exclude: --exact-match"
        " --contains --candidates: --first-parent"
    ),
    "merge-base": Program("-a --all --octopus --is-ancestor --fork-point --independent"),
    "name-rev": Program("--tags --name-only --always"),
    "for-each-ref": Program("--count:" + _CONTAINS),
    "show-ref": Program("-dsq --heads --branches --tags --head --verify --hash? --abbrev?"),
    "check-ignore": Program("-vnq --verbose --non-matching --no-index --quiet"),
    "count-objects": Program("-vH --verbose --human-readable", most=0),
    "branch": Program(
        "-arvqi --list --all --remotes --verbose --show-current --no-color --color? --column?"
        " --ignore-case --abbrev?" + _CONTAINS
    ),
    "tag": Program("-li -n? --list --ignore-case --no-color --color? --column?" + _CONTAINS),
    "remote": Program("-v --verbose"),
    "stash": Program(_LOG),
    "worktree": Program("-vz --porcelain --verbose"),
    "config": Program(
        "-lz --list --get --get-all --get-regexp --show-origin --show-scope --local --name-only"
        " --null --bool --int --path --type: --default: --includes --no-includes"
    ),
    "version": Program("--build-options", most=0),
}  # fmt: skip

# Options with which a log shows lines of files, or tells whether they contain a text.
_SHOWING = {*parse_options(_DIFF), "-L", "-c", "-m"} - set(
    "-q -z -D --stat --numstat --shortstat --name-only --name-status --summary --color --no-color"
    " --find-renames --no-renames --diff-filter --no-ext-diff --no-textconv --raw --relative"
    " --full-index --quiet --no-patch --compact-summary --dirstat --abbrev".split()
)  # fmt: skip
_WITH_OPTIONS = {
    "log": _SHOWING,
    "reflog": _SHOWING,
    "stash list": _SHOWING,
    "status": {"-v", "--verbose"},
}
"""Sub-commands that show lines of files only with these options."""

# Sub-commands that list when one of these words follows, and change things otherwise.
_LISTING = {
    "reflog": {"show"},
    "stash": {"list", "show"},
    "remote": {"get-url"},
    "worktree": {"list"},
}
_ALONE = {"reflog", "remote"}  # also list without an operand
_CONFIG_VERBS = frozenset("list get set unset edit rename-section remove-section".split())
_HARM = {
    "--output": "writes a file",
    "-O": "runs a program",
    "--ext-diff": "runs a program",
    "--textconv": "runs a program",
    "--show-signature": "runs gpg",
}
_GLOBAL = {
    "-c": "sets what git may run",
    "--config-env": "sets what git may run",
    "--exec-path": "sets what git may run",
    "-p": "starts a pager",
    "--paginate": "starts a pager",
    "-C": "leads to another repository",
    "--git-dir": "leads to another repository",
    "--work-tree": "leads to another repository",
}


def git(arguments: Sequence[Word]) -> Reads:
    """What this git command reads; raises Unsafe."""
    words = list(arguments)
    for word in words:
        _check_word(word)
    while words and words[0].text in {"--no-pager", "--no-optional-locks"}:
        words.pop(0)
    if not words:
        raise Unsafe("`git` without a sub-command")
    name = words.pop(0).text
    if name == "--version":
        name = "version"
    if name.startswith("-"):
        option = name.partition("=")[0]
        raise Unsafe(f"`git {option}` {_GLOBAL.get(option, 'is not known to only read')}")
    program = _SUBCOMMANDS.get(name)
    if program is None:
        raise Unsafe(f"`git {name}` is not known to only read")
    for word in words:
        if harm := _HARM.get(word.text.partition("=")[0]):
            raise Unsafe(f"`git {name} {word.text}` {harm}")
    lists = name not in _LISTING or (bool(words) and words[0].text in _LISTING[name])
    if name in _LISTING and lists:
        words.pop(0)
    given = split_arguments(f"git {name}", program, words)
    if not lists and (name not in _ALONE or given.operands):
        raise Unsafe(f"`git {name}` in a form that is not known to only read")
    _check_operands(name, given)
    found = find_reads(program, given)
    found.files += [inside for word in found.files for inside in _revision_files(word)]
    found.trees = [Word(".", start=".")] if program.tree else []
    found.git = True
    found.history = _shows_lines(name, arguments, given)
    return found


def _shows_lines(name: str, arguments: Sequence[Word], given: Arguments) -> bool:
    """Return True when the output has lines of files, committed ones included."""
    texts = [word.text for word in arguments]
    name = "stash list" if name == "stash" and "show" not in texts else name
    if name in _WITH_OPTIONS:
        return not given.names().isdisjoint(_WITH_OPTIONS[name])
    raw = any("(raw" in text or "(*raw" in text for text in texts)
    return raw or name == "stash" or _SUBCOMMANDS[name].tree


def _revision_files(word: Word) -> list[Word]:
    """The file of REVISION:FILE, or of :0:FILE. Any part may contain colons."""
    parts = word.text.split(":")
    names = [":".join(parts[at:]) for at in range(1, len(parts))]
    return [Word(name, start=name) for name in names]


def _check_word(word: Word) -> None:
    if not word.known:
        raise Unsafe(f"`git` with {word.text}, which the shell expands (put it in quotes)")
    if re.search(r"%[-+ ]?G|^--.*signature|%\(.*signature", word.text):
        raise Unsafe(f"`git` with {word.text} runs gpg")


def _check_operands(name: str, given: Arguments) -> None:
    operands = [word.text for word in given.operands]
    names = given.names()
    if name == "branch" and operands and "--list" not in names:
        raise Unsafe(f"`git branch {operands[0]}` makes a branch")
    if name == "tag" and operands and not names & {"-l", "--list"}:
        raise Unsafe(f"`git tag {operands[0]}` makes a tag")
    if name == "config":
        asks = names & {"--get", "--get-all", "--get-regexp", "-l", "--list"}
        if len(operands) > 1 or not (asks or operands):
            raise Unsafe("`git config` with a value sets it")
        if operands and (operands[0] in _CONFIG_VERBS or ("." not in operands[0] and not asks)):
            raise Unsafe(f"`git config {operands[0]}` is not known to only read")


_HARMLESS = re.compile(
    r"""core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode
        |symlinks|autocrlf|safecrlf|eol|quotepath|abbrev|longpaths|protectntfs|protecthfs
        |compression|checkstat|trustctime|commitgraph|preloadindex|fscache|hidedotfiles
        |whitespace|sharedrepository|untrackedcache)
    | (user|author|committer)\.(name|email)
    | init\.defaultbranch
    | branch\..*\.(remote|merge|rebase|description|pushremote)
    | branch\.(sort|autosetuprebase|autosetupmerge)
    | remote\..*\.(url|fetch|pushurl|push|tagopt|prune|mirror|skipfetchall)
    | (push|pull|fetch|rebase|gc|color|column|advice|i18n|rerere|commit|tag)\.[a-z0-9.]*
    | merge\.(ff|conflictstyle|renames)
    | log\.(date|decorate|abbrevcommit|follow|mailmap)
    | status\.(short|branch|showuntrackedfiles|relativepaths|showstash|aheadbehind|renames)
    | diff\.(algorithm|renames|renamelimit|mnemonicprefix|noprefix|context|colormoved)
    | extensions\.(objectformat|refstorage)
    | pack\.[a-z]+ | index\.version""",
    re.VERBOSE,
)
_SECTION = re.compile(r'\s*\[([A-Za-z0-9.-]+)(?:\s+"([^"\\]*)")?\]\s*(?:[#;].*)?')
_ENTRY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=.*)?")
_GITLINK = b"\x00\x00\xe0\x00"  # the mode 160000 of an entry for a nested repository
_LARGEST = 50_000_000


def git_doubt(folder: Path, root: Path) -> str:
    """Why git should not run unasked in `folder` of the home `root`; "" when there is no reason.

    HOME is the home; git before 2.32 reads its .gitconfig in any case.
    """
    if any((root / name).exists() for name in (".gitconfig", ".config/git/config")):
        return "the home holds settings of git"
    for place in (folder, *folder.parents):
        if (place / "HEAD").exists() and (place / "objects").exists():
            return "a folder that poses as a repository"
        inside = place / ".git"
        if inside.exists() or inside.is_symlink():
            if not place.resolve().is_relative_to(root.resolve()):
                return "the repository lies outside the home"
            return _repository_doubt(inside)
    return ""


def _repository_doubt(git: Path) -> str:
    if git.is_symlink() or not git.is_dir():
        return "the repository's data lie elsewhere"
    for name in ("commondir", "objects/info/alternates"):
        if (git / name).exists():
            return "the repository's data lie elsewhere"
    try:
        if (git / "config").is_symlink():
            return "the repository's settings lie elsewhere"
        if (git / "index").exists() and _has_nested_repository(git):
            return "the repository holds others"
        return settings_doubt(_read_config(git / "config")) if (git / "config").exists() else ""
    except (OSError, ValueError):
        return "the repository's settings cannot be read"


def _read_config(path: Path) -> str:
    if path.stat().st_size > 1_000_000:
        raise ValueError(path)
    return read_bytes(path).decode("utf-8")


def _has_nested_repository(git: Path) -> bool:
    indexes = [git / "index", *git.glob("sharedindex.*")]
    if any(index.stat().st_size > _LARGEST for index in indexes):
        return True
    return any(_GITLINK in read_bytes(index) for index in indexes)


def settings_doubt(text: str) -> str:
    """Why a repository with these settings (.git/config) may start programs; "" when it cannot."""
    section = ""
    for line in text.split("\n"):
        line = line.removesuffix("\r")
        if not line.strip() or line.lstrip().startswith(("#", ";")):
            continue
        if found := _SECTION.fullmatch(line):
            section = found[1].casefold() + (f".{found[2]}" if found[2] is not None else "")
            continue
        entry = _ENTRY.fullmatch(line)
        if not entry or line.endswith("\\") or not section:
            return "the repository's settings cannot be read"
        key = f"{section}.{entry[1].casefold()}"
        if not _HARMLESS.fullmatch(key):
            return f"the repository sets {key}"
    return ""
