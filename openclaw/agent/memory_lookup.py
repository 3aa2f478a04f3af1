"""Decides whether memory is searched for a prompt; finds what of it goes along."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from datetime import date
from typing import Any

from openclaw import events
from openclaw.agent.prompt import SOURCES
from openclaw.agent.request import RequestBuilder
from openclaw.agent.window import page_chars
from openclaw.frozen import frozen
from openclaw.home.open_home import OpenHome
from openclaw.memory.markdown import read_page
from openclaw.memory.named_rows import (
    NamedRows,
    find_named_rows,
    find_rows_not_asked,
    tell_named_rows,
)
from openclaw.memory.rows import MAX_CHARS
from openclaw.memory.tables import show_columns, show_table_facts
from openclaw.memory.todos import Todos, due_of, parse_todos
from openclaw.nlp.calendar_days import Span
from openclaw.nlp.classifier import Labels, read_message
from openclaw.nlp.dates import name_each_day, read_past_days
from openclaw.nlp.intent import (
    ABOUT_PAST,
    HARDLY,
    LIKELY,
    QUESTION_MARK,
    TO_CHANGE,
    TODO_LINE,
    Cues,
    surely_adds,
    without_todos,
)
from openclaw.nlp.words import content_words
from openclaw.receipt import TODO_FILE
from openclaw.retrieval.scan import find_files, index_options
from openclaw.retrieval.units import day_in
from openclaw.security.untrusted import break_tokens, fence
from openclaw.sessions.session import Session
from openclaw.storage.file_kinds import kind_by_name
from openclaw.storage.home import Home
from openclaw.tools.memory_tools import show_passage
from openclaw.tools.paths import current_text, is_plain
from openclaw.types import PromptKind

MAX_WHOLE = 1_500
"""Characters of a file that goes along whole when its name says what a prompt is about, or when
a row of its table does: of a .csv a search finds the headings without rows, and rows without them.
"""
MAX_DAY_NOTES = 2
"""Notes of the days that a question names go along whole, if they are short and no more."""
SURELY_ABOUT = 0.5  # a passage over this score surely is about what a prompt is about
MOST_BEFORE = 2  # prompts that may say what the next one is about
MAX_DUE = 20
"""To-dos that are told to be due on a day that a question names or before it, the first ones."""
UNTIL = re.compile(
    r"\b(?:by|until|before|bis|avant|jusqu\w*|hasta|antes|para|entro|at\u00e9|tot|voor)\b", re.I
)
"""A question with one of them is for all that is due until the day, not for what is due on it."""
OWN, GENERAL = ("recall", "todo_list"), ("know", "web")
"""The labels of questions for something of the user's own, and for what everybody may know."""
WORKSPACE = "workspace/"
MAX_FILES = 12  # files of the workspace that are offered by their names
MAX_TODOS = 8
"""Open to-dos that go with a question about which no file says anything, as they may be its answer
in whatever words and language it is asked, and with what may be about one of them."""


def is_of_day(path: str, spans: Iterable[Span]) -> bool:
    """Return True for a file with a day in its name that lies in one of these times."""
    return _lies_in(day_in(path.rpartition("/")[2]), spans)


def _lies_in(day: str, spans: Iterable[Span]) -> bool:
    return any(first.isoformat() <= day <= last.isoformat() for first, last in spans)


def _is_searched(open_home: OpenHome) -> bool:
    return open_home.use_memory and open_home.settings.recall == "auto"


def _find_paths(open_home: OpenHome, wanted: Callable[[str], bool]) -> list[str]:
    """Return the wanted paths among those of the search: what is kept from it goes nowhere
    unasked."""
    found = find_files(open_home.home, index_options(open_home.settings), wanted)
    return [each.path for each in found]


def _read_text(home: Home, path: str) -> str:
    """Return the beginning of a file's text, "" when it cannot be read."""
    with suppress(OSError):
        return current_text(home, path) or ""
    return ""


def needs_recall(
    open_home: OpenHome, text: str, seen: Cues, known: Collection[str] = tuple(SOURCES.values())
) -> bool:
    """Return True when memory should be searched for a prompt: it may hold a file besides `known`
    and the to-dos, which their tool shows."""
    if not _is_searched(open_home):
        return False
    if find_long_files(open_home.home, seen, page_chars(open_home.settings.window)):
        return True
    if not worth_looking_up(text, seen):
        return False
    known = {TODO_FILE, *known}
    files = find_files(open_home.home, index_options(open_home.settings))
    return any(found.path not in known and found.stat.st_size for found in files)


def worth_looking_up(text: str, cues: Cues) -> bool:
    """Return True when a prompt may be about something in memory: no other cue explains it."""
    # "What do I have to bring to the market?" may be about to-dos or about a note.
    orders = cues.orders and not cues.meant  # "new order: 20 loaves" may be about orders.csv
    about_todos = cues.todos and not cues.unclear and (cues.lists or orders or cues.done)
    told = cues.fact or about_todos or cues.expression or cues.named or cues.skill or cues.chats
    return not told and any(c.isalnum() for c in text)


def find_long_files(home: Home, cues: Cues, page: int) -> list[str]:
    """Return the files that a question names and that are a third longer than `page` characters. A
    small model takes the first page for the whole file, so the question is searched in these."""
    named = cues.named if cues.asks else ()
    return [path for path in named if (home.root / path).stat().st_size > page * 4 // 3]


def kind_of_prompt(text: str, cues: Cues) -> PromptKind:
    """Return what decides how near a passage must be to go into the prompt."""
    if cues.orders:
        return "order"
    read = read_message(text)
    is_own = _is_rather_own(read) or max(read.probabilities[each] for each in GENERAL) < LIKELY
    return "own" if read.has("asks") and is_own else ""


def _is_rather_own(read: Labels) -> bool:
    own, general = (max(read.probabilities[each] for each in labels) for labels in (OWN, GENERAL))
    return own > general


def _with_whole_files(
    home: Home, passages: Sequence[Mapping[str, Any]], paths: Sequence[str], room: int
) -> list[Mapping[str, Any]]:
    """Return passages, and in front of them those of these files whole that are short text, at most
    `room` characters in all: which line answers, a small model sees and a search does not."""
    whole: dict[str, Mapping[str, Any]] = {}
    most = min(MAX_WHOLE, room // 2)
    for path in dict.fromkeys(paths):
        text = _read_text(home, path).rstrip()
        if 0 < len(text) <= min(most, room) and not {"\0", "\ufffd"} & {*text}:
            best: Mapping[str, Any] = next((p for p in passages if p["path"] == path), {"score": 1})
            place = {"path": path, "start_line": 1, "end_line": len(text.splitlines())}
            whole[path] = {**best, **place, "text": text}
            room -= len(text)
    return [*whole.values(), *(each for each in passages if each["path"] not in whole)]


def find_passages(
    builder: RequestBuilder,
    text: str,
    question: str,
    attached: str,
    cues: Cues,
    *,
    looks_up: bool,
    ahead: bool,
) -> Generator[events.Event, None, tuple[Sequence[Mapping[str, Any]], list[dict[str, Any]]]]:
    """Find passages about `question` for the tail; with `ahead` the model reads the head during the
    search. Return them, and the hits that were left out; none for a prompt that is too long to be
    sent, which the loop reports."""
    open_home = builder.open_home
    cut = {part.path for part in builder.parts if part.cut}
    known = {*SOURCES.values()} - cut
    if not looks_up and cut:  # the search may find what was cut off
        looks_up = needs_recall(open_home, text, cues, known)
    if not looks_up or not builder.can_send(text, attached):
        return [], []
    recall = open_home.recall
    long_files = find_long_files(open_home.home, cues, page_chars(builder.card.window))
    kind, wait = kind_of_prompt(text, cues), open_home.settings.recall_wait
    recall.send_question(question, known, long_files, kind=kind)
    if ahead and not recall.has_answered:
        for waiting in open_home.model.warm(builder.beginning(text)):
            if waiting.message:
                yield events.waiting_event(waiting)
    open_home.tell("searching memory")
    fence("", "", "", own=True)  # compiles its patterns while the search runs
    found, left_out = recall.wait_for_passages(wait), recall.left_out
    before = _prompts_with_passages(builder.session)
    if before and recall.has_answered and not any(map(_is_near, found)):
        # "And when do they start?" says what it is about only with the prompts before it.
        recall.send_question(f"{question} {before}", known, long_files, kind=kind)
        again = [each for each in recall.wait_for_passages(wait) if _goes_on(text, each)]
        if again:
            shown_paths = {each["path"] for each in again}
            found = [*again, *(each for each in found if each["path"] not in shown_paths)]
            left_out = recall.left_out
    open_home.tell("")
    yield from map(events.Trouble, recall.take_notices())
    paths = _files_meant(open_home, question, cues)
    paths += [passage["path"] for passage in found if passage["path"].endswith(".csv")]
    shown = _with_whole_files(open_home.home, found, paths, page_chars(builder.card.window))
    masked = [{**passage, "text": open_home.masker.mask(passage["text"])} for passage in shown]
    if masked:
        yield events.Retrieval(tuple(masked))
    return masked, left_out


def _is_near(passage: Mapping[str, Any]) -> bool:
    return bool(passage["score"] >= SURELY_ABOUT)


def _goes_on(text: str, passage: Mapping[str, Any]) -> bool:
    """Return True for a passage that is about a prompt with the ones before it, when the prompt
    refers to these or has a word of the passage: another topic has neither."""
    refers = read_message(text).probabilities["refers"] >= HARDLY
    is_shared = bool({*content_words(text)} & {*content_words(passage["text"])})
    return _is_near(passage) and (refers or is_shared)


def _prompts_with_passages(session: Session) -> str:
    """Return the last prompts of a conversation if passages went with the newest, else ""."""
    prompts = [each for each in session.messages if each.role == "user"][-MOST_BEFORE:]
    found = prompts and prompts[-1].record.offered
    return " ".join(each.content for each in prompts) if found else ""


def _files_meant(open_home: OpenHome, question: str, cues: Cues) -> list[str]:
    """Return the files that a prompt is about by their names, and the notes of the days that a
    question names, if these are few."""
    today = open_home.now().date()
    days = read_past_days(question, today).spans if cues.asks else ()
    about_todos = days and read_message(question).probabilities["todo_list"] >= LIKELY
    if about_todos and not ABOUT_PAST.search(question):  # "what do I still have to do this week?"
        days = tuple(span for span in days if span[1] < today)
    if not cues.meant and not days:
        return []
    paths = _find_paths(open_home, lambda path: path in cues.meant or is_of_day(path, days))
    notes = [path for path in paths if is_of_day(path, days)]
    return [path for path in paths if path in cues.meant] + notes * (len(notes) <= MAX_DAY_NOTES)


@frozen
class Found:
    """What a prompt is about, of the user's files.

    cues      those of the prompt, with what the rest tells
    passages  those that are shown
    left_out  those that the search found too
    files     those that are offered by their names
    rows      those that it may change
    due       lines that tell the to-dos of a day, by their texts
    """

    cues: Cues
    passages: Sequence[Mapping[str, Any]] = ()
    left_out: Sequence[Mapping[str, Any]] = field(default_factory=list)
    files: tuple[str, ...] = ()
    rows: NamedRows = NamedRows()
    due: Mapping[str, str] = field(default_factory=dict)


def match_found(
    open_home: OpenHome,
    text: str,
    cues: Cues,
    passages: Sequence[Mapping[str, Any]],
    left_out: Sequence[Mapping[str, Any]],
    todos: Todos,
    *,
    alone: bool,
) -> Found:
    """Match a prompt, the passages found for it and the to-dos. One that is not `alone`, but
    of several requests or with a skill, gets no files and rows."""
    meant = cues.meant
    if any(each["path"] in meant for each in passages):  # then it need not be read first
        cues = replace(cues, meant=())
    files: tuple[str, ...] = ()
    rows = NamedRows()
    if alone:
        files = files_to_offer(open_home, text, cues, passages, left_out)
        paths = [*(each["path"] for each in (*passages, *left_out)), *files]
        rows = _find_rows(open_home, text, cues, meant or paths)
    in_table = any(each.row.heads for each in rows.edits)
    if rows.surely or (in_table and cues.unclear):
        rows, cues = replace(rows, surely=True), without_todos(cues)
    cues = todos_found(cues, todos, passages)
    cues, due = todos_by_day(text, cues, todos, passages, open_home.now().date())
    if cues.due:  # these are told, and others are not asked for
        passages = [each for each in passages if each["path"] != TODO_FILE]
    return Found(cues, passages, left_out, files, rows, due)


def show_found(open_home: OpenHome, text: str, found: Found) -> Iterator[tuple[str, str]]:
    """Yield the texts that go with a prompt, each with the path that it is from: the passages with
    what stands beside them; the rows that it may change as their headings tell them; else the last
    line of each log that is offered: others may have written them too."""
    asks, sums = found.cues.asks, not found.rows.edits
    for each in found.passages:
        yield each["path"], _show_with_facts(open_home, each, text, asks=asks, sums=sums)
    rows, shown = found.rows, {each["path"] for each in found.passages}
    for edit in rows.edits:
        if edit.row.path not in shown or edit.sums:
            reckoned = f" [{', '.join(edit.sums)}]" if edit.sums else ""
            yield edit.row.path, f"{edit.row.path}: {edit.row.told()}{reckoned}"
    for new in () if rows.edits else rows.new:
        if new.last_of_log and new.path in found.files:
            yield new.path, f"{new.path}: {new.last_of_log}"


def files_to_offer(
    open_home: OpenHome,
    text: str,
    cues: Cues,
    passages: Sequence[Mapping[str, Any]],
    left_out: Sequence[Mapping[str, Any]],
) -> tuple[str, ...]:
    """Return the files of the workspace, if they are few, for a question about something of the
    user's own to which neither the search nor the head has an answer, and for what is told with a
    number, of which no file was found: a small model makes up an answer, or a file."""
    other = cues.meant or cues.missing or cues.remembers or cues.forgets or cues.errands.tools
    about_todos = cues.lists or cues.near or cues.whole or cues.todos
    looked = _is_searched(open_home) and worth_looking_up(text, cues)
    # A skill that may fit is to be read, which the steps for files leave out.
    if other or about_todos or cues.offered or not looked:
        return ()
    read = read_message(text)
    if cues.asks:
        known = any(each["score"] >= SURELY_ABOUT for each in left_out)  # it stands in the head
        is_own = kind_of_prompt(text, cues) == "own" and _is_rather_own(read)
        wanted = is_own and not (passages or known)
    else:
        elsewhere = read.has("text", "know", "web", "program", "asks")
        found = any(each["path"].startswith(WORKSPACE) for each in passages)
        wanted = not (elsewhere or found) and any(map(str.isdigit, text))
    if not wanted:
        return ()
    paths = _find_paths(open_home, lambda path: path.startswith(WORKSPACE))
    # The names stand outside of any fence, and others may have made them up.
    bare = (path for path in paths if is_plain(path) and break_tokens(path) == path)
    files = [path for path in bare if path not in SOURCES.values()]
    few = files if len(files) <= MAX_FILES else ()
    return tuple(path for path in few if _may_be_read(open_home.home, path))


def _may_be_read(home: Home, path: str) -> bool:
    return kind_by_name(path) == "pdf" or "\0" not in _read_text(home, path)


def _find_rows(open_home: OpenHome, request: str, cues: Cues, found: Iterable[str]) -> NamedRows:
    """Find the rows of tables that a request names which may change them, when it is about no
    to-do: those of the files that it names, else of the files that were found for it."""
    read = read_message(request)
    # "New order: 45, Storchi" has two words of the to-do to order something.
    is_near = cues.near and read.probabilities[read.best(*TO_CHANGE)] >= HARDLY
    about_todos = cues.lists or is_near or cues.whole or cues.done or surely_adds(request)
    other = cues.fact or cues.missing or cues.skill or cues.errands.tools or cues.command
    is_text = read.has("text") and not any(map(str.isdigit, request))
    if cues.asks or about_todos or other or is_text or cues.parts or QUESTION_MARK.search(request):
        return NamedRows()
    # The program's own files have their tools.
    paths = dict.fromkeys(path for path in found if path.startswith(WORKSPACE))
    if cues.named:
        named = _find_paths(open_home, lambda path: path in cues.named)
        paths = dict.fromkeys(named if _is_searched(open_home) else ())
    texts: list[tuple[str, str]] = []
    for path in paths:
        text = _read_text(open_home.home, path)
        if len(text) <= MAX_CHARS:  # of a part the last line may be half a row, or half a secret
            texts.append((path, open_home.masker.mask(text)))
    return find_named_rows(request, texts, open_home.now().date()) if texts else NamedRows()


def _show_with_facts(
    open_home: OpenHome, passage: Mapping[str, Any], request: str, *, asks: bool, sums: bool
) -> str:
    """Return a passage with lines below it: the heading above it, that a note is of the day that a
    request names, the headings of the table of which it has a row, and with `sums` what the tables
    and lists add up to of which it has one: it may lack the others. A question that names rows gets
    each with its headings, and one with a no only the rows that it asks for."""
    path, first, last = passage["path"], passage["start_line"], passage["end_line"]
    # The lines of passages are counted with these ends.
    text, today = re.sub(r"\r\n?", "\n", _read_text(open_home.home, path)), open_home.now().date()
    of_day = ""
    if day := day_in(path.rpartition("/")[2]):  # a small model knows no weekdays
        named = read_past_days(request, today)
        of_day = f"\n[{day}: {named.words}]" if _lies_in(day, named.spans) else ""
    beside = _show_section(text, first) + of_day + show_columns(text, first)
    told = tell_named_rows(path, text, first, last, request) if asks else []
    not_asked, asked = find_rows_not_asked(path, text, request) if asks else ((), "")
    if not_asked:
        told.append(asked)
        lines = text.split("\n")
        first, last = (
            end - sum(line in not_asked for line in lines[:end]) for end in (first, last)
        )
        text, shown = (_without_lines(each, not_asked) for each in (text, passage["text"]))
        passage = {**passage, "text": shown}
    facts = show_table_facts(text, first, last, request, today) if sums else ""
    beside += facts + "".join(f"\n[{row}]" for row in told)
    return show_passage(passage) + open_home.masker.mask(beside)


def _without_lines(text: str, lines: Collection[str]) -> str:
    return "\n".join(line for line in text.split("\n") if line not in lines)


def _show_section(text: str, first: int) -> str:
    """Return a line with the heading of the section in which a line of a text stands, from 1; ""
    below the title and for the heading itself."""
    section = read_page("\n".join(text.split("\n")[:first])).sections[-1]
    is_below = section.level > 1 and section.start < first - 1
    return f"\n[under: {section.name}]" if is_below else ""


def todos_referred_to(text: str, cues: Cues, todos: Todos, session: Session) -> Cues:
    """Return the cues, where a prompt refers to something and may want a to-do changed of which it
    has no word, with those that the turn before it has added or changed: "rather on Tuesday"."""
    refers = read_message(text).probabilities["refers"] >= HARDLY
    if not (cues.unclear and refers):
        return cues
    starts = [at for at, each in enumerate(session.messages) if each.role == "user"]
    turn = session.messages[starts[-1] :] if starts else ()
    uses = (use for entry in turn for use in entry.tool_calls if use.tool == "todo" and use.ok)
    items = {str(item) for use in uses for item in use.input.get("items") or ()}
    near = tuple(each for each in todos.open_texts() if each.startswith(tuple(items)))
    lines = (*cues.lines, *(f"{TODO_LINE}{each}" for each in near))
    return replace(cues, near=near, lines=lines, unclear=not near)


def todos_found(cues: Cues, todos: Todos, passages: Sequence[Mapping[str, Any]]) -> Cues:
    """Return the cues, where they do not tell which to-do is meant with those that were found. What
    another passage is surely about, and none of them, is about no to-do, unless it surely ticks,
    changes or removes one."""
    if not cues.unclear:
        return cues
    texts = (each["text"] for each in passages if each["path"] == TODO_FILE)
    lines = "\n".join(line.strip() for text in texts for line in text.splitlines())
    found = {each.text for each in parse_todos(lines)}  # "Bread" stands in "Bread and butter"
    near = tuple(each for each in todos.open_texts() if each in found)
    if near:
        return replace(cues, near=near, unclear=False)
    others = (each["score"] for each in passages if each["path"] != TODO_FILE)  # it may be done
    ticks = cues.changes and "add" not in cues.changes  # surely one, in whatever language it stands
    sure = not (cues.asks or ticks) and max(others, default=0) >= SURELY_ABOUT
    return without_todos(cues) if sure else cues


def todos_by_day(
    text: str, cues: Cues, todos: Todos, passages: Sequence[Mapping[str, Any]], today: date
) -> tuple[Cues, dict[str, str]]:
    """Find the to-dos that are due by the last day that a question for to-dos names, as lines by
    their texts: "on Tuesday" may mean that day, and all until then. What a passage is surely about,
    and no to-do, is no question for to-dos. Nor is what names a day that is over and has a note,
    when it says so ("did I") or no to-do is due on the one to come ("on Monday"). Return also the
    cues, which say so."""
    if not cues.asks or cues.named or read_message(text).probabilities["todo_list"] < LIKELY:
        return cues, {}
    if cues.lists:
        todos = replace(todos, items=[each for each in todos.items if each.list in cues.lists])
    dated = todos.due(date.max)
    named = name_each_day(text, today) if dated else []
    coming = {span: each.words for each in named if (span := each.next_span(today))}
    over = [span for span in read_past_days(text, today).spans if span[1] < today]
    is_noted = named and any(is_of_day(each["path"], over) for each in passages)
    is_due = any(_lies_in(str(due_of(each)), coming) for each in dated)
    if is_noted and (ABOUT_PAST.search(text) or not is_due):
        return without_todos(cues), {}
    if not coming:
        sure = any(each["score"] >= SURELY_ABOUT for each in passages)
        said = cues.lists or any(each["path"] == TODO_FILE for each in passages)
        said = said or any(line.startswith(TODO_LINE) for line in cues.lines)
        return (without_todos(cues) if sure and not said else cues), {}
    lines = _tell_due(todos, coming, today, until=bool(UNTIL.search(text)))
    return replace(cues, due="" not in lines), lines  # the model may list what is left out


def _tell_due(
    todos: Todos, coming: Mapping[Span, str], today: date, *, until: bool
) -> dict[str, str]:
    """Tell the to-dos that are due by the last of these times, or each on its day, by their texts;
    by "" how many more there are. A small model knows no weekdays."""
    last, due = max(coming, key=lambda span: span[1]), {*todos.due(today)}
    soon = sorted({*todos.due(last[1])} - due, key=lambda each: due_of(each) or "")
    lines = {}
    for each in soon[:MAX_DUE]:
        on = (words for span, words in coming.items() if _lies_in(str(due_of(each)), [span]))
        when = f"by {coming[last]}" if until else next(on, f"before {coming[last]}")
        lines[each] = f"To-do due {when}: {each}"
    for span, words in coming.items():
        is_told = (until and soon) or any(_lies_in(str(due_of(each)), [span]) for each in soon)
        if not is_told and (span[0] > today or not due):
            day = f", {span[0]}" if span[0] == span[1] else ""
            lines[words] = f"To-do due {words}{day}: none"
    if soon[MAX_DUE:]:
        lines[""] = f"More to-dos due by {coming[last]}: {len(soon) - MAX_DUE}"
    return lines


def other_todos(
    text: str, cues: Cues, todos: Todos, told: Collection[str], *, found: bool
) -> list[str]:
    """Return lines with the open to-dos that may be what a prompt is about, but those `told`; with
    `found` passages about it are told."""
    asks = cues.asks or (QUESTION_MARK.search(text) and not cues.orders)
    unanswered = asks and not (found or cues.due) and worth_looking_up(text, cues)
    others = [each for each in todos.open_texts() if each not in told]
    return [f"Open to-do: {each}" for each in others[:MAX_TODOS] if unanswered or cues.unclear]
