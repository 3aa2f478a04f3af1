"""Find the exact strings of a text: paths, ids, numbers, names.

A summary rewords a text but must not change these. They are recognised by their shape, not by the
words around them, so the language hardly matters. Every pattern has a bounded reach or reads one
word at a time, so the time grows in proportion to the text, whatever is in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

LONGEST = 240
"""Characters of an identifier; longer runs without a blank are data, not names."""

_WORD = re.compile(r"[^\s\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff01-\uff65]++")
_FRONT = (
    "\"'`([{<*\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb\u2039\u203a\u2013\u2014\u00a1\u00bf,;:=|!?"
)
_BACK = _FRONT + ")]}>.\u2026"
_LIST_NUMBER = re.compile(r"^[ \t]{0,8}\(?\d{1,3}[.)](?=\s)", re.MULTILINE)

_MONTH = (
    r"(?:Jan(?:uary|uar)?|Feb(?:ruary|ruar)?|M(?:ar(?:ch)?|ärz)|Apr(?:il)?|Ma[iy]"
    r"|Ju(?:ne?|ni)|Jul[iy]?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|O[ck]t(?:ober)?|Nov(?:ember)?"
    r"|De[cz](?:ember)?|janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre"
    r"|novembre|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre"
    r"|noviembre|diciembre|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre)"
)
_UNIT = (
    r"(?:%|\u2030|\u00b0[CFcf]?|\u20ac|\$|\u00a3|\u00a5|EUR|USD|GBP|CHF|JPY"
    r"|[Ee]uros?|[Dd]ollars?|pounds?|cents?|francs?|Franken"
    r"|[kcmdµ]?m[\u00b2\u00b3]?|[km]?g|kilos?|tons?|tonnes?|[cmd]?l|lit(?:er|re)s?|Liter|ml|km/h|"
    r"mph"
    r"|[KkMGT]i?B|[Bb]ytes?|[MGk]bit/s|[GMk]?Hz|[kMm]?Wh?|kVA|V|mA|A|px|dpi|pt|tokens?|lines?|rows?"
    r"|ms|s|sec(?:ond)?s?|min(?:ute)?s?|h|hrs?|hours?|days?|weeks?|months?|years?|nights?"
    r"|Sekunden?|Minuten?|Stunden?|Tage?n?|Wochen?|Monate?n?|Jahre?n?|Uhr"
    r"|secondes|heures?|jours?|semaines?|mois|ans?|días?|horas?|semanas?|meses|años?|giorni|ore|"
    r"anni)"
)
_NUMBER_PATTERN = r"\d{1,15}(?:[.,'\u2019\u202f]\d{1,6}){0,5}"
_SPANS = re.compile(
    r"(?<![\w.,:/-])(?:"
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?(?![\w-])"
    rf"|\d{{1,2}}(?:st|nd|rd|th|\.|er)?[ \u00a0](?:of |"
    rf"de )?{_MONTH}\.?(?:,?[ \u00a0](?:de )?\d{{4}})?(?!\w)"
    rf"|{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?(?!\d)(?:,? \d{{4}})?(?!\w)"
    rf"|{_MONTH} \d{{4}}(?!\w)"
    r"|\d{1,2}[./]\d{1,2}[./](?:\d{4}|\d{2})?(?![\w/])"
    r"|\d{1,2}(?::\d\d){1,2}(?:[ \u00a0]?(?:[ap]m|[ap]\.m\.)(?!\w)|(?![\w:]))"
    r"|\d{1,2}(?:\.\d\d)?[ \u00a0]?[ap]\.?m(?!\w)"
    r"|[A-Z]{2}\d\d(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?(?!\w)"
    r"|\+\d[\d \u00a0()/-]{6,20}\d(?!\w)"
    r"|\(?0\d{1,5}\)?[ /-]\d{2,9}(?:[ /-]\d{2,9}){0,4}(?!\w)"
    rf"|[$\u20ac\u00a3\u00a5] ?{_NUMBER_PATTERN}(?: ?(?:k|m|bn|million|Mio\.?))?(?!\w)"
    rf"|{_NUMBER_PATTERN}[ \u00a0\u202f-]?(?:k |million |Mio\. ?)?{_UNIT}"
    r"(?:/(?:h|s|min|day|week|month|year|kg|l|m))?(?!\w)"
    r")"
)
_QUOTED = re.compile(
    r'(?<![\w"])"([^"\n]{2,60})"(?![\w"])|\u201c([^\u201d\n]{2,60})\u201d'
    r"|\u201e([^\u201c\u201d\n]{2,60})[\u201c\u201d]|\u00ab ?([^\u00bb\n]{2,60}?) ?\u00bb"
    r"|\u300c([^\u300d\n]{1,40})\u300d|(?<![\w'])'([^'\n]{2,60})'(?![\w'])"
)
_CODE = re.compile(r"(?<!`)`([^`\n]{2,120})`(?!`)")
MOST_QUOTED_WORDS = 6


class FoundIdentifier(NamedTuple):
    """An identifier and its position in a text."""

    start: int
    end: int
    text: str


def identifiers(text: str) -> tuple[str, ...]:
    """Return the exact strings of a text, in their order, without duplicates.

    When some overlap, the one that begins first counts; of several, the longest.
    """
    found = sorted(_find_all(text), key=lambda each: (each.start, -each.end))
    kept: dict[str, None] = {}
    end = -1
    for each in found:
        if each.start >= end:
            kept.setdefault(each.text)
            end = each.end
    return tuple(kept)


def exact_strings(text: str) -> tuple[str, ...]:
    """Return the identifiers with a shape of their own: no plain names, no words in quotes."""
    return tuple(each for each in identifiers(text) if has_own_shape(each))


def has_identifier(text: str, identifier: str) -> bool:
    """Return True when a text has an identifier as a whole, not as a part of a longer one.

    Case counts, the kind of blank between words does not. "8215" is in "localhost:8215", but
    neither in "82150" nor in "8215.5"; "a.md" is not in "notes/a.md".
    """
    if not identifier.strip():
        return False
    if _has_whole(text, identifier):
        return True
    flat = " ".join(identifier.split())
    return " " in flat and _has_whole(" ".join(text.split()), flat)


def _has_whole(text: str, identifier: str) -> bool:
    at = text.find(identifier)
    while at >= 0:
        end = at + len(identifier)
        before, after = text[max(at - 2, 0) : at][::-1], text[end : end + 2]
        if not (_is_continued(before, identifier[0]) or _is_continued(after, identifier[-1])):
            return True
        at = text.find(identifier, at + 1)
    return False


def _is_continued(near: str, edge: str) -> bool:
    """Return True when the characters next to an edge, nearest first, continue the string."""
    if not near or not _is_word_character(edge) or not edge.isascii():
        return False
    if _is_word_character(near[0]) and near[0].isascii():
        return True
    return near[0] in "./\\-@,'" and len(near) > 1 and _is_joined(near, edge)


def _is_joined(near: str, edge: str) -> bool:
    if near[0] in ",'":  # 1,000 is one number; "Dana's" and "a,b" hold Dana and a
        return edge.isdigit() and near[1].isdigit()
    return _is_word_character(near[1])


def _is_word_character(character: str) -> bool:
    return character.isalnum() or character == "_"


def has_own_shape(identifier: str) -> bool:
    """Return True for an identifier with a shape of its own: no plain name, no words in quotes."""
    marked = any(each.isdigit() or each in "/\\@_$#~=^" for each in identifier)
    return marked or is_exact(identifier)


def _find_all(text: str) -> Iterator[FoundIdentifier]:
    listed = {each.start() for each in _LIST_NUMBER.finditer(text)}
    numbered = {each.end() for each in _LIST_NUMBER.finditer(text)}
    for pattern in (_QUOTED, _CODE):
        for each in pattern.finditer(text):
            group = each.lastindex or 0
            quoted = each[group].strip(" ,.;")
            if len(quoted) > 1 and len(quoted.split()) <= MOST_QUOTED_WORDS:
                yield FoundIdentifier(each.start(), each.end(), quoted)
    spans = [each for each in _SPANS.finditer(text) if each.start() not in listed]
    for each in spans:
        yield FoundIdentifier(each.start(), each.end(), each[0])
    for start, word in _split_words(text):
        if start + len(word) + 1 not in numbered and is_exact(word):
            yield FoundIdentifier(start, start + len(word), word)
    taken = {at for each in spans for at in range(each.start(), each.end())}
    for start, name in proper_names(text):
        if taken.isdisjoint(range(start, start + len(name))):
            yield FoundIdentifier(start, start + len(name), name)


def _split_words(text: str) -> Iterator[tuple[int, str]]:
    """Yield where each run without a blank begins, and the run without the marks around it."""
    for each in _WORD.finditer(text):
        if each.end() - each.start() > LONGEST:
            continue
        whole = each[0]
        word = whole.lstrip(_FRONT)
        start = each.start() + len(whole) - len(word)
        word = word.rstrip(_BACK) if not word.endswith("()") else word
        if word.endswith(("'s", "\u2019s")):
            word = word[:-2]
        if len(word) > 1:
            yield start, word


_URL = re.compile(r"(?:[a-z][a-z0-9+.-]{1,12}://|www\.)\S{2,}|mailto:\S+", re.IGNORECASE)
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,5}")
_HOST = re.compile(
    r"(?:localhost|(?:\d{1,3}\.){3}\d{1,3}|[\w-]{1,63}(?:\.[\w-]{1,63}){1,5})(?::\d{1,5}|/\d{1,2})?"
    r"|[\w-]{1,63}:\d{2,5}"
)
_IPV6 = re.compile(r"(?=[^:]*:[^:]*:)[0-9A-Fa-f:]{6,39}(?:%\w{1,8}|/\d{1,3})?")
_IPV4 = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5}|/\d{1,2})?")
_ADDRESS = re.compile(r"[\w-]{1,63}(?:\.[\w-]{1,63}){0,4}:\d{2,5}")
_SUFFIX = re.compile(r"(?:[\w@+~-][\w@+~. -]{0,80})?\.(?=\w{0,9}[A-Za-z])[A-Za-z0-9]{1,10}")
_NO_NAME = re.compile(
    r"[^\W\d_]\.(?:[^\W\d_]\.?){1,4}|.*\.\..*|\d+(?:\.\d+)*[a-z]{1,2}", re.IGNORECASE
)
_NEXT_SENTENCE = re.compile(r"[^\W\d_]{2,}\.[A-Z][a-z]+")
_VERSION = re.compile(r"v?\d{1,5}(?:\.\d{1,6}){1,4}(?:[-+.]?[A-Za-z][\w.+-]{0,20})?")
_NUMBER = re.compile(r"[-+\u2212~\u2248<>\u00b1]?\d{1,20}(?:[.,'\u2019]\d{1,20}){0,6}")
_ORDINAL = re.compile(r"\d{1,3}(?:st|nd|rd|th|er|re|e|º|ª)", re.IGNORECASE)
_TIMES = re.compile(r"\d{1,2}x")
_HEX = re.compile(r"\^?(?=[0-9a-f]{0,63}\d)(?=\d{0,63}[a-f])[0-9a-f]{6,128}", re.IGNORECASE)
_BLOCK = re.compile(r"\^[\w-]{4,40}")
_CODED = re.compile(r"(?=\D{0,60}\d)[^\W_][\w.+#:@~^-]{0,100}")
_SNAKE = re.compile(r"_{0,2}[A-Za-z]\w{0,40}_\w{1,60}|\$\w{2,60}|%\w{2,40}%|--[a-z][\w-]{1,40}")
_CAMEL = re.compile(r"[A-Za-z]{1,40}[a-z][A-Z]\w{0,60}|[A-Z]{2,10}[a-z]{2,40}[A-Z]\w{0,40}")
_CALL = re.compile(r"[A-Za-z_][\w.]{1,80}\(\)")
_HANDLE = re.compile(r"@[A-Za-z]\w{1,40}|#[A-Za-z0-9][\w-]{0,40}")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_KEYED = re.compile(r"[A-Za-z_][\w.-]{0,40}=(?!=)[^\s=]{1,120}")
_TIME = re.compile(r"\d{1,2}:\d\d(?::\d\d)?(?:[ap]m)?|\d{4}-\d\d-\d\d\S{0,20}", re.IGNORECASE)
_LARGEST_COUNT = 10


def is_exact(word: str) -> bool:
    """Return True when the shape of a word (no blanks, no marks around it) makes it exact."""
    if word.isalpha():
        return bool(_CAMEL.fullmatch(word)) and word.lower() not in ("macos", "iphone", "ipad")
    if _NUMBER.fullmatch(word):
        return _is_number(word)
    if word.isascii() or any(character.isdigit() or character in "/\\@._" for character in word):
        return any(shape(word) for shape in _SHAPES)
    return False


def _is_number(word: str) -> bool:
    """Return True when a number is worth keeping: 0 to 10 alone are counts, not values."""
    bare = word.lstrip("-+\u2212~\u2248<>\u00b1")
    return not bare.isdigit() or len(bare) > 2 or int(bare) > _LARGEST_COUNT


def _is_address(word: str) -> bool:
    if _URL.fullmatch(word) or _EMAIL.fullmatch(word) or _IPV4.fullmatch(word):
        return True
    if _TIME.fullmatch(word) or _IPV6.fullmatch(word):
        return True
    return bool(_ADDRESS.fullmatch(word)) and not word[0].isdigit()


def _is_path(word: str) -> bool:
    """Return True for a path. Unlike "and/or" it has a root, a suffix, a digit or more than three
    parts."""
    if _DRIVE.match(word) or word.startswith(("\\\\", "~/", "./", "../")):
        return True
    parts = re.split(r"[/\\]", word)
    if len(parts) < 2 or "//" in word[:-1] or not any(map(str.isalpha, word)):
        return False
    if word[0] == "/":
        return len(parts[1]) > 1
    if not parts[-1]:
        return len(parts[0]) > 1
    return len(parts) > 3 or any(_is_part(part) for part in parts)


def _is_part(part: str) -> bool:
    marked = "_" in part or "." in part.strip(".") or part.startswith(".")
    return marked or (any(map(str.isdigit, part)) and any(map(str.isalpha, part)))


def _is_file(word: str) -> bool:
    if not _SUFFIX.fullmatch(word) or _NO_NAME.fullmatch(word):
        return False
    return not _NEXT_SENTENCE.fullmatch(word)


def _is_coded(word: str) -> bool:
    """Return True for letters with digits: OPS-4217, a7f3c2, qwen2.5; not 2nd, 3x, 24-hour."""
    if _ORDINAL.fullmatch(word) or _TIMES.fullmatch(word):
        return False
    if _HEX.fullmatch(word) or _BLOCK.fullmatch(word) or _VERSION.fullmatch(word):
        return True
    if not _CODED.fullmatch(word):
        return False
    return not re.fullmatch(r"\d{1,3}-[a-z]+(?:-[a-z]+)?", word)


def _is_name(word: str) -> bool:
    """Return True for snake_case, CamelCase, --option, call(), @handle and key=value."""
    shapes = (_SNAKE, _CAMEL, _CALL, _HANDLE, _KEYED)
    return any(shape.fullmatch(word) for shape in shapes)


_SHAPES = (_is_address, _is_path, _is_file, _is_coded, _is_name)

MOST_WORDS = 3
PARTICLES = frozenset("van von de der den da di du la le bin ibn of".split())

_RUN = re.compile(
    r"(?<![\w/\\@.#&$-])[^\W\d_a-zß-ÿ][\w'\u2019-]{1,30}+"
    r"(?: (?:(?:van|von|de|der|den|da|di|du|la|le|bin|ibn|of) ){0,2}"
    r"[^\W\d_a-zß-ÿ][\w'\u2019-]{0,30}+){0,5}"
)
_BEGINS = re.compile(r"(?:^|[.!?:;\u2026\n\"\u201c\u201e\u00ab([\]|*#>\u2022\u2013\u2014-])\s*$")
_ABBREVIATED = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof|St|Fr|Hr|Sr|Sra|Nr|No|vs|bzw|ca|Jr)\.\s*$")
_GERMAN = re.compile(
    r"\b(?:der|die|das|und|ist|nicht|ein|eine|einen|ich|wir|mit|auf|für|den|dem|zu|sie|hat|mein"
    r"|meine|unser|unsere|bitte)\b",
    re.IGNORECASE,
)
_GERMAN_BEFORE_NAME = re.compile(
    r"\b(?:Frau|Herrn?|Dr\.|heißt|heiße|namens|genannt|heißen|bei|nach|von|nutzen"
    r"|benutzen|verwenden|nutze|benutze|verwende|ist|bin|mit|statt)\s+$"
)
_GERMAN_NOUN = re.compile(
    r"(?:ung|heit|keit|schaft|tion|tät|ling|nis|tum|ismus|chen|lein|zeit|tag|ort|liste|datei|er"
    r"|en|e|ei|ik|ur|enz|anz|um|mal|ag|ahr|ung|ungen)s?$"
)

NO_NAMES = frozenset(
    """
    a an the this that these those i i'm i've i'll i'd my your his her its our their we you he she
    it they who what when where why which how if so and or but not no yes ok okay please thanks
    thank hello hi hey dear well also then now today tomorrow yesterday tonight there here as at
    by for from in on to of with without after before because since while until all any some each
    every both most more many much one two three four five six seven eight nine ten first second
    third last next new old is are was were be been being do does did has have had can could will
    would shall should may might must let lets let's make add put write read show tell give find
    create change set delete remove remember note save store edit open close use check look search
    list send call ask buy book run start stop try move copy rename replace update fix explain
    summarise summarize translate compare help do get keep take see say go come turn draft plan
    schedule remind cancel sort merge convert calculate count print rewrite answer continue mark
    tick finish email mail pick choose explain describe suggest review done sorry great good nice
    perfect actually always never maybe perhaps however therefore finally meanwhile instead only
    just again still even too everyone everything everybody nothing nobody something someone
    somebody anyone anything error warning info debug note notes todo file files line lines page
    table figure example total result results name title date status true false none null yes'n
    api url json html pdf csv xml iban sql http https cpu gpu ram usb faq asap fyi btw am pm ok id
    ui io os pc tv wifi id's frau herr herrn termin der die das den dem ein eine einen mein meine
    unser unsere dein ihr wir ich du er sie es und oder aber nicht kein keine ja nein bitte danke
    hallo wenn weil dass wie was wer wo wann warum welche auch dann jetzt heute morgen gestern
    hier dort alle immer nie nur noch schon ist sind war hat le la les un une des mon ma mes notre
    nos ton ta il elle nous vous je tu et ou mais si oui non merci bonjour quand comment pourquoi
    el los las una mi mis nuestro nuestra yo ella nosotros y o pero si sí gracias hola cuando como
    por para il lo gli uno mio mia nostro io lui lei noi e ma se grazie ciao quando come perché
    """.split()
)


def proper_names(text: str) -> Iterator[tuple[int, str]]:
    """Yield where each proper name begins, and the name. A text all in capitals has none."""
    german = len(_GERMAN.findall(text[:2000])) > 1
    inside: set[str] = set()
    waiting: list[tuple[int, str]] = []
    for found in _RUN.finditer(text):
        before = text[max(found.start() - 40, 0) : found.start()]
        begins = bool(_BEGINS.search(before)) and not _ABBREVIATED.search(before)
        for start, words in _split_run(found.start(), found[0]):
            at_start = begins and start == found.start()
            if len(words) == 1 and at_start:
                waiting.append((start, words[0]))
            elif len(words) > 1 or not german or _is_german_name(before, words[0]):
                inside.update(words)
                yield start, " ".join(words)
    for start, word in waiting:  # a first word is a name when it is one elsewhere in the text
        if word in inside:
            yield start, word


def _is_german_name(before: str, word: str) -> bool:
    """Return True when a single German word is a name: it follows a word such as "Frau" and has no
    ending of a noun."""
    return bool(_GERMAN_BEFORE_NAME.search(before)) and not _GERMAN_NOUN.search(word)


def _split_run(start: int, run: str) -> Iterator[tuple[int, list[str]]]:
    """Yield a run of capitalised words without the common ones, in pieces of up to three words."""
    words: list[str] = []
    begin = at = 0
    for word in run.split(" "):
        bare = re.sub(r"['\u2019]s?$", "", word)
        small = word[:1].islower()
        if _is_common(bare) or (len(words) >= MOST_WORDS and not small):
            yield from _trim_piece(start + begin, words)
            words = []
        if not _is_common(bare) and (words or not small):
            begin = begin if words else at
            words.append(bare)
            if bare != word:
                yield from _trim_piece(start + begin, words)
                words = []
        at += len(word) + 1
    yield from _trim_piece(start + begin, words)


def _trim_piece(start: int, words: list[str]) -> Iterator[tuple[int, list[str]]]:
    while words and words[-1][:1].islower():
        words = words[:-1]
    if words and any(len(word) > 1 for word in words):
        yield start, words


def _is_common(word: str) -> bool:
    if word in PARTICLES:
        return False
    return word.lower() in NO_NAMES or not word[:1].isupper()
