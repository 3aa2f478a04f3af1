"""Find and replace a passage of a text, as exactly as it is given, else not minding blanks."""

from __future__ import annotations

import difflib
import re

from openclaw.shapes import ToolProblem

_NEWLINE = r"(?:\r\n|\n|\r)"
_SHOWN = 3
_LONGEST = 160


def replaced(text: str, find: str, replace: str) -> tuple[str, int]:
    """The text with the one passage that is `find` replaced, and the passage's first line number.

    Everything else stays, newlines and blanks included. Raises ToolProblem, which says where, when
    the passage is missing or stands there more than once.
    """
    find, replace = _unified(find), _unified(replace)
    if not find.strip():
        raise ToolProblem("find is empty: copy the text that is to be changed into it.")
    if find == replace:
        raise ToolProblem("find and replace are the same; nothing would change.")
    for pattern, strict in ((_exact(find), True), (_tolerant(find), False)):
        matches = _whole_words(text, list(pattern.finditer(text)))
        if len(matches) > 1:
            raise _ambiguous(text, [match.start() for match in matches])
        if matches:
            start, end = matches[0].span()
            if not strict:
                replace = replace.strip("\n").strip(" \t")
            new = replace.replace("\n", _newline_of(text))
            if text[start:end] == new:
                raise ToolProblem("That is how it already stands; nothing would change.")
            return text[:start] + new + text[end:], _line_of(text, start)
    raise _missing(text, find, replace)


def ended(text: str) -> str:
    text = text.replace("\r\n", "\n")
    return text if not text or text.endswith("\n") else f"{text}\n"


def with_end(old: str, text: str) -> str:
    """A text with another at its end, on lines of its own. Raises ToolProblem for an empty one."""
    newline = "\r\n" if "\r\n" in old else "\n"
    start = old + (newline if old and not old.endswith(("\n", "\r")) else "")
    new = start + ended(text.lstrip("\n") if old else text).replace("\n", newline)
    if new == start:
        raise ToolProblem("text is empty: nothing to append.")
    return new


def counted(text: str) -> str:
    lines = len(text.splitlines())
    return f"{lines} line{'' if lines == 1 else 's'}"


def difference(old: str, new: str, most: int = 8) -> str:
    """The changed lines with - and +, as a model can check them."""
    before, after = old.splitlines(), new.splitlines()
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    lines = [f"- {line}" for line in before[start : len(before) - end]]
    lines += [f"+ {line}" for line in after[start : len(after) - end]]
    if len(lines) > most:
        lines = [*lines[: most - 1], f"... {len(lines) - most + 1} more changed lines"]
    return "\n".join(line[:200] for line in lines)


def _whole_words(text: str, matches: list[re.Match[str]]) -> list[re.Match[str]]:
    """Of several matches the only one that neither begins nor ends inside a word, else all."""
    whole = [
        match
        for match in matches
        if not re.fullmatch(r"\w\w", text[match.start() - 1 : match.start() + 1])
        and not re.fullmatch(r"\w\w", text[match.end() - 1 : match.end() + 1])
    ]
    return whole if len(whole) == 1 else matches


def _unified(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _exact(find: str) -> re.Pattern[str]:
    return re.compile(_NEWLINE.join(re.escape(line) for line in find.split("\n")))


def _tolerant(find: str) -> re.Pattern[str]:
    """Words as given, any blanks between them and around lines; blank lines are as they come."""
    lines = [line.split() for line in find.strip().split("\n") if line.strip()]
    between = rf"[ \t]*(?:{_NEWLINE}[ \t]*)+"
    return re.compile(between.join(r"[ \t]+".join(map(re.escape, words)) for words in lines))


def _whole_lines(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?m)^[ \t]*{_tolerant(text).pattern}[ \t]*\r?$")


def _newline_of(text: str) -> str:
    found = re.search(_NEWLINE, text)
    return found[0] if found else "\n"


def _line_of(text: str, at: int) -> int:
    return len(re.findall(_NEWLINE, text[:at])) + 1


def _ambiguous(text: str, starts: list[int]) -> ToolProblem:
    lines = text.splitlines()
    numbers = [_line_of(text, start) for start in starts[:10]]
    shown = "\n".join(f"{n}: {_short(lines[n - 1])}" for n in dict.fromkeys(numbers[:_SHOWN]))
    return ToolProblem(
        f"find fits {len(starts)} places, lines {', '.join(map(str, numbers))}:\n{shown}\n"
        "Put more of the text around the right one into find and replace."
    )


def _missing(text: str, find: str, replace: str) -> ToolProblem:
    already = _whole_lines(replace).search(text) if replace.strip() else None
    if already:
        at = _line_of(text, already.start())
        return ToolProblem(
            f"find is not in the file, but the text of replace already stands in line {at}."
        )
    near = _nearest(text, find)
    if not near:
        return ToolProblem("find is not in the file. Read the file and copy the text exactly.")
    return ToolProblem(f"find is not in the file. The nearest lines:\n{near}\nCopy one exactly.")


def _nearest(text: str, find: str) -> str:
    wanted = max(find.split("\n"), key=lambda line: len(line.strip())).strip().casefold()
    words = set(re.findall(r"\w+", wanted))
    scored = []
    for number, line in enumerate(text.splitlines()[:20_000], 1):
        shared = len(words & set(re.findall(r"\w+", line.casefold())))
        if shared:
            scored.append((shared, -number, line))
    best = sorted(scored, reverse=True)[:50]
    ranked = sorted(
        best,
        key=lambda hit: difflib.SequenceMatcher(None, wanted, hit[2].strip().casefold()).ratio(),
        reverse=True,
    )
    return "\n".join(f"{-number}: {_short(line)}" for _, number, line in ranked[:_SHOWN])


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ..."
