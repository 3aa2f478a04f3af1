"""What of git only reads, as far as the line tells.

A repository may name programs that git starts (diff drivers, filters, fsmonitor, ssh, gpg): see
gitfolder.py for those. Here: sub-commands and options by the manual of git 2.45, in the notation of
programs.py. Left out is what writes (`--output`), starts a program (`--ext-diff`, `-O` of grep,
`%G?` asks gpg), speaks with a server, or leads git to another repository (`-C`, `--git-dir`, `-c`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from openclaw.tools.commandrules import Given, Use, tell_apart, use
from openclaw.tools.programs import Program, options
from openclaw.tools.shellwords import Unsafe, Word

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

# Options by which a log shows lines of files, or tells whether they hold a text.
_SHOWING = {*options(_DIFF), "-L", "-c", "-m"} - set(
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
"""Sub-commands that show lines of files with these options only."""

# Sub-commands that list when this follows, and change things otherwise.
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


def git(arguments: Sequence[Word]) -> Use:
    """What this git command reads; raises Unsafe."""
    words = list(arguments)
    for word in words:
        _check(word)
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
    given = tell_apart(f"git {name}", program, words)
    if not lists and (name not in _ALONE or given.operands):
        raise Unsafe(f"`git {name}` in a form that is not known to only read")
    _check_operands(name, given)
    found = use(program, given)
    found.files += [inside for word in found.files for inside in _inside(word)]
    found.trees = [Word(".", start=".")] if program.tree else []
    found.git = True
    found.history = _shows_lines(name, arguments, given)
    return found


def _shows_lines(name: str, arguments: Sequence[Word], given: Given) -> bool:
    """Whether lines of files come out, be it those of another day."""
    texts = [word.text for word in arguments]
    name = "stash list" if name == "stash" and "show" not in texts else name
    if name in _WITH_OPTIONS:
        return not given.names().isdisjoint(_WITH_OPTIONS[name])
    raw = any("(raw" in text or "(*raw" in text for text in texts)
    return raw or name == "stash" or _SUBCOMMANDS[name].tree


def _inside(word: Word) -> list[Word]:
    """The file of REVISION:FILE, or of :0:FILE. Colons may be in any part of it."""
    parts = word.text.split(":")
    names = [":".join(parts[at:]) for at in range(1, len(parts))]
    return [Word(name, start=name) for name in names]


def _check(word: Word) -> None:
    if not word.known:
        raise Unsafe(f"`git` with {word.text}, which the shell expands (put it in quotes)")
    if re.search(r"%[-+ ]?G|^--.*signature|%\(.*signature", word.text):
        raise Unsafe(f"`git` with {word.text} runs gpg")


def _check_operands(name: str, given: Given) -> None:
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
