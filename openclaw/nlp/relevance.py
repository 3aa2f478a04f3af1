"""Rank skills and tools for a request: BM25 over names, descriptions and examples, no model.

A small model reads a long list badly and pays for it in every request. The head therefore lists
only as many skills as fit; the tail names the few others that may fit the request.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache, partial
from itertools import accumulate, chain, pairwise, takewhile
from typing import NamedTuple

from openclaw.nlp.words import all_stems, content_words, stem

MAX_LISTED = 12  # the head lists at least so many skills, however long their descriptions are
LONGEST_LIST = 1600
"""Characters of the list in the head when there are more skills: some 400 tokens."""
SHORTLIST = 4
LONGEST_ABOUT = 160
SHORT_ABOUT = 60  # characters of a description in the shortlist, and in a full head
NAME_WEIGHT = 2
OVERLAP = 2
"""Words that a request and a skill must share; each word of its name that is said counts too."""
LIKENESS = 0.6  # the share of an example's words that a request must have
# The usual values; only texts longer than these descriptions need tuned ones.
K1, B = 1.2, 0.75
GENERAL_WORDS = frozenset(
    stem(word)
    for word in """add change create delete edit find list open read remove run save search send
    show tell update user value view write file files folder name text data result results tool
    tools today tomorrow thing things""".split()
)
ARTICLES = frozenset("the a an my our this that".split())
PAUSE = re.compile(r"[^\w\s'\u2019-]+")


class Blurb(NamedTuple):
    """A skill or tool as the model sees it. `examples` are requests that it is for."""

    name: str
    about: str
    examples: tuple[str, ...] = ()

    def line(self, most: int) -> str:
        """Return the name and at most `most` characters of the description on one line."""
        if not most:
            return visible_line(self.name)
        about = visible_line(self.about)
        if len(about) > most:
            about = f"{about[: most - 1].rsplit(' ', 1)[0]}\u2026"
        return f"{visible_line(self.name)}: {about}"


def skills_in_head(skills: Sequence[Blurb]) -> Sequence[Blurb]:
    """Return the skills that the head lists: all of a few, else the first ones that fit with short
    descriptions. The order is that of `skills`, so that the head stays the same."""
    ends = accumulate(len(each.line(SHORT_ABOUT)) + len("- \n") for each in skills)
    fitting = sum(1 for _ in takewhile(lambda end: end <= LONGEST_LIST, ends))
    return skills[: max(MAX_LISTED, fitting)]


def nearest_unlisted(request: str, skills: Sequence[Blurb]) -> list[Blurb]:
    """Return skills that the head does not list and that a request may be about, best first."""
    others = frozenset(skills[len(skills_in_head(skills)) :])
    near = search_skills(request, skills) if others else ()
    return [each for each in near if each in others][:SHORTLIST]


def rank_blurbs(
    request: str,
    skills: Sequence[Blurb],
    enough: Callable[[Collection[str], Blurb], bool] | None = None,
) -> list[Blurb]:
    """Return the skills that share enough words with a request, best first. `enough` judges the
    shared words; without it there must be `OVERLAP`."""
    wanted = set(content_words(request))
    if not skills:
        return []
    texts = [_words_of(skill).counts for skill in skills]
    mean = sum(map(len, texts)) / len(texts) or 1.0
    holders = {word: sum(word in text for text in texts) for word in wanted}
    idf = {word: math.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for word, n in holders.items()}
    scored = []
    for at, (skill, text) in enumerate(zip(skills, texts, strict=True)):
        shared = wanted & text.keys()
        if (enough or partial(_overlaps, request))(shared, skill):
            norm = K1 * (1 - B + B * len(text) / mean)
            score = sum(idf[word] * text[word] / (text[word] + norm) for word in shared)
            scored.append((-score, at))
    return [skills[at] for _, at in sorted(scored)]


def is_clear_match(request: str, skill: Blurb) -> bool:
    """Return True when a request says the skill's name, or resembles one of its examples too much
    for chance (two shared words are chance when the request has more)."""
    wanted = set(content_words(request))
    most = max(_shared_with_examples(wanted, skill), default=0)
    return (
        most > OVERLAP or most == OVERLAP == len(wanted) or bool(_name_words_said(request, skill))
    )


def match_tools(request: str, tools: Sequence[Blurb]) -> list[Blurb]:
    """Return the tools that a request may be about, best first. One shared word is enough unless
    it is a general one ("list", "add") or many of the tools have it."""
    holders = Counter(word for tool in tools for word in _words_of(tool).counts)
    common = max(MAX_LISTED, len(tools) // 4)
    return rank_blurbs(
        request,
        tools,
        lambda shared, tool: any(w not in GENERAL_WORDS and holders[w] <= common for w in shared),
    )


def search_skills(words: str, skills: Sequence[Blurb]) -> list[Blurb]:
    """Return the skills that a search for words finds, best first; one shared word is enough."""
    return rank_blurbs(words, skills, lambda shared, _: bool(shared))


def _overlaps(request: str, shared: Collection[str], skill: Blurb) -> bool:
    count = len(_words_of(skill).described.intersection(shared)) + _name_words_said(request, skill)
    return count >= OVERLAP or any(_shared_with_examples(shared, skill))


def visible_line(text: str) -> str:
    """Return a text on one line without invisible characters: a description must not be able to
    add entries, headings or orders to the prompt."""
    if text.isprintable():
        return " ".join(text.split())
    seen = (" " if unicodedata.category(c) in ("Zl", "Zp", "Cc") else c for c in text)
    return " ".join("".join(c for c in seen if unicodedata.category(c)[0] != "C").split())


def _name_words_said(request: str, skill: Blurb) -> int:
    """Return the number of words in a skill's name when the request says all of them, else 0:
    "write a new skill" for write-skill, "log the boat" for boat-log. One word of several is too
    little: "what do my notes say" does not mean keep-notes."""
    words = _words_of(skill).name
    for said in _said_words(request) if words else ():
        rest = [word for word in said if word not in ARTICLES]
        is_reversed = len(words) == 2 and (words[1], words[0]) in pairwise(rest)
        if is_reversed or _is_in_order(words, said):
            return len(words)
    return 0


def _is_in_order(words: Sequence[str], said: Sequence[str]) -> bool:
    """Return True when the words come in this order, with at most two others between each pair."""
    at = [n for n, word in enumerate(said) if word == words[0]]
    for wanted in words[1:]:
        at = [n for n, word in enumerate(said) if word == wanted and any(0 < n - m < 4 for m in at)]
    return bool(at)


@lru_cache(maxsize=16)
def _said_words(request: str) -> list[list[str]]:
    """Return the stemmed words between each two pauses of a request."""
    return [all_stems(part) for part in PAUSE.split(request)]


def _shared_with_examples(wanted: Collection[str], skill: Blurb) -> Iterator[int]:
    """Yield how many words a request shares with each example that it resembles. Examples count
    one by one: all of them together have so many words that two are soon shared."""
    for words in _words_of(skill).examples:
        shared = len(words.intersection(wanted))
        if shared >= OVERLAP and shared >= LIKENESS * len(words):
            yield shared


class _SkillWords(NamedTuple):
    """The stemmed words of a skill.

    name       all words of its name, in their order
    described  what its name and its description are about
    counts     how often each word that it is about stands in all its texts
    examples   what each example is about
    """

    name: list[str]
    described: frozenset[str]
    counts: Counter[str]
    examples: list[frozenset[str]]


@lru_cache(maxsize=4096)
def _words_of(skill: Blurb) -> _SkillWords:
    name, about = content_words(skill.name), content_words(skill.about)
    examples = [content_words(example) for example in skill.examples]
    return _SkillWords(
        all_stems(skill.name),
        frozenset(name + about),
        Counter([*name * NAME_WEIGHT, *about, *chain(*examples)]),
        list(map(frozenset, examples)),
    )
