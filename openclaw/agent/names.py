"""Proper names of one to three words, told by their capitals.

A capital at the beginning of a sentence says nothing, and in German none does: there a single word
counts only behind words that names stand behind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

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

COMMON = frozenset(
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


def names(text: str) -> Iterator[tuple[int, str]]:
    """Proper names and where they begin. A text in capitals throughout has none."""
    german = len(_GERMAN.findall(text[:2000])) > 1
    inside: set[str] = set()
    waiting: list[tuple[int, str]] = []
    for found in _RUN.finditer(text):
        before = text[max(found.start() - 40, 0) : found.start()]
        begins = bool(_BEGINS.search(before)) and not _ABBREVIATED.search(before)
        for start, words in _cut(found.start(), found[0]):
            at_start = begins and start == found.start()
            if len(words) == 1 and at_start:
                waiting.append((start, words[0]))
            elif len(words) > 1 or not german or _named(before, words[0]):
                inside.update(words)
                yield start, " ".join(words)
    for start, word in waiting:  # a sentence may begin with a name that stands elsewhere too
        if word in inside:
            yield start, word


def _named(before: str, word: str) -> bool:
    """Whether a single German word is a name: behind a word that names stand behind, and not
    formed as nouns are."""
    return bool(_GERMAN_BEFORE_NAME.search(before)) and not _GERMAN_NOUN.search(word)


def _cut(start: int, run: str) -> Iterator[tuple[int, list[str]]]:
    """A run of capitalised words without the common ones, in pieces of up to three words."""
    words: list[str] = []
    begin = at = 0
    for word in run.split(" "):
        bare = re.sub(r"['\u2019]s?$", "", word)
        small = word[:1].islower()
        if _is_common(bare) or (len(words) >= MOST_WORDS and not small):
            yield from _piece(start + begin, words)
            words = []
        if not _is_common(bare) and (words or not small):
            begin = begin if words else at
            words.append(bare)
            if bare != word:
                yield from _piece(start + begin, words)
                words = []
        at += len(word) + 1
    yield from _piece(start + begin, words)


def _piece(start: int, words: list[str]) -> Iterator[tuple[int, list[str]]]:
    while words and words[-1][:1].islower():
        words = words[:-1]
    if words and any(len(word) > 1 for word in words):
        yield start, words


def _is_common(word: str) -> bool:
    if word in PARTICLES:
        return False
    return word.lower() in COMMON or not word[:1].isupper()
