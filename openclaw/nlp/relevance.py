"""Which skills or tools fit a request: BM25 over names, descriptions and examples, without a model.

A small model reads a list of many badly and pays for it in every request, so that the head lists
only as many skills as have room; of the others the few that may fit are named beside the request.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache, partial
from itertools import accumulate, pairwise, takewhile
from typing import NamedTuple

from openclaw.nlp.words import content_words, stem

MOST_LISTED = 12
"""So many skills are all listed in the head, however long their descriptions."""
ROOM = 1600
"""Characters of the list in the head of more skills than that: some 400 tokens."""
SHORTLIST = 4
SHORT = 160
SHORTEST = 60
"""Characters of a description in the shortlist, and in the head when room is short."""
NAME_WEIGHT = 2
OVERLAP = 2
"""Words that a request and a skill must share; each word of a name that is said is one more."""
LIKENESS = 0.6
"""The part of an example's words that a request must share with it."""
# Descriptions are a sentence or two; the usual values, which longer texts than these need tuned.
K1, B = 1.2, 0.75
VERBS = frozenset(
    stem(word)
    for word in """add change create delete edit find list open read remove run save search send
    show tell update user value view write file files folder name text data result results tool
    tools today tomorrow thing things""".split()
)
ARTICLES = frozenset("the a an my our this that".split())
ANY_WORD = re.compile(r"[^\W_]+")
PAUSE = re.compile(r"[^\w\s'\u2019-]+")


class Blurb(NamedTuple):
    """What the model is told of a skill. `examples` are requests that it is for."""

    name: str
    about: str
    examples: tuple[str, ...] = ()

    def line(self, most: int) -> str:
        """Name and description on one line, this of at most so many characters, 0 for none."""
        if not most:
            return plain(self.name)
        about = plain(self.about)
        if len(about) > most:
            about = f"{about[: most - 1].rsplit(' ', 1)[0]}\u2026"
        return f"{plain(self.name)}: {about}"


def listed(skills: Sequence[Blurb]) -> Sequence[Blurb]:
    """The skills that the head names: all of a few, else the first ones that have room with short
    descriptions. Their order is that of the skills, so that the head stays as it is."""
    ends = accumulate(len(each.line(SHORTEST)) + len("- \n") for each in skills)
    fitting = sum(1 for _ in takewhile(lambda end: end <= ROOM, ends))
    return skills[: max(MOST_LISTED, fitting)]


def nearest(request: str, skills: Sequence[Blurb]) -> list[Blurb]:
    """The skills that the head does not name and that a request may be about, best first."""
    others = frozenset(skills[len(listed(skills)) :])
    near = found(request, skills) if others else ()
    return [each for each in near if each in others][:SHORTLIST]


def ranked(
    request: str,
    skills: Sequence[Blurb],
    enough: Callable[[Collection[str], Blurb], bool] | None = None,
) -> list[Blurb]:
    """The skills that share enough words with a request, best first. `enough` judges the words that
    one shares with it; without it there must be `OVERLAP`."""
    wanted = set(content_words(request))
    if not skills:
        return []
    texts = [_counts(skill) for skill in skills]
    mean = sum(map(len, texts)) / len(texts) or 1.0
    idf = {word: _idf(sum(word in text for text in texts), len(texts)) for word in wanted}
    scored = []
    for at, (skill, text) in enumerate(zip(skills, texts, strict=True)):
        shared = wanted & text.keys()
        if (enough or partial(_overlaps, request))(shared, skill):
            norm = K1 * (1 - B + B * len(text) / mean)
            score = sum(idf[word] * text[word] / (text[word] + norm) for word in shared)
            scored.append((-score, at))
    return [skills[at] for _, at in sorted(scored)]


def called(request: str, skill: Blurb) -> bool:
    """Whether a request says the skill's name, or is so much like one of its examples that it is no
    chance: two words of a longer request are."""
    wanted = set(content_words(request))
    most = max(_shared_with_examples(wanted, skill), default=0)
    return most > OVERLAP or most == OVERLAP == len(wanted) or bool(_says_name(request, skill))


def fitting(request: str, tools: Sequence[Blurb]) -> list[Blurb]:
    """The tools that a request may be about, best first. One word in common is enough when it is
    neither what one does with everything ("list", "add") nor in most of them."""
    holders = Counter(word for tool in tools for word in _counts(tool))
    common = max(MOST_LISTED, len(tools) // 4)
    return ranked(
        request,
        tools,
        lambda shared, tool: any(w not in VERBS and holders[w] <= common for w in shared),
    )


def found(words: str, skills: Sequence[Blurb]) -> list[Blurb]:
    """The skills that a search for words finds, best first: one word in common is enough."""
    wanted = set(content_words(words))
    near = [skill for skill in skills if wanted & _counts(skill).keys()]
    best = ranked(words, near)
    return [*best, *(skill for skill in near if skill not in best)]


def _overlaps(request: str, shared: Collection[str], skill: Blurb) -> bool:
    told = len(_told(skill).intersection(shared)) + _says_name(request, skill)
    return told >= OVERLAP or any(_shared_with_examples(shared, skill))


def plain(text: str) -> str:
    """A text on one line, without characters that cannot be seen: as a description, it must not be
    able to write new entries, headings or orders into the prompt."""
    seen = (" " if unicodedata.category(c) in ("Zl", "Zp", "Cc") else c for c in text)
    return " ".join("".join(c for c in seen if unicodedata.category(c)[0] != "C").split())


def _says_name(request: str, skill: Blurb) -> int:
    """How many words a skill's name has when the request says it, "write a new skill" for
    write-skill and "log the boat" for boat-log; else 0. One of several would be too little: "what
    do my notes say" is nothing for keep-notes."""
    words = _all_words(skill.name)
    if not words:
        return 0
    said = [_all_words(part) for part in PAUSE.split(request)]
    found = any(_in_a_row(words, part) or _turned_round(words, part) for part in said)
    return len(words) if found else 0


def _in_a_row(words: Sequence[str], said: Sequence[str]) -> bool:
    """Whether the words come in this order, with no more than two others between each pair."""
    at = [n for n, word in enumerate(said) if word == words[0]]
    for wanted in words[1:]:
        at = [n for n, word in enumerate(said) if word == wanted and any(0 < n - m < 4 for m in at)]
    return bool(at)


def _turned_round(words: Sequence[str], said: Sequence[str]) -> bool:
    """Whether the two words of a name come the other way round, with an article between."""
    told = [word for word in said if word not in ARTICLES]
    return len(words) == 2 and (words[1], words[0]) in pairwise(told)


def _all_words(text: str) -> list[str]:
    return [stem(word.lower()) for word in ANY_WORD.findall(text)]


def _shared_with_examples(wanted: Collection[str], skill: Blurb) -> Iterator[int]:
    """How many words a request shares with each of a skill's examples that it is much like. All of
    them together hold so many words that two are soon shared."""
    for example in skill.examples:
        words = set(content_words(example))
        shared = len(words.intersection(wanted))
        if shared >= OVERLAP and shared >= LIKENESS * len(words):
            yield shared


@lru_cache(maxsize=4096)
def _told(skill: Blurb) -> frozenset[str]:
    return frozenset(content_words(f"{skill.name} {skill.about}"))


@lru_cache(maxsize=4096)
def _counts(skill: Blurb) -> Counter[str]:
    name = content_words(skill.name) * NAME_WEIGHT
    return Counter([*name, *content_words(" ".join((skill.about, *skill.examples)))])


def _idf(holders: int, count: int) -> float:
    return math.log(1 + (count - holders + 0.5) / (holders + 0.5))
