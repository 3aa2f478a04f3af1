"""Read the intent of a request from its words, so that a small model need not guess.

A 1.5B model invents folders, believes it knows a file's content, changes what it was only asked
about and overlooks a skill that fits. A line in the tail that names the real path, and a grammar
that allows only what fits, prevent most of it (docs/small-models.md). Without a cue the model
decides.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from openclaw.frozen import frozen
from openclaw.nlp.classifier import LANGUAGES, Labels, language_of, read_message
from openclaw.nlp.errands import FIGURE, Errands, find_command, find_expression, read_errands
from openclaw.nlp.relevance import (
    LONGEST_ABOUT,
    Blurb,
    is_clear_match,
    nearest_unlisted,
    rank_blurbs,
)
from openclaw.nlp.words import SMALL, content_words, has_negation

FILE = re.compile(r"(?<![\w/@.:-])(?:[\w-]+/)*[\w-][\w.-]*\.(?=\w*[A-Za-z])\w{1,8}(?![\w/])")
ATTACHED = re.compile(r'@"[^"\n]+"')  # what goes along with a prompt, by a name with blanks
DOMAIN = re.compile(r"\.(?:com|org|net|io|dev|eu|de|at|ch|fr|es|uk|edu|gov)$", re.I)
NOT_A_FILE = re.compile(r"(?:v?\d+(?:\.\d+)+[a-z]{1,4}\d*|[a-z]\.[a-z]|.*\.\..*)$", re.I)
"""9.30am, 2.5GB, 3.14rc1, e.g and well...so look like a file's name."""
MAX_BY_TOPIC = 2
MAX_NAMES = 20
"""So many names of files are looked up: a pasted log has hundreds, and each costs a line."""
REMEMBER = re.compile(
    r"^(?:(?:please|can you|could you|bitte)\b[ ,]*)*(?:remember|keep in mind|don'?t forget|"
    r"note(?= that\b| for today\b| down\b|:)|make a note|(?:write|jot) down(?= that\b|:)|"
    r"merk dir|merke dir|notiere|vergiss nicht|retiens|recuerda|ricorda)\b"
    r"(?:,? (?:down|please|bitte|mal|por favor|for today|f\u00fcr heute|"
    r"(?:this|das)(?= please\b| bitte\b|[:,])))*+[ ,:]*+(?P<that>(?:that|dass|que|che)\b)?[ ,:]*+"
    r"(?P<fact>(?!(?:to|zu|what|when|where|who|how|why|called|named)\b)\S+\s.+)",
    re.I,
)
TODAY = re.compile(r"\bfor today\b|\bf\u00fcr heute\b", re.I)
SOME_LIST = re.compile(
    r"\b(?:(?:my|the|our) (?P<name>[\w-]+(?: [\w-]+)?) list|"
    r"list[ae] d\w{0,4}(?: l[ao]s?)?['\u2019 ]+(?P<of>[^\W\d_]{3,}))\b",
    re.I,
)
JOINED_LIST = re.compile(r"\b(?P<name>[^\W\d_]{3,}?)s?(?:liste|lijst(?:je)?)\b", re.I)
"""The name of a list and the word for one as one word: "Einkaufsliste", "boodschappenlijst"."""
NOT_A_LIST_NAME = re.compile(
    r"to-?do|task|whole|same|new|current|own|aufgaben|taken|t[a\u00e2]che|tarea|tarefa"
    r"|^(?:choses|cosas|coisas|cose|mes|mis)$",
    re.I,
)
QUESTION_MARK = re.compile("[?\uff1f\u061f]")
ABOUT_PAST = re.compile(
    r"\b(?:did|have|had) (?:you|I|we)\b|\b(?:hast du|habe ich|as-tu|ai-je|has \w+[ai]do)\b",
    re.IGNORECASE,
)
CLAUSE_END = re.compile(r"(?<=[.!?\uff1f])\s+|[,;:]\s+| [\u2013\u2014-] ")
EXCEPT = re.compile(
    r"\b(?:except|apart from|(?:all|everything)(?: is)?(?: done)? but|au(?:\u00df|ss)er|bis auf|"
    r"sauf|\u00e0 part|hormis|excepto|menos|aparte de|salvo|tranne|a parte|meno|behalve|exceto)\b|"
    r"\u9664\u4e86|\u4ee5\u5916",
    re.I,
)
WANTS = re.compile(
    r"\b(?:can|could|would) (?:you|we|it)\b|\byou (?:mind|say|think)\b|\bwie w\u00e4re?\b|"
    r"\b(?:kannst|k\u00f6nnt\w*|w\u00fcrde\w*) (?:du|ihr|Sie|man)\b|\bqu\u00e9 (?:tal|te)\b",
    re.I,
)
"""A question that may want something done, as it suggests something or asks what is possible."""
LIST_WORDS = frozenset("list lists todo todos to-do to-dos task tasks liste aufgabe lista".split())
TODO_WORDS = frozenset("todo todos to-do to-dos".split())
LIST_ENDS = ("list", "lists", "liste", "listen", "lista", "listas", "listes", "lijst", "lijstje")
"""The word for a list, also at the end of a longer one, in `LANGUAGES` but Chinese and Japanese."""
TODO_LABELS = ("todo_add", "todo_done", "todo_remove", "todo_change", "todo_list")
ACTION_LABELS = {
    "add": "todo_add",
    "done": "todo_done",
    "undone": "todo_change",
    "change": "todo_change",
    "remove": "todo_remove",
    "remove_list": "todo_remove",
}
MAY_ORDER = 0.3  # of the requests that order something, nine in ten are at least so likely to
HARDLY = 0.05
"""A question that is less likely than this to order something only asks: of 133 questions of
authors not seen 97 do so, and none of their 414 orders. What is less likely to want a to-do removed
gets no tool that removes one: of 660 messages that surely ask for to-dos and order nothing with so
much as this probability, 6 want something done too."""
LONGEST_NOTE = 200  # characters of a note of the day that is kept in its own words
MAY_KEEP = 0.15
"""A note of the day that is so likely to be meant for memory goes there. Of 37 messages of authors
not seen 34 are meant so, and three are notes of the day all the same."""
LIKELY = 0.5
"""An order that is so likely to be about to-dos or memories gets a line that names the tool: of
6,904 messages of authors not seen 80 % are about just that. It gets no tool that runs programs
unless it may want one: of 395 that do, 9 lose it."""
LIKELY_TOOLS = {
    "todo_add": 'todo, action "add"',
    "todo_done": 'todo, action "done"',
    "todo_remove": 'todo, action "remove"',
    "todo_change": 'todo, action "change"',
    "remember": "remember",
}


@frozen
class Cues:
    """What the words of a request say about its intent.

    lines        lines for the tail
    asks         it surely only asks, so nothing may be changed
    named        paths of existing files that it names
    missing      file names in it that do not exist
    similar      paths of files with nearly such a name
    meant        paths of files whose name says what it is about
    skill        a skill whose name or example it says
    offered      a skill that only shares words with it
    lists        to-do lists that it names, also a new one
    known_lists  the lists that a to-do may go to: those that it names, else Tasks; all, where it
                 may mean one in words that are not known
    new_list     it may name a list that is not there yet
    todos        it is about to-dos
    due          it asks for the to-dos of a day, which its lines tell
    done         it says that a to-do is done
    whole        open to-dos of which it has all content words
    near         open to-dos of which it has two content words, with those of which it has half
    unclear      it may want a to-do ticked, changed or removed, and none has its words
    changes      what may be done to its to-dos: actions of the tool `todo`
    runs         it may want a program run
    command      what runs the program of the home that it names
    arguments    the command may have arguments, which it names too
    takes_out    it wants a line of a file taken out
    fact         what it says to remember, in its own words
    remembers    it surely wants something remembered, in whichever words
    forgets      it surely wants something forgotten
    today        the fact is a note of the day
    expression   a sum to work out
    sums         it surely asks for a sum of figures that it names
    orders       it says to do something
    begs         it may say so, if only as a question
    parts        it says to do more than one thing
    tells        it also asks to be told something
    chats        it is small talk and nothing else
    errands      what it wants of the web or of programs
    """

    lines: tuple[str, ...] = ()
    asks: bool = False
    named: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    similar: tuple[str, ...] = ()
    meant: tuple[str, ...] = ()
    skill: str = ""
    offered: str = ""
    lists: tuple[str, ...] = ()
    known_lists: tuple[str, ...] = ()
    new_list: bool = True
    todos: bool = False
    due: bool = False
    done: bool = False
    whole: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    unclear: bool = False
    changes: tuple[str, ...] = ("add", "done", "undone", "change", "remove", "remove_list")
    runs: bool = True
    command: str = ""
    arguments: bool = False
    takes_out: bool = False
    fact: str = ""
    remembers: bool = False
    forgets: bool = False
    today: bool = False
    expression: str = ""
    sums: bool = False
    orders: bool = False
    begs: bool = False
    parts: bool = False
    tells: bool = False
    chats: bool = False
    errands: Errands = Errands()

    def as_json(self) -> dict[str, Any]:
        """Return what was found, without what is empty."""
        nothing = Cues()
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        told = {name: each for name, each in found.items() if each != getattr(nothing, name)}
        if "errands" in told:
            told["errands"] = asdict(self.errands)
        return told


@frozen
class _Request:
    """A request with what is read from all of its words.

    outright  it is no question
    """

    text: str
    read: Labels
    language: str
    words: frozenset[str]
    outright: bool


def read_cues(
    request: str,
    files: Sequence[str],
    skills: Sequence[Blurb] = (),
    lists: Sequence[str] = (),
    todos: Sequence[str] = (),
    others: Sequence[str] = (),
    earlier: str = "",
    guides: Collection[str] = (),
) -> Cues:
    """Read the intent of a request. `files` are the home's paths, `lists` the names of the to-do
    lists, `todos` the texts of the open to-dos and `others` those of the done ones, `earlier` what
    was said before. The files of `guides` are about no topic."""
    read, language = read_message(request), language_of(request)
    cues = _read_kind(request, read, language)
    words = frozenset(word.lower() for word in re.findall(r"[\w-]+", request))
    outright = cues.orders or not (cues.asks or QUESTION_MARK.search(request))
    said = _Request(request, read, language, words, outright)
    cues = _find_files(cues, said, files, guides)
    cues, in_page = _find_lists(cues, said, lists)
    matching = [] if cues.named else matching_todos(request, todos)
    cues = _find_todos(cues, said, todos, matching)
    cues = _find_fact(cues, said)
    ranked = _rank_skills(cues, said, skills)
    about_page = cues.meant and (cues.asks or read.best(*TODO_LABELS) != "todo_add")
    other = ranked or cues.fact or cues.named or (about_page and not matching) or in_page
    cues = replace(cues, todos=cues.todos or (read.has(*TODO_LABELS) and not other))
    changes = () if in_page else _todo_actions(read, language)
    lines = cues.lines
    found = matching or cues.named or cues.lists
    if not found and _names_no_todo(request, read, todos, others, earlier):
        changes = ("add",) if "add" in changes and not read.lacks("todo_add") else ()
        lines = (*lines, NO_SUCH_TODO)
    cues = _choose_skill(replace(cues, changes=changes, lines=lines), said, ranked, skills)
    on_page = in_page or (cues.meant and read.probabilities["file"] >= MAY_ORDER)
    surer = cues.named or cues.missing or cues.skill or cues.fact or cues.errands.tools or on_page
    if said.outright and not surer:
        cues = _choose_tool(cues, said)
    answer_in = [f"Answer in {LANGUAGES[language]}."] if language not in ("", "en") else []
    return replace(cues, lines=(*cues.lines, *answer_in))


def surely_adds(request: str) -> bool:
    """Return True for a request that surely is for a new to-do."""
    return read_message(request).probabilities["todo_add"] >= SURELY_ADDS


def without_todos(cues: Cues) -> Cues:
    """Return the cues of a request of which something else than its words shows that it is about no
    to-do."""
    lines = (line for line in cues.lines if line != NO_SUCH_TODO)
    lines = (line for line in lines if not line.startswith((TOOL_LINE, TODO_LINE)))
    changes = tuple(each for each in cues.changes if each == "add")
    return replace(cues, lines=(*lines,), todos=False, unclear=False, changes=changes)


def _read_kind(request: str, read: Labels, language: str) -> Cues:
    """Read whether a request asks or orders, and what needs no look at the home."""
    asks = only_asks(request)
    orders = read.has("orders") and not asks
    has_parts = len(request.split()) >= PART_WORDS or language in ("zh", "ja")
    return Cues(
        asks=asks,
        orders=orders,
        begs=not asks and (may_order(read) or not language),
        parts=orders and has_parts and not read.lacks("several"),
        tells=not read.lacks("asks"),
        chats=is_small_talk(read),
        errands=read_errands(request),
        expression=find_expression(request),
    )


def _find_files(cues: Cues, said: _Request, files: Sequence[str], guides: Collection[str]) -> Cues:
    """Find the files that a request names, or whose name says what it is about."""
    lines: list[str] = []
    named: list[str] = []
    missing: list[str] = []
    similar: list[str] = []
    for word in [*dict.fromkeys(FILE.findall(ATTACHED.sub("", said.text)))][:MAX_NAMES]:
        found = [path for path in files if path == word or path.endswith(f"/{word}")][:3]
        if found:
            named += found
            lines.append("File: " + ", ".join(found))
        elif not DOMAIN.search(word) and not NOT_A_FILE.match(word):
            names = {path.rsplit("/", 1)[-1]: path for path in files}
            near = difflib.get_close_matches(word.rsplit("/", 1)[-1], names, 1, 0.75)
            similar += [names[name] for name in near]
            also = f"; there is {names[near[0]]}" if near else ""
            lines.append(f"There is no file {word}{also}.")
            missing.append(word)
    meant = [] if named or (missing and cues.asks) else _find_by_topic(said.text, files, guides)
    wanted, read = cues.errands, said.read
    no_other = not (wanted.command or wanted.urls) and wanted.tools in ((), ("run_shell",))
    runs = no_other and not cues.asks  # "how often did I run sums.py?"
    command, arguments = find_command(said.text, named if runs else ())
    figures = FIGURE.findall(said.text)
    return replace(
        cues,
        lines=(*lines, *(f"File that may fit: {path}" for path in meant)),
        named=tuple(dict.fromkeys(named)),
        missing=tuple(missing),
        similar=tuple(similar),
        meant=tuple(meant),
        command=command,
        arguments=arguments,
        takes_out=bool(named) and read.has("todo_remove"),
        sums=read.has("sum") and not (named or read.lacks("asks")) and len(figures) > 1,
    )


def _find_lists(cues: Cues, said: _Request, lists: Sequence[str]) -> tuple[Cues, bool]:
    """Find the to-do lists that a request names, and whether it means a page of the workspace: for
    "add it to my reading list", reading.md."""
    read, words = said.read, said.words
    asked = [name for name in lists if _is_list_said(name, words)]
    if not asked and read.has("todo_list"):  # "what do I need from the shop"
        begins = tuple(word for word in words if len(word) >= SHORTEST_BEGINNING)
        asked = [name for name in lists if name.lower().startswith(begins)]
    joined = _find_joined_list(said.text, said.language, lists) if read.has("todo_add") else []
    is_added_to = bool(asked) and _find_likely(read) == "todo_add"
    about_lists = bool(words & LIST_WORDS or joined or is_added_to) and not cues.named
    if not asked and said.outright and not cues.missing:  # "the price list in prices.md"
        asked = joined or _find_new_list(said.text)
    pages = {Path(path).stem.lower() for path in cues.meant}
    in_page = bool(asked) and all(n.lower() in pages and n not in lists for n in asked)
    asked = [] if in_page else asked
    is_unknown = said.language in ("", "zh", "ja")  # any word may mean a list
    ends = any(w.endswith(LIST_ENDS) for w in words)
    may_be_new = ends or (is_unknown and not cues.meant)
    known = (*lists, "Tasks") if may_be_new else asked or ("Tasks",)
    there = (f"{name} is a to-do list." for name in asked if about_lists and name in lists)
    found = replace(
        cues,
        lines=(*cues.lines, *there),
        lists=tuple(asked) if about_lists or read.has("todo_list") else (),
        known_lists=tuple(dict.fromkeys(known)),
        new_list=may_be_new,
        todos=about_lists and bool(asked or words & TODO_WORDS),
    )
    return found, in_page


def _find_todos(cues: Cues, said: _Request, todos: Sequence[str], matching: Sequence[str]) -> Cues:
    """Find the open to-dos that a request may be about."""
    read, words = said.read, set(content_words(said.text))
    near = [text for text in todos if len(words.intersection(content_words(text))) > 1]
    near = [] if cues.named or not near else [*dict.fromkeys((*near, *matching))]
    whole = [text for text in matching if words.issuperset(content_words(text))]
    done = bool(matching and said.outright and not read.lacks("todo_done"))
    may_change = max(read.probabilities[label] for label in TO_CHANGE) >= MAY_CHANGE
    return replace(
        cues,
        lines=(*cues.lines, *(f"{TODO_LINE}{text}" for text in (near or matching)[:3])),
        todos=cues.todos or done,
        done=done,
        whole=_find_whole(said.text, read, whole) if whole else (),
        near=tuple(near),
        unclear=may_change and not (near or matching or cues.named),
    )


def _find_fact(cues: Cues, said: _Request) -> Cues:
    """Find what a request such as "remember that ..." wants remembered, as a sentence: for good, or
    as a note of the day, of which a small model writes what stands beside it ("Log 3 hours for
    Ada", "for the journal: it rained")."""
    read, text = said.read, " ".join(said.text.split())
    # "make a note called a.md" is about a file, "remember that it is in a.md" is not.
    about_file = cues.missing and not read.has("remember")
    found, fact, note = None if cues.asks or about_file else REMEMBER.search(text), "", ""
    # "can you remember my name?", "remember me to get diesel"
    likely = max(read.probabilities["remember"], read.probabilities["day_note"]) >= MAY_KEEP
    if found and (likely or found["that"]):
        fact = found["fact"].rstrip(" ?")
    if said.outright and not (fact or about_file or cues.meant) and len(text) <= LONGEST_NOTE:
        is_meant = read.has("day_note") and read.probabilities["remember"] >= MAY_KEEP
        note = (text.partition(": ")[2] or text) if is_meant else ""
    kept = fact or note
    of_today = read.has("day_note") or TODAY.search(said.text)
    return replace(cues, fact=kept[:1].upper() + kept[1:], today=bool(note or of_today))


def _rank_skills(cues: Cues, said: _Request, skills: Sequence[Blurb]) -> list[Blurb]:
    """Return the skills that may fit, best first. Who names a file or a tool needs none, unless he
    names it too."""
    ranked = [] if cues.todos or cues.fact else rank_blurbs(said.text, skills)
    is_named = cues.named or cues.errands.tools
    return [each for each in ranked if each.name in said.words] if is_named else ranked


def _choose_skill(
    cues: Cues, said: _Request, ranked: Sequence[Blurb], skills: Sequence[Blurb]
) -> Cues:
    """Choose the skill whose name or example is said; else offer the one that shares words."""
    clear = (each.name for each in ranked if is_clear_match(said.text, each))
    skill = next(clear, "")
    offered = [] if skill else [*ranked[:1]]
    unlisted = []
    if not (cues.named or cues.todos or cues.fact):
        unlisted = nearest_unlisted(said.text, skills)
    others = (each for each in unlisted if each.name != skill and each not in offered)
    lines = [f"The skill {skill} fits."] if skill else []
    lines += [f"Skill that may fit: {each.line(LONGEST_ABOUT)}" for each in (*offered, *others)]
    name = offered[0].name if offered else ""
    return replace(cues, lines=(*cues.lines, *lines), skill=skill, offered=name)


def _choose_tool(cues: Cues, said: _Request) -> Cues:
    """Name the tool for what a request likely wants done to to-dos or memories, where nothing tells
    more surely what it is about: "add a step to the opening instructions" may name their file."""
    read, likely = said.read, _find_likely(said.read)
    in_file = cues.meant and likely == "todo_add" and not surely_adds(said.text)
    named = likely and not (cues.todos or in_file)
    return replace(
        cues,
        lines=(*cues.lines, *([f"{TOOL_LINE}{LIKELY_TOOLS[likely]}"] if named else ())),
        runs=not likely or read.probabilities["program"] >= HARDLY,
        remembers=read.has("remember") and not (cues.todos or likely != "remember"),
        forgets=read.has("forget") and not (cues.todos or cues.meant),
    )


def is_small_talk(read: Labels) -> bool:
    """Return True for a message that is small talk and nothing else."""
    return read.has("chats") and read.lacks("asks", "orders", "tells")


PART_WORDS = 3  # fewer words are no request of their own: "eggs, milk and bread"
TOOL_LINE, TODO_LINE = "Tool that may fit: ", "Still to do: "
NO_SUCH_TODO = "No to-do has the words of this request."
SAME_BEGINNING = 4
"""Letters that two forms of a word have in common, and mostly one that is mistyped."""
TO_CHANGE = ("todo_done", "todo_remove", "todo_change")
MAY_CHANGE = 0.5  # from this probability on a message may want a to-do ticked, changed or removed
SURELY_ADDS = 0.9
"""From this probability on a message that names a row of a table ("call Café Juno about the order")
still is for a to-do."""
KIND = 5  # letters with which the name of a file and the word for one thing of it begin
SHORTEST_BEGINNING = 4  # letters of a word with which the name of a list begins
NUMBERED = re.compile(r"([^\W\d]{3,}) +#?(\d+)\b")


def may_order(read: Labels) -> bool:
    """Return True unless a request hardly wants anything done."""
    return read.probabilities["orders"] >= MAY_ORDER


def only_asks(request: str) -> bool:
    """Return True when the request surely wants nothing done. A question mark proves nothing:
    "would you mind adding milk?"."""
    read = read_message(request)
    tells = read.has("day_note")  # "we used 25 kg today, update the stock"
    asks = read.has("asks") and read.probabilities["orders"] < HARDLY and not tells
    return asks and not WANTS.search(request)


def _find_by_topic(request: str, files: Sequence[str], guides: Collection[str]) -> list[str]:
    """Return the paths of the files whose name says a topic of the request: "invoices.csv" for
    "which invoices are unpaid", else those whose folder does; the one that begins like the word for
    a new thing ("neue Buchung: ...", buchungen.csv) alone. None where many do."""
    names = [Path(p) for p in files if p.startswith("workspace/") and p not in guides]
    named = {path.as_posix(): path.stem for path in names}
    inside = {path.as_posix(): path.parent.name for path in names if len(path.parts) > 2}
    kind, colon, _ = request.partition(": ")
    begins = {word[:KIND].casefold() for word in kind.split()[:PART_WORDS] if len(word) >= KIND}
    of_kind = [path for path, name in named.items() if name[:KIND].casefold() in begins]
    if colon and len(of_kind) == 1:
        return of_kind
    said = _with_half_of_words(request, named) or _with_half_of_words(request, inside)
    return said if len(said) <= MAX_BY_TOPIC else []


def matching_todos(request: str, todos: Sequence[str]) -> list[str]:
    """Return the open to-dos of which the request has at least half the content words."""
    return _with_half_of_words(request, {text: text for text in todos})


def _with_half_of_words(request: str, texts: Mapping[str, str]) -> list[str]:
    """Return the keys of the texts of which a request has at least half the content words."""
    said = set(content_words(request))
    counted = {key: set(content_words(text)) for key, text in texts.items()}
    return [key for key, words in counted.items() if words and len(words & said) * 2 >= len(words)]


def _find_whole(request: str, read: Labels, texts: Sequence[str]) -> tuple[str, ...]:
    """Return the to-dos of which a request has all words, without those whose words another one has
    too: "call Tom" is a part of "call Tom about the car". None where it may say of one of several
    that it is not done: "tick the milk, eggs are for later", "all done except milk and eggs"."""
    words = {text: {*content_words(text)} for text in texts}
    found = tuple(text for text in texts if not any(words[text] < words[each] for each in texts))
    left_out = has_negation(request) or EXCEPT.search(request)
    if left_out or (len(found) > 1 and not read.has("todo_done")):
        return ()
    named = {word for text in texts for word in words[text]}
    for clause in CLAUSE_END.split(request) if len(found) > 1 else ():
        said = {*content_words(clause)}
        if said & named and said - named and read_message(clause).lacks("todo_done"):
            return ()
    return found


def _names_no_todo(
    request: str, read: Labels, todos: Sequence[str], others: Sequence[str], earlier: str
) -> bool:
    """Return True for a request that one of several to-dos be ticked or removed, in their language,
    when neither it nor what was said before has a word of any: a small model takes the first. Not
    for one that may mean its place ("the first one") or the list: of 1,886 messages of authors not
    seen that surely refer to nothing, 72 have a word like "all" or "last", and two no thing."""
    best = read.best(*TO_CHANGE)
    if max(read.probabilities["refers"], read.probabilities["todo_list"]) >= HARDLY:
        return False
    if len(todos) < 2 or best == "todo_change" or read.probabilities[best] < MAY_CHANGE:
        return False
    texts = [text for text in (*todos, *others) if not _has_other_number(request, text)]
    words = {word[:SAME_BEGINNING] for text in texts for word in content_words(text)}
    folded = "\n".join(texts).casefold()  # "Reifen" is a part of "Winterreifen"
    for word in content_words(f"{request}\n{earlier}"):
        if word[:SAME_BEGINNING] in words or (len(word) >= SAME_BEGINNING and word in folded):
            return False
    known = language_of("\n".join(todos))
    return bool(known) and language_of(request) in ("", known)  # "otto hat bezahlt" is short


def _has_other_number(request: str, text: str) -> bool:
    """Return True when both number the same word, and not alike: "invoice 103", "invoice 106"."""
    asked, told = ({*NUMBERED.findall(each.casefold())} for each in (request, text))
    return {w for w, _ in asked} & {w for w, _ in told} != set() and not asked & told


def _todo_actions(read: Labels, language: str) -> tuple[str, ...]:
    """Return what a request may want done to its to-dos. What it surely wants excludes what is
    improbable. A small model that is at a loss removes something: that needs a sign in itself, in
    the languages that are known."""
    changes = ("orders", *ACTION_LABELS.values())
    least = MAY_ORDER if read.has("asks") else HARDLY  # "what must I get done before the game"
    if read.has("todo_list") and all(read.probabilities[label] < least for label in changes):
        return ()
    if read.has(*ACTION_LABELS.values()):
        likely = [name for name, label in ACTION_LABELS.items() if not read.lacks(label)]
        return tuple(likely)
    if read.probabilities["todo_remove"] < HARDLY and language:
        return tuple(n for n, label in ACTION_LABELS.items() if label != "todo_remove")
    return tuple(ACTION_LABELS)


def _find_likely(read: Labels) -> str:
    """Return what an order likely wants done to to-dos or memories, "" for nothing of the kind and
    for a text to be written: "a short thank-you note"."""
    best = read.best(*LIKELY_TOOLS, "text")
    sure = read.probabilities[best] >= LIKELY and may_order(read)
    return best if sure and best in LIKELY_TOOLS else ""


def _is_list_said(name: str, words: Set[str]) -> bool:
    """Return True when a request says the first word of the name of a list, more than half of them,
    or beside the word for a list any: "buy stamps" does not name the list "Books to buy"."""
    names = re.findall(r"[\w-]+", name.lower())
    telling = {*names} - SMALL or {*names}
    said = telling & words
    return bool(said and (words & LIST_WORDS or names[0] in said)) or 2 * len(said) > len(telling)


def _find_new_list(request: str) -> list[str]:
    """Return the name of a to-do list that may not exist yet ("on my Home list"), or nothing."""
    found = SOME_LIST.search(request)
    name = found["name"] or found["of"] if found else ""
    return [] if not name or NOT_A_LIST_NAME.search(name) else [name[:1].upper() + name[1:]]


def _find_joined_list(request: str, language: str, lists: Sequence[str]) -> list[str]:
    """Return the to-do lists whose name begins a longer word in languages that join words
    ("Einkaufszettel"); else a word for a list ("Einkaufsliste"), or nothing."""
    longer = [word.casefold()[:-2] for word in re.findall(r"\w{6,}", request)]
    known = [name for name in lists if any(w.startswith(name.casefold()) for w in longer)]
    if known and language in ("de", "nl"):
        return known
    found = JOINED_LIST.search(request)
    if not found or NOT_A_LIST_NAME.search(found["name"]):
        return []
    return [found[0][:1].upper() + found[0][1:]]
