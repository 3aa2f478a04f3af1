"""Split a text into sentences, and take the user's own words out of a message by their form."""

from __future__ import annotations

import re
from collections.abc import Iterator

from openclaw.nlp.date_patterns import is_weekday_or_month

LONGEST_MESSAGE = 8_000
"""Characters read from the beginning of a message; a quarter as many are read from its end."""
LONGEST_SENTENCE = 160
CITATION_MARK = "[...]"

_FENCED = re.compile(r"^[ \t]{0,3}(```+|~~~+)")
_BLOCK = re.compile(
    r"<(context|data|document|file|attachment|quote|blockquote|pre|code)\b[^<>\n]{0,200}>"
    r"|<<data [0-9a-f]{8}"
)
_MAIL_HEADER = re.compile(
    r"^(?:From|To|Sent|Date|Subject|Cc|Von|An|Gesendet|Datum|Betreff|De|Objet|Asunto): \S",
    re.MULTILINE,
)
_QUOTED_LINE = re.compile(r"[ \t]{0,8}(?:>|On .{4,80} wrote:$|-{3,} ?(?:Original|Forwarded))")
_SENTENCE_END = re.compile(
    r"[.!?\u2026\u3002\uff01\uff1f]+[\"'\u201d\u2019)\]]?(?=\s|$)|[\u3002\uff01\uff1f]|;(?=\s)"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[^\W\d_]|e\.g|i\.e|z\.B|d\.h|u\.a|a\.m|p\.m|vs|etc|bzw|ca|approx|Dr|Mr|Mrs|Ms"
    r"|Prof|St|Hr|Fr|Nr|No|Sr|Sra|Jr|Inc|Ltd|Co|Str|Tel|Mio|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept"
    r"|Oct|Okt|Nov|Dec|Dez|\d{1,2})\.$",
    re.IGNORECASE,
)
_CAPITAL_WORD = re.compile(r"(?<=\d\.) +([A-Z\u00c0-\u00de]\w*)")
_ORDINAL = re.compile(
    r"\b(?:im|(?<!I )am|vom|zum|zur|beim|d(?:er|ie|as|e[nms])|(?:[mds]?ein|unser|ihr|jed)\w{0,2})"
    r" \d{1,2}\.$",
    re.I,
)
"""A number after a German article: a noun follows, which has a capital too ("im 3. Stock")."""
_BULLET = re.compile(r"^[ \t]{0,12}(?:[-*+\u2022\u2013]|\(?\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_QUOTED_WORDS = re.compile(
    r'"[^"]{1,1500}"|\u201c[^\u201d]{1,1500}\u201d|\u201e[^\u201c\u201d]{1,1500}[\u201c\u201d]'
    r"|\u00ab[^\u00bb]{1,1500}\u00bb|`[^`\n]{1,400}`|(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w)){1,600}'(?!\w)"
)
BETWEEN_REQUESTS = re.compile(
    r"(?<=[.!?;:])\s+|(?<=[\u3002\uff01\uff1f\uff0c])|,?\s+(?:and|then|but|und|dann|aber|et|puis|mais|"
    r"y|luego|pero|e|poi|ma|en|dan|maar)\s+|,\s+(?:so\s+)?",
    re.I,
)


def own_words(said: str) -> str:
    """Return a message without fenced code, quotations, blocks of material and a mail that was
    pasted with its headers."""
    if len(said) > LONGEST_MESSAGE + LONGEST_MESSAGE // 4:
        said = f"{said[:LONGEST_MESSAGE]}\n{said[-LONGEST_MESSAGE // 4 :]}"
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
        elif not _QUOTED_LINE.match(line):
            lines.append(line)
    return "\n".join(lines)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences and list items of a text, each on one line; only blanks may differ."""
    for line in text.split("\n"):
        line = _BULLET.sub("", line)
        start = 0
        for end in _SENTENCE_END.finditer(line):
            if end[0] == "." and _is_inner_stop(line, start, end.end()):
                continue
            if sentence := " ".join(line[start : end.end()].split()):
                yield sentence
            start = end.end()
        if sentence := " ".join(line[start:].split()):
            yield sentence


def _is_inner_stop(line: str, start: int, end: int) -> bool:
    """Return True when the full stop before `end` belongs to an abbreviation or an ordinal."""
    short = _ABBREVIATION.search(line[max(end - 12, start) : end])
    new = _CAPITAL_WORD.match(line, end)  # "before 9. Our cat", but "9. Mai"
    nth = _ORDINAL.search(line[max(end - 16, start) : end])
    return bool(short) and (not new or bool(nth) or is_weekday_or_month(new[1]))


def without_quotes(text: str) -> str:
    """Replace quotations of more than three words by a mark: they are not the writer's own."""
    mark = f" {CITATION_MARK} "
    return _QUOTED_WORDS.sub(lambda q: q[0] if len(q[0].split()) <= 3 else mark, text)


def shorten(sentence: str, most: int = LONGEST_SENTENCE) -> str:
    """Return the sentence, or the first clauses of a longer one that fit, word for word."""
    if len(sentence) <= most:
        return sentence
    cut = sentence[: most + 1]
    ends = [cut.rfind(mark) for mark in (", ", "; ", " - ", " \u2013 ", " \u2014 ", ": ")]
    end = max(ends) if max(ends) > most // 3 else max(cut.rfind(" "), 1)
    return cut[:end].rstrip(" ,;:-\u2013\u2014") if end > most // 3 else cut[:most]
