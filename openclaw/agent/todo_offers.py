"""Offers that the agent makes by itself: to do a to-do, or to make one of what an answer has
promised for a later day.

An offer is made once for a to-do, and at most once in a conversation. No model is asked, and
nothing is done before the user's yes. Offers are kept in .openclaw/offered.txt, one line each: the
day, the to-do's id, the conversation, the words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress

from openclaw import events
from openclaw.agent.after_answer import why_not_writable
from openclaw.agent.recording import record_turn
from openclaw.errors import UsageError
from openclaw.frozen import frozen
from openclaw.home.open_home import OpenHome
from openclaw.memory.markdown import DEFAULT_LIST
from openclaw.memory.todos import Todo, plain_text
from openclaw.nlp.classifier import read_answer
from openclaw.nlp.dates import find_named_day, parse_day
from openclaw.nlp.sentences import sentences
from openclaw.security.untrusted import strip_hidden
from openclaw.sessions.session import Session
from openclaw.storage.safe_open import appending, decode, make_folder, read_bytes, read_text
from openclaw.types import ToolProblem, TurnChanges

FILE = "offered.txt"
AT_START = "-"
LONGEST_PROMPT = 120  # characters; the prompt is shown in full, so a longer one is not offered
MAX_SEARCHED = 2_000  # characters at the end of an answer that are searched for what it promises
MAX_BYTES = 200_000
MAY_PROMISE = 0.5  # how probable a promise is that is offered as a to-do; the user decides about it
PEOPLE = ("memory/MEMORY.md", "memory/people.md")
_LINK = re.compile(r"://|\bwww\.|\b[\w-]{2,}\.[a-z]{2,}(?:\b|/)", re.IGNORECASE)
_LIST_OF_SHOPPING = re.compile(r"shop|grocer|einkauf|courses|compra|spesa", re.IGNORECASE)


@frozen
class TodoOffer:
    """`line` is shown. A yes runs `prompt`, whose words are in the line, or, without one, adds the
    to-do `text` for the day `due` (ISO)."""

    line: str
    prompt: str = ""
    text: str = ""
    due: str = ""

    def accept(self, open_home: OpenHome, session: Session) -> Iterator[events.Event]:
        """Add the to-do, as a turn of its own that can be undone. Raises OpenclawError when the
        file cannot be written."""
        if reason := why_not_writable(open_home.home, open_home.todos.path):
            raise UsageError(f"the to-do was not written: {reason}")
        turn_changes = TurnChanges()
        request = f"yes: due:{self.due}"
        with (
            open_home.sessions.writing(session.id, timeout=2.0),
            record_turn(open_home, session, turn_changes, request) as recording,
        ):
            todos = open_home.todos
            todos.keep = turn_changes.keep
            try:
                [todo] = todos.add(DEFAULT_LIST, [f"{self.text} due:{self.due}"])
            except ToolProblem as problem:
                raise UsageError(str(problem), "see them: /todo") from None
            yield events.Notice(f"to-do added: {todo.text} (to take it back: openclaw undo)")
            yield from map(events.Notice, recording.close("done"))


def offer_at_start(
    open_home: OpenHome, todos: Sequence[Todo], most: int = LONGEST_PROMPT
) -> TodoOffer | None:
    """Return the offer for the start of a conversation: the first open to-do, due ones first, that
    can be done and was not offered before. `most`: characters of its prompt."""
    offered, _ = _read_offers(open_home)
    by_day = sorted(todos, key=lambda todo: todo.due or "9999")
    new = [todo for todo in by_day if todo.id not in offered]
    return _offer_first(open_home, new, AT_START, "Shall I do this to-do", most)


def offer_after(open_home: OpenHome, session: Session, end: events.Done) -> TodoOffer | None:
    """Return the offer after a turn, about a to-do that it added or what its answer promises."""
    if open_home.settings.proactive == "off" or not open_home.use_memory:
        return None
    if end.receipt.todos:
        new = {text for what, text in end.receipt.todos if what == "added"}
        return _offer_after_change(open_home, session, new) if new else None
    # After text of others the words may be theirs.
    return None if session.is_foreign else _offer_promised(open_home, end.answer)


def _offer_after_change(
    open_home: OpenHome, session: Session, new: Collection[str]
) -> TodoOffer | None:
    """Return the offer after a turn that added these to-dos: to do one that can be done at once."""
    offered, sessions = _read_offers(open_home)
    if session.id in sessions:
        return None
    try:
        todos = open_home.todos.items()
    except OSError:
        return None
    added = [todo for todo in todos if todo.text in new and todo.id not in offered]
    return _offer_first(open_home, added, session.id, "Shall I do that now", LONGEST_PROMPT)


def _offer_first(
    open_home: OpenHome, todos: Iterable[Todo], session: str, asks: str, most: int
) -> TodoOffer | None:
    """Offer to do the first open to-do that can be done, and note it; None when that fails: the
    offer would be made again and again."""
    for todo in todos:
        if not todo.done and (prompt := _prompt(open_home, todo, most)):
            path = open_home.home.private / FILE
            day, words = open_home.now().date().isoformat(), " ".join(prompt.split())
            row = "\t".join((day, todo.id, session, words))
            with suppress(OSError):
                make_folder(path.parent)
                with appending(path) as file:
                    file.write(f"{row}\n".encode("utf-8", "replace"))
                return TodoOffer(f'{asks}: "{prompt}"? (yes)', prompt)
            return None
    return None


def _offer_promised(open_home: OpenHome, answer: str) -> TodoOffer | None:
    """Return the offer to note what an answer has announced for a day to come. Nothing runs on that
    day unless it is a to-do."""
    today = open_home.now().date()
    for sentence in sentences(answer[-MAX_SEARCHED:]):
        named = find_named_day(sentence)
        day = parse_day(named, today) if named else None
        if day and day > today and read_answer(sentence).probabilities["announces"] >= MAY_PROMISE:
            text = " ".join(strip_hidden(sentence).split())[:LONGEST_PROMPT]
            line = f'Shall I note this for {day.isoformat()}: "{text}"? (yes)'
            return TodoOffer(line, text=text, due=day.isoformat())
    return None


# -------- earlier offers


def _read_offers(open_home: OpenHome) -> tuple[Collection[str], Collection[str]]:
    """Return the ids of the to-dos about which offers were made, and the conversations."""
    rows: list[list[str]] = []
    with suppress(OSError):
        text = decode(read_bytes(open_home.home.private / FILE))
        rows = [row for line in text.splitlines() if len(row := line.split("\t")) >= 3]
    return {row[1] for row in rows}, {row[2] for row in rows}


# -------- what can be offered


def _prompt(open_home: OpenHome, todo: Todo, most: int) -> str:
    """Return the prompt that does a to-do, in at most so many characters, "" without one."""
    words = plain_text(todo.text)
    if not words.isprintable() or "@" in todo.text:  # which would attach a file
        return ""
    if _LINK.search(todo.text) or len([*sentences(words)]) > 1:
        return ""  # somebody else may have written it, and users say yes without much thought
    found = suggest_prompt(todo.text)
    if found.lower().startswith("find out where") and _LIST_OF_SHOPPING.search(todo.list):
        return ""
    called = _CALLS.match(todo.text[:1].lower() + todo.text[1:])
    if not found and called and _is_known(open_home, called["who"]):
        found = f"Look in my notes for what I need to {_lower(words)}"
    return found if len(found) <= most else ""


def _is_known(open_home: OpenHome, name: str) -> bool:
    """Return True when the notes on people mention a name."""
    for path in PEOPLE:
        with suppress(OSError):
            if re.search(rf"\b{name}\b", read_text(open_home.home.root / path, MAX_BYTES)):
                return True
    return False


_ASKING = r"who|what|when|where|which|whether|if|why|how"
_OWN = r"(?:my|our|his|her|their|your|mum's|dad's)\b"
_FACTS = (
    r"(?:the |current |latest )*(?:prices?|costs?|opening (?:hours|times)|weather|forecast"
    r"|timetable|"
    r"schedule|availability|reviews?|news|release|requirements|deadline|rates?|flights?|trains?|"
    r"alternatives|options)\b"
)
_LOOKS = re.compile(
    rf"(?:find(?: out)?(?= (?:{_ASKING}|a|an|some|someone|information|more|the (?:best|cheapest"
    rf"|nearest|"
    rf"right|name|address|number)|good|cheap|another|two|three|\d+)\b)"
    rf"|search (?:for(?! {_OWN})|the (?:web|internet|net)|online)\b"
    rf"|look (?:up|into|for(?! {_OWN}))\b|read up on\b"
    rf"|(?:check|compare)(?= (?:{_ASKING})\b| {_FACTS})|compare(?! {_OWN})\b"
    r"|research\b|google\b|(?:suche|finde|vergleiche|recherchiere)(?= \w)"
    r"|cherche[rz]?\b|trouve[rz]?\b|compare[rz]\b|buscar?\b|comparar\b)"
    r"|(?!meine?[nmrs]? |unsere?[nmrs]? ).+ (?:suchen|finden|herausfinden|vergleichen|recherchieren"
    r"|nachschlagen|googeln)$",
    re.IGNORECASE,
)
_BUYS = re.compile(
    r"(?:buy|order)(?= (?:an? (?!coffee|bread|loaf|pint|litre|bottle|carton)|new |another "
    r"|(?:\w+ )?(?:tickets|present|presents|gift|gifts)\b))",
    re.IGNORECASE,
)
_BOOKS = re.compile(
    r"(?:book|reserve|rent|hire|renew|cancel|apply for|register)(?= \w)", re.IGNORECASE
)
_BUYS_AT_END = re.compile(
    r"(?P<what>(?:eine?[nrsm]?|neue?[nrsm]?|(?:\w+ )?(?:Tickets|Karten|Geschenke?)) ?.*?) "
    r"(?P<verb>kaufen|bestellen|buchen|mieten|reservieren)",
    re.IGNORECASE,
)
_CALLS = re.compile(
    r"(?:call|phone|ring|text|e-?mail|write to|contact|meet|visit)(?: with| up)? (?P<who>[A-Z]\w+)"
)


def suggest_prompt(text: str) -> str:
    """Return the prompt that does or begins a to-do; "" when there is none."""
    words = plain_text(text)
    if " " not in words:
        return ""
    if _LOOKS.match(words):
        return words
    if _BUYS.match(words):
        return f"Find out where to {_lower(words)}"
    if _BOOKS.match(words):
        return f"Look up how to {_lower(words)}"
    if found := _BUYS_AT_END.fullmatch(words):
        return f"Finde heraus, wo ich {_lower(found['what'])} {found['verb']} kann"
    return ""


def _lower(words: str) -> str:
    return words[:1].lower() + words[1:]
