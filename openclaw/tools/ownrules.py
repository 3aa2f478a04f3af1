"""Programs whose arguments are a small language, or that write when given one word too many."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from openclaw.tools.commandrules import Given, Use, tell_apart, use
from openclaw.tools.programs import PROGRAMS, Program
from openclaw.tools.shellwords import Unsafe, Word

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


def find(arguments: Sequence[Word]) -> Use:
    found = Use()
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


# -------- sed: printing, deleting and replacing on the way to the output

# Both BSD and GNU must end a pattern at the same place: no bracket that holds "/", few escapes.
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


def sed(arguments: Sequence[Word]) -> Use:
    given = tell_apart("sed", _SED_OPTIONS, arguments)
    scripts = [value for name, value in given.options if name in {"-e", "--expression"}]
    files = given.operands
    if not scripts:
        if not files or not files[0].known:
            raise Unsafe("`sed` without a plain script")
        scripts, files = [files[0].text], files[1:]
    for script in scripts:
        if not _SED.fullmatch(script):
            raise Unsafe(f"`sed`: the script {script} is more than printing, deleting, replacing")
    return Use(files=list(files))


# -------- what is part of the shell


def echo(arguments: Sequence[Word]) -> Use:
    return Use(files=[word for word in arguments if word.glob or word.split])


def printf(arguments: Sequence[Word]) -> Use:
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


def test(arguments: Sequence[Word]) -> Use:
    """Only forms whose operator stands in the line: bash's `test -v 'a[$(x)]'` runs x, and an
    operator may hide in what is expanded."""
    words = list(arguments)
    if words and words[0].known and words[0].text == "!" and len(words) > 1:
        words.pop(0)
    if any(word.split or word.glob for word in words):
        raise Unsafe("`test` with a word outside quotes that the shell expands")
    if len(words) == 1:
        return Use()
    if len(words) == 2 and words[0].known and words[0].text in _UNARY:
        return Use(files=words[1:] if words[0].text in _FILE_TESTS else [])
    if len(words) == 3 and words[1].known and words[1].text in _BINARY:
        return Use(files=[words[0], words[2]] if words[1].text in {"-nt", "-ot", "-ef"} else [])
    raise Unsafe("`test` in a form that is not known to only read")


def bracket(arguments: Sequence[Word]) -> Use:
    if not arguments or not arguments[-1].known or arguments[-1].text != "]":
        raise Unsafe("`[` without its ]")
    return test(arguments[:-1])


def cd(arguments: Sequence[Word]) -> Use:
    words = [word for word in arguments if not (word.known and word.text == "--")]
    if len(words) != 1 or not words[0].known or not words[0].text or words[0].text[0] == "-":
        raise Unsafe("`cd` without the name of a folder")
    return Use(goes=words[0], files=words)


def command(arguments: Sequence[Word]) -> Use:
    if not arguments or not arguments[0].known or arguments[0].text not in {"-v", "-V"}:
        raise Unsafe("`command` runs other commands")
    if not all(word.known and not word.text.startswith("-") for word in arguments[1:]):
        raise Unsafe("`command -v` without a plain name")
    return Use()


# -------- others

_DATE = Program(
    "-uR -I? -d: -r@ --date: --iso-8601? --rfc-3339: --rfc-2822 --rfc-email --utc --universal"
    " --reference@",
    operands="words",
)
_JQ_NAMED = {"--arg": 2, "--argjson": 2}


def date(arguments: Sequence[Word]) -> Use:
    """An operand that is no format sets the clock."""
    given = tell_apart("date", _DATE, arguments)
    if any(not word.start.startswith("+") or word.split for word in given.operands):
        raise Unsafe("`date` with a time sets the clock")
    return use(_DATE, given)


def xxd(arguments: Sequence[Word]) -> Use:
    """Its second operand is written, and it reads of an option only the first letter."""
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
    return Use(files=list(arguments[-1:]) if line else [])


def strings(arguments: Sequence[Word]) -> Use:
    """binutils takes the words of a file that is named behind an @ as arguments."""
    for word in arguments:
        if word.text.startswith("@"):
            raise Unsafe(
                f"`strings {word.text}` takes its arguments from a file (write ./{word.text})"
            )
    return use(PROGRAMS["strings"], tell_apart("strings", PROGRAMS["strings"], arguments))


def jq(arguments: Sequence[Word]) -> Use:
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
    given: Given = tell_apart("jq", PROGRAMS["jq"], words)
    text = given.operands[0] if given.operands else Word(".", start=".")
    if not text.known or re.search(r"\b(import|include|modulemeta)\b", text.text):
        raise Unsafe("`jq` with a program that may read other files")
    return use(PROGRAMS["jq"], given)


RULES: Mapping[str, Callable[[Sequence[Word]], Use]] = {
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
