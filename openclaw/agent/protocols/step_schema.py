"""Builds the JSON schema of the next step, which constrains a small model's reply.

docs/small-models.md has the measurements and reasons.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from openclaw.agent.protocols.base import RunningTurn
from openclaw.memory.named_rows import RowEdit
from openclaw.memory.new_rows import NewLine
from openclaw.messages import ToolUse
from openclaw.nlp.classifier import read_message
from openclaw.nlp.intent import FILE, HARDLY, LIKELY
from openclaw.nlp.skill_instructions import (
    WRITES_FILES,
    escape_literal,
    first_tools,
    later_tools,
    line_form,
)
from openclaw.nlp.words import content_words
from openclaw.receipt import TODO_FILE
from openclaw.tools.text_edits import WRITE_FOR_IT
from openclaw.tools.tool import closed_object
from openclaw.tools.toolbox import COPIED, NOT_SAID, Toolbox
from openclaw.types import CHANGING, Effect

READING: frozenset[Effect] = frozenset({"read", "read-elsewhere", "get"})
ALL: frozenset[Effect] = READING | CHANGING
CHANGES: frozenset[Effect] = frozenset({"write"})
WRITING = frozenset({"write_file", "append_file", "edit_file"})
PROGRAMS = frozenset({"run_shell", "run_python"})
READERS = frozenset({"read_file", "fetch_url"})
NEAREST = re.compile(r"^\d+: (.+)$", re.MULTILINE)
RIGHT_ROW = re.compile(rf"^{WRITE_FOR_IT}(.+)$", re.MULTILINE)
PAGE = re.compile(r", lines (\d+)-(\d+) of \d+(?: \(.*\))?:$")
OFFERED = re.compile(
    r"^There is no file .* Files: (?!none\.)(.+(?<!, \.\.\.))\. list_files shows all\.$"
)
FOUND_MEMORY = re.compile(
    r"^(memory/(?!TODO\.md:|inbox/).+?|workspace/USER\.md):\d+(?:-\d+)?: (.*\S)", re.MULTILINE
)
"""The path and the first line of a passage that `memory_search` found in the user's memories."""
UNBLANKED = r'^[^"\\<>]+$'
CELL = r'[^"\\|\n]{1,80}\|'
TEXTS = frozenset({"content", "text", "fact"})  # the arguments that are written
Schema = dict[str, Any]


def step_schema(turn: RunningTurn, toolbox: Toolbox) -> Schema:
    """Return the schema of the next step, which allows only steps that suit the request.

    A request that only asks gets no tool that changes anything; the steps that its words point at
    (`openclaw.nlp.intent`) come first.
    """
    if turn.closing != "no":
        more = [closed_object({"kind": {"const": "more"}})] * (turn.closing == "may")
        return {"anyOf": [_answer("answer", turn.form), *more]}
    toolbox = toolbox.at_this_moment()
    begins = len(turn.entries) <= turn.order_began
    steps = _first_steps(turn, toolbox) if begins else _next_steps(turn, toolbox)
    steps += [step for step in _server_calls(turn, toolbox) if step not in steps]
    if not (turn.skill or turn.cues.skill):
        meant = ("", "list", *turn.cues.changes)
        steps = [step for step in steps if _tool(step) != "todo" or _action(step) in meant]
        near = () if turn.cues.parts else turn.cues.near  # another part may be about another one
        steps = [_narrow(s, {"item": _those_in(near, s)}) for s in steps]
        steps = [step for step in steps if turn.cues.runs or _tool(step) not in PROGRAMS]
        if turn.cues.asks and turn.has_passages and not _is_about_files(turn):
            # A small model looks for the words of the question.
            steps = [step for step in steps if _tool(step) != "search_files"]
        ran = any(use.ok and use.tool == "run_shell" for use in turn.uses)
        if turn.cues.command and not ran:  # a small model writes another program in its place
            rest = r'( [^"\\\n;&|<>]{1,120})?' if turn.cues.arguments else ""
            form = {"type": "string", "pattern": f"^{escape_literal(turn.cues.command)}{rest}$"}
            steps = [
                _constrained(s, {"command": form} if _tool(s) == "run_shell" else {})
                for s in steps
                if _tool(s) != "run_python"
            ]
        if not turn.cues.new_list:  # a small model names a new list after the to-do
            known = {"list": turn.cues.known_lists}
            steps = [_narrow(s, known) if _action(s) == "add" else s for s in steps]
    return {"anyOf": steps or [_answer(turn.kind or "answer")]}


def _first_steps(turn: RunningTurn, toolbox: Toolbox) -> list[Schema]:
    cues = turn.cues
    looks = _calls("look", READING, toolbox)
    changes = [] if cues.asks else _calls("change", ALL, toolbox)
    if turn.skill:  # the user asked for it by name
        return skill_calls(turn.skill, toolbox) or [_answer("answer")]
    if cues.skill:
        reads = _only(looks, "read_skill", name=[cues.skill])
        return [step for step in reads if "file" not in step["properties"]]  # SKILL.md first
    if cues.due:  # shown the whole list, a small model tells of other days too
        search = [] if turn.searched else _only(looks, "memory_search")  # a note may answer it
        return [_answer("answer"), *search]
    where = ["today" if cues.today else "lasting"]
    if cues.fact:
        return _only(changes, "remember", fact=[cues.fact], where=where)
    keeping = _only(changes, "remember", where=where) if cues.remembers else []
    if keeping and not turn.rows.surely:
        return keeping
    if cues.forgets and (finding := _only(changes, "memory_search", query=[turn.request])):
        return finding
    if turn.rows.surely and (steps := _for_rows(turn, changes)) != changes:
        # What is to become a new row is no talk.
        return [_answer("answer"), *steps] if turn.rows.edits else steps
    if cues.done and not cues.parts:
        ticks = _only(changes, "todo", action=["done"])
        return [_narrow(step, {"item": _those_in(cues.whole, step)}) for step in ticks]
    if cues.todos and not (cues.unclear and turn.has_passages):
        adding = _only(changes, "todo", action=["add"], list=cues.lists or cues.known_lists)
        if cues.changes == ("add",):
            return adding
        changing = [s for s in _only(changes, "todo") if _action(s) not in ("list", "add")]
        changing += adding
        if cues.orders and "add" not in cues.changes and not cues.lists:
            return [_answer("answer"), *changing]  # perhaps no to-do of that kind is there
        if cues.orders:
            return changing
        known = [_answer("answer")] if turn.has_passages else []
        there = [name for name in cues.lists if name in cues.known_lists]
        shown = _only(looks, "todo", action=["list"], list=there) or _only(looks, "todo")
        return known + shown + changing
    if errand := _errand(turn, toolbox):
        return errand
    if cues.named and changes and (cues.missing or cues.takes_out):
        # A file's content goes into a new file, or a line goes out of it: it is read first, else
        # the model makes it up.
        return _only(changes, "read_file", path=cues.named)
    if cues.named:
        known = [_answer("answer")] if turn.has_passages else []
        return known + _only(looks, "read_file", path=cues.named) + changes
    if cues.asks and cues.similar:
        return _only(looks, "read_file", path=cues.similar)
    if cues.expression or cues.sums:
        spelt_out = {"expression": [cues.expression]} if cues.expression else {}
        return _only(looks, "calculate", **spelt_out)
    if cues.asks and cues.meant:
        return _only(looks, "read_file", path=cues.meant)
    if cues.asks:  # a small model reads another file in place of one that is missing
        missing = {"path": cues.missing}
        looks = [_narrow(step, missing) if _tool(step) == "read_file" else step for step in looks]
    if turn.files and not turn.rows.edits:
        if cues.asks:
            return _only(looks, "read_file", path=turn.files) + _only(looks, "todo")
        return [_answer("answer"), *_for_files(turn, changes)]
    return [_answer("answer"), *looks, *_for_rows(turn, changes)]


def _for_files(turn: RunningTurn, calls: list[Schema], read: ToolUse | None = None) -> list[Schema]:
    """Return the calls of a request that may be about any of the files, of which one was `read`: a
    log gets a new line, one that was read any, or another one in place of one that it has. A small
    model makes up paths, and texts to replace."""
    path = str(read.input.get("path")) if read else ""
    lines = _lines_shown(read) if read else []
    new = [each for each in turn.rows.new if each.last_of_log or each.path == path]
    steps = _only(calls, "edit_file", path=[path], find=lines) + _additions(new, calls)
    if path and path not in [each.path for each in new]:
        steps += _only(calls, "append_file", path=[path])
    steps += _only(calls, "read_file", path=[each for each in turn.files if each != path])
    others = {"remember"} | ({"todo"} if _may_add_todo(turn) else set())
    if _is_about_files(turn):  # "start a page for the 2027 budget" is for none of them
        others |= {"write_file", *PROGRAMS}
    return [*steps, *(each for each in calls if _tool(each) in others)]


def _is_about_files(turn: RunningTurn) -> bool:
    return read_message(turn.request).probabilities["file"] >= LIKELY


def _may_add_todo(turn: RunningTurn) -> bool:
    return read_message(turn.request).probabilities["todo_add"] >= HARDLY


def _for_rows(turn: RunningTurn, calls: list[Schema]) -> list[Schema]:
    """Return the calls, where the request names rows of tables with the edits of these rows alone,
    if such may be made. What surely changes a row, or adds one, does nothing else to files or
    to-dos."""
    rows = turn.rows
    edits = _row_edits(rows.edits, calls)
    adds = _additions(rows.new, calls)
    if not (edits or (adds and rows.surely)):
        return calls
    others = [step for step in calls if _tool(step) != "edit_file"]
    if rows.surely:
        others = _only(calls, "remember") + _only(calls, "calculate")
        if _may_add_todo(turn):
            others += _only(calls, "todo", action=["add"])
    return [*edits, *adds, *others]


def _row_edits(edits: Iterable[RowEdit], calls: list[Schema]) -> list[Schema]:
    return [
        step
        for row, form in ((each.row, each.form) for each in edits)
        for edit in _only(calls, "edit_file", path=[row.path], find=[row.line])
        for step in (
            _constrained(edit, {"replace": {"type": "string", "pattern": form}}),
            *([_constrained(edit, {"replace": {"const": ""}})] if row.cells else ()),
        )
    ]


def _lines_shown(read: ToolUse) -> list[str]:
    """Return the lines of a file that a result of `read_file` shows, but the blank ones, and not
    what stands around and below them: a fence, sums, how to go on."""
    head, *lines = read.output.split("\n")
    page = PAGE.search(head)
    begin = int(bool(lines) and lines[0].startswith("<<data "))
    end = begin + int(page[2]) - int(page[1]) + 1 if page else 0
    return [line for line in lines[begin:end] if line.strip()]


def _additions(lines: Iterable[NewLine], calls: list[Schema]) -> list[Schema]:
    return [
        _constrained(step, {"text": {"type": "string", "pattern": each.form}})
        for each in lines
        for step in _only(calls, "append_file", path=[each.path])
    ]


def _errand(turn: RunningTurn, toolbox: Toolbox) -> list[Schema]:
    """Return the call that the request asks for by name, even one that will be refused: the user
    must learn that."""
    wanted = turn.cues.errands
    if not wanted.tools:
        return []
    calls = _calls("change" if turn.cues.orders else "look", ALL, toolbox, asked=wanted.tools)
    narrow: Mapping[str, Mapping[str, Sequence[str]]]
    narrow = {"fetch_url": {"url": wanted.urls}, "run_shell": {"command": (wanted.command,)}}
    first = wanted.tools[0]
    return [_narrow(call, narrow.get(first, {})) for call in calls if _tool(call) == first]


def _server_calls(turn: RunningTurn, toolbox: Toolbox) -> list[Schema]:
    """Return the calls of a server's tools when the request names the server."""
    said = {word.casefold() for word in re.findall(r"\w+", turn.request)}
    tools = [name for name in toolbox.near if said.issuperset(name.split("__")[0].split("_"))]
    if not tools:
        return []
    calls = _calls("look", READING, toolbox)
    calls += [] if turn.cues.asks else _calls("change", CHANGING, toolbox)
    return [call for call in calls if _tool(call) in tools]


NO_CALL = ToolUse("", "", {}, "", ok=True)


def _next_steps(turn: RunningTurn, toolbox: Toolbox) -> list[Schema]:
    used = turn.entries[-1].tool_calls
    last = used[-1] if used else NO_CALL
    if turn.skill:
        return _steps_of_skill(turn, toolbox, used)
    # A model takes "could you ...?" for a question: allow changes after it has looked.
    may_change = turn.kind != "look" or turn.cues.begs
    kind = "change" if may_change and not turn.cues.asks else "look"
    calls = _from_offered(_calls(kind, READING if kind == "look" else ALL, toolbox), last)
    if kind == "change" and turn.rows.surely:  # else another line may be meant after a look
        if turn.rows.all_meant and last.tool == "edit_file" and last.ok:
            return _row_edits(turn.rows.edits, calls)  # a small model changes one, tells of all
        calls = _for_rows(turn, calls)
    if turn.files and kind == "change" and last.tool == "read_file" and last.ok:
        return [_answer(kind), *_for_files(turn, calls, last)]
    unread = _reads(calls, unread_names(turn, ()))
    if unread and not last.ok and NOT_SAID in last.output:
        return unread  # what it made up may stand in a file that the request names
    written = {_base(use.input.get("path")) for use in turn.uses if use.ok and use.tool in WRITING}
    new = {"path": [name for name in turn.cues.missing if _base(name) not in written]}
    if not used and turn.corrected and (writing := _only(calls, "write_file", **new)):
        return [_answer(kind), *writing]  # nothing was done with the file that it names
    if turn.cues.missing and not new["path"]:  # a small model would write over it what it was told
        again = (name for name in turn.cues.missing if turn.request.count(name) > 1)
        paths = [*turn.cues.named, *again]
        there = _only(calls, "append_file", path=paths) + _only(calls, "edit_file", path=paths)
        calls = [*there, *(call for call in calls if _tool(call) not in WRITING)]
    if kind == "look" or (unread and turn.kind == "look"):
        return unread or [_answer(kind), *calls]
    if taking := _removals(turn, calls, last):
        return taking
    if turn.kind != "look" and last.tool in READERS and last.ok:
        # A small model writes over the file that it was to read for a new one.
        changes = _calls(kind, CHANGES, toolbox)
        return [*unread, *(_narrow(s, new if _tool(s) == "write_file" else {}) for s in changes)]
    return [_answer(kind), *(calls if last.ok else _otherwise(calls, last))]


def _steps_of_skill(turn: RunningTurn, toolbox: Toolbox, used: Sequence[ToolUse]) -> list[Schema]:
    """Return the steps that the skill of the turn names, in its order, after the calls `used`."""
    forms = skill_calls(turn.skill, toolbox)
    read = any(use.tool == "read_skill" for use in turn.uses)
    if read and turn.cues.asks and not turn.cues.skill:  # the model chose the skill by itself
        writes = _calls("change", CHANGES, toolbox)
        forms = [f for f in forms if f not in writes and _tool(f) not in WRITING]
    if all(use.tool == "read_skill" for use in used):
        first = first_tools(turn.skill, {_tool(form) for form in forms})
        return [form for form in forms if _tool(form) in first]
    forms = _from_offered(forms, used[-1])
    if turn.repeats:  # it goes on with the next step, where there is one
        tools = {*map(_tool, forms)}
        later = later_tools(turn.skill, tools, {use.tool for use in turn.uses})
        forms = [form for form in forms if _tool(form) in later] or forms
    if not used[-1].ok and COPIED in used[-1].output:  # it would write the skill's blank again
        forms = [_with_pattern(form, UNBLANKED) for form in forms]
    return [_answer("answer"), *forms]


def _otherwise(calls: list[Schema], failed: ToolUse) -> list[Schema]:
    """Return the calls after one that failed, which a small model would make again."""
    if failed.tool in WRITING and str(failed.input.get("path")).endswith(TODO_FILE):
        # Another change of to-dos is for their tool.
        return _only(calls, "todo") + _only(calls, "remember")
    if failed.tool == "edit_file" and (offered := OFFERED.search(failed.output)):
        return _only(calls, "edit_file", path=offered[1].split(", "))
    if failed.tool == "edit_file" and (lines := NEAREST.findall(failed.output)):
        # The text to find was not in the file: it can only be one of the lines shown.
        if row := RIGHT_ROW.search(failed.output):
            return _only(calls, "edit_file", find=lines, replace=[row[1]])
        rows = [line for line in lines if line.startswith("|") and line.endswith("|")]
        others = [line for line in lines if line not in rows]
        edits = (
            _kept_as_row(step, row)
            for row in rows
            for step in _only(calls, "edit_file", find=[row])
        )
        return [*_only(calls, "edit_file", find=others), *edits]
    return [call for call in calls if failed.tool not in WRITING or _tool(call) != failed.tool]


def _removals(turn: RunningTurn, calls: list[Schema], last: ToolUse) -> list[Schema]:
    """Return the calls that take out a line that the last call has shown, one with words of the
    request, when it wants a memory forgotten or a line of a file taken out. Of memories it is the
    one that was found first; of a file it may be any line, when none has such words."""
    lines: Sequence[tuple[str, str]] = ()
    if turn.cues.takes_out and last.tool == "read_file" and last.ok:
        path = str(last.input.get("path"))
        lines = [(path, line) for line in _lines_shown(last)]
    elif turn.cues.forgets and last.tool == "memory_search" and last.ok:
        lines = FOUND_MEMORY.findall(last.output)
    said = {*content_words(FILE.sub(" ", turn.request))}
    meant = [each for each in lines if said.intersection(content_words(each[1]))]
    if turn.cues.forgets:
        meant = meant[:1]
    found: dict[str, list[str]] = {}
    for path, line in meant or (lines if turn.cues.takes_out else ()):
        found.setdefault(path, []).append(line)
    edits = (_only(calls, "edit_file", path=[p], find=found[p], replace=[""]) for p in found)
    return [*chain.from_iterable(edits)]


def _from_offered(calls: Sequence[Schema], last: ToolUse) -> list[Schema]:
    """Return the calls, where the last one read a file that does not exist with the files that the
    result offers in its place: a small model would name the same one again."""
    offered = None if last.ok else OFFERED.search(last.output)
    files = offered[1].split(", ") if offered else []
    return [_narrow(call, {"path": files} if _tool(call) == "read_file" else {}) for call in calls]


def _kept_as_row(call: Schema, row: str) -> Schema:
    """Constrain what replaces a row of a table to as many cells, without a comma where the row has
    none: a small model goes on with the words of the request behind the new value."""
    cell = CELL if "," in row else CELL.replace("^", "^,")
    form = rf"^\|{cell * (row.count('|') - 1)}$"
    return _constrained(call, {"replace": {"type": "string", "pattern": form}})


def _with_pattern(call: Schema, form: str) -> Schema:
    """Constrain the text that a call writes."""
    properties = call["properties"]
    texts = TEXTS & properties.keys()
    return _constrained(call, {name: {**properties[name], "pattern": form} for name in texts})


def unread_names(turn: RunningTurn, uses: Sequence[ToolUse]) -> list[str]:
    """Return the files and pages that the request names and this turn has neither read nor run a
    program on."""
    done = (*turn.uses, *uses)
    ran = "".join(str(use.input) for use in done if use.ok and use.tool in PROGRAMS)
    outputs = [use.output for use in done if use.ok and use.tool == "read_file"]
    fetched = {use.input.get("url") for use in done if use.ok and use.tool == "fetch_url"}
    files = [
        path
        for path in turn.cues.named
        if _base(path) not in ran and not any(t.startswith(path) for t in outputs)
    ]
    return files + [url for url in turn.cues.errands.urls if url not in fetched]


def skill_calls(skill: str, toolbox: Toolbox) -> list[Schema]:
    """Return the calls that a skill's instructions name; none when they only shape the answer."""
    named = _tools_named(skill, toolbox)
    if WRITES_FILES.search(skill) and not named & WRITING:
        named |= WRITING | {"read_file"}
    forms = [s for s in _calls("change", ALL, toolbox) if _tool(s) in named - {"read_skill"}]
    acting = [s for s in forms if _action(s)]
    spoken = [s for s in acting if re.search(rf"`{_action(s)}`", skill)] or acting
    form = line_form(skill)
    # A small model reads "LOG <what> / <who>" and leaves the slash out.
    return [
        _with_pattern(step, form) if form and _tool(step) == "append_file" else step
        for step in [*(s for s in forms if not _action(s)), *spoken]
    ]


def only_shapes_answer(skill: str, toolbox: Toolbox) -> bool:
    """Return True when a skill's instructions name no call, not even one that is refused now."""
    return not (_tools_named(skill, toolbox) or WRITES_FILES.search(skill))


def _tools_named(skill: str, toolbox: Toolbox) -> set[str]:
    return {name for name in toolbox.arguments if re.search(rf"\b{name}\b", skill)}


def skill_goes_on(
    skill: str, uses: Sequence[ToolUse], toolbox: Toolbox, needless: str = ""
) -> bool:
    """Return True when the skill has further steps with tools, but the `needless` one, after these
    reading calls, or names a call that changes something."""
    forms, changing = skill_calls(skill, toolbox), _calls("change", CHANGES, toolbox)
    later = later_tools(skill, {*map(_tool, forms)}, {use.tool for use in uses})
    return bool(later - {needless}) or any(form in changing for form in forms)


# -------- schemas


def _answer(kind: str, form: str = "") -> Schema:
    text = {"pattern": form} if form else {"minLength": 1}
    return closed_object({"kind": {"const": kind}, "answer": {"type": "string", **text}})


def _calls(
    kind: str, effects: frozenset[Effect], toolbox: Toolbox, asked: Sequence[str] = ()
) -> list[Schema]:
    first = {"kind": {"const": kind}}
    return [
        closed_object({**first, **shape["properties"]}, ["kind", *shape["required"]])
        for shape in toolbox.shapes(effects, asked)
    ]


def _only(steps: list[Schema], tool: str, **values: Sequence[str]) -> list[Schema]:
    """Return the steps with this tool, with arguments limited to these values; none without any
    value."""
    found = []
    for step in steps:
        properties = step["properties"]
        fits = all(
            given and name in properties and properties[name].get("const") in (None, *given)
            for name, given in values.items()
        )
        if _tool(step) == tool and fits:
            narrow = {name: {"enum": list(given)} for name, given in values.items()}
            found.append(closed_object({**properties, **narrow}))
    return found


def _narrow(step: Schema, values: Mapping[str, Sequence[str]]) -> Schema:
    """Return the step with arguments limited to these values, where there are any."""
    narrow = {name: {"enum": list(given)} for name, given in values.items() if any(given)}
    return _constrained(step, narrow)


def _constrained(step: Schema, schemas: Schema) -> Schema:
    return {**step, "properties": {**step["properties"], **schemas}}


def _reads(calls: Sequence[Schema], names: Sequence[str]) -> list[Schema]:
    """Return the calls that read one of these files or pages."""
    pages = [name for name in names if "://" in name]
    files = [name for name in names if "://" not in name]
    wanted = {"read_file": {"path": files}, "fetch_url": {"url": pages}}
    return [
        _narrow(call, wanted[name])
        for call in calls
        if (name := _tool(call)) in wanted and any(map(any, wanted[name].values()))
    ]


def _base(path: object) -> str:
    """Return the name of a file without its folders."""
    return str(path).rpartition("/")[2]


def _tool(step: Schema) -> str:
    return str(step["properties"].get("tool", {}).get("const", ""))


def _those_in(todos: Sequence[str], step: Schema) -> Sequence[str]:
    """Return the to-dos that a call may change by their text alone."""
    known = step["properties"].get("item", {}).get("enum", ())
    return [text for text in todos if text in known]


def _action(step: Schema) -> str:
    action = step["properties"].get("action", {})
    return str(action.get("const") or next(iter(action.get("enum", ())), ""))
