"""Find what the working notes keep of a turn. No language model is asked."""

from __future__ import annotations

import re
from functools import partial

from openclaw.frozen import frozen
from openclaw.nlp.classifier import read_answer, read_message
from openclaw.nlp.identifiers import exact_strings
from openclaw.nlp.sentences import LONGEST_SENTENCE, own_words, sentences, shorten, without_quotes
from openclaw.nlp.statements import find_statements
from openclaw.receipt import NO_CHANGES, TODO_FILE, Receipt
from openclaw.security.display import first_words

LONGEST_REQUEST = 200
MAX_FACTS = 24
ENDING, BEGINNING = 600, 2_000
"""Characters of an answer that are searched for a question, and for a refusal."""
QUESTION_MARKS = ("?", "\uff1f")


@frozen
class NoteAdditions:
    """What a turn adds to the working notes.

    request    the user's request in his own words, on one line
    facts      what the user stated, word for word
    findings   orders and lines of the answer with exact strings, word for word
    files      what happened to files: "workspace/a.md written"
    todos      what happened to to-dos: "added: Buy milk"
    questions  open questions
    """

    request: str = ""
    facts: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()


def find_additions(said: str, answer: str, receipt: Receipt = NO_CHANGES) -> NoteAdditions:
    """Return what a turn adds to the working notes: from the user's message, the answer and the
    receipt. The caller masks secrets."""
    facts = dict.fromkeys(map(shorten, find_statements(said)))
    return NoteAdditions(
        request=shorten_request(said),
        facts=tuple(facts)[:MAX_FACTS],
        findings=(*_find_orders(said), *_find_in_answer(said, answer)),
        files=tuple(
            f"{file.path} {'removed' if file.action == 'deleted' else 'written'}"
            for file in receipt.files
            if file.path != TODO_FILE
        ),
        todos=tuple(f"{what}: {text}" for what, text in receipt.todos),
        questions=_open_questions(said, answer),
    )


def shorten_request(said: str) -> str:
    """Return what the user said as one line of at most 200 characters."""
    cut = partial(first_words, most=LONGEST_REQUEST, least=LONGEST_REQUEST // 2)
    return cut(own_words(said)) or cut(said)


def _open_questions(said: str, answer: str) -> tuple[str, ...]:
    """Return what the answer asks the user at its end, and what the user asked in vain."""
    found = []
    ending = list(sentences(answer[-ENDING:]))[-1:]
    if ending and ending[0].endswith(QUESTION_MARKS):
        read = read_answer(ending[0])
        if read.best("offers", "asks_back") == "asks_back":
            found.append(f"asked of the user: {shorten(ending[0])}")
    asked = [each for each in sentences(own_words(said)) if each.endswith(QUESTION_MARKS)]
    if asked and any(read_answer(each).has("refuses") for each in sentences(answer[:BEGINNING])):
        found += [shorten(each) for each in asked[:2] if not _is_order(each)]
    return tuple(found)


def _is_order(sentence: str) -> bool:
    return read_message(without_quotes(sentence)).has("orders")


MAX_FROM_ANSWER = 3
MAX_ORDERS = 2
LONGEST_ANSWER = 4_000

_HINT = re.compile(r"\d|[/\\@_=:]|[a-z][A-Z]")
_PATH = re.compile(r"[/\\]|\.[A-Za-z]\w{0,4}$")
_MARKUP = re.compile(r"^[ \t>#*+|-]+")


def _find_orders(said: str) -> list[str]:
    """Return orders with a number, a date or an id. They state nothing, but what was ordered (the
    table for 7 at 19:30) is soon no longer in the latest request."""
    found = []
    for sentence in sentences(own_words(said)):
        if not _HINT.search(sentence) or not _is_order(sentence):
            continue
        strings = exact_strings(sentence)
        if any(re.search(r"\d|@", each) and not _PATH.search(each) for each in strings):
            found.append(f"asked: {shorten(sentence, LONGEST_SENTENCE - 7)}")
    return found[:MAX_ORDERS]


def _find_in_answer(said: str, answer: str) -> list[str]:
    """Return the lines of the answer with the most exact strings that the user has not said."""
    known, scored = set(exact_strings(_cut_at_word(said))), []
    text = re.sub(r"```.*?(?:```|$)", "", _cut_at_word(answer), flags=re.DOTALL)
    for number, sentence in enumerate(sentences(text)):
        plain = shorten(_MARKUP.sub("", sentence).replace("**", ""))
        if not _HINT.search(plain) or plain.endswith("?"):
            continue
        new = [each for each in exact_strings(plain) if each not in known]
        if new:
            scored.append((-len(new), number, plain))
    best = sorted(scored)[:MAX_FROM_ANSWER]
    return [plain for _, _, plain in sorted(best, key=lambda each: each[1])]


def _cut_at_word(text: str) -> str:
    """Return the beginning of a text, cut between words: half a number is another one."""
    cut = text[:LONGEST_ANSWER]
    return cut if cut == text else cut[: max(cut.rfind(" "), cut.rfind("\n"), 0)]
