"""Read the user's own words in a message, sentence by sentence, and what they state.

Code, quotations and text that the user hands over to be worked on are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from openclaw.nlp.identifiers import NO_NAMES, exact_strings, identifiers
from openclaw.nlp.lexicon.statement_words import (
    BEGS,
    CALL_ME,
    CORRECTION,
    DECISION,
    DEFINITE,
    FINITE,
    FORBIDS,
    JUDGED,
    KEY_VALUE,
    LEAD_IN,
    LETS,
    ORDERS,
    PASSING,
    PERSONAL,
    QUESTION,
    REMEMBER,
    REPORTED,
    REWORKS,
    STANDING,
    SUPPOSED,
    TO_DO,
)

LONGEST_MESSAGE = 8_000
"""Characters read from the beginning of a message; a quarter as many are read from its end."""
LONGEST_SENTENCE = 160

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
_STARTS_SENTENCE = re.compile(
    r"(?<=\d\.) +(?:Our|My|The|I|I['\u2019]\w+|We|You|He|She|It|They|This|That|There|These|What|"
    r"When"
    r"|Where|Which|Who|Why|How|Can|Could|Would|Will|Do|Does|Did|Is|Are|Please|And|But|So|If|Also|"
    r"Let"
    r"|Always|Never|From|Ich|Wir|Sie|Er|Es|Du|Mein\w*|Unser\w*|Kannst|K\u00f6nntest|Was|Wie|Wann|Wo"
    r"|Wer|Warum|Und|Aber|Bitte|Je|J['\u2019]\w+|Nous|Mon|Ma|Notre|Et|Mi|Nuestr\w+|Y)\b"
)
"""Words that begin a sentence: a number and a dot before them are no ordinal ("5.")."""
_BULLET = re.compile(r"^[ \t]{0,12}(?:[-*+\u2022\u2013]|\(?\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_QUOTED_WORDS = re.compile(
    r'"[^"\n]{1,400}"|\u201c[^\u201d\n]{1,400}\u201d|\u201e[^\u201c\u201d\n]{1,400}[\u201c\u201d]'
    r"|\u00ab[^\u00bb\n]{1,400}\u00bb|`[^`\n]{1,400}`|(?<![\w'])'[^'\n]{1,400}'(?![\w'])"
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
    return bool(short) and not _STARTS_SENTENCE.match(line, end)


def blank_quotes(sentence: str) -> str:
    """Replace quotations of more than three words by x's, so that only the sentence's own words
    are matched. The length stays the same, so positions are valid in both texts."""
    return _QUOTED_WORDS.sub(_blank_if_long, sentence)


def _blank_if_long(found: re.Match[str]) -> str:
    if len(found[0].split()) <= 3:
        return found[0]
    return "x" * len(found[0])


def shorten(sentence: str, most: int = LONGEST_SENTENCE) -> str:
    """Return the sentence, or the first clauses of a longer one that fit, word for word."""
    if len(sentence) <= most:
        return sentence
    cut = sentence[: most + 1]
    ends = [cut.rfind(mark) for mark in (", ", "; ", " - ", " \u2013 ", " \u2014 ", ": ")]
    end = max(ends) if max(ends) > most // 3 else max(cut.rfind(" "), 1)
    return cut[:end].rstrip(" ,;:-\u2013\u2014") if end > most // 3 else cut[:most]


_LEADS = re.compile(
    r"^(?:(?:hm+|no|nope|yeah|ugh|um|uh|wait|listen|look|honestly|right|anyway|anyhow|morning|"
    r"evening)[,.!]+ )+(?=\S+ \S)"
    r"|^(?:.{0,60}?\b)?(?:before i forget|for the record|(?:just )?so (?:you know|you['\u2019]re "
    r"aware|we['\u2019]re clear)|one more thing|by the way|btw|fyi|quick note|note to self|to be "
    r"clear|as i said|as you know|some context|some background|for context|nur damit du es weißt|"
    r"pour info|por cierto|übrigens)\b[\s,.:;-]*(?=\S+ \S)",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"(?:[\s,]+(?:so |and )?(?:please )?(?:keep (?:that|this|it) in mind|remember (?:that|this)|"
    r"note (?:that|this)|don['\u2019]t forget(?: (?:that|this|it))?))(?: please)?[\s.!]*$|"
    r"(?:[\s,]+(?:lol|haha+|hehe|tbh|btw|fyi|by the way|anyway|pls|:-?\)|;-?\)|:D|xD))+[\s.!]*$",
    re.IGNORECASE,
)
_QUESTION_AT_END = re.compile(
    r", (?:what|can you|could you|is there|are there|any ideas?|how (?:do|can|much|many|long|far)|"
    r"which (?!is|was|has|are|were|means)\w+ (?:is|are|do|does|can|would|should))\b[^.!]*$",
    re.IGNORECASE,
)
_END_MARKS = " ,;:-\u2013\u2014"


def strip_lead_in(line: str) -> str:
    """Remove introductory words: "thanks, that worked. by the way", "just so you know:"."""
    return _strip_first_words(_LEADS.sub("", _strip_first_words(_LEADS.sub("", line))))


def strip_trailer(line: str) -> str:
    """Remove a question, a "lol" or a comma at the end of a sentence."""
    asked = _QUESTION_AT_END.search(line)
    if asked and len(line[: asked.start()].split()) > 2:
        line = line[: asked.start()]
    return _TRAILING.sub("", line).strip().rstrip(_END_MARKS)


def _strip_first_words(line: str) -> str:
    lead = LEAD_IN.match(line)
    return line[lead.end() :] if lead and lead.end() < len(line) else line


FEWEST_WORDS = 2
"""The fewest words of a fact."""

_CLAUSE = re.compile(
    r"(?:, (?:and |but |because |since |as |und |aber |denn |weil |da |et |mais |car |y |pero |"
    r"porque "
    r"|e |ma )?| [\u2013\u2014-] |: | (?:because|since|but|denn|weil|parce que|porque|perché) )"
)
_ANSWER_IN = re.compile(
    r"(?:answer|reply|respond|write|speak|antworte|schreibe?|réponds|écris|responde|escribe|"
    r"rispondi)"
    r"(?:[ -]\w+)? (?:in|auf|en|em) [A-Z]?\w+(?: (?:unless|when|whenever|if|please|only)\b|\W*$)"
)
_USE_FOR = re.compile(r"use (?!(?:it|this|that)\b)(?:\S+ ){1,8}for \S", re.IGNORECASE)
_THIRD_PERSON = re.compile(
    r"(?:the|our|my|his|her|their|every|each) (?:[\w'\u2019-]+ ){1,4}[a-z]{2,}(?:s|ed) \S"
    r"|(?-i:[A-Z])[\w-]+ and (?-i:[A-Z])[\w-]+ [a-z]+ \S",
    re.IGNORECASE,
)
"""A subject and a word that is probably a verb, although `FINITE` does not list it."""
_SUBJECT = re.compile(
    r"(?:i|we|he|she|it|they|this|that|there|who|which|my|our|his|her|its|their|the|ich|wir|er|"
    r"sie|es|das"
    r"|der|die|mein\w*|unser\w*|je|il|elle|nous|ils|c['\u2019]est|mon|ma|yo|él|ella|mi|es|io|lui|"
    r"lei)"
    r"(?:['\u2019]\w+)?\b",
    re.IGNORECASE,
)


class Statement(NamedTuple):
    """A statement in the user's exact words.

    text         the words, "" for no statement
    to_remember  the user asked to remember it
    order        it is an order that holds a fact
    """

    text: str
    to_remember: bool = False
    order: bool = False


def find_statements(said: str) -> Iterator[Statement]:
    """Yield the sentences or clauses of a message that state something."""
    for sentence in sentences(drop_material(own_words(said))):
        fact = read_statement(sentence)
        if len(fact.text.split()) >= FEWEST_WORDS:
            yield fact


def read_statement(sentence: str) -> Statement:
    """Return what a sentence states, word for word; "" for a question, an order or mere talk."""
    lead = LEAD_IN.match(sentence)
    body = sentence[lead.end() :] if lead else sentence
    remember = REMEMBER.match(body)
    if remember and not sentence.endswith("?"):
        rest = body[remember.end() :]
        return Statement("" if TO_DO.match(rest) else rest, to_remember=True)
    quiet = blank_quotes(body)
    if CALL_ME.match(quiet):
        return Statement(body)
    if _is_question(quiet):
        return Statement(_clause_before_question(body))
    if is_order(quiet):
        return Statement(sentence if _order_holds_fact(quiet) else "", order=True)
    if SUPPOSED.match(quiet):
        return Statement(body if STANDING.search(quiet) else "")
    return Statement(sentence if _is_statement(quiet) else "")


def is_order(sentence: str) -> bool:
    """Return True when a sentence asks for something to be done."""
    if BEGS.match(sentence) and not LETS.match(sentence):
        return True
    if FORBIDS.match(sentence):
        return True
    first = re.match(r"[^\W\d_]+(?:-moi)?", sentence)
    if not first or sentence[first.end() : first.end() + 1] in (":", "'", "\u2019", "="):
        return False
    return first[0].lower() in ORDERS


def drop_material(text: str) -> str:
    """Remove the text that a message hands over to be translated, corrected or continued."""
    found = REWORKS.match(text)
    if not found:
        return text
    end = re.search(r":\s|:$|\n", text[found.end() :])
    return text[: found.end() + end.start()] if end else text


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("\"')\u201d ").endswith(("?", "\uff1f")) or bool(
        QUESTION.match(sentence) and not re.search(r"[.!]$", sentence)
    )


def _clause_before_question(sentence: str) -> str:
    """Return the statement before a question: "I live in Ghent, what is open today?"."""
    cut = max(sentence.rfind(mark) for mark in (", ", " - ", " \u2013 ", " \u2014 ", ": "))
    before = sentence[: max(cut, 0)]
    if len(before.split()) < 3 or QUESTION.match(before) or SUPPOSED.match(before):
        return ""
    return before if not is_order(before) and _is_statement(blank_quotes(before)) else ""


def _order_holds_fact(sentence: str) -> bool:
    """Return True when an order is a rule, gives a reason or says who somebody is."""
    if FORBIDS.match(sentence) or STANDING.search(sentence):
        return True
    if _USE_FOR.match(sentence) and identifiers(sentence):
        return True
    if _ANSWER_IN.match(sentence[:1].lower() + sentence[1:]):
        return True
    reworks = REWORKS.match(sentence)
    for clause in _CLAUSE.split(sentence)[1:]:
        if not _SUBJECT.match(clause) or (reworks and REPORTED.search(sentence)):
            continue
        if FINITE.search(clause) and not _is_talk(clause):
            return True
    return bool(re.search(r"\b(?:instead of|rather than|statt|au lieu de|en lugar de)\b", sentence))


def _is_statement(sentence: str) -> bool:
    if DECISION.search(sentence) or LETS.match(sentence):
        return True
    found = identifiers(sentence)
    if (
        _is_talk(sentence)
        and not exact_strings(sentence)
        and not (found and DEFINITE.match(sentence))
    ):
        return False
    words = len(sentence.split())
    finite = bool(FINITE.search(sentence))
    correction = CORRECTION.match(sentence)
    if (
        correction
        and words > 2
        and (exact_strings(sentence) or not _is_talk(sentence[correction.end() :]))
    ):
        return bool(finite or found)
    if STANDING.search(sentence) and words > 2:
        return True
    pair = KEY_VALUE.match(sentence)
    if pair and len(pair[1].split()) <= 4 and not _is_order_word(pair[1]):
        return True
    finite = finite or bool(words > 4 and _THIRD_PERSON.match(sentence))
    if finite and words > 2 and (PERSONAL.search(sentence) or DEFINITE.match(sentence)):
        return True
    named = re.match(r"([A-ZÀ-Þ][\w-]{2,30})(?:['\u2019]s \w{1,30})? (\S{1,30})", sentence)
    if named and named[1].lower() not in NO_NAMES and FINITE.fullmatch(named[2]) and words > 2:
        return True
    return bool(found) and (finite or (words > 2 and bool(exact_strings(sentence))))


def _is_order_word(key: str) -> bool:
    return any(word.lower() in ORDERS for word in key.split()[:1]) and len(key.split()) > 1


def _is_talk(sentence: str) -> bool:
    return bool(PASSING.match(sentence) or JUDGED.match(sentence))
