"""The tools for to-dos and memories, and for the search in them and in conversations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any, Literal, Protocol

from openclaw import types
from openclaw.frozen import frozen
from openclaw.memory.markdown import DEFAULT_LIST
from openclaw.memory.todos import without_due
from openclaw.nlp.classifier import read_message
from openclaw.nlp.dates import find_named_day, parse_day
from openclaw.nlp.words import content_words
from openclaw.security.untrusted import break_tokens, defuse, plain_source
from openclaw.storage.home import Home
from openclaw.storage.safe_open import text_or_none
from openclaw.storage.text import without_comments
from openclaw.tools.results import DEFAULT_LIMITS, ResultLimits, as_data, cut_to_limits
from openclaw.tools.tool import CallForm, Tool, tool
from openclaw.types import Shown, ToolProblem, TurnChanges

if TYPE_CHECKING:
    from openclaw.memory.notes import Notes
    from openclaw.memory.todos import Todo, TodoFile


SHOWN_DONE = 5
SHOWN_OPEN = 60

_ORDER = re.compile(r"(?:put|add)\b.*\b(?:list|to-?dos?)\W*$", re.IGNORECASE)

_TO_LIST = re.compile(
    r"\s+(?:on|onto|to) (?:my|the) (?:[\w -]*\b(?:list|to-?dos?)\W*$|to-?do(?:s|[ -]list)\b)",
    re.IGNORECASE,
)

MemoryPlace = Literal["lasting", "today"]
Action = Literal["list", "add", "done", "undone", "change", "remove", "remove_list"]

# Names that models write for the default list.
_NO_LIST = (
    ",todo,todos,to-do,to-dos,to do,todo list,to-do list,to do list,todo.md,memory/todo.md,default"
    ",inbox,list,my list,task,tasks"
).split(",")


@frozen
class KnowledgeTools:
    """The tools `todo` and `remember`. `origin` tells where the words of a memory come from, "" for
    the user's own: all others wait for the user's yes."""

    home: Home
    turn_changes: TurnChanges
    todos: TodoFile
    open_notes: Callable[[], Notes]
    origin: Callable[[str], str] = lambda text: ""

    def tools(self) -> list[Tool]:
        return [
            tool(
                self.todo,
                forms=(
                    CallForm("read", {"action": "list"}),
                    CallForm("read", {"action": "list"}, ("list",)),
                    CallForm("write", {"action": "add"}, ("list", "items")),
                    CallForm("write", {"action": "done"}, ("item",)),
                    CallForm("write", {"action": "undone"}, ("item",)),
                    CallForm("write", {"action": "change"}, ("item", "items"), most=1),
                    CallForm("write", {"action": "remove"}, ("item",)),
                    CallForm("write", {"action": "remove_list"}, ("list",)),
                ),
                legal=self._legal_todos,
                action=self._act,
            ),
            tool(self.remember, forms=(CallForm("write", arguments=("fact", "where")),)),
        ]

    def todo(
        self, action: Action, list: str = "", items: list[str] | None = None, item: str = ""
    ) -> str:
        """Show or change to-dos: add items, mark one done."""
        texts = items or ([item] if item else [])
        match action:
            case "list":
                return self._show_list(list)
            case "add":
                return self._add(list, texts)
            case "remove_list":
                return self._remove_list(list or item)
            case "change" if item and items:
                old = self._find_todo(item, self.todos.items(), list, "change")
                text = self._new_words(old, " ".join(" ".join(items).split()))
                if text == old.text:
                    raise ToolProblem(f"{text} stands there already; nothing would change.")
                self._note_before()
                new = self.todos.set_text(old.id, text)
                told = f"Changed: {old.text} is now {new.text}."
                return f"{told}\n{_list_lines(new.list, self.todos.items())}"
        if not texts or action == "change":
            needed = "item, and items with its new words" if action == "change" else "item"
            raise ToolProblem(f"{action} needs {needed}. To-dos:\n{self._show_list('')}")
        return self._change(action, texts, list)

    def _act(self, arguments: Mapping[str, Any]) -> types.Action:
        effect: types.Effect = "read" if arguments["action"] == "list" else "write"
        return types.Action("todo", effect, self.home.relative(self.todos.path))

    def remember(self, fact: str, where: MemoryPlace = "lasting") -> str:
        """Keep a fact in memory."""
        if source := self.origin(fact):
            return self._propose(fact, source)
        notes = self.open_notes()
        places = (notes.target("lasting"), notes.target("today"))
        old = {path: text_or_none(path) for path in places}
        kept = notes.remember(fact, where)
        for path in dict.fromkeys(item.path for item in (kept.note, *kept.superseded)):
            self.turn_changes.before.setdefault(self.home.relative(path), old[path])
        told = f"Remembered in {self.home.relative(kept.note.path)}, line {kept.note.line}."
        corrected = "; ".join(item.text for item in kept.superseded)
        return f"{told} It replaces, struck through: {corrected}" if corrected else told

    def _propose(self, fact: str, source: str) -> str:
        notes = self.open_notes()
        path = notes.inbox()
        old = text_or_none(path)
        candidate = notes.propose(defuse(fact), plain_source(source))
        name = self.home.relative(candidate.path)
        self.turn_changes.before.setdefault(name, old)
        return (
            f"Put into the inbox ({name}), not into memory: its words come from {source}. "
            "The user decides: openclaw memory review."
        )

    def _legal_todos(self) -> Mapping[str, Sequence[str]]:
        todos = self.todos.read()
        items = todos.items
        return {
            "done.item": _labels(items, [todo for todo in items if not todo.done]),
            "undone.item": _labels(items, [todo for todo in items if todo.done]),
            "change.item": _labels(items, items),
            "remove.item": _labels(items, items),
            "list.list": todos.lists,
            "remove_list.list": todos.lists,
        }

    def _show_list(self, name: str) -> str:
        items = self.todos.items()
        if not items:
            return "There are no to-dos."
        wanted = self._list_name(name) if name.strip() else None
        if name.strip().casefold() not in _NO_LIST and wanted not in self.todos.lists():
            raise ToolProblem(f"There is no list {name}. To-dos:\n{self._show_list('')}")
        lists = dict.fromkeys(todo.list for todo in items)
        if wanted in lists:
            return _list_lines(str(wanted), items)
        return _open_lines(items)

    def _add(self, name: str, texts: Sequence[str]) -> str:
        if not texts:
            raise ToolProblem("add needs items: the texts of the new to-dos.")
        list_name = self._list_name(name)
        new: list[str] = []
        known: list[str] = []
        lines = [" ".join(text.split()) for text in texts]
        for text in _without_duplicates(_without_orders(lines)):
            # Nobody has said which list when it is the default one.
            same = self.todos.similar("" if list_name == DEFAULT_LIST else list_name, text)
            elsewhere = f", in {same.list}" if same and same.list != list_name else ""
            (known if same else new).append(text + elsewhere)
        if not new:
            shown = self._show_list(list_name)
            raise ToolProblem(
                f"Already there: {', '.join(known)}. Nothing was added.\n{shown}\n"
                'If it is done, use action "done".'
            )
        said = find_named_day(self.turn_changes.request)  # of a long request it takes time
        alone = len(new) == 1 and read_message(self.turn_changes.request).lacks("several")
        new = [self._with_due(text, said, alone=alone) for text in new]
        self._note_before()
        added = self.todos.add(list_name, new)
        words = f"Added to {added[0].list}: {', '.join(todo.text for todo in added)}."
        if known:
            words += f" Already there: {', '.join(known)}."
        return f"{words}\n{_list_lines(added[0].list, self.todos.items())}"

    def _with_due(self, text: str, said: str | None, *, alone: bool) -> str:
        """Return a to-do's text with `due:` the day that it and the request name, or the one `said`
        in the request for it `alone`: "remind me on friday to pack" becomes "pack" in a small
        model."""
        own = find_named_day(text)
        if own and own != said and own.casefold() not in self.turn_changes.request.casefold():
            return text  # nobody has said it
        day = own or (said if alone else None)
        due = parse_day(day, date.today()) if day and "due:" not in text else None
        return f'{text} due:"{day}"' if due and due >= date.today() else text

    def _new_words(self, old: Todo, text: str) -> str:
        """The new words of a to-do. Where the request gives it another day and the model has only
        the order to do so ("Move the upgrade to next Monday"), its words stay."""
        request = self.turn_changes.request
        day = find_named_day(request)
        if not day or not parse_day(day, date.today()):
            return text
        new = [
            word for word in content_words(text) if word not in content_words(f"{old.text} {day}")
        ]
        ordered = not new or (len(new) == 1 and new[0] in content_words(request))
        return f'{without_due(old.text)} due:"{day}"' if ordered else text

    def _change(self, action: Action, texts: Sequence[str], name: str) -> str:
        items = self.todos.items()
        found = (self._find_todo(text, items, name, action) for text in texts)
        chosen = list({todo.id: todo for todo in found}.values())
        wanted = action == "done"
        if action != "remove" and all(todo.done == wanted for todo in chosen):
            state = "done" if wanted else "open"
            raise ToolProblem(f"{chosen[0].text} is {state} already.\n{self._show_list('')}")
        self._note_before()
        for todo in chosen:
            if action == "remove":
                self.todos.remove(todo.id)
            else:
                self.todos.set_done(todo.id, wanted)
        words = {"done": "Marked done", "undone": "Marked open", "remove": "Removed"}[action]
        told = f"{words}: {', '.join(todo.text for todo in chosen)}."
        lists = dict.fromkeys(todo.list for todo in chosen)
        now = self.todos.items()
        return "\n".join([told, *(_list_lines(list_name, now) for list_name in lists)])

    def _remove_list(self, name: str) -> str:
        if not name.strip():
            raise ToolProblem(f"remove_list needs list: {', '.join(self.todos.lists())}.")
        list_name = self._list_name(name)
        self._note_before()
        gone = self.todos.remove_list(list_name)
        return f"Removed the list {list_name} with {len(gone)} to-dos.\n{self._show_list('')}"

    def _find_todo(self, text: str, items: Sequence[Todo], name: str, action: Action) -> Todo:
        """Find the to-do that a model names by id or text; of several, prefer those that the action
        can change."""
        list_name = self._list_name(name) if name.strip() else ""
        found = [*self.todos.find(text)]
        found = [todo for todo in found if todo.list == list_name] or found
        if len(found) > 1 and action != "remove":
            found = [todo for todo in found if todo.done == (action == "undone")] or found
        if len(found) == 1:
            return found[0]
        if found:
            labels = _labels(items, found)
            raise ToolProblem(f"{text} fits several; say which: {'; '.join(labels)}.")
        raise ToolProblem(f"There is no to-do {text}. To-dos:\n{self._show_list('')}")

    def _list_name(self, name: str) -> str:
        """The name of an existing list as written; a new name with a capital; Tasks for none."""
        bare = _bare_list(name)
        if bare.casefold() in _NO_LIST:
            return DEFAULT_LIST
        known = {_singular(_bare_list(each)): each for each in reversed(self.todos.lists())}
        return known.get(_singular(bare)) or bare[:1].upper() + bare[1:]

    def _note_before(self) -> None:
        path = self.todos.path
        self.turn_changes.before.setdefault(self.home.relative(path), text_or_none(path))


def _without_orders(texts: Sequence[str]) -> Sequence[str]:
    """Strip words that repeat the order itself ("put both on my list", "... to my list")."""
    kept = [text for text in texts if not _ORDER.match(text.strip())]
    bare = kept or [re.sub(r"^\s*(?:put|add)\s+", "", text, flags=re.I) for text in texts]
    return [_TO_LIST.sub("", text) or text for text in bare]


def _without_duplicates(texts: Sequence[str]) -> Sequence[str]:
    """Drop duplicates, ignoring case; the order stays."""
    once: dict[str, str] = {}
    for text in texts:
        once.setdefault(text.casefold(), text)
    return [*once.values()]


def _bare_list(name: str) -> str:
    """Strip the words that models put around a list's name: "the Groceries list" is Groceries."""
    words = " ".join(name.strip().strip("#\"'").split())
    if words.casefold() in _NO_LIST:
        return words
    return re.sub(r"^(?:my|the)\s+|\s+list$", "", words, flags=re.IGNORECASE)


def _singular(name: str) -> str:
    """A form of a name for comparisons: "grocery" and "Groceries" are one list."""
    return re.sub(r"(?<=\w\w)s$", "", re.sub(r"ies$", "y", name.casefold()))


def _labels(items: Sequence[Todo], chosen: Sequence[Todo]) -> list[str]:
    """The labels of to-dos: their texts, with the id when two have the same text."""
    texts = Counter(todo.text.casefold() for todo in items)
    return [
        todo.text if texts[todo.text.casefold()] == 1 else f"{todo.text} ^{todo.id}"
        for todo in chosen
    ]


def _list_lines(name: str, items: Sequence[Todo]) -> str:
    """Format a list for the model: open to-dos, then the last done ones."""
    own = [todo for todo in items if todo.list == name]
    undone = [todo for todo in own if not todo.done]
    done = [todo for todo in own if todo.done]
    shown = undone[:SHOWN_OPEN] + done[-SHOWN_DONE:]
    labels = zip(_labels(own, shown), shown, strict=True)
    lines = [f"{'done:' if todo.done else '-'} {label}" for label, todo in labels]
    hidden = len(own) - len(shown)
    if hidden:
        lines.append(f"({hidden} more)")
    return "\n".join([f"{name}:" if own else f"{name} is empty.", *lines])


def _open_lines(items: Sequence[Todo]) -> str:
    """All open to-dos, each with its list. Under headings a small model takes the list's name for
    a to-do, and a done to-do for an open one."""
    undone = [todo for todo in items if not todo.done]
    shown = undone[:SHOWN_OPEN]
    labels = zip(_labels(items, shown), shown, strict=True)
    lines = [f"- {label} ({todo.list})" for label, todo in labels]
    if len(undone) > len(shown):
        lines.append(f"({len(undone) - len(shown)} more open)")
    done = len(items) - len(undone)
    lines.insert(0, "Open to-dos:" if lines else "No open to-dos.")
    return "\n".join([*lines, f"({done} done)"] if done else lines)


RESULTS = 5
LINES = re.compile(r"\s*(?P<start>\d+)\s*(?:[-:\u2013]\s*(?P<end>\d+))?(?![\w.])")
"""A small model copies the passage behind its lines: "3-4: We fly on 14 March"."""
MAX_LINES = 200


class Searcher(Protocol):
    """The index of the home. Both methods raise ToolProblem when they fail."""

    def search(self, question: str, k: int, /) -> Sequence[Mapping[str, Any]]: ...

    def get(self, path: str, start: int, end: int, /) -> tuple[str, Shown]:
        """Return lines of a file below a heading, and which they are."""
        ...


@frozen
class RecallTools:
    searcher: Searcher
    turn_changes: TurnChanges

    def tools(self) -> list[Tool]:
        return [tool(self.memory_search), tool(self.memory_get)]

    def memory_search(self, query: str) -> str:
        """Find what memory and notes say, by words and meaning."""
        if not query.strip():
            raise ToolProblem("query is empty: say what to look for.")
        return self._find(query) or f'Nothing in memory or files is about "{query}".'

    def memory_get(self, path: str, lines: str) -> str:
        """Read lines around a found passage, such as "10-20"."""
        found = LINES.match(lines)
        if not found:
            raise ToolProblem(f"lines is like 10-20, not {lines}.")
        start = max(1, int(found["start"]))
        end = min(int(found["end"] or start), start + MAX_LINES - 1)
        try:
            text, self.turn_changes.shown[1] = self.searcher.get(path, start, max(start, end))
        except ToolProblem as problem:
            # A small model makes up the path, and again the same one.
            if not (passages := self._find(self.turn_changes.request)):
                raise
            return f"{passages}\n({problem})"
        return text

    def _find(self, question: str) -> str:
        """The passages about a question, "" for none."""
        found = self.searcher.search(question, RESULTS) if question.strip() else ()
        near = max((each.get("score", 1) for each in found), default=1) >= NEAR
        lines = [] if near else [NOTHING_NEAR]
        for passage in found:
            shown = Shown(passage["path"], passage["start_line"], passage["end_line"])
            self.turn_changes.shown[len(lines)] = shown
            lines += show_passage(passage).split("\n")
        return "\n".join(lines)


def show_passage(passage: Mapping[str, Any]) -> str:
    """Format a passage for the model: `path:line: text` or `path:first-last: text`."""
    start, end = passage["start_line"], passage["end_line"]
    place = f"{passage['path']}:{start}" + (f"-{end}" if end > start else "")
    return f"{place}: {clean_passage(passage['text'])}"


def clean_passage(text: str) -> str:
    """A passage without its list mark and internal comments."""
    return re.sub(r"^[-*+] (?:\[[ xX]\] )?", "", without_comments(text).strip())


NEAR = 0.25
"""Below this score of the best passage 12 of 58 questions that nothing answers stay, and 5 of 280
that something does (`benchmarks.recall`, with and without --held)."""
NOTHING_NEAR = "Nothing found is near; perhaps none of these lines is about it:"
SNIPPET = 300


class ConversationSearch(Protocol):
    """The conversations of the home. `find` returns messages about some words, at most `most`, each
    as a line with at most `length` characters of it, and with the source of others' words that it
    may have, "" for none. `any` tells whether there is something to find."""

    def find(self, words: str, most: int, length: int, /) -> Sequence[tuple[str, str]]: ...
    def any(self) -> bool: ...


@frozen
class SessionTools:
    talks: ConversationSearch
    turn_changes: TurnChanges
    limits: ResultLimits = DEFAULT_LIMITS

    def tools(self) -> list[Tool]:
        """One tool. It is in every head, and callable when there is something to find."""
        return [replace(tool(self.search_sessions), available=self.talks.any)]

    def search_sessions(self, words: str) -> str:
        """Search earlier conversations and this one."""
        if not words.strip():
            raise ToolProblem("words is empty: say what to look for.")
        found = self.talks.find(words, RESULTS, SNIPPET)
        if not found:
            return (
                f'Nothing was said about "{words}" earlier. '
                "Try fewer or other words: a name, a number, the name of a file."
            )
        blocks: dict[str, list[str]] = {"": []}
        for line, source in found:
            blocks.setdefault(source, []).append(line)
        own = break_tokens("\n".join(blocks.pop("")))
        told = [str(cut_to_limits(own, self.limits))]
        for source, lines in blocks.items():
            told.append(as_data("\n".join(lines), source, self.turn_changes, self.limits))
        return "\n".join(filter(None, told))
