"""Words for BM25: the same function for documents and for questions.

A word is case folded, loses its accents and is stemmed as English (Snowball, "Porter 2"; irregular
forms by a table, as Krovetz 1993). A text that is clearly in another language also gives that
language's stems, so that it still shares the English stem with a text too short to tell.
Identifiers are kept whole and in parts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

MAX_LENGTH = 64

# Function words that carry no topic. Words that are also names or topics (will, may, us, it in
# capitals) are not among them.
STOP = frozenset(
    "a an and are as at be been but by for from had has have he her his i if in into is it its me "
    "my of on or our she so than that the their them then there these they this those to was we "
    "were with would you your am do does did what which who whom how when where why".split()
)
_FOREIGN = {
    "german": "der die das und ist ein eine einen nicht mit für auf von den dem des ich wir sie "
    "wie wo wer wann warum welche welcher mein meine dein ihr sein hat haben war sind auch "
    "aber oder bei nach zum zur über noch nur wird im am",
    "french": "le la les des une est et dans pour que qui pas sur avec mon ma mes son sa ses nous "
    "vous ils elle où quand quel quelle comment pourquoi sont était ce cette du au aux je ne",
    "spanish": "el la los las una es y en para que con por mi mis su sus no como cuándo dónde "
    "quién qué cuál está son era pero más del al se lo un fue",
    "italian": "il lo la gli le una è e di che per con mio mia suo sua non come quando dove chi "
    "quale sono era ma più del della nel alla un si",
    "portuguese": "o os as uma é e em para que com por meu minha seu sua não como quando onde quem "
    "qual são era mas mais do da no na ao um se foi",
    "dutch": "de het een en is van niet met voor op aan ik wij zij hoe waar wie wanneer waarom "
    "welke mijn zijn haar was ook maar of bij naar nog wordt heeft dat",
    "swedish": "och är en ett det inte med för på av jag vi hon han hur var vem när varför vilken "
    "min din sin har hade som till från",
    "danish": "og er en et det ikke med for på af jeg vi hun han hvordan hvor hvem hvornår hvorfor "
    "min din sin har havde som til fra",
}
_LANGUAGES = {name: frozenset(words.split()) for name, words in _FOREIGN.items()}
_ENGLISH = frozenset("in on at as or an be he the was for to is do no so me my with if i".split())
_HINTS = frozenset().union(*_LANGUAGES.values())
# Forms that no stemmer of suffixes joins: a question has "did you buy", its answer "bought". Of
# forms that are common words by themselves ("led", "rose", "lives") none.
_IRREGULAR = (
    "become became, begin began begun, bend bent, blow blew blown, break broke broken, bring "
    "brought, build built, burn burnt, buy bought, catch caught, choose chose chosen, come came, "
    "deal dealt, dig dug, draw drew drawn, dream dreamt, drink drank drunk, drive drove driven, "
    "eat ate eaten, fall fell fallen, feed fed, feel felt, fight fought, find found, fly flew "
    "flown, forget forgot forgotten, freeze froze frozen, get got gotten, give gave given, go went "
    "gone, grow grew grown, hang hung, hear heard, hide hid hidden, hold held, keep kept, know "
    "knew known, learn learnt, leave left, lend lent, lose lost, make made, mean meant, meet met, "
    "pay paid, ride rode ridden, ring rang rung, run ran, say said, see saw seen, seek sought, "
    "sell sold, send sent, shake shook shaken, shoot shot, sing sang sung, sink sank sunk, sleep "
    "slept, speak spoke spoken, spell spelt, spend spent, stand stood, steal stole stolen, stick "
    "stuck, strike struck, sweep swept, swim swam swum, swing swung, take took taken, teach "
    "taught, tear tore torn, tell told, think thought, throw threw thrown, understand understood, "
    "wake woke woken, wear wore worn, win won, write wrote written, child children, foot feet, "
    "half halves, knife knives, loaf loaves, man men, mouse mice, shelf shelves, tooth teeth, wife "
    "wives, woman women"
)
_ROWS = [row.split() for row in _IRREGULAR.split(", ")]
_BASES = {form: base for base, *forms in _ROWS for form in forms}

_CJK = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f\u0981-\u0d4d"
_CJK_RUN = re.compile(f"[{_CJK}]+")
_ATOM = re.compile(
    rf"(?<![^\W\d_])[A-Za-z](?:\+\+|\#)|\d+(?:[.:,]\d+)+|\d+|[^\W\d_](?:[^\W\d_]|[{_MARKS}])*"
)
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)", re.I)
_WHOLE = re.compile(r"\.?\w[\w.:/@+#&-]*")
_FILE = re.compile(r"\w+(?:[.-]\w+)+")
_EDGES = (
    "()[]{}<>\"'`,;:!?*_~|=^\\/-%$\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019\u2026\u2013\u2014\u2022\u00b7"
    "\u20ac\u00a3\u3001\u3002\uff0c\uff01\uff1f\u300c\u300d"
)
_ELISION = re.compile(r"(?:[cdjlmnstCDJLMNST]|qu|Qu|dell|all|nell)'(?=[^\W\d_]{2})")


def words(text: str, language: str = "") -> list[str]:
    """The words of a text in their order, identifiers followed by their parts.

    `language` (a name of `language_of`) is the default for a text that does not show its own. A
    text of stop words only keeps them, so that "to be or not to be" is found.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace("\u2019", "'")
    raws = text.split()
    language = language_of(raws) or language
    found = [term for raw in raws for term in _terms(raw, language)]
    return found or [term for raw in raws for term in _split_terms(raw, "", frozenset())]


def language_of(raws: Iterable[str]) -> str:
    """The Snowball name of a text's language by its small words, "" for English.

    At least one small word in seven must be that language's, and more of them than English ones.
    """
    lowered = [raw.lower().strip(_EDGES + ".") for raw in raws]
    seen = _HINTS.intersection(lowered)
    if not seen:
        return ""
    best = max(_LANGUAGES, key=lambda name: len(seen & _LANGUAGES[name]))
    hits = sum(word in _LANGUAGES[best] for word in lowered)
    english = sum(word in _ENGLISH or word in STOP for word in lowered)
    return best if hits > english and hits * 7 >= len(lowered) else ""


@lru_cache(maxsize=1 << 17)
def _short_terms(raw: str, language: str) -> tuple[str, ...]:
    return tuple(_split_terms(raw, language))


def _terms(raw: str, language: str) -> Iterable[str]:
    read = _short_terms if len(raw) <= MAX_LENGTH else _split_terms
    return read(raw, language)


def _split_terms(raw: str, language: str, stop: frozenset[str] = STOP) -> Iterator[str]:
    """The terms of the characters between two blanks."""
    core = _strip_punctuation(raw)
    if core.isalpha() and core.isascii() and (core.islower() or core[1:].islower()):
        if core.lower() not in stop:
            yield from _stems(core, language)
        return
    if core.lower() in stop and not (len(core) > 1 and core.isupper()):
        return
    if "'" in core:
        core = _ELISION.sub("", core)
        core = core[:-2] if core.endswith(("'s", "'S")) else core.replace("'", "")
        if core.lower() in stop:
            return
    if _CJK_RUN.search(core):
        yield from _split_scripts(core, language, stop)
    else:
        yield from _split_latin(core, language, stop)


def _strip_punctuation(raw: str) -> str:
    """Strip punctuation at both ends, except from C++, C# and .NET."""
    core = raw.strip(_EDGES).rstrip(".")
    if core[:1] == "." and not re.match(r"\.[A-Za-z]\w*$", core):
        core = core.lstrip(".")
    if core[-1:] in "+#" and not re.search(r"[A-Za-z]#$|\+\+$", core):
        core = core.rstrip("+#")
    return core.lstrip("+#&@").strip(_EDGES)


def _split_scripts(core: str, language: str, stop: frozenset[str]) -> Iterator[str]:
    """Split scripts without spaces into pairs of characters, the rest as usual."""
    at = 0
    for run in _CJK_RUN.finditer(core):
        if at < run.start():
            yield from _split_latin(core[at : run.start()], language, stop)
        text, at = run[0], run.end()
        yield from [text] if len(text) == 1 else map("".join, pairwise(text))
    if at < len(core):
        yield from _split_latin(core[at:], language, stop)


def _split_latin(core: str, language: str, stop: frozenset[str]) -> Iterator[str]:
    if _THOUSANDS.fullmatch(core):
        yield core.replace(",", "")
        return
    core = _ORDINAL.sub(r"\1", core) if _ORDINAL.fullmatch(core) else core
    atoms = _ATOM.findall(core)
    if not atoms:
        return
    if len(atoms) == 1 and atoms[0] == core:
        yield from _word(core, language)
        return
    whole = core.lower()
    if len(core) <= MAX_LENGTH and _WHOLE.fullmatch(core) and whole not in atoms:
        yield _remove_accents(whole)
    name = core.rpartition("/")[2]
    if name != core and "://" not in core and _FILE.fullmatch(name):
        yield _remove_accents(name.lower())
    if core.count("-") == 1 and all(atom.isalpha() for atom in atoms) and len(core) < 30:
        yield from _stems("".join(atoms), "")
    for atom in atoms:
        if len(atom) <= MAX_LENGTH and (atom.lower() not in stop or len(atoms) == 1):
            yield from _word(atom, language)


def _word(atom: str, language: str) -> Iterator[str]:
    yield from _stems(atom, language)
    if not (atom.islower() or atom.isupper() or atom[1:].islower()) and atom.isascii():
        parts = _CAMEL.findall(atom)
        for part in parts if len(parts) > 1 else ():
            if len(part) > 1:
                yield from _stems(part, language)


def _stems(word: str, language: str) -> Iterator[str]:
    lower = word.casefold()
    plain = _remove_accents(lower)
    stem: str = _stemmer("english").stemWord(_BASES.get(plain, plain)) if plain.isascii() else plain
    yield stem
    if language:
        other = _remove_accents(_stemmer(language).stemWord(lower))
        if other != stem:
            yield other
    elif not plain.isascii() and "\u0400" <= plain[0] <= "\u04ff":
        other = _stemmer("russian").stemWord(lower)
        if other != stem:
            yield other


def _remove_accents(word: str) -> str:
    """Remove accents in scripts where a mark is not a letter of its own."""
    if word.isascii() or any("\u0530" <= char < "\u1e00" for char in word):
        return word
    parts = unicodedata.normalize("NFKD", word)
    return "".join(char for char in parts if not unicodedata.combining(char))


@cache
def _stemmer(language: str) -> Any:
    """Load PyStemmer."""
    import Stemmer

    return Stemmer.Stemmer(language)
