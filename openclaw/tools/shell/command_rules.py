"""Judge one command: does each of its words make the program read and nothing else?

A word that begins with "-" must be a listed option. A word that may begin with "-" after the
shell's expansion (`*`, `"$x"`) is refused where an option could do harm.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from openclaw.frozen import frozen
from openclaw.tools.shell.parser import Unsafe, Word

_NUMBER = re.compile(r"-\d+(\.\d+)?")

_HARM = {
    ("sort", "-o"): "writes a file",
    ("sort", "--output"): "writes a file",
    ("sort", "--compress-program"): "runs a program",
    ("sort", "-T"): "writes into a folder",
    ("rg", "--pre"): "runs a program",
    ("rg", "--hostname-bin"): "runs a program",
    ("rg", "-z"): "runs programs that unpack",
    ("rg", "--search-zip"): "runs programs that unpack",
    ("rg", "-L"): "follows links out of the folder",
    ("rg", "--follow"): "follows links out of the folder",
    ("grep", "-R"): "follows links out of the folder (-r does not)",
    ("tree", "-o"): "writes a file",
    ("tree", "-R"): "writes files",
    ("tree", "-l"): "follows links out of the folder",
    ("file", "-C"): "writes a file",
    ("diff", "-l"): "runs a program",
    ("tail", "-f"): "does not end",
    ("tail", "-F"): "does not end",
    ("date", "-s"): "sets the clock",
    ("date", "--set"): "sets the clock",
    ("xxd", "-r"): "can write a file",
    ("sed", "-i"): "changes files",
    ("sed", "--in-place"): "changes files",
    ("base64", "-o"): "writes a file",
}  # fmt: skip


@dataclass(slots=True)
class Reads:
    """What a command reads."""

    files: list[Word] = field(default_factory=list)
    trees: list[Word] = field(default_factory=list)  # folders with all files; "." is where it runs
    goes: Word | None = None  # the folder of a `cd`
    git: bool = False  # the command is git
    history: bool = False  # git shows lines of committed files


@dataclass(slots=True)
class Arguments:
    """The arguments of a command, split into options, their files, and operands."""

    options: list[tuple[str, str]] = field(default_factory=list)
    files: list[Word] = field(default_factory=list)
    operands: list[Word] = field(default_factory=list)

    def names(self) -> set[str]:
        return {name for name, _ in self.options}


def find_reads(program: Program, given: Arguments) -> Reads:
    """What a program with these arguments reads."""
    operands = given.operands
    if program.operands == "pattern" and not program.patterned & given.names():
        operands = [word for at, word in enumerate(operands) if at or word.glob or word.split]
    if program.operands == "words":
        operands = [word for word in operands if word.glob or word.split]
    found = Reads(files=[*given.files, *operands])
    if program.tree or program.recursive & given.names():
        found.trees = operands or [Word(".", start=".")]
    if program.links:
        # The program also reads the links in a folder.
        found.files += [pattern_below(word) for word in operands if not word.open]
    return found


def pattern_below(word: Word) -> Word:
    """A pattern for everything in the folder that the word names."""
    name = word.pattern if word.glob else glob.escape(word.text)
    return Word(f"{word.text}/**", False, word.start, glob=True, pattern=f"{name}/**")


def split_arguments(name: str, program: Program, arguments: Sequence[Word]) -> Arguments:
    """Split options and operands as getopt does; raises Unsafe for an option that is not listed."""
    given = Arguments()
    known = program.known()
    at = 0
    while at < len(arguments):
        word = arguments[at]
        at += 1
        if word.known and word.text == "--":
            given.operands += arguments[at:]
            break
        if word.known and word.text.startswith("-") and word.text != "-":
            at += _split_option(name, known, word.text, arguments[at : at + 1], given)
            continue
        _check_operand(name, program, word)
        if program.most == 1 and at < len(arguments):
            raise Unsafe(f"`{name}` with something behind the file {word.text}")
        given.operands.append(word)
    several = any(word.glob or word.split for word in given.operands)
    if len(given.operands) > program.most or (several and program.most < 10):
        raise Unsafe(f"`{name}` with more than {program.most} operands")
    return given


def _check_operand(name: str, program: Program, word: Word) -> None:
    if word.known or program.any_option:
        return
    if word.split:
        raise Unsafe(f"`{name}`: {word.text} outside quotes may become an option")
    if not word.start or word.start.startswith("-"):
        advice = f" (write ./{word.text})" if word.glob and not word.start else ""
        raise Unsafe(f"`{name}`: {word.text} may become an option{advice}")


def _split_option(
    name: str, known: Mapping[str, str], text: str, following: Sequence[Word], given: Arguments
) -> int:
    """Parse a word that begins with "-". Returns the number of further words that it used."""
    if "-NUM" in known and _NUMBER.fullmatch(text):
        return 0
    if text.startswith("--"):
        option, equals, value = text.partition("=")
        takes = _value_kind(name, known, option)
        if takes == "" and equals:
            raise Unsafe(f"`{name} {text}` is not known to only read")
        attached = value if equals else None
        return _take_value(name, option, takes, attached, following, given)
    for at, letter in enumerate(text[1:], 2):
        takes = _value_kind(name, known, f"-{letter}")
        if takes:
            return _take_value(name, f"-{letter}", takes, text[at:] or None, following, given)
        given.options.append((f"-{letter}", ""))
    return 0


def _value_kind(name: str, known: Mapping[str, str], option: str) -> str:
    takes = known.get(option)
    if takes is None:
        plain = {"egrep": "grep", "fgrep": "grep"}.get(name, name)
        harm = _HARM.get((plain, option), "is not known to only read")
        raise Unsafe(f"`{name} {option}` {harm}")
    return takes


def _take_value(
    name: str,
    option: str,
    takes: str,
    attached: str | None,
    following: Sequence[Word],
    given: Arguments,
) -> int:
    used = 0
    if takes in {":", "@"} and attached is None:
        if not following:
            raise Unsafe(f"`{name} {option}` without its value")
        word = following[0]
        # In another version of the program the option may take no value: then this is an option.
        if not word.known or (
            word.text.startswith("-") and word.text != "-" and not _NUMBER.fullmatch(word.text)
        ):
            raise Unsafe(f"`{name} {option} {word.text}` is not a plain value")
        attached, used = word.text, 1
    given.options.append((option, attached or ""))
    if takes == "@" and attached is not None:
        given.files.append(Word(attached, start=attached))
    return used


Takes = Literal["", ":", "?", "@"]
Operands = Literal["paths", "pattern", "words"]


@frozen
class Program:
    """The arguments that a program may get.

    operands    files, a pattern and then files, or words that name no file
    most        the highest number of operands
    any_option  no option of any version does more than read, so that a name from a pattern such as
                `*.md` may pass for an option
    patterned   options that give the pattern, in place of the first operand
    recursive   options with which it reads all files of a folder
    tree        it always reads all files of a folder
    links       it follows the links in a folder
    """

    options: str = ""
    operands: Operands = "paths"
    most: int = 10_000
    any_option: bool = False
    patterned: frozenset[str] = frozenset()
    recursive: frozenset[str] = frozenset()
    tree: bool = False
    links: bool = False

    def known(self) -> Mapping[str, Takes]:
        return parse_options(self.options)


@cache
def parse_options(written: str) -> Mapping[str, Takes]:
    """Parse a list of options into option -> the kind of its value."""
    found: dict[str, Takes] = {}
    for item in written.split():
        name = item.rstrip(":?@")
        takes: Takes = item[len(name) :]  # type: ignore[assignment]
        if item == "-NUM" or name.startswith("--"):
            found[name] = takes
        else:
            found |= {f"-{letter}": takes for letter in name[1:]}
    return found


_SUMS = Program("-btzw --binary --text --tag --zero", any_option=True)
_GREP = Program(
    "-EFGPivwxcLlnoqsHhabzZrUTyI -e: -f@ -A: -B: -C: -m: -NUM --regexp: --file@ --include:"
    " --exclude: --exclude-dir: --color? --colour? --max-count: --context: --after-context:"
    " --before-context: --binary-files: --label: --count --ignore-case --no-ignore-case"
    " --invert-match --word-regexp --line-regexp --files-with-matches --files-without-match"
    " --line-number --with-filename --no-filename --only-matching --quiet --silent --no-messages"
    " --recursive --extended-regexp --fixed-strings --basic-regexp --perl-regexp --text --null"
    " --null-data --byte-offset --initial-tab --line-buffered --exclude-from@",
    operands="pattern",
    patterned=frozenset({"-e", "-f", "--regexp", "--file"}),
    recursive=frozenset({"-r", "--recursive"}),
)
_RG = Program(
    "-nNiSswxvcloaFPUpqHI0uh -e: -f@ -g: -t: -T: -A: -B: -C: -m: -d: -j: -r: -E: -M: --regexp:"
    " --file@ --glob: --iglob: --type: --type-not: --type-list --files --json --stats --sort:"
    " --sortr: --max-depth: --max-count: --max-columns: --max-filesize: --threads:"
    " --no-heading --heading"
    " --color: --colors: --line-number --no-line-number --ignore-case --smart-case --case-sensitive"
    " --word-regexp --line-regexp --fixed-strings --count --count-matches --files-with-matches"
    " --files-without-match --only-matching --context: --after-context: --before-context:"
    " --no-messages --hidden --no-ignore --no-ignore-vcs --trim --vimgrep --pcre2 --multiline"
    " --multiline-dotall --passthru --invert-match --column --null --text --replace: --quiet"
    " --with-filename --no-filename --no-config --unrestricted --pretty --encoding: --version",
    operands="pattern",
    patterned=frozenset({"-e", "-f", "--regexp", "--file", "--files", "--type-list"}),
    tree=True,
)
_DIFF = Program(
    "-qsuecnyiEZbwBartTNdp -U: -C: -x: -X@ -I: -W: -F: --brief --report-identical-files --unified?"
    " --context? --ed --normal --rcs --side-by-side --ignore-case --ignore-all-space --minimal"
    " --ignore-space-change --ignore-blank-lines --ignore-trailing-space --ignore-tab-expansion"
    " --text --recursive --new-file --expand-tabs --color? --width: --exclude: --exclude-from@"
    " --label: --strip-trailing-cr --suppress-common-lines --left-column --show-c-function"
    " --ignore-matching-lines: --from-file@ --to-file@ --no-dereference",
    links=True,
)
_JQ = Program(
    "-nrjascSCMe --null-input --raw-output --join-output --raw-output0 --ascii-output --slurp"
    " --compact-output --sort-keys --color-output --monochrome-output --exit-status --tab"
    " --raw-input -R --indent: --seq --stream",
    operands="pattern",
)

PROGRAMS: Mapping[str, Program] = {
    "ls": Program(
        "-aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZ1 -I: -w: --all --almost-all --color? --directory"
        " --classify? --group-directories-first --human-readable --inode --ignore: --hide:"
        " --recursive --reverse --size --sort: --time: --time-style: --full-time --format:"
        " --si --no-group --numeric-uid-gid --file-type --literal --escape"
        " --quote-name --quoting-style: --zero --width:",
        any_option=True,
    ),
    "cat": Program(
        "-AbeEnstTuv --number --number-nonblank --show-all --show-ends --show-tabs"
        " --show-nonprinting --squeeze-blank",
        any_option=True,
    ),
    "head": Program(
        "-qvz -n: -c: -NUM --lines: --bytes: --quiet --silent --verbose --zero-terminated",
        any_option=True,
    ),
    "tail": Program(
        "-qvzr -n: -c: -NUM --lines: --bytes: --quiet --silent --verbose --zero-terminated",
        any_option=True,
    ),
    "wc": Program(
        "-clmwL --bytes --chars --lines --words --max-line-length --total:", any_option=True
    ),
    "nl": Program("-p -b: -f: -h: -i: -l: -n: -s: -v: -w: -d:", any_option=True),
    "tac": Program("-br -s: --before --regex --separator:", any_option=True),
    "rev": Program("", any_option=True),
    "fold": Program("-bs -w: --bytes --spaces --width:", any_option=True),
    "expand": Program("-i -t: --initial --tabs:", any_option=True),
    "unexpand": Program("-a -t: --all --first-only --tabs:", any_option=True),
    "fmt": Program("-stu -w: --split-only --uniform-spacing --width:", any_option=True),
    "cut": Program(
        "-sn -b: -c: -d: -f: --bytes: --characters: --delimiter: --fields: --only-delimited"
        " --complement --output-delimiter: --zero-terminated"
    ),
    "paste": Program("-sz -d: --delimiters: --serial --zero-terminated", any_option=True),
    "tr": Program(
        "-cCdst --complement --delete --squeeze-repeats --truncate-set1", operands="words"
    ),
    "sort": Program(
        "-bdfgiMhnRrVcCmsuz -k: -t: -S: --key: --field-separator: --reverse --unique --numeric-sort"
        " --human-numeric-sort --general-numeric-sort --version-sort --month-sort --random-sort"
        " --ignore-case --ignore-leading-blanks --dictionary-order --ignore-nonprinting --check?"
        " --merge --stable --zero-terminated --sort: --buffer-size: --parallel: --debug"
    ),
    # It writes its second operand, and BSD takes an option after the first operand for one.
    "uniq": Program(
        "-cdDiuz -f: -s: -w: --count --repeated --all-repeated? --ignore-case --unique --group?"
        " --skip-fields: --skip-chars: --check-chars: --zero-terminated",
        most=1,
    ),
    "comm": Program("-123iz --check-order --nocheck-order --output-delimiter: --total"),
    "join": Program("-iz -1: -2: -a: -e: -j: -o: -t: -v: --header --check-order --nocheck-order"),
    "diff": _DIFF,
    "cmp": Program("-bls -i: -n: --print-bytes --ignore-initial: --bytes: --verbose --quiet"),
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rg": _RG,
    "jq": _JQ,
    "stat": Program(
        "-Ltxs -c: -f --format: --printf: --dereference --file-system --terse", any_option=True
    ),
    "file": Program(
        "-bikhLNr0 --brief --mime --mime-type --mime-encoding --dereference --no-dereference"
        " --keep-going --extension --no-pad --raw"
    ),
    "du": Program(
        "-abchkmsxSl0 -d: -t: -B: --max-depth: --exclude: --apparent-size --human-readable"
        " --summarize --total --all --block-size: --time? --threshold: --bytes --one-file-system"
        " --separate-dirs --inodes --null --si"
    ),
    "df": Program(
        "-ahiHklmPT -t: -x: -B: --total --output? --human-readable --inodes --print-type --type:"
        " --exclude-type: --block-size: --local --all --portability --si"
    ),
    "tree": Program(
        "-adfixCASntrvUqNQhspugFDJX -L: -P: -I: --noreport --dirsfirst --filesfirst --du --prune"
        " --gitignore --charset: --sort: --timefmt: --inodes --device --ignore-case --si"
    ),
    "basename": Program("-az -s: --multiple --suffix: --zero", operands="words", any_option=True),
    "dirname": Program("-z --zero", operands="words", any_option=True),
    "realpath": Program(
        "-eLmPqsz --canonicalize-existing --canonicalize-missing --no-symlinks --strip --quiet"
        " --relative-to@ --relative-base@ --logical --physical --zero"
    ),
    "readlink": Program(
        "-efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline"
        " --quiet --silent --verbose --zero",
        any_option=True,
    ),
    "which": Program("-as --all", operands="words"),
    "type": Program("-aftpP", operands="words"),
    "pwd": Program("-LP --logical --physical", operands="words", most=0),
    "id": Program("-gGnruz --group --groups --name --real --user --zero", operands="words"),
    "whoami": Program(operands="words", most=0),
    "groups": Program(operands="words"),
    "nproc": Program("--all", operands="words", most=0),
    "arch": Program(operands="words", most=0),
    "uptime": Program("-ps --pretty --since", operands="words", most=0),
    "hostname": Program(operands="words", most=0),
    "env": Program(operands="words", most=0),
    "printenv": Program(operands="words"),
    "uname": Program(
        "-asnrvmpio --all --kernel-name --nodename --kernel-release --kernel-version --machine"
        " --processor --hardware-platform --operating-system",
        operands="words",
        most=0,
    ),
    "md5sum": _SUMS,
    "sha1sum": _SUMS,
    "sha256sum": _SUMS,
    "sha512sum": _SUMS,
    "b2sum": Program("-btz -l: --length: --tag --zero"),
    "cksum": Program(any_option=True),
    "shasum": Program("-bt -a: --algorithm: --binary --text"),
    "base64": Program("-dD -w: --decode --wrap: --ignore-garbage", most=1),
    "od": Program(
        "-abcdvxhil -A: -t: -N: -j: -w? --address-radix: --format: --read-bytes: --skip-bytes:"
        " --output-duplicates --width? --endian:"
    ),
    "strings": Program("-af -n: -t: -e: -NUM --all --bytes: --radix: --encoding:"),
    "column": Program(
        "-tnxeJdL -s: -o: -c: -N: -R: -H: --table --separator: --output-separator: --json"
        " --fillrows --table-columns: --table-right: --output-width:"
    ),
    "seq": Program(
        "-w -s: -f: -NUM --equal-width --separator: --format:", operands="words", most=3
    ),
    "expr": Program("-NUM", operands="words"),
    ":": Program(operands="words", any_option=True),
    "true": Program(operands="words", any_option=True),
    "false": Program(operands="words", any_option=True),
}  # fmt: skip

_WHY = {
    "deletes": "rm rmdir unlink shred srm",
    "changes files": "mv cp install ln mkdir touch tee dd truncate chmod chown chgrp split csplit"
    " mkfifo mknod mktemp rsync tar zip unzip gzip gunzip bzip2 xz zstd patch ed ex vi vim nano"
    " emacs sponge rename setfacl chattr link",
    "uses the network": "curl wget ssh scp sftp nc ncat netcat socat telnet ftp dig nslookup host"
    " ping openssl aria2c gh",
    "runs programs of its own": "python python2 python3 perl ruby node deno bun php lua awk gawk"
    " mawk nawk sh bash dash zsh ksh fish tclsh Rscript java make cmake npm npx pip uv cargo go"
    " docker less more man gdb",
    "runs other commands": "eval source . exec builtin trap xargs sudo su doas nohup timeout time"
    " nice ionice watch parallel setsid stdbuf strace ltrace chroot unshare busybox toybox flock"
    " script entr fd fdfind",
    "changes the shell": "alias unalias export set unset shopt declare typeset local readonly read"
    " mapfile readarray let enable hash umask ulimit getopts shift return pushd popd bind",
    "stops or starts something": "kill pkill killall systemctl service shutdown reboot crontab at"
    " mount umount wait bg fg jobs disown exit",
}  # fmt: skip


@cache
def _reasons() -> Mapping[str, str]:
    return {name: why for why, names in _WHY.items() for name in names.split()}


def refusal_reason(name: str) -> str:
    """Why a program does not count as one that only reads."""
    if why := _reasons().get(name):
        return f"`{name}` {why}"
    if re.fullmatch(r"python[\d.]+", name):
        return f"`{name}` runs programs of its own"
    return f"`{name}` is not known to only read"
