"""The user's own words in a message, sentence by sentence: no code, no quotations, no material."""

from __future__ import annotations

import re
from collections.abc import Iterator

MOST = 8_000
"""Characters of a message that are looked at, from its beginning; and a quarter from its end."""
LONGEST = 160

_FENCED = re.compile(r"^[ \t]{0,3}(```+|~~~+)")
_BLOCK = re.compile(
    r"<(context|data|document|file|attachment|quote|blockquote|pre|code)\b[^<>\n]{0,200}>"
    r"|<<data [0-9a-f]{8}"
)
_MAIL_HEADER = re.compile(
    r"^(?:From|To|Sent|Date|Subject|Cc|Von|An|Gesendet|Datum|Betreff|De|Objet|Asunto): \S",
    re.MULTILINE,
)
_QUOTATION = re.compile(r"[ \t]{0,8}(?:>|On .{4,80} wrote:$|-{3,} ?(?:Original|Forwarded))")
_END = re.compile(
    r"[.!?\u2026\u3002\uff01\uff1f]+[\"'\u201d\u2019)\]]?(?=\s|$)|[\u3002\uff01\uff1f]|;(?=\s)"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[^\W\d_]|e\.g|i\.e|z\.B|d\.h|u\.a|a\.m|p\.m|vs|etc|bzw|ca|approx|Dr|Mr|Mrs|Ms"
    r"|Prof|St|Hr|Fr|Nr|No|Sr|Sra|Jr|Inc|Ltd|Co|Str|Tel|Mio|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept"
    r"|Oct|Okt|Nov|Dec|Dez|\d{1,2})\.$",
    re.IGNORECASE,
)
_NUMBER_THEN = re.compile(
    r"(?<=\d\.) +(?:Our|My|The|I|I['\u2019]\w+|We|You|He|She|It|They|This|That|There|These|What|"
    r"When"
    r"|Where|Which|Who|Why|How|Can|Could|Would|Will|Do|Does|Did|Is|Are|Please|And|But|So|If|Also|"
    r"Let"
    r"|Always|Never|From|Ich|Wir|Sie|Er|Es|Du|Mein\w*|Unser\w*|Kannst|K\u00f6nntest|Was|Wie|Wann|Wo"
    r"|Wer|Warum|Und|Aber|Bitte|Je|J['\u2019]\w+|Nous|Mon|Ma|Notre|Et|Mi|Nuestr\w+|Y)\b"
)
"""Behind a number: a sentence begins there, and "5." is no ordinal."""
_BULLET = re.compile(r"^[ \t]{0,12}(?:[-*+\u2022\u2013]|\(?\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_SPOKEN = re.compile(
    r'"[^"\n]{1,400}"|\u201c[^\u201d\n]{1,400}\u201d|\u201e[^\u201c\u201d\n]{1,400}[\u201c\u201d]'
    r"|\u00ab[^\u00bb\n]{1,400}\u00bb|`[^`\n]{1,400}`|(?<![\w'])'[^'\n]{1,400}'(?![\w'])"
)


def own_words(said: str) -> str:
    """What the user said himself: without fenced code, quotations, blocks of material, and a mail
    that was pasted with its header."""
    if len(said) > MOST + MOST // 4:
        said = f"{said[:MOST]}\n{said[-MOST // 4 :]}"
    headers = [each.start() for each in _MAIL_HEADER.finditer(said)]
    if len(headers) > 1:
        said = said[: headers[0]]
    lines: list[str] = []
    fence = closing = ""
    for line in said.split("\n"):
        if fence or closing:
            if (fence and line.strip().startswith(fence)) or (closing and closing in line):
                fence = closing = ""
        elif found := _FENCED.match(line):
            fence = found[1][:3]
        elif opened := _BLOCK.search(line):
            lines.append(line[: opened.start()])
            end = f"</{opened[1]}>" if opened[1] else "<</data"
            closing = "" if end in line[opened.end() :] else end
        elif not _QUOTATION.match(line):
            lines.append(line)
    return "\n".join(lines)


def sentences(text: str) -> Iterator[str]:
    """The sentences and list items of a text, each on one line, exact but for blanks."""
    for line in text.split("\n"):
        line = _BULLET.sub("", line)
        start = 0
        for end in _END.finditer(line):
            if end[0] == "." and _goes_on(line, start, end.end()):
                continue
            if sentence := " ".join(line[start : end.end()].split()):
                yield sentence
            start = end.end()
        if sentence := " ".join(line[start:].split()):
            yield sentence


def _goes_on(line: str, start: int, end: int) -> bool:
    """Whether the full stop before `end` is that of an abbreviation or of an ordinal."""
    short = _ABBREVIATION.search(line[max(end - 12, start) : end])
    return bool(short) and not _NUMBER_THEN.match(line, end)


def hushed(sentence: str) -> str:
    """The sentence with all letters of longer quotations blanked: what it says, not what it cites.
    Same length, so that a place in the one is that in the other."""
    return _SPOKEN.sub(_blank, sentence)


def _blank(found: re.Match[str]) -> str:
    if len(found[0].split()) <= 3:
        return found[0]
    return "x" * len(found[0])


def shortened(sentence: str, most: int = LONGEST) -> str:
    """The sentence, or of a longer one the clauses that fit from its beginning, exact."""
    if len(sentence) <= most:
        return sentence
    cut = sentence[: most + 1]
    ends = [cut.rfind(mark) for mark in (", ", "; ", " - ", " \u2013 ", " \u2014 ", ": ")]
    end = max(ends) if max(ends) > most // 3 else max(cut.rfind(" "), 1)
    return cut[:end].rstrip(" ,;:-\u2013\u2014") if end > most // 3 else cut[:most]
